// SPDX-License-Identifier: MIT
// Shape and layout classes of grouped GEMM.
#pragma once

#include <cstdint>
#include <span>

#include "fuzz/gemm/shapes.h"

namespace plumbline {

struct GroupedSizes {
  std::int64_t m = 1, n = 1, k = 1, groups = 1;
};

struct GroupedShapeClass {
  ClassInfo info;
  GroupedSizes (*draw)(const GemmTile& tile, Profile profile, Random& random);
};

std::span<const GroupedShapeClass> grouped_shape_classes();
std::span<const ClassInfo> grouped_layout_classes();  // their names are words of field `layout`

}  // namespace plumbline
