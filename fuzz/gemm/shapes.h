// SPDX-License-Identifier: MIT
// Shape and layout classes of GEMM: named regions of the space of problems, and how to draw one
// problem from each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"

namespace plumbline {

struct GemmTile {
  std::int64_t m = 64, n = 64, k = 32;  // where the manifest names none
};

GemmTile gemm_tile(const Manifest& manifest);

// The layouts that a kernel has, in the operation's order.
std::vector<std::string_view> gemm_layout_words(const Manifest& manifest);

struct GemmSizes {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
};

struct GemmShapeClass {
  ClassInfo info;
  GemmSizes (*draw)(const GemmTile& tile, Profile profile, Random& random);
};

// What a layout class is told of the rest of the problem.
struct GemmLayoutRequest {
  GemmSizes sizes;
  bool has_c = false;
  std::vector<std::string_view> words;  // the kernel's layouts, in the operation's order
  std::span<const Field> schema;        // the kernel's
};

struct GemmLayoutClass {
  ClassInfo info;
  // Problem fields (" layout=nt lda=40"); may raise sizes.batch where the class is about batches.
  // Strides that the kernel lacks are taken out later. Empty where it has none of the class.
  std::string (*draw)(GemmLayoutRequest& request, Random& random);
};

std::span<const GemmShapeClass> gemm_shape_classes();
std::span<const GemmLayoutClass> gemm_layout_classes();

}  // namespace plumbline
