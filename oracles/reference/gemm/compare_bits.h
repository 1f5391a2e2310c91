// SPDX-License-Identifier: MIT
// Outputs beside those of a schedule that leaves nothing open, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracles/reference/gemm/tile_model.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

struct BitsComparison {
  std::int64_t compared = 0, different = 0;
  std::vector<ElementVerdict> first;  // of those that differ, at most 16: `expected` is the model's
};

// Tiles of the model that a comparison may cost: all of a small problem, else as many as take about
// as long as judging the rest.
std::int64_t most_tiles(const PreparedGemm& gemm);

// Of at most so many tiles, spread evenly over the output. What is NaN or Inf by its operands is
// left out; signs of zeros and payloads of NaN count as equal.
BitsComparison compare_bits_with(const PreparedGemm& gemm, const GemmTileModel& model,
                                 const GemmTensorReader& got, std::int64_t tiles,
                                 std::uint64_t seed, int threads);

struct FittingSchedule {
  SumSchedule schedule;
  GemmTileModel model;  // of it
};

// The first `most` of these schedules that give all compared outputs: on a few tiles, then on as
// many as most_tiles() says.
std::vector<FittingSchedule> fitting_schedules(const PreparedGemm& gemm, const Tensor& got,
                                               const std::vector<SumSchedule>& candidates,
                                               std::size_t most, int threads);

}  // namespace plumbline
