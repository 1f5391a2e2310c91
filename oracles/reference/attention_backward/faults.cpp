// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

double rounded(FormatId to, double x, bool keep, bool truncate) {
  if (keep) return static_cast<double>(static_cast<float>(x));
  const Format& target = format(to);
  return to_double(target,
                   encode(target, x,
                          {.rounding = truncate ? Rounding::toward_zero : Rounding::nearest_even,
                           .overflow = Overflow::saturate}));
}

double dot(const float* a, const float* b, std::int64_t length) {
  double sum = 0;
  for (std::int64_t x = 0; x < length; ++x)
    sum += static_cast<double>(a[x]) * static_cast<double>(b[x]);
  return sum;
}

// P and dS of a pair, gone wrong.
struct Weights {
  double p = 0, ds = 0;
};

Weights weights_of(const GradientOperands& operands, const GradientFault& fault, std::int64_t h,
                   std::int64_t i, std::int64_t j) {
  const AttentionHead& head = operands.head(h);
  const GradientQuery& query = operands.query_of(h, i);
  const KeyRange visible =
      fault.mask.value_or(head.mask).visible(i + fault.diagonal, operands.queries, operands.keys);
  const std::int64_t end_key = fault.end_key < 0 ? operands.keys : fault.end_key;
  const std::int64_t end_query = fault.end_query < 0 ? operands.queries : fault.end_query;
  const bool seen =
      j >= std::max<std::int64_t>(visible.first, 0) && j < std::min(visible.end, operands.keys);
  const bool counts = seen || fault.masked_capped;
  if (!query.live || !counts || j >= end_key || i >= end_query) return {};
  const std::int64_t row = h * operands.padded + i;
  double s =
      dot(operands.q.row(row), operands.k.row(j), operands.d) * static_cast<double>(head.scale);
  double slope = 1;
  if (head.softcap != 0 && !fault.no_cap) {
    const auto cap = static_cast<double>(head.softcap);
    const double tanh = std::tanh(s / cap);
    s = cap * tanh;
    slope = 1 - tanh * tanh;
  }
  if (!head.bias.empty() && !fault.no_bias)
    s += static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
  if (!seen) {
    s = -static_cast<double>(head.softcap);
    slope = 0;
  }
  double lse = query.lse * fault.lse_factor;
  if (fault.no_sink) lse += std::log1p(-std::exp(static_cast<double>(head.sink) - lse));
  const double p = std::exp((s - lse) * fault.exponent);
  const std::int64_t other_head = (h + fault.head_step) % operands.heads(),
                     other_row = (i + fault.row_step) % operands.queries;
  const float* d_o = operands.d_o.row(other_head * operands.padded + other_row);
  double delta = 0;
  if (!fault.no_delta) {
    const std::vector<float>& o = operands.group.heads[static_cast<std::size_t>(h)].o;
    delta = dot(d_o, o.data() + i * operands.width_v,
                fault.delta_width < 0 ? operands.width_v : fault.delta_width);
    if (!fault.no_delta_scale) delta *= static_cast<double>(operands.scales.d_o);
  }
  double dp = dot(d_o, operands.v.row(j), fault.dp_width < 0 ? operands.width_v : fault.dp_width);
  if (!fault.no_dp_scale) dp *= static_cast<double>(operands.scales.dp());
  const double ds =
      p * (dp - delta) * (fault.no_slope ? 1 : slope) * static_cast<double>(operands.scales.ds);
  const int shift = fault.no_p_shift ? 0 : operands.contract.p_shift;
  const double shifted = rounded(fault.p_in.value_or(operands.contract.p), std::ldexp(p, shift),
                                 fault.keep_p, fault.truncate_p);
  return {
      std::ldexp(shifted, operands.contract.p_shift - shift),
      rounded(fault.ds_in.value_or(operands.contract.ds), ds, fault.keep_ds, fault.truncate_ds)};
}

// Those of scales and of the factors that go with narrow formats.
template <typename Add>
void add_scale_faults(const GradientOperands& operands, GradientOutput output, const Add& add) {
  const GradientScales& scales = operands.scales;
  const auto factor = [&](std::string sentence, double value) {
    if (value == 1) return;
    add(std::move(sentence), [&](GradientFault& f) { f.factor = value; });
  };
  const auto wide = [](float scale) { return static_cast<double>(scale); };
  if (output == GradientOutput::dv) {
    factor("do_scale was not applied to dV", 1 / wide(scales.d_o));
    if (operands.contract.p_shift == 0) return;
    factor("the shift of P was not taken back", std::ldexp(1.0, operands.contract.p_shift));
    add("P was rounded without its shift", [](GradientFault& f) { f.no_p_shift = true; });
    return;
  }
  const bool of_q = output == GradientOutput::dq;
  const double own = wide(of_q ? scales.k : scales.q), other = wide(of_q ? scales.q : scales.k);
  factor("ds_scale was not taken back", wide(scales.ds));
  factor("ds_scale was applied once more instead of taken back", wide(scales.ds) * wide(scales.ds));
  factor(of_q ? "k_scale was not applied to dQ" : "q_scale was not applied to dK", 1 / own);
  factor(of_q ? "q_scale was taken for k_scale" : "k_scale was taken for q_scale", other / own);
  if (scales.d_o != 1)
    add("delta lacks do_scale", [](GradientFault& f) { f.no_delta_scale = true; });
  if (scales.dp() != 1)
    add("dO . v lacks its scales", [](GradientFault& f) { f.no_dp_scale = true; });
}

}  // namespace

std::vector<GradientFault> gradient_faults(const GradientOperands& operands,
                                           GradientOutput output) {
  const AttentionHead& head = operands.head(0);
  const bool of_scores = output != GradientOutput::dv;
  const auto scale = static_cast<double>(operands.scales.scale);
  std::vector<GradientFault> faults;
  const auto add = [&](std::string sentence, const auto& change) {
    GradientFault fault;
    fault.sentence = std::move(sentence);
    change(fault);
    faults.push_back(std::move(fault));
  };
  const auto mask = [&](std::string sentence, const auto& change) {
    AttentionMask other = head.mask;
    change(other);
    add(std::move(sentence), [&](GradientFault& f) { f.mask = other; });
  };
  add("the output is 0, as if nothing had been accumulated or stored",
      [](GradientFault& f) { f.factor = 0; });
  if (of_scores) {
    add("delta (the row sums of dO * O) was not subtracted",
        [](GradientFault& f) { f.no_delta = true; });
    if (scale != 1)
      add("the scale was not applied to the gradient",
          [&](GradientFault& f) { f.factor = 1 / scale; });
    add("the scale was applied twice", [&](GradientFault& f) { f.factor = scale; });
    add("an extra factor ln 2 was applied", [](GradientFault& f) { f.factor = M_LN2; });
    add("an extra factor log2 e was applied", [](GradientFault& f) { f.factor = M_LOG2E; });
    add("the sign is wrong", [](GradientFault& f) { f.factor = -1; });
    if (head.softcap != 0)
      add("the derivative of the softcap, 1 - tanh^2, was left out",
          [](GradientFault& f) { f.no_slope = true; });
    add("dS was not rounded before it met the other factor",
        [](GradientFault& f) { f.keep_ds = true; });
    add("dS was truncated instead of rounded", [](GradientFault& f) { f.truncate_ds = true; });
    for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2}) {
      if (id == operands.contract.ds) continue;
      add(fmt::format("dS was rounded to {} instead of {}", format(id).name,
                      format(operands.contract.ds).name),
          [&](GradientFault& f) { f.ds_in = id; });
    }
    for (const std::int64_t width : {operands.d, operands.width_v / 2}) {
      if (width >= operands.width_v) continue;
      add(fmt::format("dO . v took the first {} of {} columns only", width, operands.width_v),
          [&](GradientFault& f) { f.dp_width = width; });
      add(fmt::format("delta took the first {} of {} columns only", width, operands.width_v),
          [&](GradientFault& f) { f.delta_width = width; });
      add(fmt::format("delta and dO . v took the first {} of {} columns only", width,
                      operands.width_v),
          [&](GradientFault& f) { f.dp_width = f.delta_width = width; });
    }
  } else {
    add("P was not rounded before it met dO", [](GradientFault& f) { f.keep_p = true; });
    add("P was truncated instead of rounded", [](GradientFault& f) { f.truncate_p = true; });
    for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2}) {
      if (id == operands.contract.p) continue;
      add(fmt::format("P was rounded to {} instead of {}", format(id).name,
                      format(operands.contract.p).name),
          [&](GradientFault& f) { f.p_in = id; });
    }
    if (scale != 1) add("the scale was applied to dV", [&](GradientFault& f) { f.factor = scale; });
  }
  add_scale_faults(operands, output, add);
  if (head.mask.causal != Causal::none) {
    mask("the causal mask was aligned to the other corner", [](AttentionMask& m) {
      m.causal = m.causal == Causal::top_left ? Causal::bottom_right : Causal::top_left;
    });
    add("the causal mask let every query see one key too many",
        [](GradientFault& f) { f.diagonal = 1; });
    add("the causal mask hid every query's last key", [](GradientFault& f) { f.diagonal = -1; });
    mask("the causal mask was not applied", [](AttentionMask& m) { m.causal = Causal::none; });
  } else {
    mask("a causal mask was applied where there is none",
         [](AttentionMask& m) { m.causal = Causal::bottom_right; });
  }
  for (const std::int64_t step : {1, -1}) {
    const char* kind = step > 0 ? "wide" : "narrow";
    if (head.mask.window_left + step >= 0 && head.mask.window_left >= 0)
      mask(fmt::format("the window was one key too {} on the left", kind),
           [&](AttentionMask& m) { m.window_left += step; });
    if (head.mask.window_right + step >= 0 && head.mask.window_right >= 0)
      mask(fmt::format("the window was one key too {} on the right", kind),
           [&](AttentionMask& m) { m.window_right += step; });
  }
  if (head.mask.window_left >= 0 || head.mask.window_right >= 0) {
    mask("the window was not applied",
         [](AttentionMask& m) { m.window_left = m.window_right = -1; });
  }
  for (const std::int64_t tile : {1, 16, 32, 64, 128}) {
    const auto last = [&](std::int64_t length) {
      return tile == 1 ? length - 1 : (length - 1) / tile * tile;
    };
    const auto missing = [&](const char* one, const char* many) {
      return tile == 1 ? fmt::format("the last {} is missing", one)
                       : fmt::format("the last tile of {} {} is missing", tile, many);
    };
    const std::int64_t query = last(operands.queries), key = last(operands.keys);
    if (query > 0) add(missing("query", "queries"), [&](GradientFault& f) { f.end_query = query; });
    if (key > 0) add(missing("key", "keys"), [&](GradientFault& f) { f.end_key = key; });
  }
  if (operands.heads() > 1) {
    if (output != GradientOutput::dq) {
      for (const std::int64_t h : {std::int64_t{0}, operands.heads() - 1}) {
        add(fmt::format("only the {} of the query heads that share it was counted",
                        h == 0 ? "first" : "last"),
            [&](GradientFault& f) { f.only_head = h; });
      }
    }
    add("dO was read from the next head", [](GradientFault& f) { f.head_step = 1; });
  }
  if (operands.queries > 1) {
    add("dO was read from the next row", [](GradientFault& f) { f.row_step = 1; });
    add("dO was read from the row before",
        [&](GradientFault& f) { f.row_step = operands.queries - 1; });
  }
  for (const std::int64_t step : {1, -1}) {
    add(fmt::format("the gradient of the row {} was stored here", step > 0 ? "below" : "above"),
        [&](GradientFault& f) { f.line_step = step; });
  }
  add("2^(s - LSE) was taken for e^(s - LSE)", [](GradientFault& f) { f.exponent = M_LN2; });
  add("LSE was taken to be in base 2", [](GradientFault& f) { f.lse_factor = M_LN2; });
  if (head.softcap != 0) {
    add("the softcap was applied after the mask", [](GradientFault& f) { f.masked_capped = true; });
    add("the softcap was not applied to the scores",
        [](GradientFault& f) { f.no_cap = f.no_slope = true; });
  }
  if (!head.bias.empty())
    add("the bias was not added to the scores", [](GradientFault& f) { f.no_bias = true; });
  if (head.has_sink)
    add("P was found without the sink", [](GradientFault& f) { f.no_sink = true; });
  return faults;
}

FaultyLine faulty_line(const GradientOperands& operands, GradientOutput output, std::int64_t line,
                       const GradientFault& fault) {
  FaultyLine out;
  const std::int64_t lines_of_head =
      output == GradientOutput::dq ? operands.queries : operands.keys;
  const std::int64_t inside = line % lines_of_head + fault.line_step;
  if (inside < 0 || inside >= lines_of_head) return out;
  const std::int64_t from = line / lines_of_head * lines_of_head + inside;
  const GradientRows& rows = operands.rows(output);
  std::vector<double> magnitude(static_cast<std::size_t>(rows.width)), largest(magnitude);
  out.values.resize(magnitude.size());
  const auto add = [&](const Weights& weights, std::int64_t row) {
    const double weight = output == GradientOutput::dv ? weights.p : weights.ds;
    if (weight == 0) return;
    for (std::size_t x = 0; x < magnitude.size(); ++x) {
      const double term = weight * static_cast<double>(rows.row(row)[x]);
      out.values[x] += term;
      magnitude[x] += std::fabs(term);
      largest[x] = std::max(largest[x], std::fabs(term));
    }
  };
  if (output == GradientOutput::dq) {
    const std::int64_t h = from / operands.queries, i = from % operands.queries;
    for (std::int64_t j = 0; j < operands.keys; ++j) add(weights_of(operands, fault, h, i, j), j);
  } else {
    for (std::int64_t h = 0; h < operands.heads(); ++h) {
      if (fault.only_head >= 0 && h != fault.only_head) continue;
      for (std::int64_t i = 0; i < operands.queries; ++i) {
        const std::int64_t row = (h + fault.head_step) % operands.heads() * operands.padded +
                                 (i + fault.row_step) % operands.queries;
        add(weights_of(operands, fault, h, i, from),
            output == GradientOutput::dv ? row : h * operands.padded + i);
      }
    }
  }
  const double scale = static_cast<double>(operands.factor(output)) * fault.factor;
  for (std::size_t x = 0; x < magnitude.size(); ++x) {
    out.values[x] *= scale;
    // A few weights rounded the other way, and the accumulator's roundings.
    out.slack.push_back((0x1p-10 * largest[x] + 0x1p-18 * magnitude[x]) * std::fabs(scale));
  }
  return out;
}

}  // namespace plumbline
