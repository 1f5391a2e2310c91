// SPDX-License-Identifier: MIT
#include "harness/gpu/context.h"

#include <atomic>
#include <mutex>

#include "harness/gpu/driver_codes.h"
#include "harness/gpu/gpu_device.h"
#include "harness/gpu/gpu_module.h"
#include "oracles/base/hash.h"

namespace plumbline {
namespace {

std::atomic<bool> lost{false};

std::mutex opening;
std::weak_ptr<GpuContext> shared;  // guarded by `opening`

}  // namespace

void lose_gpu() { lost = true; }

bool gpu_is_lost() { return lost; }

Status gpu_is_usable() {
  if (!lost) return {};
  return Error{ErrorKind::cannot_run,
               "an earlier kernel never finished, or left the GPU unusable for this process", "",
               "start plumbline again"};
}

Result<std::shared_ptr<GpuContext>> GpuContext::open(const std::shared_ptr<const Driver>& driver) {
  const std::lock_guard lock(opening);
  if (std::shared_ptr<GpuContext> open = shared.lock()) return open;
  auto context = std::make_shared<GpuContext>(driver);
  if (const int code = driver->context_retain(&context->handle_, 0); code != 0)
    return driver->error("cuDevicePrimaryCtxRetain", code);
  shared = context;
  return context;
}

GpuContext::~GpuContext() {
  if (handle_ && !lost) driver_->context_release(0);
}

Status GpuContext::make_current() const {
  if (Status usable = gpu_is_usable(); !usable) return usable;
  const int code = driver_->context_set(handle_);
  return code == 0 ? Status{} : driver_->error("cuCtxSetCurrent", code);
}

std::shared_ptr<const GpuImage> GpuContext::image(const std::string& text,
                                                  const std::string& file) {
  const Turn turn = this->turn();
  std::weak_ptr<const GpuImage>& known = images_[{file, fingerprint(text)}];
  std::shared_ptr<const GpuImage> image = known.lock();
  if (image) return image;
  known = image = std::make_shared<GpuImage>(shared_from_this(), text, file);
  std::erase_if(images_, [](const auto& entry) { return entry.second.expired(); });
  return image;
}

bool GpuContext::works() const {
  Driver::Address trial = 0;
  const int code = driver_->allocate(&trial, 1);
  if (code == 0) driver_->release(trial);
  return code == 0 || code == driver_codes::kOutOfMemory;
}

void GpuContext::mend() {
  if (!lost && !works()) renew();
}

// Some faults are said to end the process's use of the GPU: whether this one did, an allocation
// tells.
void GpuContext::renew() {
  if (lost) return;
  ++number_;
  driver_->context_release(0);
  driver_->context_reset(0);
  if (driver_->context_retain(&handle_, 0) != 0) {
    handle_ = nullptr;
    lose_gpu();
  } else if (driver_->context_set(handle_) != 0 || !works()) {
    lose_gpu();
  }
}

}  // namespace plumbline
