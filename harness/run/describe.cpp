// SPDX-License-Identifier: MIT
#include "harness/run/describe.h"

#include <fmt/format.h>
#include <mpfr.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/build_info.h"
#include "harness/run/place.h"
#include "kernels/registry.h"
#include "oracles/base/file.h"
#include "oracles/base/hash.h"
#include "oracles/exact/blas.h"
#include "oracles/models/mma.h"

namespace plumbline {
namespace {

// The one-line summary of a kernel's operand formats: "a bf16, b bf16, d {out}".
std::string formats_text(const Manifest& kernel) {
  std::string text;
  for (const auto& [tensor, format_name] : kernel.formats) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tensor, format_name);
  }
  return text;
}

// "release 13.0, V13.0.88", as nvcc writes it into the PTX of the shipped kernels.
std::string cuda_toolkit() {
  constexpr std::string_view kBefore = "Cuda compilation tools, ";
  std::error_code code;
  std::filesystem::recursive_directory_iterator entry(default_kernel_folder() + "/shipped", code);
  for (const std::filesystem::recursive_directory_iterator end; !code && entry != end;
       entry.increment(code)) {
    if (entry->path().extension() != ".ptx") continue;
    std::ifstream file(entry->path());
    for (std::string line; std::getline(file, line) && line.starts_with("//");) {
      const std::size_t at = line.find(kBefore);
      if (at != std::string::npos) return line.substr(at + kBefore.size());
    }
  }
  return "";
}

}  // namespace

std::string version_text() {
  const std::string cuda = cuda_toolkit();
  return fmt::format(
      "plumbline {} ({})\n"
      "compiler   {}\n"
      "kernels    {}\n"
      "libraries  MPFR {}, GMP {}\n"
      "processor  {} in use ({})\n",
      kVersion, kGitHash, kCompiler,
      cuda.empty() ? "none is built in " + default_kernel_folder() : "built with CUDA " + cuda,
      mpfr_get_version(), gmp_version, mma_fast_target(), blas_description());
}

std::string hash_of_file(const std::string& path) {
  const Result<std::string> bytes = read_text_file(path, "");
  return bytes ? fmt::format("{:016x}", fingerprint(*bytes)) : "";
}

void describe_environment(RunRecord& record) {
  record.plumbline_version = kVersion;
  record.git_hash = kGitHash;
  utsname system{};
  uname(&system);
  record.environment = {
      {"mpfr", mpfr_get_version()},
      {"blas", blas_description()},
      {"vector", mma_fast_target()},
      {"machine", system.machine},
  };
  record.places = {place_here(".")};
}

KernelRecord describe_kernel(const Manifest& kernel, const std::vector<Target>& targets) {
  KernelRecord record;
  record.name = kernel.name;
  record.summary = kernel.summary;
  record.operation = kernel.operation->name();
  record.formats = formats_text(kernel);
  if (kernel.added) record.manifest = kernel.path;
  const std::string folder = kernel.path.substr(0, kernel.path.rfind('/') + 1);
  if (!kernel.source.empty()) record.source_hash = hash_of_file(folder + kernel.source);
  for (const KnownFinding& known : kernel.known)
    record.known.push_back({known.says, known.reason, 0});
  Problem any(kernel.schema());
  for (const Target& target : targets) {
    const std::string sm = fmt::format("sm_{}", target.sm);
    if (const auto build = best_build(kernel, target.sm))
      record.ptx_hashes[sm] = hash_of_file(kernel.ptx_path(*build));
    record.contracts[sm] = kernel.describe_contract(any, target.sm);
  }
  return record;
}

void add_kernel(RunRecord& record, const Manifest& kernel, const std::vector<Target>& targets,
                const std::string& skip_reason) {
  for (const Target& target : targets) {
    const std::string device = target.name();
    if (target.on_gpu) record.environment["driver"] = target.driver;
    if (std::find(record.devices.begin(), record.devices.end(), device) == record.devices.end())
      record.devices.push_back(device);
  }
  if (std::any_of(record.kernels.begin(), record.kernels.end(),
                  [&](const KernelRecord& k) { return k.name == kernel.name; }))
    return;
  record.kernels.push_back(describe_kernel(kernel, targets));
  if (targets.empty()) record.kernels.back().reasons.push_back(skip_reason);
}

}  // namespace plumbline
