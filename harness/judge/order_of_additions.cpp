// SPDX-License-Identifier: MIT
#include "harness/judge/order_of_additions.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "oracles/reference/gemm/compare_bits.h"

namespace plumbline {
namespace {

// All outputs, compared with those of an order. An order that does not give them shows in a part of
// them, and the rest is not worth the time: a sum is added up as many times as there are orders
// that fit so far.
BitsComparison compare_all(const PreparedGemm& gemm, const GemmTileModel& model, const Tensor& got,
                           int threads) {
  constexpr std::int64_t kTile = GemmTileModel::kRows * GemmTileModel::kColumns;
  const std::int64_t outputs = gemm.problem.outputs();
  for (const std::int64_t share : {64, 8}) {
    const std::int64_t tiles = outputs / kTile / share + 1;
    const BitsComparison found =
        compare_bits_with(gemm, model, GemmTensorReader(got), tiles, 1, threads);
    if (found.different > 0) return found;
  }
  return compare_bits_with(gemm, model, GemmTensorReader(got), outputs, 1, threads);
}

// The order of additions of one output, where its contract leaves that open and a known order gives
// all of its bits. The verdict then says so.
std::string name_schedule(const PreparedGemm& gemm, const Tensor& got, OutputVerdict& verdict,
                          int threads) {
  constexpr std::size_t kMost = 4;
  if (!gemm.contract.order_is_open() || gemm.contract.unit == Unit::int32 ||
      got.layout.shape.size() != 3)
    return "";
  const std::vector<FittingSchedule> fitting = fitting_schedules(
      gemm, got, candidate_schedules(gemm.contract, gemm.problem.k), kMost, threads);
  for (const auto& [schedule, model] : fitting) {
    const BitsComparison all = compare_all(gemm, model, got, threads);
    if (all.different > 0) continue;
    verdict.modeled = all.compared;
    return schedule.words() + (fitting.size() > 1 ? "; other orders give the same bits"
                                                  : "; no other order known here does");
  }
  return "";
}

}  // namespace

std::string name_orders(Examined& examined, int threads) {
  std::string text;
  CaseRecord& record = examined.record;
  for (OutputRecord& output : record.outputs) {
    if (output.verdict.failed > 0) continue;
    const int number = examined.oracle->output_number(output.name);
    const std::vector<const PreparedGemm*> gemms = examined.oracle->gemms(number);
    if (gemms.size() != 1 || !gemms[0]->contract.order_is_open()) continue;
    const std::string words =
        name_schedule(*gemms[0], *examined.tensors.find(output.name), output.verdict, threads);
    if (!words.empty()) record.claims.try_emplace(Claim::bits, Verdict::pass);
    if (!text.empty()) text += "; ";
    text += words.empty()
                ? fmt::format(
                      "no order of additions known here gives the bits of {}: each output "
                      "was held against its bound alone",
                      output.name)
                : fmt::format("{} is bit for bit what this order of additions gives: {}",
                              output.name, words);
  }
  return text;
}

}  // namespace plumbline
