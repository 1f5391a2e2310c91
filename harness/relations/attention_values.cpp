// SPDX-License-Identifier: MIT
// Relations of attention that negate or double inputs, or reverse columns that are not summed.
//
// Powers of two need proof that no f32 number on the way is subnormal. Probabilities are what makes
// sums small: they are not below 2^-spread, where the spread follows from the norms of queries and
// keys, from bias and sink. Where this proves nothing, the relation does not bind.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_attention.h"
#include "harness/relations/relation_families.h"
#include "kernels/ops/attention_fields.h"
#include "oracles/bounds/contract/attention_backward.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kRoundings = 1.01;  // more than what those of f32 add to a bound

double largest(const Tensor* tensor) {
  double most = 0;
  for (std::int64_t i = 0; tensor && i < tensor->layout.count(); ++i) {
    const double value = to_double(format(tensor->layout.format), tensor->bits(i));
    if (value != -std::numeric_limits<double>::infinity()) most = std::fmax(most, std::fabs(value));
    if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  }
  return most;
}

double largest_finite(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    const double value = std::fabs(to_double(format(tensor.layout.format), tensor.bits(i)));
    if (std::isfinite(value)) most = std::fmax(most, value);
  }
  return most;
}

double largest_norm(const Tensor& rows) {
  const std::int64_t width = rows.layout.shape.back();
  double most = 0, squares = 0;
  for (std::int64_t i = 0; i < rows.layout.count(); ++i) {
    const double value = to_double(format(rows.layout.format), rows.bits(i));
    if (i % width == 0) squares = 0;
    squares += value * value;
    if (!(squares <= most)) most = squares;  // NaN too
  }
  return std::isnan(most) ? std::numeric_limits<double>::infinity() : std::sqrt(most);
}

// No logit of a visible key is larger than this, but for those that are -inf.
double largest_logit(const RelatedAttention& from) {
  const auto scale = [&](std::string_view name) {
    const Tensor* scales = from.tensors.find(name);
    return scales ? largest(scales) : 1.0;
  };
  const auto softcap = static_cast<double>(from.problem.real("softcap"));
  double logit = largest_norm(*from.tensors.find("q")) * largest_norm(*from.tensors.find("k")) *
                 std::fabs(static_cast<double>(from.problem.real("scale"))) * scale("q_scale") *
                 scale("k_scale");
  if (softcap != 0) logit = std::min(logit, std::fabs(softcap));
  logit += largest(from.tensors.find("bias"));
  return kRoundings * std::max(logit, largest(from.tensors.find("sink")));
}

// What probabilities may be that are not 0: from 2^-spread to 2^most, rounded to `format`.
Magnitudes weights(const Format& f, int spread, int most, int shift) {
  Magnitudes p;
  p.least = shift - spread;
  p.most = most + shift;
  p.unit = std::max(p.least, f.emin()) - f.mantissa_bits - 1;
  return p;
}

// As a whole number of binary digits, with one to spare; far too many where nothing is known.
int digits(double logits) {
  constexpr double kMost = 1000;
  return static_cast<int>(std::ceil(std::fmin(logits * kLog2E, kMost))) + 1;  // NaN: kMost
}

// Not every problem stores LSE.
std::vector<Follow> stored(const CaseTensors& tensors, std::vector<Follow> outputs) {
  std::erase_if(outputs, [&](const Follow& one) { return tensors.find(one.output) == nullptr; });
  return outputs;
}

// Whether all sums of P V are normal numbers. Each rescaling multiplies what a sum is a multiple of
// by a factor, and leaves 24 bits of it; all factors together are not below 2^-spread.
bool sums_of_values_are_normal(const RelatedAttention& from, const Magnitudes& v) {
  constexpr int kF32Bits = 24;
  const AttentionContract contract = from.contract();
  std::int64_t keys = 0;
  for (std::int64_t i = 0; i < (from.packed ? from.batch : 1); ++i)
    keys = std::max(keys, from.sequence(i).keys);
  const std::int64_t tiles = (keys + contract.tile - 1) / contract.tile;
  const std::int64_t rescalings =
      tiles - 1 + (from.is("sink", "none") ? 0 : 1) + (contract.parts > 1 ? 1 : 0);
  const int spread = digits(2 * largest_logit(from));
  Magnitudes terms = weights(format(contract.p), spread, 1, contract.p_shift) * v;
  if (rescalings > 8) return false;
  if (from.has_block_scales()) {  // the sums of a block of V, and O, which has them scaled
    if (!sums_are_normal(terms, keys)) return false;
    terms = terms * magnitudes(from.tensors, "v_scale");
  }
  if (rescalings > 0) terms.unit -= spread + kF32Bits * static_cast<int>(rescalings);
  return sums_are_normal(terms, keys);
}

Related doubled_v(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const Magnitudes v = magnitudes(tensors, "v");
  if (!v.finite || !v.normal || !sums_of_values_are_normal(from, v)) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"v"})) return std::nullopt;
  run.outputs = stored(tensors, {{"o", 2}, {"lse"}});
  return run;
}

// Every other element along dimension 1 and blocks along dimension 2 multiplied by a factor.
bool multiply_alternating(const Tensor& from, Tensor& to, double factor, std::int64_t block) {
  Tensor all = from;
  if (!multiply(from, all, factor)) return false;
  const std::vector<std::int64_t>& shape = from.layout.shape;
  const std::int64_t length = shape.size() > 2 ? shape[2] : 1,
                     width = shape.size() > 3 ? shape[3] : 1;
  for (std::int64_t i = 0; i < from.layout.count(); ++i) {
    const std::int64_t row = i / width, head = row / length % shape[1];
    if ((head + row % length / block) % 2 == 0) to.set_bits(i, all.bits(i));
  }
  return true;
}

// Every other head or block of V in units half as large. A kernel multiplies sums by scales, alone
// or with other factors: the products are the same numbers.
Related halved_value_scales(const Case& test_case, const CaseTensors& tensors) {
  constexpr int kSmallest = -29;  // scales stay within what problems accept
  const RelatedAttention from{test_case, tensors};
  const Tensor* scales = tensors.find("v_scale");
  if (!scales || scales->layout.shape.size() < 2 || magnitudes(*scales).least < kSmallest)
    return std::nullopt;
  const Magnitudes v = magnitudes(tensors, "v");
  if (!v.finite || !v.normal || !sums_of_values_are_normal(from, v)) return std::nullopt;
  const Tensor& values = *tensors.find("v");
  const std::int64_t of_blocks = attention_problem(from.problem, tensors).scale_block;
  const std::int64_t rows = of_blocks > 0 ? of_blocks : values.layout.shape[2];
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply_alternating(values, *run.tensors.find("v"), 2, std::max<std::int64_t>(rows, 1)) ||
      !multiply_alternating(*scales, *run.tensors.find("v_scale"), 0.5, 1))
    return std::nullopt;
  run.outputs = stored(tensors, {{"o"}, {"lse"}});
  return run;
}

// s doubles and fl(scale log2 e), or the factor before the softcap, halves: every product of the
// two is the same number.
Related halved_scale(const RelatedAttention& from) {
  constexpr int kSmallest = -29, kLargest = 60;  // scales stay within what problems accept
  const Magnitudes q = magnitudes(from.tensors, "q"), k = magnitudes(from.tensors, "k");
  const float scale = from.problem.real("scale");
  const Magnitudes factor = magnitudes(scale), cap = magnitudes(from.problem.real("softcap"));
  if (scale == 0 || factor.least < kSmallest || factor.most > kLargest || cap.most > kLargest)
    return std::nullopt;
  if (!q.normal || !sums_are_normal(q * k, from.size("d"))) return std::nullopt;
  Related run = from.with_fields({{"scale", real_field(scale / 2)}});
  if (!run || !multiply(from.tensors, run->tensors, 2, {"q"})) return std::nullopt;
  return run;
}

Related doubled_q(const Case& test_case, const CaseTensors& tensors) {
  Related run = halved_scale({test_case, tensors});
  if (run) run->outputs = stored(tensors, {{"o"}, {"lse"}});
  return run;
}

// Columns of V are summed over keys, each for itself.
Related reversed_values(const Case& test_case, const CaseTensors& tensors) {
  const std::int64_t width = tensors.find("v")->layout.shape[3];
  if (!alike_everywhere(promises(test_case)) || width < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!rearrange(*tensors.find("v"), *run.tensors.find("v"), reversed(width, 1)))
    return std::nullopt;
  run.outputs = stored(tensors, {{"o", 1, reversed(width, 1)}, {"lse"}});
  return run;
}

// What is known of the numbers that the gradients are sums of.
struct GradientTerms {
  bool ds_is_narrow = false;                // dS is rounded to a format with less range than f32
  bool ds_is_normal = false;                // before that
  bool dq = false, dk = false, dv = false;  // no sum is subnormal or infinite
};

// dS = p (dP - delta), with a softcap times 1 - t^2, which is a multiple of 2^-24.
GradientTerms gradient_terms(const RelatedAttention& from) {
  constexpr int kSlopeBits = 24;
  const Problem& terms = from.test_case.kernel->terms;
  const Format& ds_format = format(*format_by_name(terms.word("ds")));
  const Format& p_format = format(*format_by_name(terms.word("p")));
  const auto of = [&](std::string_view name) { return magnitudes(from.tensors, name); };
  const int spread =
      digits(largest_logit(from) + kRoundings * largest_finite(*from.tensors.find("lse")));
  const Magnitudes d_o = of("do"), products = d_o * of("v"), deltas = d_o * of("o");
  const Magnitudes differences = products | deltas | deltas * of("do_scale") |
                                 products * rounded(of("do_scale") * of("v_scale"));
  const std::int64_t rows = std::max(from.queries, from.keys) * from.batch * from.heads;
  const std::int64_t count = std::max(rows, from.tensors.find("v")->layout.shape[3]);

  Magnitudes ds;
  ds.finite = differences.finite;
  ds.least = differences.unit - spread - (from.problem.real("softcap") != 0 ? kSlopeBits : 0);
  ds.most = differences.most + spread + 1;
  ds.unit = std::max(ds.least, ds_format.emin()) - ds_format.mantissa_bits - 1;

  GradientTerms found;
  found.ds_is_narrow = ds_format.emin() > format(FormatId::f32).emin();
  found.ds_is_normal = sums_are_normal(differences, count) && ds.least >= -126;
  found.dq = found.ds_is_normal && sums_are_normal(ds * of("k"), count);
  found.dk = found.ds_is_normal && sums_are_normal(ds * of("q"), count);
  found.dv = sums_are_normal(
      weights(p_format, spread, spread, static_cast<int>(terms.integer("p_shift"))) * d_o, count);
  return found;
}

// Where dS is stored with a scale of its own, that is halved, and what is stored stays.
Related doubled_do_scale(const RelatedAttention& from) {
  RelatedRun run = same_problem(from.test_case, from.tensors);
  const bool possible = multiply(from.tensors, run.tensors, 2, {"do_scale"}) &&
                        multiply(from.tensors, run.tensors, 0.5, {"ds_scale"});
  const Operation& operation = *from.test_case.kernel->operation;
  if (!possible || !operation.check_values(from.problem, run.tensors) ||
      !gradient_terms(from).ds_is_normal)
    return std::nullopt;
  run.outputs = {{"dq", 2}, {"dk", 2}, {"dv", 2}};
  return run;
}

// A dS of little range would end in subnormal numbers or saturate elsewhere: dV alone follows then.
Related doubled_do(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const GradientTerms terms = gradient_terms(from);
  if (terms.ds_is_narrow && tensors.find("ds_scale")) return doubled_do_scale(from);
  RelatedRun run = same_problem(test_case, tensors);
  if (!magnitudes(tensors, "do").normal || !multiply(tensors, run.tensors, 2, {"do"}))
    return std::nullopt;
  if (terms.dq && !terms.ds_is_narrow) run.outputs.push_back({"dq", 2});
  if (terms.dk && !terms.ds_is_narrow) run.outputs.push_back({"dk", 2});
  if (terms.dv) run.outputs.push_back({"dv", 2});
  return run.outputs.empty() ? std::nullopt : Related(std::move(run));
}

// P and dS stay. dQ has the factor scale; dK has it and the doubled Q.
Related doubled_q_of_gradients(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  Related run = halved_scale(from);
  if (!run) return std::nullopt;
  run->outputs = {{"dq", 0.5}, {"dv"}};
  if (gradient_terms(from).dk) run->outputs.push_back({"dk"});
  return run;
}

// dP and delta add the columns up; dV does not.
Related reversed_gradient_columns(const Case& test_case, const CaseTensors& tensors) {
  const std::int64_t width = tensors.find("v")->layout.shape[3];
  if (!alike_everywhere(promises(test_case)) || width < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  for (const std::string_view name : {"v", "o", "do"}) {
    if (!rearrange(*tensors.find(name), *run.tensors.find(name), reversed(width, 1)))
      return std::nullopt;
  }
  run.outputs = {{"dv", 1, reversed(width, 1)}};
  return run;
}

}  // namespace

std::vector<Relation> attention_value_relations(std::string_view operation) {
  if (operation != "attention") return {};
  return {
      negating("A14c", "negating V negates O and keeps LSE", {"v"}, {{"o", -1}, {"lse"}}),
      {"A14d", "doubling V doubles O and keeps LSE", doubled_v},
      {"A14e", "reversing the columns of V reverses those of O", reversed_values},
      {"A17", "doubling Q and halving scale changes nothing", doubled_q},
      negating("A21", "negating Q and K changes nothing", {"q", "k"}, {{"o"}, {"lse"}}),
      {"A22", "doubling every other head or block of V and halving its scale changes nothing",
       halved_value_scales},
  };
}

std::vector<Relation> attention_backward_value_relations(std::string_view operation) {
  if (operation != "attention_backward") return {};
  return {
      negating("B1a", "negating dO negates every gradient", {"do"},
               {{"dq", -1}, {"dk", -1}, {"dv", -1}}),
      {"B1b", "doubling dO doubles every gradient", doubled_do},
      negating("B1c", "negating V and O negates dQ and dK and keeps dV", {"v", "o"},
               {{"dq", -1}, {"dk", -1}, {"dv"}}),
      negating("B1d", "negating Q and K negates dQ and dK and keeps dV", {"q", "k"},
               {{"dq", -1}, {"dk", -1}, {"dv"}}),
      {"B1e", "reversing the columns of V, O and dO reverses those of dV",
       reversed_gradient_columns},
      {"A17", "doubling Q and halving scale halves dQ and keeps dK and dV", doubled_q_of_gradients},
  };
}

}  // namespace plumbline
