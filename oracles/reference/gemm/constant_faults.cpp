// SPDX-License-Identifier: MIT
// The fault kinds about what an epilogue computes: its activation, its constants, and where it
// rounds. Constants are not listed but found: the one number that all wrong outputs agree on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/faults.h"
#include "oracles/reference/gemm/survey.h"

namespace plumbline {
namespace {

double gelu_tanh(double x, double factor, double cubic) {
  return x / 2 * (1 + std::tanh(factor * (x + cubic * x * x * x)));
}

struct Constant {
  std::string_view name;
  double right, least, most;
  void (*set)(GemmFault&, double);
};

std::vector<Constant> constants_of(const EpilogueScalars& scalars) {
  std::vector<Constant> all;
  const auto factor = [&](std::string_view name, float right, auto set) {
    const double size = 8 * std::max(1.0, std::fabs(static_cast<double>(right)));
    all.push_back({name, static_cast<double>(right), -size, size, set});
  };
  factor("alpha", scalars.alpha,
         [](GemmFault& fault, double x) { fault.scalars.alpha = static_cast<float>(x); });
  if (scalars.beta != 0) {
    factor("beta", scalars.beta,
           [](GemmFault& fault, double x) { fault.scalars.beta = static_cast<float>(x); });
  }
  if (scalars.has_scale_d) {
    factor("scale_d", scalars.scale_d,
           [](GemmFault& fault, double x) { fault.scalars.scale_d = static_cast<float>(x); });
  }
  if (scalars.activation == Activation::gelu) {
    all.push_back({"the constant 1 / sqrt(2) of gelu's erf", std::numbers::sqrt2 / 2, 0, 4,
                   [](GemmFault& fault, double c) {
                     fault.activation = [c](double x) { return x / 2 * (1 + std::erf(c * x)); };
                   }});
  }
  if (scalars.activation == Activation::silu) {
    all.push_back(
        {"the factor of x in silu's exponential", 1, 0, 4, [](GemmFault& fault, double c) {
           fault.activation = [c](double x) { return x / (1 + std::exp(-c * x)); };
         }});
  }
  if (scalars.activation == Activation::gelu_tanh) {
    all.push_back(
        {"the constant 0.044715 of gelu's tanh", 0.044715, 0, 1, [](GemmFault& fault, double c) {
           fault.activation = [c](double x) {
             return gelu_tanh(x, std::sqrt(2 / std::numbers::pi), c);
           };
         }});
    all.push_back({"the constant sqrt(2 / pi) of gelu's tanh", std::sqrt(2 / std::numbers::pi), 0,
                   4, [](GemmFault& fault, double c) {
                     fault.activation = [c](double x) { return gelu_tanh(x, c, 0.044715); };
                   }});
  }
  return all;
}

// The real result with a constant: of the activation in place of the contract's where it has one.
double result_with(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at,
                   const SumEnclosure& sum) {
  EpilogueScalars scalars = fault.scalars;
  if (!fault.activation) {
    const Epilogue epilogue(gemm.contract, scalars, gemm.problem.output);
    const TwoDoubles value = epilogue.real({sum.hi, sum.lo}, gemm.epilogue_operands(at));
    return value.hi + value.lo;
  }
  scalars.activation = Activation::none;
  scalars.has_scale_d = false;
  const double scale = fault.scalars.has_scale_d ? static_cast<double>(fault.scalars.scale_d) : 1;
  const Epilogue before(gemm.contract, scalars, FormatId::f32);
  const TwoDoubles x = before.real({sum.hi, sum.lo}, gemm.epilogue_operands(at));
  return fault.activation(x.hi + x.lo) * scale;
}

struct Interval {
  double low = -kInfinity, high = kInfinity;
};

// The constants that give a result of at least (most) this, which rises or falls with them.
Interval constants_with(const std::function<double(double)>& result, const Constant& constant,
                        double least, double most) {
  const bool rises = result(constant.least) < result(constant.most);
  const auto first_at = [&](double value) {  // where the result passes it
    double low = constant.least, high = constant.most;
    for (int i = 0; i < 60; ++i) {
      const double middle = low + (high - low) / 2;
      ((result(middle) < value) == rises ? low : high) = middle;
    }
    return low + (high - low) / 2;
  };
  const double a = first_at(least), b = first_at(most);
  const double step = 0x1p-22 * std::max(std::fabs(a), std::fabs(b));  // of an f32 and more
  return {std::min(a, b) - step, std::max(a, b) + step};
}

// The shortest decimal number of an interval.
double simplest(const Interval& in) {
  const double middle = in.low + (in.high - in.low) / 2;
  for (int digits = 1; digits < 9; ++digits) {
    const double x = std::stod(fmt::format("{:.{}e}", middle, digits - 1));
    if (in.low <= x && x <= in.high) return x;
  }
  return middle;
}

}  // namespace

std::vector<GemmFault> other_constants(const PreparedGemm& gemm,
                                       const std::vector<SurveyedElement>& elements) {
  constexpr std::size_t kEnough = 6;  // a few wrong outputs agree on some number by chance
  std::vector<GemmFault> faults;
  const Format& output = gemm.epilogue.output();
  for (const Constant& constant : constants_of(gemm.scalars)) {
    GemmFault fault(gemm);
    Interval all;
    std::set<double> sums;
    for (const SurveyedElement& element : elements) {
      const double stored = to_double(output, element.got);
      if (gemm.special(element.at) || !std::isfinite(stored)) continue;
      if (gemm.epilogue.saturates() && std::fabs(stored) >= gemm.epilogue.largest()) continue;
      const Dyadic exact = gemm.exact_sum(element.at);
      const SumEnclosure sum = enclosure_of(exact);
      const auto result = [&](double c) {
        constant.set(fault, c);
        return result_with(gemm, fault, element.at, sum);
      };
      const double at_least = result(constant.least), at_most = result(constant.most);
      const ElementVerdict verdict = judge_element(gemm, element.at, element.got);
      if (!std::isfinite(verdict.exact)) continue;
      // What the accumulator may be off by, the roundings of the steps, and the last one.
      const double beyond = std::max(0.0, verdict.bound_ulp - 0.5) * ulp(output, verdict.exact);
      const EpilogueOperands operands = gemm.epilogue_operands(element.at);
      const double steps =
          0x1p-22 * (std::fabs(static_cast<double>(gemm.scalars.alpha) * sum.hi) +
                     std::fabs(static_cast<double>(gemm.scalars.beta * operands.c)) +
                     std::fabs(static_cast<double>(operands.bias)) + std::fabs(stored));
      const double room =
          (std::isfinite(beyond) ? 1.5 * beyond : 0) + steps + 0.51 * ulp(output, stored);
      // Where the result hardly depends on the constant it says nothing.
      if (!(std::fabs(at_most - at_least) > 16 * room)) continue;
      if (stored + room < std::min(at_least, at_most) ||
          stored - room > std::max(at_least, at_most)) {
        all = {1, 0};
        break;
      }
      const Interval one = constants_with(result, constant, stored - room, stored + room);
      all.low = std::max(all.low, one.low);
      all.high = std::min(all.high, one.high);
      sums.insert(sum.hi);
    }
    const double width = 0x1p-8 * std::max(std::fabs(constant.right), 1e-3);
    if (sums.size() < kEnough || all.low > all.high || all.high - all.low > width) continue;
    if (all.low <= constant.right && constant.right <= all.high) continue;
    const double found = simplest(all);
    if (found == 0 || found == 1) continue;  // it was left out
    constant.set(fault, found);
    fault.sentence = fmt::format("{} was {} instead of {}", constant.name,
                                 static_cast<float>(found), static_cast<float>(constant.right));
    fault.unlikely = true;
    faults.push_back(std::move(fault));
  }
  return faults;
}

std::vector<GemmFault> sum_rounded(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  if (!gemm.model || gemm.epilogue.is_identity()) return faults;
  std::vector<FormatId> formats = {FormatId::bf16, FormatId::f16};
  if (const FormatId own = gemm.problem.output;
      own != FormatId::f32 && !format(own).is_integer && std::ranges::count(formats, own) == 0)
    formats.push_back(own);
  for (const FormatId id : formats) {
    faults.emplace_back(gemm);
    faults.back().sentence =
        fmt::format("the sum was rounded to {} before the epilogue", format(id).name);
    faults.back().sum_in = id;
  }
  return faults;
}

std::vector<GemmFault> special_values_lost(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  if (std::ranges::count(gemm.epilogue.steps(), EpilogueStep::relu) > 0) {
    faults.emplace_back(gemm);
    faults.back().sentence =
        "relu made 0 of NaN, as fmaxf(x, 0) does (the epilogue step \"relu max\" promises that)";
    faults.back().nan_stored_as = 0;
  }
  const Format& output = gemm.epilogue.output();
  if (output.id == FormatId::bf16) {
    faults.emplace_back(gemm);
    faults.back().sentence =
        "NaN became -0: the bits of an f32 were rounded to bf16 by an addition that carries into "
        "the sign of NaN";
    faults.back().nan_stored_as = 0x8000;
  }
  if (!output.is_integer && output.id != FormatId::f32) {  // see subnormals_lost()
    faults.emplace_back(gemm);
    faults.back().sentence =
        fmt::format("outputs below the smallest normal {} were stored as 0", output.name);
    faults.back().small_is_zero = true;
  }
  return faults;
}

// The formula of the activation, gone wrong.
std::vector<GemmFault> activation_mistaken(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const auto add = [&](std::string sentence, std::function<double(double)> function) {
    faults.emplace_back(gemm);
    faults.back().sentence = std::move(sentence);
    faults.back().activation = std::move(function);
  };
  switch (gemm.scalars.activation) {
    case Activation::silu:
      add("silu's exponential lacks its minus: x / (1 + e^x)",
          [](double x) { return x / (1 + std::exp(x)); });
      add("silu is the sigmoid without its factor x",
          [](double x) { return 1 / (1 + std::exp(-x)); });
      add("silu's exponential is to base 2", [](double x) { return x / (1 + std::exp2(-x)); });
      break;
    case Activation::gelu:
    case Activation::gelu_tanh:
      add("gelu was computed as x sigmoid(1.702 x)",
          [](double x) { return x / (1 + std::exp(-1.702 * x)); });
      add("gelu lacks its half",
          [erf = gemm.scalars.activation](double x) { return 2 * activation_value(erf, x); });
      break;
    case Activation::relu:
    case Activation::none:
      break;
  }
  return faults;
}

}  // namespace plumbline
