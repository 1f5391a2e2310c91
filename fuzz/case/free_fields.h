// SPDX-License-Identifier: MIT
// What a kernel leaves of the strides that a layout class writes: those that its manifest frees.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/manifest/manifest.h"

namespace plumbline {

// Whether a kernel can have this number at another value than its default.
bool is_free(std::span<const Field> schema, std::string_view name);

struct FreeStrides {
  std::string text;           // without the strides that the kernel has at their defaults only
  bool nothing_left = false;  // there were strides, and none of them is free
};

// `text` is problem text; `strides` the fields that layout classes write (ShrinkFields::strides).
FreeStrides free_strides(const Manifest& manifest, std::span<const std::string_view> strides,
                         std::string_view text);

}  // namespace plumbline
