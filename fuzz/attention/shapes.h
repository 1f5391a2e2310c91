// SPDX-License-Identifier: MIT
// Shape classes of attention: named regions of the space of lengths, heads and widths, and how to
// draw one problem from each.
#pragma once

#include <cstdint>
#include <span>

#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"

namespace plumbline {

// Sizes at which a kernel's behavior changes.
struct AttentionTile {
  std::int64_t queries = 64, keys = 64, d = 64;  // where the manifest names none
  std::int64_t widest = 256;                     // d and dv that the kernel takes
};

AttentionTile attention_tile(const Manifest& manifest);

// Of the designed cases: 16, or the least from there on that the kernel takes.
std::int64_t attention_narrow_width(const Manifest& manifest);

struct AttentionSizes {
  std::int64_t queries = 1, keys = 1;
  std::int64_t d = 64, dv = 64;
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t batch = 1;
};

struct AttentionShapeClass {
  ClassInfo info;
  AttentionSizes (*draw)(const AttentionTile& tile, Profile profile, Random& random);
};

std::span<const AttentionShapeClass> attention_shape_classes();

}  // namespace plumbline
