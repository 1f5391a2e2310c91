// SPDX-License-Identifier: MIT
// What a GEMM with a given fault may store in an element: the exact sum of the products it would
// take, the running bound of the contract on those, its epilogue, and the interval rule.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/bounds/contract/activation_range.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/faults.h"

namespace plumbline {
namespace {

// The scales of each interval where they change along k.
struct Scales {
  ScaleProducts products = ScaleProducts::f32;
  std::vector<float> a, b;

  std::vector<double> factors() const {
    std::vector<double> out;
    for (std::size_t block = 0; block < a.size(); ++block)
      out.push_back(scale_product(products, a[block], b[block]));
    return out;
  }
};

// The operand vectors as the faulty kernel takes them, with their scales.
struct Vectors {
  std::vector<float> row, column;
  Scales scales;

  std::int64_t k() const { return static_cast<std::int64_t>(row.size()); }
};

// nullopt where the faulty kernel reads beyond the scales.
std::optional<float> faulty_scale(const GemmProblem& problem, GemmSide side,
                                  const ScaleFault& fault, ScalePlace place) {
  if (fault.missing) return 1.0f;
  if (fault.place) place = fault.place(place);
  if (fault.from_other_side) side = side == GemmSide::a ? GemmSide::b : GemmSide::a;
  const std::optional<float> scale = scale_at(problem, side, place.vector, place.p);
  return scale && fault.value ? fault.value(*scale) : scale;
}

bool along_k(const GemmProblem& problem, GemmSide side) {
  return side == GemmSide::a ? problem.scale_a != nullptr && problem.scale_a_block.along_k()
                             : problem.scale_b != nullptr && problem.scale_b_block.along_k();
}

std::optional<Scales> scales_of(const PreparedGemm& gemm, const GemmFault& fault,
                                const GemmPlace& at) {
  Scales out{gemm.problem.scale_products, {}, {}};
  for (std::int64_t block = 0; gemm.scales && block < gemm.scales->blocks; ++block) {
    const std::int64_t p = block * gemm.scales->depth;
    std::optional<float> a = 1.0f, b = 1.0f;
    if (along_k(gemm.problem, GemmSide::a))
      a = faulty_scale(gemm.problem, GemmSide::a, fault.scale_a, {at.i, p});
    if (along_k(gemm.problem, GemmSide::b))
      b = faulty_scale(gemm.problem, GemmSide::b, fault.scale_b, {at.j, p});
    if (!a || !b) return std::nullopt;
    out.a.push_back(*a);
    out.b.push_back(*b);
  }
  return out;
}

const Tensor& operand(const GemmProblem& problem, GemmSide side) {
  return side == GemmSide::a ? *problem.a : *problem.b;
}

GemmPlace element_at(GemmSide side, const GemmPlace& at, std::int64_t p) {
  return side == GemmSide::a ? GemmPlace{at.batch, at.i, p} : GemmPlace{at.batch, p, at.j};
}

// The stored codes of a row of A or column of B taken for another format.
std::vector<float> read_as(const PreparedGemm& gemm, GemmSide side, const GemmPlace& at,
                           FormatId other) {
  const GemmTensorReader reader(operand(gemm.problem, side));
  std::vector<float> out;
  for (std::int64_t p = 0; p < gemm.problem.k; ++p)
    out.push_back(
        static_cast<float>(to_double(format(other), reader.bits(element_at(side, at, p)))));
  return out;
}

// A row of A or column of B from elsewhere in storage, padding included.
std::vector<float> read_from(const PreparedGemm& gemm, GemmSide side, const GemmPlace& at,
                             const OperandOffset& offset) {
  const Tensor& tensor = operand(gemm.problem, side);
  const std::int64_t zero = side == GemmSide::a ? gemm.problem.zero_a : gemm.problem.zero_b;
  std::vector<float> out;
  for (std::int64_t p = 0; p < gemm.problem.k; ++p) {
    const double value =
        to_double(format(tensor.layout.format), tensor.bits_at(offset(element_at(side, at, p))));
    out.push_back(static_cast<float>(value - static_cast<double>(zero)));
  }
  return out;
}

bool reads_inside(const GemmProblem& problem, GemmSide side, const GemmPlace& at,
                  const OperandOffset& offset) {
  const std::int64_t elements = operand(problem, side).layout.storage_elements();
  for (std::int64_t p = 0; offset && p < problem.k; ++p) {
    const std::int64_t from = offset(element_at(side, at, p));
    if (from < 0 || from >= elements) return false;
  }
  return true;
}

// With scales along k products keep their intervals: skipped ones become 0, repeated ones come
// again at the end with their factors.
Vectors in_intervals(const PreparedGemm& gemm, const GemmFault& fault, Vectors vectors) {
  for (std::int64_t p = fault.skipped.begin; p < fault.skipped.end; ++p)
    vectors.row[static_cast<std::size_t>(p)] = 0;
  const std::int64_t depth = gemm.scales->depth, k = gemm.problem.k;
  for (std::int64_t p = fault.repeated.begin; p < fault.repeated.end;) {
    const auto whole =
        static_cast<std::size_t>(depth * static_cast<std::int64_t>(vectors.scales.a.size()));
    vectors.row.resize(whole);
    vectors.column.resize(whole);
    const std::int64_t end = std::min({fault.repeated.end, (p / depth + 1) * depth, k});
    for (std::vector<float>* of_side : {&vectors.scales.a, &vectors.scales.b}) {
      const float again = (*of_side)[static_cast<std::size_t>(p / depth)];
      of_side->push_back(again);
    }
    for (; p < end; ++p) {
      vectors.row.push_back(vectors.row[static_cast<std::size_t>(p)]);
      vectors.column.push_back(vectors.column[static_cast<std::size_t>(p)]);
    }
  }
  return vectors;
}

Vectors vectors_of(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at) {
  const std::int64_t k = gemm.problem.k;
  const float *row = gemm.row(at), *column = gemm.column(at);
  Vectors whole{{row, row + k}, {column, column + k}, *scales_of(gemm, fault, at)};
  if (fault.a_read_as) whole.row = read_as(gemm, GemmSide::a, at, *fault.a_read_as);
  if (fault.b_read_as) whole.column = read_as(gemm, GemmSide::b, at, *fault.b_read_as);
  if (fault.a_offset) whole.row = read_from(gemm, GemmSide::a, at, fault.a_offset);
  if (fault.b_offset) whole.column = read_from(gemm, GemmSide::b, at, fault.b_offset);
  if (fault.a_change) fault.a_change(gemm, at, whole.row);
  if (fault.b_change) fault.b_change(gemm, at, whole.column);
  if (gemm.scales) return in_intervals(gemm, fault, std::move(whole));
  if (fault.skipped.empty() && fault.repeated.empty()) return whole;
  Vectors out;
  const auto take = [&](std::int64_t p) {
    out.row.push_back(whole.row[static_cast<std::size_t>(p)]);
    out.column.push_back(whole.column[static_cast<std::size_t>(p)]);
  };
  for (std::int64_t p = 0; p < k; ++p) {
    if (fault.skipped.empty() || p < fault.skipped.begin || p >= fault.skipped.end) take(p);
    if (!fault.repeated.empty() && p + 1 == fault.repeated.end) {
      for (std::int64_t again = fault.repeated.begin; again < fault.repeated.end; ++again)
        take(again);
    }
  }
  return out;
}

bool all_finite(const auto& values) {
  return std::ranges::all_of(values, [](auto x) { return std::isfinite(x); });
}

bool any_nan(const auto& values) {
  return std::ranges::any_of(values, [](auto x) { return std::isnan(x); });
}

Dyadic exact_sum(const PreparedGemm& gemm, const Vectors& vectors) {
  if (!gemm.scales) return exact_dot(vectors.row.data(), vectors.column.data(), vectors.k());
  return exact_block_dot(vectors.row.data(), vectors.column.data(), vectors.k(), gemm.scales->depth,
                         vectors.scales.factors());
}

// A vector with the scales that the instruction takes.
BoundOperand operand_of(const BoundOperand& right, const std::vector<float>& vector,
                        const std::vector<float>& scales) {
  OperandScales with = right.scales;
  if (with.values == nullptr) return vector.data();
  with.values = scales.data();
  with.stride = 1;
  return {vector.data(), with};
}

BoundModel model_of(const PreparedGemm& gemm, const GemmFault& fault) {
  BoundModel model = *gemm.model;
  if (fault.no_promotion) model.schedule = Schedule::sequential;
  if (fault.flushes) model.flushes = true;
  if (fault.a_read_as && model.node.group == 1)
    model.a_minimum_exponent = format(*fault.a_read_as).emin();
  if (fault.b_read_as && model.node.group == 1)
    model.b_minimum_exponent = format(*fault.b_read_as).emin();
  return model;
}

struct Sum {
  Dyadic exact;
  double error = 0;
};

double bf16_value(const Dyadic& exact) {
  const Format& bf16 = format(FormatId::bf16);
  return to_double(bf16, encode(bf16, exact.unrounded()));
}

// Partial sums as bf16, exactly but where the accumulator's error makes the rounding ambiguous;
// then f32 additions.
Sum bf16_partial_sums(const PreparedGemm& gemm, const GemmFault& fault, const Vectors& vectors) {
  BoundModel ranges = *gemm.model;
  ranges.schedule = Schedule::split_k;
  ranges.parts = fault.bf16_parts;
  ranges.interval = fault.bf16_block;
  BoundModel chain = *gemm.model;
  chain.schedule = Schedule::sequential;
  const std::int64_t k = vectors.k(), length = ranges.part_length(k);
  Sum total;
  double magnitude = 0;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    const std::int64_t count = std::min(length, k - begin);
    const float *row = vectors.row.data() + begin, *column = vectors.column.data() + begin;
    const Dyadic part = exact_dot(row, column, count);
    const double error = running_bound(chain, row, column, count).error;
    const double rounded = bf16_value(part);
    if (!std::isfinite(rounded)) return {Dyadic(), std::numeric_limits<double>::infinity()};
    const double low = bf16_value(part - Dyadic(error)), high = bf16_value(part + Dyadic(error));
    total.exact = total.exact + Dyadic(rounded);
    total.error += std::max(high - rounded, rounded - low);
    magnitude += std::fabs(rounded);
    if (begin > 0) total.error += magnitude * 0x1p-23;
  }
  return total;
}

// Each interval's sum times one scale, rounded, times the other.
Sum scaled_in_turn(const PreparedGemm& gemm, const Vectors& vectors, const GemmPlace& at,
                   double error) {
  Sum sum;
  sum.error = error;
  const std::int64_t depth = gemm.scales->depth;
  for (std::int64_t begin = 0; begin < vectors.k(); begin += depth) {
    const std::int64_t count = std::min(depth, vectors.k() - begin);
    const double factor =
        static_cast<double>(*faulty_scale(gemm.problem, GemmSide::a, {}, {at.i, begin})) *
        static_cast<double>(*faulty_scale(gemm.problem, GemmSide::b, {}, {at.j, begin}));
    const Dyadic part =
        exact_dot(vectors.row.data() + begin, vectors.column.data() + begin, count) *
        Dyadic(factor);
    sum.exact = sum.exact + part;
    sum.error += std::fabs(part.nearest_double()) * 0x1p-24;
  }
  return sum;
}

bool inside_place(const GemmProblem& problem, const GemmPlace& at) {
  return at.batch >= 0 && at.batch < problem.batch && at.i >= 0 && at.i < problem.m && at.j >= 0 &&
         at.j < problem.n;
}

// A NaN factor gone infinite makes the sum infinite, unless its block's own sum is 0.
bool fits_infinite_scale(const PreparedGemm& gemm, const GemmPlace& at, std::uint64_t got) {
  const bool has_nan = any_nan(gemm.factors(at));
  return has_nan && std::isinf(to_double(gemm.epilogue.output(), got));
}

// A sum of f32 that stays where only so many bits are kept: cut once for each block of products.
Sum cut_sum(const GemmFault& fault, const Vectors& vectors, std::int64_t block, Sum sum) {
  double magnitude = 0;
  const std::vector<double> factors = vectors.scales.factors();
  for (std::size_t p = 0; p < vectors.row.size(); ++p) {
    const double factor = factors.empty() ? 1 : factors[p / static_cast<std::size_t>(block)];
    magnitude += std::fabs(static_cast<double>(vectors.row[p]) *
                           static_cast<double>(vectors.column[p]) * factor);
  }
  const double cuts = std::ceil(static_cast<double>(vectors.k()) / static_cast<double>(block));
  sum.error += cuts * magnitude * std::ldexp(1.0, 1 - fault.sum_bits);
  return sum;
}

// Whether an f32 has no more significant bits than that.
bool has_bits(std::uint64_t code, int bits) {
  return (code & ((std::uint64_t{1} << (24 - bits)) - 1)) == 0;
}

// But for what is read as another format.
bool special_operands(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at) {
  const GemmOperands& operands = gemm.operands;
  const std::int64_t row = (operands.batch_a == 1 ? 0 : at.batch) * gemm.problem.m + at.i,
                     column = (operands.batch_b == 1 ? 0 : at.batch) * gemm.problem.n + at.j;
  return (!fault.a_read_as && operands.a_special[static_cast<std::size_t>(row)] != 0) ||
         (!fault.b_read_as && operands.b_special[static_cast<std::size_t>(column)] != 0);
}

// Whether every factor that is NaN or infinite meets a 0.
bool specials_meet_zeros(const PreparedGemm& gemm, const GemmPlace& at) {
  const GemmTensorReader a(*gemm.problem.a), b(*gemm.problem.b);
  const Format &of_a = format(gemm.problem.a->layout.format),
               &of_b = format(gemm.problem.b->layout.format);
  for (std::int64_t p = 0; p < gemm.problem.k; ++p) {
    const double x = to_double(of_a, a.bits(element_at(GemmSide::a, at, p)));
    const double y = to_double(of_b, b.bits(element_at(GemmSide::b, at, p)));
    if (std::isfinite(x) && std::isfinite(y)) continue;
    if (x != 0 && y != 0) return false;
  }
  return true;
}

// The f32 sum of an integer kernel that adds blocks of products to it.
float f32_sum(const Vectors& vectors, std::int64_t block) {
  float sum = 0;
  for (std::int64_t begin = 0; begin < vectors.k(); begin += block) {
    double exact = 0;  // of integers
    for (std::int64_t p = begin; p < std::min(vectors.k(), begin + block); ++p) {
      exact += static_cast<double>(vectors.row[static_cast<std::size_t>(p)]) *
               static_cast<double>(vectors.column[static_cast<std::size_t>(p)]);
    }
    sum += static_cast<float>(exact);
  }
  return sum;
}

// The sum of a kernel that multiplies integers as they are stored and takes out in f32 what zero
// points have added.
float sum_with_zeros_in_f32(const PreparedGemm& gemm, const Vectors& vectors) {
  const std::int64_t zero_a = gemm.problem.zero_a, zero_b = gemm.problem.zero_b;
  std::int64_t products = 0, row_sum = 0, column_sum = 0;
  for (std::int64_t p = 0; p < vectors.k(); ++p) {
    const auto at = static_cast<std::size_t>(p);
    const std::int64_t a = static_cast<std::int64_t>(vectors.row[at]) + zero_a;
    const std::int64_t b = static_cast<std::int64_t>(vectors.column[at]) + zero_b;
    products += a * b;
    row_sum += a;
    column_sum += b;
  }
  const auto in_f32 = [](std::int64_t x) { return static_cast<float>(wrapped_to_int32(x)); };
  float sum = in_f32(products);
  sum -= in_f32(zero_a * column_sum);
  sum -= in_f32(zero_b * row_sum);
  return sum + in_f32(vectors.k() * zero_a * zero_b);
}

// Numbers of a format from that of `low` to that of `high`, if they are few.
std::vector<float> numbers_between(const Format& to, float low, float high) {
  constexpr std::size_t kMost = 32;
  const auto rounded = [&](double x) { return to_double(to, encode(to, x)); };
  const double last = rounded(static_cast<double>(high));
  const auto next = [&](double x) {
    if (std::isinf(x))
      return x < 0 ? -to_double(to, to.max_finite()) : std::numeric_limits<double>::quiet_NaN();
    return rounded(x + 0.75 * ulp(to, x));
  };
  std::vector<float> out;
  for (double x = rounded(static_cast<double>(low)); x <= last && out.size() < kMost; x = next(x))
    out.push_back(static_cast<float>(x));
  return out;
}

// With another function for the activation: its values at the ends of what it is given, but for a
// few roundings.
bool fits_activation(const Contract& contract, const GemmFault& fault, FormatId output,
                     const F32Range& sum, const EpilogueOperands& operands, std::uint64_t got) {
  const auto at = std::ranges::find_if(
      contract.epilogue, [](EpilogueStep step) { return activation_of(step) != Activation::none; });
  for (auto step = at; step != contract.epilogue.end(); ++step) {
    const bool scales = *step == EpilogueStep::scale_d || *step == EpilogueStep::zero_d;
    if (step != at && !scales && activation_of(*step) == Activation::none) return false;
  }
  EpilogueScalars before = fault.scalars, after;
  before.activation = Activation::none;
  std::swap(before.has_scale_d, after.has_scale_d);
  std::swap(before.scale_d, after.scale_d);
  std::swap(before.zero_d, after.zero_d);
  const F32Range x = Epilogue(contract, before, FormatId::f32).range(sum, operands);
  if (x.nan || !std::isfinite(x.low) || !std::isfinite(x.high)) return false;
  const double one = fault.activation(static_cast<double>(x.low)),
               other = fault.activation(static_cast<double>(x.high));
  // 1 + erf and 1 + tanh are rounded before x is multiplied by them.
  const double largest = static_cast<double>(std::max(std::fabs(x.low), std::fabs(x.high)));
  const double room =
      0x1p-20 * std::max({std::fabs(one), std::fabs(other), 0x1p-126}) + 0x1p-24 * largest;
  const Epilogue rest(contract, after, output);
  const auto end = [&](double y) {
    const double value = static_cast<double>(rest.value(static_cast<float>(y), operands));
    return to_double(rest.output(), rest.low_code(static_cast<float>(value)));
  };
  const double a = end(std::min(one, other) - room), b = end(std::max(one, other) + room);
  const double stored = to_double(rest.output(), got);
  return std::min(a, b) <= stored && stored <= std::max(a, b);
}

EpilogueOperands operands_of(const PreparedGemm& gemm, const GemmFault& fault,
                             const GemmPlace& at) {
  EpilogueOperands operands = gemm.epilogue_operands(at);
  if (fault.bias_index) operands.bias = gemm.bias_at(fault.bias_index(at));
  if (gemm.scalars.has_scale_a)
    operands.scale_a = *faulty_scale(gemm.problem, GemmSide::a, fault.scale_a, {at.i, 0});
  if (gemm.scalars.has_scale_b)
    operands.scale_b = *faulty_scale(gemm.problem, GemmSide::b, fault.scale_b, {at.j, 0});
  return operands;
}

}  // namespace

bool can_tell(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at) {
  if (!reads_inside(gemm.problem, GemmSide::a, at, fault.a_offset) ||
      !reads_inside(gemm.problem, GemmSide::b, at, fault.b_offset)) {
    return false;
  }
  const GemmPlace source = fault.source ? fault.source(at) : at;
  if (inside_place(gemm.problem, source) && special_operands(gemm, fault, source) &&
      !fault.keeps_products())
    return false;  // where a NaN or an infinity is left out or comes in
  std::vector<float> column(static_cast<std::size_t>(gemm.problem.k));
  if (fault.b_change && !fault.b_change(gemm, at, column)) return false;
  const auto has_scale = [&](GemmSide side, const ScaleFault& scale, std::int64_t vector) {
    return along_k(gemm.problem, side) ||
           faulty_scale(gemm.problem, side, scale, {vector, 0}).has_value();
  };
  if (fault.scale_a.any() || fault.scale_b.any()) {
    return has_scale(GemmSide::a, fault.scale_a, at.i) &&
           has_scale(GemmSide::b, fault.scale_b, at.j) && scales_of(gemm, fault, at);
  }
  if (!fault.bias_index) return true;
  const std::int64_t index = fault.bias_index(at);
  return index >= 0 &&
         index < (gemm.problem.bias_kind == BiasKind::per_column ? gemm.problem.n : gemm.problem.m);
}

bool fits(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at,
          std::uint64_t got) {
  if (!can_tell(gemm, fault, at)) return true;
  const Epilogue& right = gemm.epilogue;
  if (fault.zero) return got == 0 || (right.order_of(got) == 0 && gemm.scalars.alpha < 0);
  if (fault.reads_c) {
    const GemmTensorReader c(*gemm.problem.c);
    return right.is_nan(got) &&
           !std::isfinite(to_double(format(gemm.problem.c->layout.format), c.bits(at)));
  }
  if (fault.nan_is_infinite) return fits_infinite_scale(gemm, at, got);
  if (fault.nan_stored_as || fault.small_is_zero) {
    const ElementVerdict verdict = judge_element(gemm, at, got);
    if (fault.nan_stored_as)
      return right.is_nan(verdict.expected) ? got == *fault.nan_stored_as : verdict.pass;
    const bool is_zero = !right.is_nan(got) && right.order_of(got) == 0;
    const double smallest = std::ldexp(1.0, right.output().emin());
    const double least = std::min(std::fabs(to_double(right.output(), verdict.low)),
                                  std::fabs(to_double(right.output(), verdict.high)));
    const double stored = std::fabs(to_double(right.output(), got));
    return is_zero ? least < smallest : verdict.pass && !(stored < smallest);
  }
  if (fault.sum_bits > 0 && !has_bits(got, fault.sum_bits)) return false;
  const GemmPlace source = fault.source ? fault.source(at) : at;
  if (!inside_place(gemm.problem, source)) return false;
  const bool special = fault.keeps_products() && gemm.special(source);
  if (fault.zeros_skipped && (!special || !specials_meet_zeros(gemm, source)))
    return judge_element(gemm, at, got).pass;

  const Vectors vectors = vectors_of(gemm, fault, source);
  const bool moved = fault.a_offset || fault.b_offset || fault.a_read_as || fault.b_read_as;
  if (moved && (any_nan(vectors.row) || any_nan(vectors.column))) return right.is_nan(got);
  if (!all_finite(vectors.row) || !all_finite(vectors.column)) return false;
  const std::vector<double> factors = vectors.scales.factors();
  if (!special && !all_finite(factors)) {
    const bool is_nan = right.is_nan(got);
    return any_nan(factors) ? is_nan : is_nan || !right.is_finite(got);
  }
  Contract contract = gemm.contract;
  contract.epilogue = fault.steps;
  contract.output = fault.output;
  if (fault.flushes) contract.subnormals_flushed = true;
  const Epilogue epilogue(contract, fault.scalars, gemm.problem.output);
  const auto with_either = [&](const auto& stored_with) {
    // A product from elsewhere may have met the epilogue there or here.
    return stored_with(operands_of(gemm, fault, at)) ||
           (fault.source && stored_with(operands_of(gemm, fault, source)));
  };
  if (special && !fault.zeros_skipped) {
    const ClassSet classes = gemm.special_classes(source);
    return with_either([&](const EpilogueOperands& operands) {
      return ElementRule(epilogue, gemm.grid, operands).judge({}, classes, got).inside;
    });
  }
  if (fault.f32_block > 0 || fault.zeros_in_f32) {
    const float sum = fault.zeros_in_f32 ? sum_with_zeros_in_f32(gemm, vectors)
                                         : f32_sum(vectors, fault.f32_block);
    return with_either([&](const EpilogueOperands& operands) {
      if (gemm.problem.output != FormatId::s32)
        return ElementRule(epilogue, gemm.grid, operands).judge_value(sum, got).inside;
      return std::fabs(sum) < 0x1p31f &&
             got == static_cast<std::uint32_t>(static_cast<std::int32_t>(sum));
    });
  }
  if (!gemm.model) {
    auto sum = static_cast<std::int64_t>(exact_sum(gemm, vectors).nearest_double());
    if (fault.added) sum += fault.added(gemm, source);
    const std::int32_t accumulator = fault.clamped
                                         ? static_cast<std::int32_t>(std::clamp<std::int64_t>(
                                               sum, std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max()))
                                         : wrapped_to_int32(sum);
    return with_either([&](const EpilogueOperands& operands) {
      const ElementRule rule(epilogue, gemm.grid, operands);
      if (epilogue.uncertain(F32Range::of(static_cast<float>(accumulator)), operands))
        return rule.judge_value(static_cast<float>(accumulator), got).inside;
      return rule.same_result(int32_output(epilogue, operands, accumulator), got);
    });
  }
  Sum sum;
  if (fault.bf16_parts > 0) {
    sum = bf16_partial_sums(gemm, fault, vectors);
  } else {
    sum.exact = exact_sum(gemm, vectors);
    const BoundModel model = model_of(gemm, fault);
    const RunningBound bound =
        running_bound(model, operand_of(gemm.row_operand(source), vectors.row, vectors.scales.a),
                      operand_of(gemm.column_operand(source), vectors.column, vectors.scales.b),
                      vectors.k(), {model.scaled ? factors.data() : nullptr, nullptr});
    if (!bound.classes.is_only(ResultClass::finite)) return false;
    sum.error = bound.error;
    if (fault.sum_bits > 0) sum = cut_sum(fault, vectors, gemm.contract.interval, sum);
    if (fault.scales_in_turn) sum = scaled_in_turn(gemm, vectors, source, bound.error);
  }
  if (!std::isfinite(sum.error)) return false;
  const GridRange range = accumulator_range(gemm.grid, sum.exact, sum.error).outer;
  return with_either([&](const EpilogueOperands& operands) {
    const ElementRule rule(epilogue, gemm.grid, operands);
    if (!fault.sum_in && !fault.activation)
      return rule.judge(range, ResultClass::finite, got).inside;
    if (range.first > range.last) return false;
    const F32Range sums{gemm.grid.value(range.first), gemm.grid.value(range.last), false};
    if (fault.activation)
      return fits_activation(contract, fault, gemm.problem.output, sums, operands, got);
    const std::vector<float> narrow = numbers_between(format(*fault.sum_in), sums.low, sums.high);
    return std::ranges::any_of(narrow, [&](float x) { return rule.judge_value(x, got).inside; });
  });
}

}  // namespace plumbline
