// SPDX-License-Identifier: MIT
// Shape and layout classes of quantization.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fuzz/case/profile.h"
#include "oracles/base/random.h"

namespace plumbline {

struct QuantizeSizes {
  std::int64_t m = 1, n = 1;
};

struct QuantizeShapeClass {
  ClassInfo info;
  QuantizeSizes (*draw)(Profile profile, Random& random);
};

struct QuantizeLayoutClass {
  ClassInfo info;
  std::string (*draw)(const QuantizeSizes& sizes, Random& random);  // "ldx=136 ldq=140"
};

std::span<const QuantizeShapeClass> quantize_shape_classes();
std::span<const QuantizeLayoutClass> quantize_layout_classes();

}  // namespace plumbline
