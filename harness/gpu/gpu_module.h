// SPDX-License-Identifier: MIT
// A module on a GPU: the driver compiles its PTX when a function of it is first asked for, and
// again when the context was made anew since. Modules of the same PTX share an image.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/device.h"
#include "harness/device/launch_shape.h"
#include "harness/gpu/context.h"

namespace plumbline {

class GpuImage {
 public:
  GpuImage(std::shared_ptr<GpuContext> context, std::string text, std::string file);

  GpuImage(const GpuImage&) = delete;
  GpuImage& operator=(const GpuImage&) = delete;
  ~GpuImage();

  Result<Driver::Handle> function(std::string_view name) const;

  // What an entry says of clusters.
  Result<DeclaredCluster> cluster(std::string_view name) const;

  Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const;

 private:
  Status load() const;

  std::shared_ptr<GpuContext> context_;
  std::string text_, file_;
  std::vector<std::string> entries_;  // of PTX; none that could be read of a cubin
  mutable Driver::Handle module_ = nullptr;
  mutable int loaded_in_ = -1;  // GpuContext::number
};

class GpuModule : public Module {
 public:
  explicit GpuModule(std::shared_ptr<const GpuImage> image) : image_(std::move(image)) {}

  const GpuImage& image() const { return *image_; }

  Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const override {
    return image_->parameters(entry);
  }

 private:
  std::shared_ptr<const GpuImage> image_;
};

}  // namespace plumbline
