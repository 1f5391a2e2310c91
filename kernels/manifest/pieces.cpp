// SPDX-License-Identifier: MIT
#include "kernels/manifest/pieces.h"

#include <algorithm>
#include <limits>

namespace plumbline {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 26;  // elements; no width of a matrix is like that
constexpr std::int64_t kPadding = 1024;  // what a tile may read behind a row, and not use
constexpr std::int64_t kAlike = 256;
constexpr std::int64_t kMostPieces = 1024;  // each is an allocation

// Calls body(stride) for the dimensions that are stepped along, with the steps.
template <typename Body>
void for_each_step(TensorLayout& layout, Body body) {
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    if (layout.shape[d] > 1) body(layout.strides[d], layout.shape[d] - 1);
}

}  // namespace

Pieces cut(TensorLayout& layout) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  if (layout.count() == 0 || layout.storage_elements() / layout.count() < 64) return {};
  Pieces pieces{kNone, layout.offset + 1 + kPadding};
  for_each_step(layout, [&](std::int64_t stride, std::int64_t) {
    if (stride >= kFar) pieces.apart = std::min(pieces.apart, stride);
  });
  if (pieces.apart == kNone) return {};
  std::int64_t last = 0;
  for_each_step(layout, [&](std::int64_t stride, std::int64_t steps) {
    pieces.kept += stride % pieces.apart * steps;
    last += stride / pieces.apart * steps;
  });
  if (last >= kMostPieces) return {};
  const std::int64_t rest = pieces.kept % kAlike, wanted = pieces.apart % kAlike;
  pieces.kept += wanted - rest + (wanted < rest ? kAlike : 0);
  if (pieces.kept > pieces.apart / 2) return {};
  for_each_step(layout, [&](std::int64_t& stride, std::int64_t) {
    stride = stride / pieces.apart * pieces.kept + stride % pieces.apart;
  });
  return pieces;
}

}  // namespace plumbline
