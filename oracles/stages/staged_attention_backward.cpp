// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_attention_backward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/reference/attention_backward/condition.h"
#include "oracles/stages/staged_steps.h"

namespace plumbline {
namespace {

using Step = GradientStep;

enum class Fault : std::uint8_t {
  none,
  bf16_scores,
  bf16_lse,
  p_cut,
  ds_cut,
  bf16_sums,
  output_cut,
};

struct KnownFault {
  Fault fault;
  Step step;
  const char* words;
};

// clang-format off
constexpr std::array kFaults = {
    KnownFault{Fault::bf16_scores, Step::scores,        "rounded to bf16 before the softmax"},
    KnownFault{Fault::bf16_lse,    Step::probabilities, "the LSE is rounded to bf16"},
    KnownFault{Fault::p_cut,       Step::p_rounding,    "P is rounded toward zero instead of to nearest"},
    KnownFault{Fault::ds_cut,      Step::ds_rounding,   "dS is rounded toward zero instead of to nearest"},
    KnownFault{Fault::bf16_sums,   Step::accumulate,    "accumulators rounded to bf16 after every instruction"},
    KnownFault{Fault::output_cut,  Step::output,        "rounded toward zero instead of to nearest"},
};

// clang-format on

// One query head's operands, as stored or as they were.
struct Operands {
  RealOperands q, k, v, d_o;  // by row
  RealOperands q_columns, k_columns, d_o_columns;
  std::vector<double> o, lse;
  std::array<std::vector<double>, 2> scores, dp;  // exact, low: [queries, keys]
};

struct StagedGroup {
  GradientGroup group;                            // shapes: as stored
  std::array<std::vector<Operands>, 2> operands;  // stored, source: by head
};

// By column, [columns, rows].
RealOperands transposed(const std::vector<double>& values, std::int64_t width, const Format& as) {
  RealOperands out;
  const auto columns = static_cast<std::size_t>(width);
  for (std::size_t x = 0; x < columns; ++x) {
    for (std::size_t at = x; at < values.size(); at += columns) out.append(values[at], as);
  }
  return out;
}

RealOperands rows(const std::vector<double>& values, const Format& as) {
  RealOperands out;
  for (const double value : values) out.append(value, as);
  return out;
}

class StagedAttentionBackward final : public StagedComputation {
 public:
  StagedAttentionBackward(const AttentionBackwardProblem& problem,
                          const AttentionBackwardContract& contract, int sm,
                          const AttentionSources& sources, const Tensor& source_d_o)
      : problem_(problem),
        contract_(contract),
        qk_(contract.sum(), sm, format_of(*problem.attention.q), format_of(*problem.attention.k)),
        dov_(contract.sum(), sm, format_of(*problem.d_o), format_of(*problem.attention.v)),
        pdo_(contract.sum(), sm, contract.p, format_of(*problem.d_o)),
        dsq_(contract.sum(), sm, contract.ds, format_of(*problem.attention.q)),
        dsk_(contract.sum_of_dq(problem.attention.k->layout.shape[2]), sm, contract.ds,
             format_of(*problem.attention.k)) {
    for (const KnownFault& known : kFaults) {
      if (known.step == Step::output && problem.attention.output == FormatId::f32) continue;
      faults_.push_back({static_cast<int>(known.step), known.words});
    }
    AttentionBackwardProblem before = problem;
    before.attention.q = sources.q;
    before.attention.k = sources.k;
    before.attention.v = sources.v;
    before.d_o = &source_d_o;
    for (const std::vector<HeadPlace>& places : gradient_groups(problem)) {
      StagedGroup& group = *groups_.emplace_back(std::make_unique<StagedGroup>());
      group.group = gradient_group(problem, places);
      const GradientGroup source = gradient_group(before, places);
      for (std::size_t h = 0; h < places.size(); ++h) {
        group.operands[0].push_back(operands(group.group.heads[h], true, sm));
        group.operands[1].push_back(operands(source.heads[h], false, sm));
      }
    }
  }

  const std::vector<Stage>& stages() const override {
    static const std::vector<Stage> stages = {{"quantize inputs", StageKind::quantization},
                                              {"scores", StageKind::arithmetic},
                                              {"P recomputed", StageKind::arithmetic},
                                              {"dP", StageKind::arithmetic},
                                              {"delta", StageKind::arithmetic},
                                              {"dS", StageKind::arithmetic},
                                              {"P rounding", StageKind::mandated},
                                              {"dS rounding", StageKind::mandated},
                                              {"accumulate", StageKind::arithmetic},
                                              {"output", StageKind::output}};
    return stages;
  }

  std::vector<std::string> outputs() const override { return {"dq", "dk", "dv"}; }

  const std::vector<StageFault>& faults() const override { return faults_; }

  // Of the gradients as functions of Q, K, V and dO.
  std::vector<double> condition(int output) const override {
    StagedValues change = empty_values();
    for (const std::unique_ptr<StagedGroup>& group : groups_) add_changes(*group, change);
    std::vector<double> condition = std::move(change[static_cast<std::size_t>(output)]);
    const std::vector<double> exact = evaluate(0, -1)[static_cast<std::size_t>(output)];
    for (std::size_t n = 0; n < exact.size(); ++n)
      condition[n] = exact[n] == 0 ? HUGE_VAL : condition[n] / std::fabs(exact[n]);
    return condition;
  }

  StagedValues evaluate(StageSet low, int fault) const override {
    const Fault kind = fault < 0 ? Fault::none : kFaults[static_cast<std::size_t>(fault)].fault;
    StagedValues out = empty_values();
    for (const std::unique_ptr<StagedGroup>& group : groups_) add_group(*group, low, kind, out);
    return out;
  }

 private:
  static FormatId format_of(const Tensor& tensor) { return tensor.layout.format; }

  static bool is_low(StageSet low, Step step) { return (low >> static_cast<int>(step) & 1) != 0; }

  StagedValues empty_values() const {
    const AttentionProblem& attention = problem_.attention;
    const auto count = [](const Tensor& tensor) {
      return static_cast<std::size_t>(tensor.layout.count());
    };
    return {std::vector<double>(count(*attention.q)), std::vector<double>(count(*attention.k)),
            std::vector<double>(count(*attention.v))};
  }

  Operands operands(const GradientHead& gradient, bool stored, int sm) const {
    const AttentionProblem& attention = problem_.attention;
    const AttentionHead& head = gradient.head;
    const Format &q = format(format_of(*attention.q)), &k = format(format_of(*attention.k)),
                 &v = format(format_of(*attention.v)), &d_o = format(format_of(*problem_.d_o));
    // Sources in units of their scales, as elements are.
    const GradientScales scales = stored ? GradientScales() : gradient.scales;
    const std::vector<double> q_values = staged_over(head.q, scales.q),
                              k_values = staged_over(head.k, scales.k),
                              v_values = staged_over(head.v, scales.v),
                              do_values = staged_over(gradient.d_o, scales.d_o);
    Operands out;
    out.q = rows(q_values, q);
    out.k = rows(k_values, k);
    out.v = rows(v_values, v);
    out.d_o = rows(do_values, d_o);
    out.q_columns = transposed(q_values, head.d, q);
    out.k_columns = transposed(k_values, head.d, k);
    out.d_o_columns = transposed(do_values, head.dv, d_o);
    for (const bool low : {false, true}) {
      out.scores[low ? 1 : 0] = products(head, qk_, out.q, out.k, head.d, low);
      out.dp[low ? 1 : 0] = products(head, dov_, out.d_o, out.v, head.dv, low);
    }
    if (stored) {
      out.o = {gradient.o.begin(), gradient.o.end()};
      out.lse = {gradient.lse.begin(), gradient.lse.end()};
      return out;
    }
    // What the forward pass would have left without rounding.
    AttentionContract forward;
    forward.unit = contract_.unit;
    forward.instruction = contract_.instruction;
    forward.p = contract_.p;
    const StagedHead exact(head, forward, sm, q.id, k.id, v.id, out.q.values, out.k.values,
                           out.v.values);
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const StagedHead::Row row = exact.row(i, 0,
                                            std::span(out.scores[0])
                                                .subspan(static_cast<std::size_t>(i * head.keys),
                                                         static_cast<std::size_t>(head.keys)));
      out.o.insert(out.o.end(), row.o.begin(), row.o.end());
      out.lse.push_back(row.lse);
    }
    return out;
  }

  // a_i . b_j for all keys that a query sees.
  static std::vector<double> products(const AttentionHead& head, const StagedSum& sum,
                                      const RealOperands& a, const RealOperands& b,
                                      std::int64_t width, bool low) {
    const auto columns = static_cast<std::size_t>(width);
    std::vector<double> out(static_cast<std::size_t>(head.queries * head.keys));
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const KeyRange visible = head.visible(i);
      for (std::int64_t j = std::max<std::int64_t>(visible.first, 0); j < visible.end; ++j) {
        out[static_cast<std::size_t>(i * head.keys + j)] =
            sum.chain(RealSpan(a).sub(static_cast<std::size_t>(i) * columns, columns),
                      RealSpan(b).sub(static_cast<std::size_t>(j) * columns, columns), 0,
                      {.accumulate = low});
      }
    }
    return out;
  }

  // P and dS of a head as they meet the last products, [queries, keys].
  struct HeadWeights {
    std::vector<double> p, ds;
  };

  double delta(const AttentionHead& head, const GradientScales& scales, const Operands& in,
               std::int64_t i, bool low) const {
    double lanes[32] = {}, sum = 0;
    for (std::int64_t x = 0; x < head.dv; ++x) {
      const auto at = static_cast<std::size_t>(i * head.dv + x);
      double& lane = lanes[x % 32];
      lane = f32_if(low, lane + f32_if(low, in.d_o.values[at] * in.o[at]));
    }
    for (const double lane : lanes) sum = f32_if(low, sum + lane);
    return f32_if(low, sum * static_cast<double>(scales.d_o));
  }

  HeadWeights weights(const GradientHead& gradient, const Operands& in, StageSet low,
                      Fault fault) const {
    const AttentionHead& head = gradient.head;
    const GradientScales& scales = gradient.scales;
    const auto dp_factor = static_cast<double>(scales.dp()),
               ds_factor = static_cast<double>(scales.ds);
    const bool p_low = is_low(low, Step::probabilities), ds_low = is_low(low, Step::ds),
               p_rounded = is_low(low, Step::p_rounding),
               ds_rounded = is_low(low, Step::ds_rounding), scores_low = is_low(low, Step::scores);
    const auto scale = static_cast<double>(head.scale);
    const double c = staged_base2_factor(head, scale, p_low);
    const std::vector<double>&scores = in.scores[scores_low ? 1 : 0],
          &dps = in.dp[is_low(low, Step::dp) ? 1 : 0];
    const bool dp_low = is_low(low, Step::dp);
    const auto rounding = [fault](Fault cut, FormatId weights) {
      return EncodeOptions{
          .rounding = fault == cut ? Rounding::toward_zero : Rounding::nearest_even,
          .overflow = AttentionBackwardContract::saturates(weights) ? Overflow::saturate
                                                                    : Overflow::to_special};
    };
    HeadWeights out;
    out.p.assign(scores.size(), 0);
    out.ds.assign(scores.size(), 0);
    for (std::int64_t i = 0; i < head.queries; ++i) {
      double lse = in.lse[static_cast<std::size_t>(i)];
      if (!std::isfinite(lse)) continue;
      if (p_low && fault == Fault::bf16_lse) lse = staged_rounding(FormatId::bf16, lse);
      const double row_delta = delta(head, scales, in, i, is_low(low, Step::delta));
      const double base = f32_if(p_low, lse * f32_if(p_low, std::numbers::log2e));
      const KeyRange visible = head.visible(i);
      for (std::int64_t j = std::max<std::int64_t>(visible.first, 0); j < visible.end; ++j) {
        const auto at = static_cast<std::size_t>(i * head.keys + j);
        double score = scores[at];
        if (scores_low && fault == Fault::bf16_scores)
          score = staged_rounding(FormatId::bf16, score);
        const StagedLogit logit = staged_logit(head, i, j, score, scale, p_low);
        double argument = logit.z * c - base;
        if (p_low && contract_.natural_difference) {
          const double natural = head.natural_units() ? logit.z : f32_if(true, logit.z * scale);
          argument = f32_if(true, f32_if(true, natural - lse) * f32_if(true, std::numbers::log2e));
        } else if (p_low) {
          argument = static_cast<double>(f32_fma(logit.z, c, -base));
        }
        const double p = staged_exponential(p_low, argument);
        const double dp = f32_if(dp_low, dps[at] * dp_factor);
        double ds = f32_if(ds_low, p * f32_if(ds_low, dp - row_delta));
        if (head.softcap != 0) {
          const double square = f32_if(ds_low, logit.tangent * logit.tangent);
          ds = f32_if(ds_low, ds * f32_if(ds_low, 1 - square));
        }
        ds = f32_if(ds_low, ds * ds_factor);
        const double shifted = std::ldexp(p, contract_.p_shift);
        out.p[at] = p_rounded
                        ? staged_rounding(contract_.p, shifted, rounding(Fault::p_cut, contract_.p))
                        : shifted;
        out.ds[at] = ds_rounded
                         ? staged_rounding(contract_.ds, ds, rounding(Fault::ds_cut, contract_.ds))
                         : ds;
      }
    }
    return out;
  }

  void add_changes(const StagedGroup& group, StagedValues& out) const {
    const std::vector<Operands>& operands = group.operands[1];
    for (std::size_t h = 0; h < operands.size(); ++h) {
      const GradientHead& gradient = group.group.heads[h];
      const HeadPlace& place = group.group.places[h];
      const Operands& in = operands[h];
      const HeadWeights exact = weights(gradient, in, 0, Fault::none);
      const GradientChanges change =
          gradient_changes(gradient, {in.q.values, in.k.values, in.v.values, in.d_o.values},
                           exact.p, std::ldexp(1.0, -contract_.p_shift));
      const Factors factor = factors(gradient.scales);
      const auto keys = static_cast<std::size_t>(gradient.head.keys),
                 queries = static_cast<std::size_t>(gradient.head.queries),
                 d = static_cast<std::size_t>(gradient.head.d),
                 dv = static_cast<std::size_t>(gradient.head.dv);
      for (std::size_t i = 0; i < queries; ++i) {
        const std::size_t query = query_row(place, i);
        for (std::size_t j = 0; j < keys; ++j) {
          const std::size_t key = key_row(place, j);
          const double ds = change.ds[i * keys + j], p = change.p[i * keys + j];
          for (std::size_t x = 0; x < d; ++x) {
            out[0][query * d + x] += factor.dq * ds * std::fabs(in.k.values[j * d + x]);
            out[1][key * d + x] += factor.dk * ds * std::fabs(in.q.values[i * d + x]);
          }
          for (std::size_t x = 0; x < dv; ++x)
            out[2][key * dv + x] += factor.dv * p * std::fabs(in.d_o.values[i * dv + x]);
        }
      }
    }
  }

  // What the sums over dS and P are multiplied by.
  struct Factors {
    double dq, dk, dv;
  };

  Factors factors(const GradientScales& scales) const {
    return {static_cast<double>(scales.dq()), static_cast<double>(scales.dk()),
            std::ldexp(static_cast<double>(scales.d_o), -contract_.p_shift)};
  }

  // Rows of dQ, and of dK and dV.
  std::size_t query_row(const HeadPlace& place, std::size_t i) const {
    return row_of(*problem_.attention.q, place, place.head,
                  place.first_query + static_cast<std::int64_t>(i));
  }

  std::size_t key_row(const HeadPlace& place, std::size_t j) const {
    return row_of(*problem_.attention.k, place, place.kv_head,
                  place.first_key + static_cast<std::int64_t>(j));
  }

  void add_group(const StagedGroup& group, StageSet low, Fault fault, StagedValues& out) const {
    const bool sums = is_low(low, Step::accumulate),
               stored = is_low(low, Step::output) && problem_.attention.output != FormatId::f32;
    const StagedSum::Low low_sums{
        sums, sums, fault == Fault::bf16_sums ? SumFault::bf16_accumulator : SumFault::none};
    const EncodeOptions conversion{.rounding = fault == Fault::output_cut ? Rounding::toward_zero
                                                                          : Rounding::nearest_even};
    const auto store = [&](double& to, double value) {
      to = stored ? staged_rounding(problem_.attention.output, value, conversion) : value;
    };
    const std::vector<Operands>& operands = group.operands[is_low(low, Step::quantize) ? 0 : 1];
    const HeadPlace& first = group.group.places.front();
    const AttentionHead& any = group.group.heads.front().head;
    const auto keys = static_cast<std::size_t>(any.keys), d = static_cast<std::size_t>(any.d),
               dv = static_cast<std::size_t>(any.dv);
    const Factors factor = factors(group.group.heads.front().scales);
    std::vector<double> dk(keys * d), dv_sum(keys * dv);
    for (std::size_t h = 0; h < operands.size(); ++h) {
      const AttentionHead& head = group.group.heads[h].head;
      const Operands& in = operands[h];
      const HeadWeights weight = weights(group.group.heads[h], in, low, fault);
      const auto queries = static_cast<std::size_t>(head.queries);
      for (std::size_t j = 0; j < keys; ++j) {
        RealOperands p, ds;
        for (std::size_t i = 0; i < queries; ++i) {
          p.append(weight.p[i * keys + j], format(contract_.p));
          ds.append(weight.ds[i * keys + j], format(contract_.ds));
        }
        for (std::size_t x = 0; x < d; ++x) {
          double& sum = dk[j * d + x];
          sum = dsq_.chain(ds, RealSpan(in.q_columns).sub(x * queries, queries), sum, low_sums);
        }
        for (std::size_t x = 0; x < dv; ++x) {
          double& sum = dv_sum[j * dv + x];
          sum = pdo_.chain(p, RealSpan(in.d_o_columns).sub(x * queries, queries), sum, low_sums);
        }
      }
      for (std::size_t i = 0; i < queries; ++i) {
        RealOperands ds;
        for (std::size_t j = 0; j < keys; ++j)
          ds.append(weight.ds[i * keys + j], format(contract_.ds));
        const std::size_t row = query_row(group.group.places[h], i);
        for (std::size_t x = 0; x < d; ++x) {
          const double sum = dsk_(ds, RealSpan(in.k_columns).sub(x * keys, keys), {}, low_sums);
          store(out[0][row * d + x], f32_if(sums, factor.dq * sum));
        }
      }
    }
    for (std::size_t j = 0; j < keys; ++j) {
      const std::size_t row = key_row(first, j);
      for (std::size_t x = 0; x < d; ++x)
        store(out[1][row * d + x], f32_if(sums, factor.dk * dk[j * d + x]));
      for (std::size_t x = 0; x < dv; ++x)
        store(out[2][row * dv + x], f32_if(sums, factor.dv * dv_sum[j * dv + x]));
    }
  }

  // Of [batch, heads, length].
  static std::size_t row_of(const Tensor& tensor, const HeadPlace& place, std::int64_t head,
                            std::int64_t position) {
    const std::vector<std::int64_t>& shape = tensor.layout.shape;
    return static_cast<std::size_t>((place.batch * shape[1] + head) * shape[2] + position);
  }

  AttentionBackwardProblem problem_;
  AttentionBackwardContract contract_;
  StagedSum qk_, dov_, pdo_, dsq_, dsk_;
  std::vector<std::unique_ptr<StagedGroup>> groups_;
  std::vector<StageFault> faults_;
};

}  // namespace

std::unique_ptr<StagedComputation> staged_attention_backward(
    const AttentionBackwardProblem& problem, const AttentionBackwardContract& contract, int sm,
    const AttentionSources& sources, const Tensor& source_d_o) {
  return std::make_unique<StagedAttentionBackward>(problem, contract, sm, sources, source_d_o);
}

}  // namespace plumbline
