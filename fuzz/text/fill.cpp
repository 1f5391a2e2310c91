// SPDX-License-Identifier: MIT
#include "fuzz/text/fill.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/shared_fill.h"
#include "fuzz/rows/values.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/text/words.h"

namespace plumbline {

namespace {

// What the text allows an input, as far as its format holds it.
struct Allowed : TextOperation::Values {
  bool integer = false;

  double last() const { return integer ? high - 1 : high; }
};

constexpr std::int64_t kPiece = 16;  // elements of a vector that are filled as a row is

Random stream(const Random& random, std::uint64_t kind, std::int64_t index) {
  return random.fork(kind).fork(static_cast<std::uint64_t>(index));
}

// An integer of a range, or another value of the text's; often one of the ends, where indices leave
// their tensor first.
double draw_integer(const Allowed& values, Random& random) {
  const double last = values.last();
  if (!values.others.empty() && (last < values.low || random.below(6) == 0))
    return draw_one_of(random, values.others);
  switch (random.below(6)) {
    case 0:
      return values.low;
    case 1:
    case 2:
      return last;
    default:
      return std::min(values.low + std::floor(random.unit() * (values.high - values.low)), last);
  }
}

double draw_real(const Allowed& values, Random& random) {
  if (!values.others.empty() && random.below(6) == 0) return draw_one_of(random, values.others);
  switch (random.below(16)) {
    case 0:
      return values.low;
    case 1:
      return values.high;
    case 2:
      return std::clamp(0.0, values.low, values.high);
    default:
      break;
  }
  if (values.low <= 0) return values.low + random.unit() * (values.high - values.low);
  const std::int64_t exponent = random.between(std::ilogb(values.low), std::ilogb(values.high));
  return std::clamp(std::ldexp(1 + random.unit(), static_cast<int>(exponent)), values.low,
                    values.high);
}

// The code nearest to a value, or the next one where that leaves the range.
std::uint64_t code_between(const Format& f, double value, const Allowed& values) {
  std::uint64_t code = encode(f, value);
  if (std::ranges::count(values.others, value) > 0) return code;
  const double rounded = to_double(f, code);
  if (rounded > values.high) next_down(f, code, code);
  if (rounded < values.low) next_up(f, code, code);
  return code;
}

// The classes were made for the exponents of bf16 and f32. In a narrower format what would become
// an infinity or 0 moves to either end of its range.
double within(const Format& f, double value) {
  if (f.is_integer || !std::isfinite(value) || value == 0) return value;
  const int exponent = std::ilogb(value);
  if (exponent >= f.emax() && std::fabs(value) > to_double(f, f.max_finite()))
    return std::ldexp(value, f.emax() - 1 - exponent % 4 - exponent);
  const int least = f.emin() - f.mantissa_bits;
  if (exponent < least - 1) return std::ldexp(value, least + 1 + std::abs(exponent) % 4 - exponent);
  return value;
}

Allowed allowed_of(const TextOperation& operation, const Tensor& tensor, const std::string& name,
                   const Problem& problem) {
  Allowed allowed{operation.values(name, problem),
                  text::is_integer_type(operation.text().find(name)->type)};
  if (allowed.integer) return allowed;
  const Format& f = format(tensor.layout.format);
  const double largest = to_double(f, f.max_finite());
  allowed.low = std::max(allowed.low, -largest);
  allowed.high = std::min(allowed.high, largest);
  return allowed;
}

double draw_in_range(InRange kind, const Allowed& values, Random& of_row, Random& random) {
  const double last = values.last();
  const auto between = [&](double low, Random& from) {
    const double value = low + from.unit() * (last - low);
    return values.integer ? std::round(value) : value;
  };
  if (last >= values.low) {
    if (kind == InRange::positive && last > 0) return between(std::max(values.low, 0.0), random);
    if (kind == InRange::one) return std::clamp(1.0, values.low, last);
    if (kind == InRange::ends) return of_row.below(2) == 0 ? values.low : last;
    if (kind == InRange::equal_rows) return between(values.low, of_row);
  }
  return values.integer ? draw_integer(values, random) : draw_real(values, random);
}

class Filler {
 public:
  Filler(const TextOperation& operation, const Case& test_case)
      : operation_(operation),
        test_case_(test_case),
        values_(row_value_class(test_case.recipe.value_class)),
        random_(recipe_random(test_case.recipe)) {
    // Extreme values in all tensors mask each other: by half of the seeds one tensor has them.
    constexpr std::array<std::string_view, 3> kExtreme = {"large", "specials", "subnormal"};
    if (std::ranges::find(kExtreme, values_.name) == kExtreme.end()) return;
    std::vector<std::string_view> inputs;
    for (const text::Parameter& one : operation_.text().parameters)
      if (!one.sizes.empty() && !one.output) inputs.push_back(one.name);
    Random chosen = random_.fork(0xe87e);
    if (inputs.size() > 1 && chosen.below(2) == 0) only_ = draw_one_of(chosen, inputs);
  }

  void fill(const std::string& name, Tensor& tensor) const {
    if (!only_.empty() && name != only_) return Filler(*this, "normal").fill(name, tensor);
    const Random own = random_.fork(fingerprint(name));
    if (operation_.has_values(name)) return fill_range(name, own, tensor);
    const text::Parameter& parameter = *operation_.text().find(name);
    if (format(tensor.layout.format).specials == Specials::scale_nan)
      return fill_elements(tensor, [&](std::int64_t i) {
        return gemm_scale(test_case_.recipe.value_class, stream(own, 3, i));
      });
    const std::int64_t last = std::max<std::int64_t>(1, tensor.layout.shape.back());
    if (parameter.sizes.size() > 1) return fill_rows(own, last, tensor);
    if (is_offset(parameter))
      return fill_elements(tensor, [&](std::int64_t i) {
        Random random = stream(own, 3, i);
        return row_offset(values_, random);
      });
    if (is_weight(parameter))
      return fill_elements(tensor, [&](std::int64_t i) {
        Random random = stream(own, 3, i);
        return row_weight(values_, i, random);
      });
    fill_rows(own, std::min(last, kPiece), tensor);
  }

 private:
  Filler(const Filler& like, std::string_view values)
      : operation_(like.operation_),
        test_case_(like.test_case_),
        values_(row_value_class(values)),
        random_(like.random_) {}

  // What a kernel adds, as beta: left out it is 0.
  static bool is_offset(const text::Parameter& vector) {
    const text::NodePtr& otherwise = vector.otherwise;
    return otherwise && otherwise->kind == text::Kind::number && otherwise->number == 0;
  }

  // What a kernel multiplies the columns of a matrix by, as gamma.
  bool is_weight(const text::Parameter& vector) const {
    return vector.otherwise ||
           std::ranges::any_of(operation_.text().parameters, [&](const text::Parameter& other) {
             if (other.sizes.size() < 2) return false;
             return std::ranges::any_of(operation_.sizes(), [&](const std::string& size) {
               return mentions(*vector.sizes.front(), size) && mentions(*other.sizes.back(), size);
             });
           });
  }

  template <typename Value>
  static void fill_elements(Tensor& tensor, Value value) {
    const Format& f = format(tensor.layout.format);
    const std::int64_t count = tensor.layout.count();
    for (std::int64_t i = 0; i < count; ++i)
      tensor.set_bits(i, encode(f, gemm_in_range(f, within(f, value(i)))));
  }

  void fill_rows(const Random& own, std::int64_t width, Tensor& tensor) const {
    const Format& f = format(tensor.layout.format);
    // "large" asks how large a format's numbers are, and wants more than narrow ones have.
    const bool wider = values_.name == "large" && f.emax() < 100;
    const Format& shown = f.is_integer || wider ? format(FormatId::f32) : f;
    fill_elements(tensor, [&](std::int64_t i) {
      const std::int64_t row = i / width, column = i % width;
      const RowSpot spot{width, row, column, stream(own, 1, row), stream(own, 2, column), shown};
      Random random = stream(own, 3, (row << 28) ^ column);
      return values_.element(spot, random);
    });
  }

  void fill_range(const std::string& name, const Random& own, Tensor& tensor) const {
    const Format& f = format(tensor.layout.format);
    const Allowed values = allowed_of(operation_, tensor, name, test_case_.problem);
    const std::int64_t count = tensor.layout.count();
    const std::int64_t width = std::max<std::int64_t>(1, tensor.layout.shape.back());
    // Drawn one by one places hardly ever leave all of something: in a third of the cases each
    // tensor of them is one of its ends.
    const bool is_place = holds_places(operation_, *operation_.text().find(name));
    if (is_place && values.last() >= values.low && random_.fork(0x91d5).below(3) == 0) {
      const double end = own.fork(0x91d5).below(2) == 0 ? values.low : values.last();
      return fill_elements(tensor, [&](std::int64_t) { return end; });
    }
    for (std::int64_t i = 0; i < count; ++i) {
      Random random = stream(own, 3, i), of_row = stream(own, 1, i / width);
      const double value = draw_in_range(values_.in_range, values, of_row, random);
      tensor.set_bits(i, code_between(f, value, values));
    }
  }

  const TextOperation& operation_;
  const Case& test_case_;
  const RowValueClass& values_;
  Random random_;
  std::string only_;  // the tensor that has these values, others are normal; empty: all
};

}  // namespace

bool holds_places(const TextOperation& operation, const text::Parameter& input) {
  return (input.type == "s32" || input.type == "s64") && operation.has_values(input.name);
}

bool mentions(const text::Node& size, std::string_view name) {
  return (size.kind == text::Kind::name && size.name == name) ||
         std::ranges::any_of(size.children,
                             [&](const text::NodePtr& one) { return mentions(*one, name); });
}

void fill_text_case(const TextOperation& operation, const Case& test_case, CaseTensors& tensors) {
  const Filler filler(operation, test_case);
  for (std::size_t i = 0; i < tensors.specs.size(); ++i) {
    if (tensors.specs[i].role == TensorRole::input)
      filler.fill(tensors.specs[i].name, tensors.tensors[i]);
  }
}

void settle_text_values(const TextOperation& operation, Case& after) {
  for (auto& [name, literal] : after.literals) {
    if (!operation.has_values(name)) continue;
    const Allowed values = allowed_of(operation, literal, name, after.problem);
    const double last = values.last();
    const Format& f = format(literal.layout.format);
    for (std::int64_t i = 0; i < literal.layout.count(); ++i) {
      const double value = to_double(f, literal.bits(i));
      const bool allowed = value >= values.low && value <= last;
      if (allowed || std::ranges::count(values.others, value) > 0) continue;
      const double nearest = std::max(values.low, std::min(value, last));
      literal.set_bits(i, code_between(f, nearest, values));
    }
  }
}

}  // namespace plumbline
