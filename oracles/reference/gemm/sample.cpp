// SPDX-License-Identifier: MIT
// A tile is cut into 128 wrapped diagonals, each of which meets every row and every column once. A
// quota takes whole diagonals first and part of one more; which ones, and which part, differs from
// tile to tile.
#include "oracles/reference/gemm/sample.h"

#include "oracles/base/random.h"

namespace plumbline {
namespace {

constexpr std::int64_t kTile = 128;

class TileQuota {
 public:
  TileQuota(std::int64_t m, std::int64_t n, std::uint64_t seed) : m_(m), n_(n), seed_(seed) {}

  bool takes(std::int64_t index, std::int64_t per_tile) const {
    const std::int64_t j = index % n_, row = index / n_, i = row % m_, batch = row / m_;
    const std::int64_t tiles_across = (n_ + kTile - 1) / kTile,
                       tiles_down = (m_ + kTile - 1) / kTile;
    const std::int64_t tile = (batch * tiles_down + i / kTile) * tiles_across + j / kTile;
    const std::uint64_t shift = mix(seed_ ^ mix(static_cast<std::uint64_t>(tile)));
    const std::int64_t diagonal =
        (j - i + static_cast<std::int64_t>(shift % kTile) + kTile * m_) % kTile;
    // 45 is odd: the rows of a part of a diagonal are spread over the tile.
    const std::int64_t along = (i * 45 + static_cast<std::int64_t>(shift / kTile % kTile)) % kTile;
    return diagonal < per_tile / kTile ||
           (diagonal == per_tile / kTile && along < per_tile % kTile);
  }

 private:
  std::int64_t m_, n_;
  std::uint64_t seed_;
};

}  // namespace

bool in_fixed_sample(std::int64_t index, std::int64_t outputs, std::uint64_t seed) {
  constexpr double kSize = 1024;
  const auto all = static_cast<double>(outputs);
  return all <= kSize || Random(seed).fork(static_cast<std::uint64_t>(index)).unit() * all < kSize;
}

std::vector<std::int64_t> stratified_sample(const std::vector<std::int64_t>& candidates,
                                            std::int64_t m, std::int64_t n, std::int64_t most,
                                            std::uint64_t seed) {
  if (static_cast<std::int64_t>(candidates.size()) <= most) return candidates;
  const TileQuota quota(m, n, seed);
  const double share = static_cast<double>(most) / static_cast<double>(candidates.size());
  // Edge tiles may hold a little more than their share: lower the quota until the sample fits.
  for (auto per_tile = static_cast<std::int64_t>(share * kTile * kTile) + 1; per_tile > 0;
       --per_tile) {
    std::vector<std::int64_t> sample;
    for (const std::int64_t index : candidates) {
      if (quota.takes(index, per_tile)) sample.push_back(index);
      if (static_cast<std::int64_t>(sample.size()) > most) break;
    }
    if (static_cast<std::int64_t>(sample.size()) <= most && !sample.empty()) return sample;
  }
  // Fewer than one per tile: evenly spaced.
  std::vector<std::int64_t> sample;
  for (std::int64_t s = 0; s < most; ++s) {
    const double at =
        static_cast<double>(s) * static_cast<double>(candidates.size()) / static_cast<double>(most);
    sample.push_back(candidates[static_cast<std::size_t>(at)]);
  }
  return sample;
}

}  // namespace plumbline
