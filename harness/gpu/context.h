// SPDX-License-Identifier: MIT
// The primary context of the GPU. The driver has one in a process, so all devices that are alive at
// once share it, and with it what a fault costs: the context is made anew, and what any of them had
// in the old one is gone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "harness/gpu/driver.h"

namespace plumbline {

class GpuImage;

class GpuContext : public std::enable_shared_from_this<GpuContext> {
 public:
  // One thread at a time uses the context: with several of them, each from the first allocation of
  // a launch to the last read.
  using Turn = std::unique_lock<std::recursive_mutex>;

  // The one that other devices have, or a new one.
  static Result<std::shared_ptr<GpuContext>> open(const std::shared_ptr<const Driver>& driver);

  explicit GpuContext(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}

  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;
  ~GpuContext();

  const Driver& driver() const { return *driver_; }

  Turn turn() { return Turn(turn_); }

  // The one that others have, or a new one: the driver takes seconds to compile a large kernel.
  std::shared_ptr<const GpuImage> image(const std::string& text, const std::string& file);

  // How often it was made anew: memory, modules and events are of the number they were made in.
  int number() const { return number_; }

  // Makes it the context of the calling thread. An Error when the GPU is lost.
  Status make_current() const;

  // Makes it anew if it is broken, as after a fault: a trial allocation tells.
  void mend();

  // Makes it anew in every case.
  void renew();

 private:
  bool works() const;

  std::shared_ptr<const Driver> driver_;
  Driver::Handle handle_ = nullptr;
  int number_ = 0;
  std::recursive_mutex turn_;
  // By file and fingerprint of the text; guarded by turn_.
  std::map<std::pair<std::string, std::uint64_t>, std::weak_ptr<const GpuImage>> images_;
};

// A kernel that does not end holds the GPU until the process ends; so may a fault that a new
// context does not mend. Every call of the driver would wait for it, on every device.
void lose_gpu();
Status gpu_is_usable();

}  // namespace plumbline
