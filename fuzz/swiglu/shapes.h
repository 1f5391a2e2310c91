// SPDX-License-Identifier: MIT
// Shape and layout classes of a SwiGLU MLP: d is the summed dimension of h, hidden that of y, and
// both tokens and features are cut into tiles twice, of different widths.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"

namespace plumbline {

struct SwigluSizes {
  std::int64_t tokens = 1, d = 1, hidden = 1, d_out = 1;
};

struct SwigluShapeClass {
  ClassInfo info;
  SwigluSizes (*draw)(const SwigluSizes& tile, Profile profile, Random& random);
};

struct SwigluLayoutClass {
  ClassInfo info;
  std::string (*draw)(const Manifest& manifest, Random& random);  // "weights=kn pad=8"
};

// Of the manifest, or what is usual.
SwigluSizes swiglu_tile(const Manifest& manifest);

std::span<const SwigluShapeClass> swiglu_shape_classes();
std::span<const SwigluLayoutClass> swiglu_layout_classes();

}  // namespace plumbline
