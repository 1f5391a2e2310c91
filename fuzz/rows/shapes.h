// SPDX-License-Identifier: MIT
// Shape and layout classes of the row operations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/case/profile.h"
#include "oracles/base/random.h"

namespace plumbline {

struct RowSizes {
  std::int64_t m = 1, n = 1;
};

struct RowShapeClass {
  ClassInfo info;
  RowSizes (*draw)(Profile profile, Random& random);
};

// `fields`: the leading dimensions an operation has, that of the output last.
struct RowLayoutClass {
  ClassInfo info;
  std::string (*draw)(std::int64_t n, std::span<const std::string_view> fields, Random& random);
};

std::span<const RowShapeClass> row_shape_classes();
std::span<const RowLayoutClass> row_layout_classes();

}  // namespace plumbline
