// SPDX-License-Identifier: MIT
// Gradients of texts against formulas that are written out by hand, and of random texts against
// derivatives in a direction, which dual numbers carry forward: <dy, J v> is <J^T dy, v>.
#include "oracles/text/gradient.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "oracles/reference/text/definition.h"
#include "tests/oracles/reference/text/known_gradients.h"
#include "tests/oracles/reference/text/random_texts.h"

namespace plumbline::text {
namespace {

// A number and its derivative in the direction that `direction` chooses for each input value.
template <typename Number>
struct Dual {
  Number value = 0, slope = 0;
};

double direction(double x) {
  Random random(std::bit_cast<std::uint64_t>(x));
  return 2 * random.unit() - 1;
}

template <typename Number>
class Forward {
 public:
  using Value = Dual<Number>;

  Value real(double x, double rest = 0) const { return {plain_.real(x, rest), Number(0)}; }

  Value whole(std::int64_t k) const { return {plain_.whole(k), Number(0)}; }

  Value input(double x) const { return {Number(x), Number(direction(x))}; }

  Value used(const Expression&, const Value& a) const { return a; }

  Value sum(const Expression& node, std::span<const Value> of) const {
    Value out{Number(0), Number(0)};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const Number sign(node.negative[i] ? -1 : 1);
      out = {Number(out.value + sign * of[i].value), Number(out.slope + sign * of[i].slope)};
    }
    return out;
  }

  Value product(const Expression&, std::span<const Value> of) const {
    Value out = of[0];
    for (const Value& one : of.subspan(1))
      out = {Number(out.value * one.value), Number(out.slope * one.value + out.value * one.slope)};
    return out;
  }

  Value quotient(const Expression&, const Value& a, const Value& b) const {
    *nan_ |= b.value == 0;
    return {Number(a.value / b.value),
            Number((a.slope * b.value - a.value * b.slope) / (b.value * b.value))};
  }

  Value function(const Expression& node, const Value& a) const {
    const Number value = plain_.function(node, a.value);
    *nan_ |= value != value;
    return {value, Number(slope(node, a.value) * a.slope)};
  }

  Value negate(const Expression&, const Value& a) const {
    return {Number(-a.value), Number(-a.slope)};
  }

  Value extreme(bool maximum, const Value& a, const Value& b) const {
    return (maximum ? a.value > b.value : a.value < b.value) ? a : b;
  }

  Value chosen(const Expression&, std::size_t, const Value& a) const { return a; }

  Value either(const Truth& first, const Value& a, const Value& b) const {
    return first.holds ? a : b;
  }

  Value round_to(FormatId to, const Value& a) const {
    return {plain_.round_to(to, a.value), a.slope};
  }

  // Whether NaN came up: what depends on it is neither here nor there.
  bool found_nan() const { return *nan_; }

  Truth compare(Comparison op, const Value& a, const Value& b) const {
    return plain_.compare(op, a.value, b.value);
  }

  class Total {
   public:
    Total(const Forward& domain, const Expression& node)
        : domain_(domain), kind_(static_cast<Reduction>(node.id)) {}

    void add(const Value& term, const Truth&) {
      if (kind_ == Reduction::sum) {
        total_ = {Number(total_.value + term.value), Number(total_.slope + term.slope)};
      } else {
        total_ = first_ ? term : domain_.extreme(kind_ == Reduction::max, total_, term);
      }
      first_ = false;
    }

    Value value() const { return total_; }

   private:
    const Forward& domain_;
    Reduction kind_;
    bool first_ = true;
    Value total_{Number(0), Number(0)};
  };

 private:
  static Number slope(const Expression& node, const Number& x) {
    using std::sin, std::cos, std::exp, std::log, std::sqrt, std::tanh;
    const Number two(2), ln2 = log(two);
    const Number root = sqrt(x);
    switch (node.function) {
      case Function::exp:
        return exp(x);
      case Function::exp2:
        return Number(exp(Number(x * ln2)) * ln2);
      case Function::log:
        return Number(1 / x);
      case Function::log2:
        return Number(1 / (x * ln2));
      case Function::sqrt:
        return Number(1 / (2 * root));
      case Function::rsqrt:
        return Number(-1 / (2 * x * root));
      case Function::tanh:
        return Number(1 - tanh(x) * tanh(x));
      case Function::erf:
        return Number(exp(Number(-x * x)) * 2 / sqrt(acos(Number(-1))));
      case Function::sin:
        return cos(x);
      case Function::cos:
        return Number(-sin(x));
      case Function::abs:
        return Number(x < 0 ? -1 : 1);
      case Function::square:
        return Number(2 * x);
      case Function::sign:
      case Function::floor:
      case Function::round:
      case Function::logb:
        break;
    }
    return Number(0);
  }

  Definition<Number> plain_;
  std::shared_ptr<bool> nan_ = std::make_shared<bool>(false);
};

TEST(TextGradients, AreThoseOfTheFormulasThatAreKnown) { check_known_gradients(20); }

TEST(TextGradients, OfFunctionsAreThoseOfWhatTheyStandFor) {
  const std::pair<std::string, std::string> kFunctions[] = {
      {"sigmoid(x[i])", "1 / (1 + exp(-x[i]))"},
      {"silu(x[i])", "x[i] / (1 + exp(-x[i]))"},
      {"gelu(x[i])", "0.5 * x[i] * (1 + erf(0.7071067811865476 * x[i]))"},
      {"gelu_tanh(x[i])",
       "0.5 * x[i] * (1 + tanh(0.7978845608028654 * (x[i] + 0.044715 * x[i] * x[i]^2)))"},
      {"clamp(x[i], -0.5, 0.25)", "where(x[i] < -0.5, -0.5, where(x[i] > 0.25, 0.25, x[i]))"},
      {"max(x[i], 0, 0.25 * x[i])", "where(x[i] > 0, x[i], 0.25 * x[i] - 0.25 * x[i])"},
      {"exp2(x[i])", "exp(0.6931471805599453 * x[i])"},
      {"log2(x[i]^2)", "1.4426950408889634 * log(x[i] * x[i])"},
  };
  for (const auto& [function, meaning] : kFunctions) {
    const auto gradient = [](const std::string& value) {
      return program_of(operations_of("operation f(x[m]) -> y[m]\n  y[i] = " + value +
                                      "\noperation g = gradient of f wrt x\n")
                            .back());
    };
    const auto ours = gradient(function), theirs = gradient(meaning);
    at_precision(256, [&]<typename Number>() {
      Random random(1);
      Tensors inputs;
      const std::map<std::string, std::int64_t> sizes = {{"m", 200}};
      const auto a = evaluated(ours, sizes, inputs, random, Definition<Number>());
      const auto b = evaluated(theirs, sizes, inputs, random, Definition<Number>());
      for (std::size_t i = 0; i < a.at("dx").size(); ++i)
        EXPECT_NEAR(static_cast<double>(a.at("dx")[i]), static_cast<double>(b.at("dx")[i]), 1e-14)
            << function << " at " << inputs.at("x")[i];
      return 0;
    });
  }
}

TEST(TextGradients, ASubscriptMayNameAnIndexTwice) {
  const auto program = program_of(operations_of("operation f(x[2 n]) -> y[n]\n  y[i] = x[i + i]\n"
                                                "operation g = gradient of f wrt x\n")
                                      .back());
  Random random(1);
  Tensors inputs;
  const auto values = evaluated(program, {{"n", 3}}, inputs, random, Definition<double>());
  const std::vector<double> dy = inputs.at("dy");
  EXPECT_EQ(values.at("dx"), (std::vector<double>{dy[0], 0, dy[1], 0, dy[2], 0}));
}

// The text's gradient with respect to all inputs that its output changes with.
std::vector<OperationText> with_gradient(const std::string& text) {
  std::vector<std::string> wrt = {"x", "a", "v"};
  while (!wrt.empty()) {
    const std::string all =
        text + fmt::format("operation g = gradient of drawn wrt {}\n", fmt::join(wrt, ", "));
    Result<std::vector<OperationText>> parsed = parse_operations(all, "text.op");
    if (parsed) return *std::move(parsed);
    const std::string error = parsed.error().text();
    const auto unused = std::ranges::find_if(wrt, [&](const std::string& name) {
      return error.find("changes with '" + name + "'") != std::string::npos;
    });
    EXPECT_NE(unused, wrt.end()) << error << "\n" << all;
    if (unused == wrt.end()) return {};
    wrt.erase(unused);
  }
  return {};
}

TEST(TextGradients, OfRandomTextsAreTheTransposeOfTheirDerivative) {
  int compared = 0, skipped = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const std::string text = RandomText(seed, true).text();
    const std::vector<OperationText> operations = with_gradient(text);
    if (operations.empty()) {
      ++skipped;
      continue;
    }
    const auto forward = program_of(operations[0]), backward = program_of(operations[1]);
    ASSERT_TRUE(forward && backward);
    at_precision(256, [&]<typename Number>() {
      using std::abs;
      Random random(seed);
      const std::map<std::string, std::int64_t> sizes = {{"m", 2}, {"n", random.between(1, 5)}};
      Tensors inputs;
      const Forward<Number> dual;
      const auto slopes = evaluated(forward, sizes, inputs, random, dual);
      const auto gradients = evaluated(backward, sizes, inputs, random, Definition<Number>());
      Number ahead(0), back(0), scale(0x1p-40);
      for (std::size_t i = 0; i < slopes.at("y").size(); ++i) {
        const Number term(slopes.at("y")[i].slope * inputs.at("dy")[i]);
        ahead += term;
        scale += abs(term);
      }
      for (const auto& [name, values] : gradients) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const Number term(values[i] * direction(inputs.at(name.substr(1))[i]));
          back += term;
          scale += abs(term);
        }
      }
      if (dual.found_nan() || !(scale < Number(1e30))) {
        ++skipped;
        return 0;
      }
      ++compared;
      EXPECT_LE(static_cast<double>(abs(Number(ahead - back)) / scale), 0x1p-40)
          << "seed " << seed << ": " << static_cast<double>(ahead) << " forward, "
          << static_cast<double>(back) << " back\n"
          << text << operations[1].source;
      return 0;
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 2 * skipped);
}

}  // namespace
}  // namespace plumbline::text
