// SPDX-License-Identifier: MIT
// A kernel that keeps the contract of oracles/bounds/contract/attention.h, one scalar operation
// after the other, on the specification of the tensor cores (oracles/models/node.h). It shares no
// code with the survey or the bounds. Where the contract leaves room (errors of ex2 and lg2), it
// goes to the limits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/bounds/contract/rows.h"
#include "oracles/formats/decode.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline::testing {

// How the special functions use the room they have.
enum class Errors { none, random, high, low };

// Things a broken kernel does; all off for one that keeps its contract.
struct AttentionFaultSwitches {
  std::int64_t dropped_key = -1;    // its P is 0
  std::int64_t shifted_value = -1;  // this key takes the next key's row of V
  bool scale_in_bf16 = false, scores_in_bf16 = false;
  std::int64_t louder_tile = -1;   // its products times 1 + 2^-7
  bool normalization_off = false;  // by 1 + 2^-9
  bool no_rescale_o = false, no_rescale_l = false;
  bool takes_kept_maximum = false;  // the new one, where the threshold has nothing rescaled
  bool probabilities_unrounded = false;
  bool unscaled_parts = false;
  bool scaled_with_o = false;  // a block of V's scale multiplies what O had before, too
};

// Sums that are not divided, relative to m.
struct ModelPart {
  float m, l;
  std::vector<float> o;
};

struct ModelRow {
  std::vector<float> o;
  float lse = 0;
};

class AttentionModel {
 public:
  AttentionModel(const AttentionHead& head, const AttentionContract& contract, int sm, FormatId q,
                 FormatId v, Errors errors = Errors::random, std::uint64_t seed = 1,
                 AttentionFaultSwitches faults = {})
      : head_(head),
        contract_(contract),
        q_(format(q)),
        v_(format(v)),
        errors_(errors),
        random_(seed),
        faults_(faults) {
    if (contract.unit == Unit::fma_f32) return;
    if (!contract.integer_scores)
      scores_ = *dot_model(sm, contract.instruction, q, q, FormatId::f32);
    values_ = *dot_model(sm, contract.instruction, contract.p, v, FormatId::f32);
    q_codes_ = decoded(q_, head.q);
    k_codes_ = decoded(q_, head.k);
    // By column.
    for (std::int64_t x = 0; x < head.dv; ++x) {
      for (std::int64_t j = 0; j < head.keys; ++j)
        v_codes_.push_back(
            decode(v_, encode(v_, double{head.v[static_cast<std::size_t>(j * head.dv + x)]})));
    }
  }

  ModelRow row(std::int64_t i) {
    const KeyRange visible = head_.visible(i);
    const auto dv = static_cast<std::size_t>(head_.dv);
    const std::int64_t tile = contract_.tile;
    const auto lanes = static_cast<std::size_t>(contract_.row_sum_lanes);
    const float infinity = std::numeric_limits<float>::infinity();
    float scale = head_.scale;
    if (faults_.scale_in_bf16) scale = to_bf16(scale);
    const float unit = cap_in_c() ? head_.softcap : head_.natural_units() ? 1.0f : scale;
    const float c = contract_.log2_e == Log2E::f32
                        ? unit * 1.4426950408889634f
                        : static_cast<float>(double{unit} * 1.4426950408889634);
    std::vector<float> sums(lanes, 0), o(dv, 0);
    float m = -infinity;
    if (contract_.begins_with_sink() && head_.has_sink) m = head_.sink;
    if (contract_.sink_step == SinkStep::first && m != -infinity) sums[0] = 1;
    std::vector<ModelPart> parts;
    const auto part_done = [&] {
      ModelPart part{m, 0, o};
      for (const float sum : sums) part.l += sum;
      parts.push_back(part);
      std::fill(sums.begin(), sums.end(), 0.0f);
      std::fill(o.begin(), o.end(), 0.0f);
      m = -infinity;
    };
    std::int64_t part_of_before = 0;
    for (const std::int64_t begin : tile_starts()) {
      const std::int64_t part = begin / contract_.part_keys(head_.keys);
      if (contract_.parts > 1 && part != part_of_before) part_done();
      part_of_before = part;
      const std::int64_t end = std::min(head_.keys, begin + tile);
      std::vector<float> z(static_cast<std::size_t>(end - begin), -infinity);
      float here = m;
      for (std::int64_t j = std::max(begin, visible.first); j < std::min(end, visible.end); ++j) {
        z[static_cast<std::size_t>(j - begin)] = logit(i, j, scale_of(i, j, scale));
        here = std::max(here, z[static_cast<std::size_t>(j - begin)]);
      }
      if (here == -infinity || (contract_.base_2() && here * c == -infinity)) continue;
      const float largest = here;
      here = reference(m, here, c);
      const float a = m == -infinity ? 0.0f : factor(m, here, c);
      m = faults_.takes_kept_maximum ? largest : here;
      std::vector<float> tile_sums(lanes, 0), p(z.size(), 0);
      for (std::size_t j = 0; j < z.size(); ++j) {
        const std::int64_t key = begin + static_cast<std::int64_t>(j);
        if (key < visible.first || key >= visible.end) continue;
        p[j] = exponential(argument(z[j], m, c));
        if (key == faults_.dropped_key) p[j] = 0;
        const float summed = contract_.row_sum == RowSum::rounded ? rounded(p[j]) : p[j];
        tile_sums[(j / 2) % lanes] += summed;
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const float before = faults_.no_rescale_l ? sums[lane] : flushed(sums[lane] * a);
        sums[lane] = flushed(before + tile_sums[lane]);
        if (contract_.row_sum_start == RowSumStart::zero) continue;
        sums[lane] = before;
        for (std::size_t j = 0; j < p.size(); ++j) {
          if ((j / 2) % lanes != lane) continue;
          sums[lane] =
              flushed(sums[lane] + (contract_.row_sum == RowSum::rounded ? rounded(p[j]) : p[j]));
        }
      }
      for (std::size_t x = 0; x < dv; ++x) {
        const float start = faults_.no_rescale_o ? o[x] : flushed(o[x] * a);
        o[x] = add_values(start, p, begin, x);
      }
    }
    if (contract_.parts > 1) {
      part_done();
      const float sink = head_.has_sink ? head_.sink : -infinity;
      m = sink;
      for (const ModelPart& part : parts) m = std::max(m, part.m);
      for (const ModelPart& part : parts) {
        if (part.m == -infinity) continue;
        const float a = faults_.unscaled_parts ? 1.0f : factor(part.m, m, c);
        sums[0] += part.l * a;
        for (std::size_t x = 0; x < dv; ++x) o[x] += part.o[x] * a;
      }
      if (sink != -infinity) sums[0] += exponential(argument(sink, m, c));
    } else if (contract_.sink_step != SinkStep::first && head_.has_sink &&
               head_.sink != -infinity) {
      const float here = reference(m, std::max(m, head_.sink), c);
      const float a = m == -infinity ? 0.0f : factor(m, here, c);
      m = here;
      for (float& sum : sums) sum *= a;
      sums[0] += exponential(argument(head_.sink, m, c));
      for (float& x : o) x *= a;
    }
    ModelRow out;
    if (m == -infinity) {
      out.o.assign(dv, 0);
      out.lse = contract_.masked_lse_is_negative ? -infinity : infinity;
      return out;
    }
    float l = 0;
    for (const float sum : sums) l += sum;
    const bool approximate = contract_.normalization == Normalization::rcp_approx;
    const float inverse = approximate
                              ? static_cast<float>(1 / double{l} * (1 + room(kRcpError - 0x1p-24)))
                              : 1.0f / l;
    const float v_scale = std::ldexp(head_.v_scale, -contract_.p_shift), factor = inverse * v_scale;
    for (float x : o) {
      const bool multiplied = approximate || contract_.normalization == Normalization::reciprocal;
      float value = flushed(multiplied ? flushed(x) * factor : quotient(x, l) * v_scale);
      if (faults_.normalization_off) value *= 1 + 0x1p-9f;
      out.o.push_back(value);
    }
    const float largest = flushed(unit == 1 ? m : m * (cap_in_c() ? unit : head_.scale));
    const float ln2 = 0.6931471805599453f;
    out.lse = head_.lse_in_base_2              ? flushed(m * c) + lg2(l)
              : contract_.sums_lse_in_base_2() ? (m * c + lg2(l)) * ln2
                                               : largest + lg2(l) * ln2;
    return out;
  }

 private:
  static std::vector<Decoded> decoded(const Format& format, const std::vector<float>& values) {
    std::vector<Decoded> codes;
    for (const float value : values) codes.push_back(decode(format, encode(format, double{value})));
    return codes;
  }

  // Any number of products, instruction after instruction.
  static std::uint32_t chained(const DotModel& model, const Format& a_format,
                               const Format& b_format, std::span<const Decoded> a,
                               std::span<const Decoded> b, std::uint32_t c) {
    const std::size_t step = model.chaining == Chaining::hopper_fp8
                                 ? 2 * static_cast<std::size_t>(model.node.products)
                                 : static_cast<std::size_t>(model.node.products);
    for (std::size_t first = 0; first < a.size(); first += step) {
      const std::size_t count = std::min(step, a.size() - first);
      c = dot(model, a_format, b_format, a.subspan(first, count), b.subspan(first, count), c);
    }
    return c;
  }

  static float to_bf16(float x) {
    const Format& bf16 = format(FormatId::bf16);
    return static_cast<float>(to_double(bf16, encode(bf16, double{x})));
  }

  // What an operation with this much relative room adds.
  double room(double limit) {
    switch (errors_) {
      case Errors::none:
        return 0;
      case Errors::high:
        return limit;
      case Errors::low:
        return -limit;
      case Errors::random:
        break;
    }
    return limit * (2 * random_.unit() - 1);
  }

  bool cap_in_c() const { return head_.softcap != 0 && contract_.tanh == Tanh::approx; }

  float flushed(float x) const {
    return contract_.subnormals_flushed && std::fabs(x) < 0x1p-126f ? 0 * x : x;
  }

  // The unit where it is no tensor core: fma.rn, or fma.rn.ftz.
  float fma(float a, float b, float sum) const {
    return flushed(std::fma(flushed(a), flushed(b), flushed(sum)));
  }

  // Where tiles begin, in the order in which they are taken.
  std::vector<std::int64_t> tile_starts() const {
    std::vector<std::int64_t> starts;
    for (std::int64_t begin = 0; begin < head_.keys; begin += contract_.tile)
      starts.push_back(begin);
    if (contract_.order == TileOrder::ascending) return starts;
    std::stable_sort(starts.begin(), starts.end(), [&](std::int64_t a, std::int64_t b) {
      const std::int64_t part = contract_.part_keys(head_.keys);
      return a / part != b / part ? a < b : a > b;
    });
    return starts;
  }

  float argument(float z, float maximum, float c) {
    z = flushed(z);
    if (contract_.logit_base == LogitBase::natural_difference)
      return flushed(flushed(z - maximum) * c);
    const float base = flushed(maximum * c);
    const bool fused = contract_.logit_base == LogitBase::natural_either
                           ? random_.unit() < 0.5
                           : contract_.logit_base != LogitBase::two;
    return flushed(fused ? std::fma(z, c, -base) : flushed(z * c) - base);
  }

  float fall(float m, float next, float c) const {
    return contract_.base_2() ? m * c - next * c : (m - next) * c;
  }

  float factor(float m, float next, float c) { return ex2(fall(m, next, c)); }

  // What exponentials refer to where m was that, and the largest logit now is `largest`.
  float reference(float m, float largest, float c) const {
    const auto threshold = static_cast<float>(contract_.rescale_threshold);
    if (threshold == 0 || std::isinf(m)) return largest;
    return fall(m, largest, c) >= -threshold ? m : largest;
  }

  float quotient(float x, float l) {
    if (contract_.normalization == Normalization::quotient) return x / l;
    return static_cast<float>(double{x} / double{l} * (1 + room(kDivFullError - 0x1p-24)));
  }

  float ex2(float x) {
    if (x == 0) return 1;
    // The rounding to f32 is part of the documented error.
    const double exact = std::exp2(double{x});
    const float result = static_cast<float>(exact * (1 + room(kEx2Error - 0x1p-24)));
    return result < 0x1p-126f ? 0.0f : result;
  }

  // Of a probability: ex2, or a polynomial's that stays above 2^-127.
  float exponential(float x) {
    if (contract_.exponential_bits == 0 || std::isinf(x)) return ex2(x);
    const double limit = std::ldexp(1.0, -contract_.exponential_bits) - 0x1p-24;
    return static_cast<float>(std::exp2(std::max(-127.0, double{x})) * (1 + room(limit)));
  }

  float lg2(float x) {
    const double exact = std::log2(double{x});
    const double limit = kLg2AbsoluteError * std::max(1.0, std::fabs(exact));
    return static_cast<float>(exact + room(limit * (1 - 0x1p-2)));
  }

  float tanh(float x) {
    if (contract_.tanh == Tanh::approx)
      return static_cast<float>(std::tanh(double{x}) * (1 + room(kTanhApproxError - 0x1p-24)));
    const float two = 2, e = ex2(x * (two * 1.4426950408889634f));
    return 1 - two / (1 + e);
  }

  float scale_of(std::int64_t i, std::int64_t j, float scale) const {
    if (head_.q_scales.empty()) return scale;
    const float blocks =
        head_.q_scales[static_cast<std::size_t>(i)] * head_.k_scales[static_cast<std::size_t>(j)];
    return faults_.scale_in_bf16 ? to_bf16(scale * blocks) : scale * blocks;
  }

  float score(std::int64_t i, std::int64_t j) const {
    if (contract_.integer_scores) {
      std::int32_t sum = 0;
      for (std::int64_t x = 0; x < head_.d; ++x) {
        sum += static_cast<std::int32_t>(head_.q[static_cast<std::size_t>(i * head_.d + x)]) *
               static_cast<std::int32_t>(head_.k[static_cast<std::size_t>(j * head_.d + x)]);
      }
      return static_cast<float>(sum);
    }
    if (contract_.unit == Unit::fma_f32) {
      float sum = 0;
      for (std::int64_t x = 0; x < head_.d; ++x) {
        sum = fma(head_.q[static_cast<std::size_t>(i * head_.d + x)],
                  head_.k[static_cast<std::size_t>(j * head_.d + x)], sum);
      }
      return sum;
    }
    const auto width = static_cast<std::size_t>(head_.d);
    return std::bit_cast<float>(chained(
        scores_, q_, q_,
        std::span<const Decoded>(q_codes_).subspan(static_cast<std::size_t>(i) * width, width),
        std::span<const Decoded>(k_codes_).subspan(static_cast<std::size_t>(j) * width, width), 0));
  }

  float logit(std::int64_t i, std::int64_t j, float scale) {
    float z = score(i, j);
    if (faults_.scores_in_bf16) z = to_bf16(z);
    if (!head_.natural_units()) return z;
    if (cap_in_c()) return tanh(flushed(flushed(z) * (scale / head_.softcap)));
    z = head_.softcap != 0 ? head_.softcap * tanh(z * (scale / head_.softcap)) : z * scale;
    if (!head_.bias.empty()) z += head_.bias[static_cast<std::size_t>(i * head_.keys + j)];
    return z;
  }

  float rounded(float p) const {
    if (faults_.probabilities_unrounded) return p;
    const Format& to = format(contract_.p);
    const double shifted = std::ldexp(double{p}, contract_.p_shift);
    return static_cast<float>(std::ldexp(
        to_double(to, encode(to, shifted, {.overflow = Overflow::saturate})), -contract_.p_shift));
  }

  float add_values(float start, const std::vector<float>& p, std::int64_t begin,
                   std::size_t x) const {
    const float factor = faults_.louder_tile == begin / contract_.tile ? 1 + 0x1p-7f : 1;
    if (head_.v_scales.empty())
      return factor == 1 ? products(start, p, begin, x) : start + products(0, p, begin, x) * factor;
    float sum = start;
    for (std::size_t j = 0; j < p.size(); ++j) {
      const std::int64_t key = begin + static_cast<std::int64_t>(j), block = block_of(key);
      if (j > 0 && block_of(key - 1) == block) continue;
      std::vector<float> own = p;  // of this block's keys
      for (std::size_t other = 0; other < p.size(); ++other) {
        if (block_of(begin + static_cast<std::int64_t>(other)) != block) own[other] = 0;
      }
      const float scale = head_.v_scales[static_cast<std::size_t>(key)];
      sum = faults_.scaled_with_o ? scale * products(sum, own, begin, x)
                                  : fma(scale, products(0, own, begin, x) * factor, sum);
    }
    return sum;
  }

  // Of the rows of V as they lie.
  std::int64_t block_of(std::int64_t key) const {
    return (head_.first_key + key) / head_.scale_block;
  }

  float products(float start, const std::vector<float>& p, std::int64_t begin,
                 std::size_t x) const {
    const Format& to = format(contract_.p);
    std::vector<Decoded> codes, column;
    float sum = start;
    for (std::size_t j = 0; j < p.size(); ++j) {
      std::int64_t key = begin + static_cast<std::int64_t>(j);
      if (key == faults_.shifted_value && key + 1 < head_.keys) ++key;
      const double shifted = std::ldexp(double{rounded(p[j])}, contract_.p_shift);
      if (contract_.unit == Unit::fma_f32) {
        sum = fma(static_cast<float>(shifted),
                  head_.v[static_cast<std::size_t>(key * head_.dv) + x], sum);
        continue;
      }
      codes.push_back(decode(to, encode(to, shifted)));
      column.push_back(
          v_codes_[x * static_cast<std::size_t>(head_.keys) + static_cast<std::size_t>(key)]);
    }
    if (contract_.unit != Unit::fma_f32) {
      sum = std::bit_cast<float>(chained(values_, to, v_, std::span<const Decoded>(codes),
                                         std::span<const Decoded>(column),
                                         std::bit_cast<std::uint32_t>(sum)));
    }
    return sum;
  }

  const AttentionHead& head_;
  const AttentionContract& contract_;
  const Format& q_;
  const Format& v_;
  Errors errors_;
  Random random_;
  AttentionFaultSwitches faults_;
  DotModel scores_{}, values_{};
  std::vector<Decoded> q_codes_, k_codes_, v_codes_;
};

}  // namespace plumbline::testing
