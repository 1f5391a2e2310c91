// SPDX-License-Identifier: MIT
#include "harness/gpu/gpu_module.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/device/entry_name.h"
#include "harness/gpu/driver_codes.h"

namespace plumbline {
namespace {

using namespace driver_codes;

std::string hint_for(int code) {
  switch (code) {
    case kUnsupportedPtxVersion:
      return "the PTX is newer than the driver: update the driver, or compile with an older nvcc";
    case kNoBinaryForGpu:
      return "the image was compiled for another chip than this GPU";
    case kNoJitCompiler:
      return "the driver's libnvidia-ptxjitcompiler.so is missing";
    default:
      return "";
  }
}

}  // namespace

GpuImage::GpuImage(std::shared_ptr<GpuContext> context, std::string text, std::string file)
    : context_(std::move(context)),
      text_(std::move(text)),
      file_(std::move(file)),
      entries_(entry_names(text_)) {}

GpuImage::~GpuImage() {
  const GpuContext::Turn turn = context_->turn();
  const bool loaded = module_ && loaded_in_ == context_->number();
  if (loaded && context_->make_current()) context_->driver().module_unload(module_);
}

Status GpuImage::load() const {
  if (loaded_in_ == context_->number()) return {};
  const Driver& driver = context_->driver();
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kJitErrorLog, kJitErrorLogBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  const int code =
      driver.module_load(&module_, text_.c_str(), options.size(), options.data(), values.data());
  if (code == 0) {
    loaded_in_ = context_->number();
    return {};
  }
  module_ = nullptr;
  Error error = driver.error("cuModuleLoadDataEx", code);
  error.where = file_;
  error.hint = hint_for(code);
  if (log[0] != 0) error.message += fmt::format("; {}", log.data());
  return error;
}

Result<Driver::Handle> GpuImage::function(std::string_view name) const {
  const Result<std::string> entry =
      entries_.empty() ? std::string(name) : find_entry(entries_, name, file_);
  if (!entry) return entry.error();
  const GpuContext::Turn turn = context_->turn();
  if (const Status current = context_->make_current(); !current) return current.error();
  if (const Status loaded = load(); !loaded) return loaded.error();
  Driver::Handle function = nullptr;
  const Driver& driver = context_->driver();
  if (const int code = driver.module_function(&function, module_, entry->c_str()); code != 0) {
    Error error = driver.error(fmt::format("cuModuleGetFunction({})", *entry), code);
    error.where = file_;
    return error;
  }
  return function;
}

Result<DeclaredCluster> GpuImage::cluster(std::string_view name) const {
  const Result<Driver::Handle> found = function(name);
  if (!found) return found.error();
  const std::array<int, 4> attributes = {kClusterWidth, kClusterHeight, kClusterDepth,
                                         kClusterMustBeSet};
  std::array<int, 4> values{};
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const int code = context_->driver().function_get(&values[i], attributes[i], *found);
    if (code != 0) return context_->driver().error("cuFuncGetAttribute", code);
  }
  return DeclaredCluster{{values[0], values[1], values[2]}, values[3] != 0};
}

Result<std::vector<ParameterSlot>> GpuImage::parameters(std::string_view entry) const {
  const Result<Driver::Handle> found = function(entry);
  if (!found) return found.error();
  std::vector<ParameterSlot> slots;
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0;; ++i) {
    const int code = context_->driver().function_parameter(*found, i, &offset, &size);
    if (code == kInvalidValue) return slots;  // past the last parameter
    if (code != 0) return context_->driver().error("cuFuncGetParamInfo", code);
    slots.push_back({static_cast<std::int64_t>(offset), static_cast<std::int64_t>(size)});
  }
}

}  // namespace plumbline
