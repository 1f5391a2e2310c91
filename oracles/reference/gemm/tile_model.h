// SPDX-License-Identifier: MIT
// What a schedule without anything open gives, bit for bit and fast: 16 x 8 outputs at a time on
// the vector models of the units (oracles/models/mma_plan.h). run_accumulator()
// (oracles/bounds/accumulator/model.h) is the specification for contracts; a test compares them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "oracles/bounds/contract/sum_schedule.h"
#include "oracles/models/mma_plan.h"
#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

class GemmTileModel {
 public:
  static constexpr std::int64_t kRows = 16, kColumns = 8;
  using Accumulators = float[kRows][kColumns];

  // The case must outlive it, and have a model. None where the unit has no instruction of the
  // schedule's shape. A model of another schedule of the case, `like`, has the operands' codes.
  static std::optional<GemmTileModel> make(const PreparedGemm& gemm, const SumSchedule& schedule,
                                           const GemmTileModel* like = nullptr);

  // The accumulators before the epilogue, of the outputs from `at` on; those outside of the matrix
  // are 0. Elements that are not finite count as 0.
  void run(const GemmPlace& at, Accumulators& sums) const;

  // The output code of one of them.
  std::uint64_t code(const GemmPlace& at, float accumulator) const;

 private:
  struct Chunk {
    std::int64_t begin, count;  // products of one instruction
  };

  struct Run {  // one accumulator, from zero
    std::vector<Chunk> chunks;
    std::int64_t interval;  // of a scaled promotion
  };

  GemmTileModel(const PreparedGemm& gemm, const SumSchedule& schedule);

  bool plan_unit();
  void plan_runs();
  Run run_over(const std::vector<Chunk>& chunks, std::size_t first, std::size_t last) const;
  void encode_operands(const GemmTileModel* like);
  void chain(const GemmPlace& at, const Run& run, Accumulators& sums) const;
  void chain_mma(const GemmPlace& at, const Run& run, Accumulators& sums) const;
  std::uint32_t word(const std::vector<std::uint8_t>& codes, std::int64_t vector,
                     const Chunk& chunk, std::int64_t offset) const;
  std::uint32_t scales(const std::vector<std::uint8_t>& codes, std::int64_t vectors,
                       std::int64_t vector, const Chunk& chunk) const;

  const PreparedGemm* gemm_;
  SumSchedule schedule_;
  std::optional<MmaPlan> plan_;  // none: no tensor core
  std::int64_t step_ = 1;        // k of one instruction
  int elements_ = 0;             // of an operand, in a register
  int bytes_ = 0;                // of an operand's code
  std::vector<std::vector<Run>> groups_;

  struct Codes {
    std::vector<std::uint8_t> a, b;                // vector after vector along k
    std::vector<std::uint8_t> scales_a, scales_b;  // of block scales, block after block
  };

  std::shared_ptr<const Codes> codes_;  // none: no tensor core
};

}  // namespace plumbline
