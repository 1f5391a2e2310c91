// SPDX-License-Identifier: MIT
// For tests of forms: a domain whose operations are those of a kernel that chooses at random all
// that a contract leaves open, and problems of texts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/text/definition.h"
#include "oracles/reference/text/forms.h"
#include "tests/oracles/bounds/accumulator/family_sums.h"

namespace plumbline::text {

using Functions = Arithmetic::Functions;

// A kernel that conforms: each operation rounds, in an order of its own, by an error of its own.
class Drawn {
 public:
  using Value = float;

  Drawn(const Arithmetic& arithmetic, std::uint64_t seed)
      : arithmetic_(arithmetic), random_(std::make_shared<Random>(seed)) {}

  // A kernel that gives sums of products to this unit.
  Drawn(const Arithmetic& arithmetic, std::uint64_t seed, const testing::FamilyUnit& unit,
        std::shared_ptr<const ProductSums> products)
      : Drawn(arithmetic, seed) {
    unit_ = &unit;
    products_ = std::move(products);
  }

  bool begins_with_addend() const { return arithmetic_.begins_with_addend; }

  float placed(const Expression&, std::size_t, float a) const { return a; }

  float real(double x, double = 0) const { return flushed(static_cast<float>(x)); }

  float whole(std::int64_t k) const { return static_cast<float>(k); }

  float input(double x) const { return flushed(static_cast<float>(x)); }

  float used(const Expression&, float a) const { return a; }

  float negate(const Expression&, float a) const { return -a; }

  float chosen(const Expression&, std::size_t, float a) const { return a; }

  float either(const Truth& first, float a, float b) const { return first.holds ? a : b; }

  float sum(const Expression& node, std::span<const float> of) const {
    std::vector<float> terms;
    for (std::size_t i = 0; i < of.size(); ++i) terms.push_back(node.negative[i] ? -of[i] : of[i]);
    return joined(std::move(terms), [](float a, float b) { return a + b; });
  }

  // A square may be two factors, which others come between.
  float product(const Expression& node, std::span<const float> of) const {
    std::vector<float> factors;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto root = roots_.find(node.children[i].get());
      const bool two = root != roots_.end() && random_->below(2) == 0;
      factors.push_back(two ? root->second : of[i]);
      if (two) factors.push_back(root->second);
    }
    return joined(std::move(factors), [](float a, float b) { return a * b; });
  }

  float quotient(const Expression&, float a, float b) const {
    const bool precise = arithmetic_.functions == Functions::precise;
    switch (random_->below(precise ? 1 : 4)) {
      case 0:
        return flushed(a / b);
      case 1:
        return flushed(a * flushed(1 / b));
      case 2:  // __fdividef
        if (std::fabs(b) > 0x1p126f && !std::isinf(b)) return std::isinf(a) ? kNan : 0.0f * a;
        return off(double{a} / b, 3 * 0x1p-24, 0);
      default:  // div.approx(1, b), which quotients by b share
        return flushed(a * off(1 / double{b}, 3 * 0x1p-24, 0));
    }
  }

  float function(const Expression& node, float x) const {
    const double y = Definition<double>().function(node, x), ulp = 0x1p-23;
    const bool fast = arithmetic_.functions != Functions::precise;
    if (node.function == Function::square) roots_[&node] = x;
    if (x == 0) return static_cast<float>(y);  // all of them are exact there
    switch (node.function) {
      case Function::exp:
        if (fast && random_->below(2) == 0) {  // ex2.approx of the product
          const float power = flushed(x * 0x1.715476p+0f);
          return off(std::exp2(double{power}), 2.5 * ulp, 0);
        }
        return off(y, fast ? (2 + std::floor(1.173 * std::fabs(x))) * ulp : 2 * ulp, 0);
      case Function::exp2:
        return off(y, 2 * ulp, 0);
      case Function::log:
      case Function::log2: {
        const bool near = fast && x > 0.5 && x < 2;
        return near ? off(y, 0, 0x1p-22) : off(y, 2 * ulp, 0);
      }
      case Function::sqrt:
        return off(y, fast ? ulp : 0, 0);
      case Function::rsqrt:
        return off(y, 2 * ulp, 0);
      case Function::tanh:
        return off(y, arithmetic_.functions == Functions::approx ? 0x1p-11 : 2 * ulp, 0);
      case Function::erf:
        return off(y, 2 * ulp, 0);
      case Function::sin:
      case Function::cos:
        if (!fast) return off(y, 2 * ulp, 0);
        if (std::fabs(x) <= 6.28f) return off(y, 0, 0x1.84p-21);
        if (std::fabs(x) <= 314 || std::isnan(y)) return off(y, 0, 0x1.3bp-15);
        return off(0, 0, 1);
      default:
        return flushed(static_cast<float>(y));
    }
  }

  float extreme(bool maximum, float a, float b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return maximum == (a > b) ? a : b;
  }

  const ProductSum* product_sum(const Expression& sum) const {
    return products_ ? products_->find(sum) : nullptr;
  }

  // By instructions of the unit, in a schedule that is drawn for every sum.
  class Products {
   public:
    Products(const Drawn& drawn, const ProductSum& how) : drawn_(drawn), how_(how) {}

    static float stored(double x) { return static_cast<float>(x); }

    void skip() { add(0, 0, {true}); }

    void begin(float) { ADD_FAILURE() << "kernels with tensor cores begin with zero here"; }

    void add(float a, float b, const Truth&) {
      of_.a.push_back(a);
      of_.b.push_back(b);
    }

    float value() const {
      testing::Operands of = of_;
      if (!how_.in_order) drawn_.shuffle(of);
      const auto k = static_cast<std::int64_t>(of.a.size());
      const testing::FamilyUnit& unit = *drawn_.unit_;
      return testing::family_sum(unit, of, testing::family_schedule(unit, k, 16, *drawn_.random_),
                                 *drawn_.random_);
    }

   private:
    const Drawn& drawn_;
    const ProductSum& how_;
    testing::Operands of_;
  };

  float round_to(FormatId to, float x) const {
    return static_cast<float>(Definition<double>().round_to(to, x));
  }

  Truth compare(Comparison op, float a, float b) const {
    return {Evaluator<Drawn>::compared(op, a, b)};
  }

  class Total {
   public:
    Total(const Drawn& drawn, const Expression& node)
        : drawn_(drawn), kind_(static_cast<Reduction>(node.id)) {}

    void begin(float first) { first_ = first; }

    void add(float term, const Truth&) { terms_.push_back(term); }

    float value() const {
      if (kind_ == Reduction::sum) return drawn_.total(terms_, first_);
      const bool maximum = kind_ == Reduction::max;
      float out = maximum ? -kFloatInfinity : kFloatInfinity;
      for (const float one : terms_) out = drawn_.extreme(maximum, out, one);
      return out;
    }

   private:
    const Drawn& drawn_;
    Reduction kind_;
    float first_ = 0;
    std::vector<float> terms_;
  };

 private:
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  mutable std::map<const Expression*, float> roots_;  // of the squares computed last

  float flushed(float x) const {
    const bool subnormal = x != 0 && std::fabs(x) < 0x1p-126f;
    return arithmetic_.flushed && subnormal && random_->below(2) == 0 ? std::copysign(0.0f, x) : x;
  }

  // Within these errors, and rounded.
  float off(double y, double relative, double absolute) const {
    if (!std::isfinite(y) || (y == 0 && absolute == 0)) return static_cast<float>(y);
    const double by = 2 * random_->unit() - 1;
    return flushed(static_cast<float>(y + by * (relative * std::fabs(y) + absolute)));
  }

  void shuffle(testing::Operands& of) const {
    for (std::size_t i = of.a.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(random_->below(i));
      std::swap(of.a[i - 1], of.a[other]);
      std::swap(of.b[i - 1], of.b[other]);
    }
  }

  template <typename Join>
  float joined(std::vector<float> of, Join join) const {
    while (of.size() > 1) {
      const auto i = static_cast<std::size_t>(random_->below(of.size() - 1));
      std::swap(of[i], of[static_cast<std::size_t>(random_->below(of.size()))]);
      of[i] = flushed(join(of[i], of[i + 1]));
      of.erase(of.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    return of[0];
  }

  // In any order one after the other, or by 32 lanes whose sums are joined in pairs.
  float total(std::vector<float> terms, float first) const {
    const auto add = [&](float& to, float term) { to = flushed(to + term); };
    if (arithmetic_.any_order) {
      float out = first;
      for (; !terms.empty(); terms.pop_back()) {
        std::swap(terms.back(), terms[static_cast<std::size_t>(random_->below(terms.size()))]);
        add(out, terms.back());
      }
      return out;
    }
    std::vector<float> lanes(32);
    lanes[0] = first;
    for (std::size_t i = 0; i < terms.size(); ++i) add(lanes[i % 32], terms[i]);
    for (std::size_t step = 16; step > 0; step /= 2) {
      for (std::size_t i = 0; i < step; ++i) add(lanes[i], lanes[i + step]);
    }
    return lanes[0];
  }

  Arithmetic arithmetic_;
  std::shared_ptr<Random> random_;
  const testing::FamilyUnit* unit_ = nullptr;
  std::shared_ptr<const ProductSums> products_;  // null: no sum is one of tensor cores
};

class TextProblem {
 public:
  // Inputs are rounded to the format.
  TextProblem(const std::string& text, std::vector<std::int64_t> sizes,
              const std::function<double(std::int64_t, Random&)>& element, std::uint64_t seed = 1,
              FormatId stored = FormatId::f32) {
    const Result<std::vector<OperationText>> parsed = parse_operations(text, "text.op");
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().text());
    const Result<std::shared_ptr<const Program>> program = check_operation(parsed->front());
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
    Setting setting;
    setting.sizes = std::move(sizes);
    for (const Parameter* one : (*program)->scalars)
      setting.scalars.push_back(fixed_real(*(*program)->defaults.at(one->name), {}, {}));
    setting.present.assign((*program)->inputs.size(), true);
    setting.formats.assign((*program)->text.parameters.size(), stored);
    Result<Instance> instance = Instance::make(*program, std::move(setting));
    EXPECT_TRUE(instance.ok()) << (instance.ok() ? "" : instance.error().text());
    instance_ = std::make_unique<Instance>(*std::move(instance));
    Random random(seed);
    std::vector<const Tensor*> pointers;
    for (std::size_t i = 0; i < (*program)->inputs.size(); ++i) {
      const auto shape = instance_->input_shape(static_cast<int>(i));
      Tensor& tensor = *tensors_.emplace_back(
          std::make_unique<Tensor>(dense_layout(stored, {shape.begin(), shape.end()})));
      for (std::int64_t e = 0; e < tensor.layout.count(); ++e)
        tensor.set_bits(e, encode(format(stored), element(e, random)));
      pointers.push_back(&tensor);
    }
    inputs_ = Inputs(pointers);
  }

  const std::vector<std::unique_ptr<Tensor>>& tensors() const { return tensors_; }

  const Instance& instance() const { return *instance_; }

  const Inputs& inputs() const { return inputs_; }

  int output() const { return instance_->program().outputs.front(); }

  std::int64_t elements() const { return instance_->step_elements(output()); }

  template <typename Domain>
  std::vector<typename Domain::Value> over(const Domain& domain) const {
    Evaluator<Domain> evaluator(*instance_, inputs_, domain);
    std::vector<typename Domain::Value> values;
    for (std::int64_t i = 0; i < elements(); ++i) values.push_back(evaluator.element(output(), i));
    return values;
  }

 private:
  std::unique_ptr<Instance> instance_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  Inputs inputs_;
};

struct Data {
  const char* name;
  double (*element)(std::int64_t i, Random& random);
};

inline double with_exponent(Random& random, int least, int most) {
  const double x = std::ldexp(1 + random.unit(), static_cast<int>(random.between(least, most)));
  return random.below(2) == 0 ? x : -x;
}

inline constexpr Data kData[] = {
    {"normal", [](std::int64_t, Random& random) { return with_exponent(random, -3, 1); }},
    {"offset", [](std::int64_t, Random& random) { return 100 + with_exponent(random, -9, -5); }},
    {"integers",
     [](std::int64_t, Random& random) { return static_cast<double>(random.between(-4, 4)); }},
    {"wide", [](std::int64_t, Random& random) { return with_exponent(random, -60, 60); }},
    {"large", [](std::int64_t, Random& random) { return with_exponent(random, 120, 127); }},
    {"small", [](std::int64_t, Random& random) { return with_exponent(random, -149, -120); }},
    {"specials",
     [](std::int64_t, Random& random) {
       constexpr double kValues[] = {0, -0.0, 1, kInfinity, -kInfinity, -1, 3e38, 1e-40};
       if (random.below(9) == 0) return double{NAN};
       return kValues[random.below(8)];
     }},
};

// What a few kernels compute lies within forms.
inline void check_conforming(const TextProblem& problem, const Arithmetic& arithmetic, int kernels,
                             const std::string& what) {
  const std::vector<Form> forms = problem.over(Forms(arithmetic));
  for (int kernel = 0; kernel < kernels; ++kernel) {
    const std::vector<float> got =
        problem.over(Drawn(arithmetic, 100 + static_cast<std::uint64_t>(kernel)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const F32Range range = ranged(forms[i]).range;
      ASSERT_TRUE(range.contains(got[i]))
          << what << " kernel " << kernel << " element " << i
          << fmt::format(": {:a} not in {:a} to {:a}{}, exact {}", got[i], range.low, range.high,
                         range.nan ? " or NaN" : "", forms[i].value);
    }
  }
}

// The exact values of forms are those of the definition.
inline void check_definition(const TextProblem& problem, const std::string& what) {
  const std::vector<Form> forms = problem.over(Forms({}));
  at_precision(256, [&]<typename Number>() {
    const auto exact = problem.over(Definition<Number>());
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const Certified certified{forms[i].value, forms[i].error};
      EXPECT_TRUE(std::isinf(certified.error) || agrees(static_cast<double>(exact[i]), certified))
          << what << " element " << i << ": " << certified.value << " +- " << certified.error
          << ", exact " << static_cast<double>(exact[i]);
    }
    return 0;
  });
}

}  // namespace plumbline::text
