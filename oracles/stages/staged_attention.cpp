// SPDX-License-Identifier: MIT
// All heads of a case, their rows where the outputs have them.
#include "oracles/stages/staged_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/stages/staged_steps.h"

namespace plumbline {
namespace {

using Step = AttentionStep;

struct KnownFault {
  AttentionFault fault;
  Step step;
  const char* words;
};

// clang-format off
constexpr std::array kFaults = {
    KnownFault{AttentionFault::bf16_scores,            Step::scores,        "rounded to bf16 before the softmax"},
    KnownFault{AttentionFault::bf16_scale,             Step::argument,      "the scale is rounded to bf16"},
    KnownFault{AttentionFault::probabilities_unlifted, Step::probabilities, "P is rounded without its lift, the power of two before the rounding"},
    KnownFault{AttentionFault::probabilities_cut,      Step::probabilities, "P is rounded toward zero instead of to nearest"},
    KnownFault{AttentionFault::other_row_sum,          Step::row_sum,       "adds rounded probabilities where the contract adds unrounded ones, or the other way round"},
    KnownFault{AttentionFault::row_sum_not_rescaled,   Step::row_sum,       "keeps the reference of earlier tiles"},
    KnownFault{AttentionFault::bf16_values,            Step::values,        "O is kept in bf16 between tiles"},
    KnownFault{AttentionFault::values_not_rescaled,    Step::values,        "O keeps the reference of earlier tiles"},
    KnownFault{AttentionFault::bf16_inverse,           Step::normalize,     "1 / l is rounded to bf16"},
    KnownFault{AttentionFault::output_cut,             Step::output,        "rounded toward zero instead of to nearest"},
};

// clang-format on

// One head with its operands as stored and as they were.
struct StagedPlace {
  HeadPlace place;
  AttentionHead shape;
  std::vector<StagedHead> operands;         // stored, source
  std::vector<std::vector<double>> scores;  // of each: exact, low
};

class StagedAttention final : public StagedComputation {
 public:
  StagedAttention(const AttentionProblem& problem, const AttentionContract& contract, int sm,
                  const AttentionSources& sources)
      : problem_(problem), contract_(contract) {
    for (const KnownFault& known : kFaults) {
      if (known.fault == AttentionFault::probabilities_unlifted && contract.p_shift == 0) continue;
      if (known.step == Step::output && problem.output == FormatId::f32) continue;
      faults_.push_back({static_cast<int>(known.step), known.words});
      fault_kinds_.push_back(known.fault);
    }
    AttentionProblem before = problem;
    before.q = sources.q;
    before.k = sources.k;
    before.v = sources.v;
    before.q_scale = before.k_scale = before.v_scale = nullptr;  // they are numbers as they are
    before.scale_block = 0;
    const FormatId q = problem.q->layout.format, k = problem.k->layout.format,
                   v = problem.v->layout.format;
    for (const HeadPlace& place : head_places(problem)) {
      places_.push_back(std::make_unique<StagedPlace>());
      StagedPlace& head = *places_.back();
      head.place = place;
      head.shape = attention_head(problem, place);
      const AttentionHead source = attention_head(before, place);
      const HeadScales scales = head_scales(problem, place);
      head.operands.emplace_back(head.shape, contract, sm, q, k, v, staged_over(head.shape.q, 1),
                                 staged_over(head.shape.k, 1), staged_over(head.shape.v, 1));
      head.operands.emplace_back(head.shape, contract, sm, q, k, v,
                                 staged_over(source.q, scales.q, head.shape.q_scales),
                                 staged_over(source.k, scales.k, head.shape.k_scales),
                                 staged_over(source.v, scales.v, head.shape.v_scales));
      for (const StagedHead& operands : head.operands) {
        for (const bool low : {false, true}) head.scores.push_back(operands.scores(low));
      }
    }
  }

  const std::vector<Stage>& stages() const override {
    static const std::vector<Stage> stages = {{"quantize inputs", StageKind::quantization},
                                              {"scores", StageKind::arithmetic},
                                              {"softmax argument", StageKind::arithmetic},
                                              {"exponential", StageKind::arithmetic},
                                              {"P rounding", StageKind::mandated},
                                              {"row sum", StageKind::arithmetic},
                                              {"values", StageKind::arithmetic},
                                              {"normalize", StageKind::arithmetic},
                                              {"output", StageKind::output}};
    return stages;
  }

  std::vector<std::string> outputs() const override {
    if (!has_lse()) return {"o"};
    return {"o", "lse"};
  }

  const std::vector<StageFault>& faults() const override { return faults_; }

  StagedValues evaluate(StageSet low, int fault) const override {
    const AttentionFault kind =
        fault < 0 ? AttentionFault::none : fault_kinds_[static_cast<std::size_t>(fault)];
    // What is stored as f32 is the last f32 step as it is, the LSE too.
    const bool stored = is_low(low, Step::output) && problem_.output != FormatId::f32;
    EncodeOptions conversion;
    if (kind == AttentionFault::output_cut) conversion.rounding = Rounding::toward_zero;
    StagedValues values = empty_values();
    for_each_row([&](const StagedPlace& head, std::int64_t i, std::size_t row) {
      const StagedHead::Row result = row_of(head, i, low, kind);
      for (std::size_t x = 0; x < result.o.size(); ++x) {
        values[0][row * result.o.size() + x] =
            stored ? staged_rounding(problem_.output, result.o[x], conversion) : result.o[x];
      }
      if (has_lse()) values[1][row] = result.lse;
    });
    return values;
  }

  std::vector<double> condition(int output) const override {
    StagedValues values = empty_values();
    for_each_row([&](const StagedPlace& head, std::int64_t i, std::size_t row) {
      const StagedHead::Row exact = row_of(head, i, 0, AttentionFault::none);
      const StagedHead::Sensitivity change = head.operands[1].sensitivity(i, exact);
      for (std::size_t x = 0; x < exact.o.size(); ++x)
        values[0][row * exact.o.size() + x] = std::fabs(change.o[x] / exact.o[x]);
      if (has_lse()) values[1][row] = std::fabs(change.lse / exact.lse);
    });
    return values[static_cast<std::size_t>(output)];
  }

 private:
  static bool is_low(StageSet low, Step step) { return (low >> static_cast<int>(step) & 1) != 0; }

  bool has_lse() const { return problem_.lse != LseKind::none; }

  std::int64_t length() const { return problem_.q->layout.shape[2]; }

  // Rows after the last sequence stay so.
  StagedValues empty_values() const {
    const auto rows = static_cast<std::size_t>(problem_.batch() * problem_.heads() * length());
    const double masked = contract_.masked_lse_is_negative ? -HUGE_VAL : HUGE_VAL;
    StagedValues values = {std::vector<double>(rows * static_cast<std::size_t>(problem_.dv()))};
    if (has_lse()) values.emplace_back(rows, masked);
    return values;
  }

  template <typename Use>
  void for_each_row(const Use& use) const {
    for (const std::unique_ptr<StagedPlace>& head : places_) {
      const HeadPlace& place = head->place;
      for (std::int64_t i = 0; i < place.queries; ++i) {
        const std::int64_t row =
            (place.batch * problem_.heads() + place.head) * length() + place.first_query + i;
        use(*head, i, static_cast<std::size_t>(row));
      }
    }
  }

  static StagedHead::Row row_of(const StagedPlace& head, std::int64_t i, StageSet low,
                                AttentionFault fault) {
    const std::size_t source = is_low(low, Step::quantize) ? 0 : 1;
    const std::vector<double>& scores =
        head.scores[2 * source + (is_low(low, Step::scores) ? 1 : 0)];
    const auto keys = static_cast<std::size_t>(head.shape.keys);
    return head.operands[source].row(
        i, low, std::span(scores).subspan(static_cast<std::size_t>(i) * keys, keys), fault);
  }

  AttentionProblem problem_;
  AttentionContract contract_;
  std::vector<std::unique_ptr<StagedPlace>> places_;
  std::vector<StageFault> faults_;
  std::vector<AttentionFault> fault_kinds_;
};

}  // namespace

std::unique_ptr<StagedComputation> staged_attention(const AttentionProblem& problem,
                                                    const AttentionContract& contract, int sm,
                                                    const AttentionSources& sources) {
  return std::make_unique<StagedAttention>(problem, contract, sm, sources);
}

}  // namespace plumbline
