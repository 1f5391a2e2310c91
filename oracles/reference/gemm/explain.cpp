// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/exact/dyadic.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/gemm/compare_bits.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/faults.h"
#include "oracles/reference/gemm/survey.h"

namespace plumbline {
namespace {

std::string place_text(const PreparedGemm& gemm, const GemmPlace& at) {
  if (gemm.problem.batch == 1) return fmt::format("d[{},{}]", at.i, at.j);
  return fmt::format("d[{},{},{}]", at.batch, at.i, at.j);
}

void tell_result(const PreparedGemm& gemm, const GemmPlace& at, const ElementVerdict& verdict,
                 std::vector<std::string>& lines) {
  const Format& output = gemm.epilogue.output();
  lines.push_back(describe_result(place_text(gemm, at), output, verdict));
  if (verdict.low != verdict.high) lines.push_back(describe_range(output, verdict));
  if (verdict.class_mismatch) {
    lines.emplace_back(std::isnan(verdict.exact) || std::isinf(verdict.exact)
                           ? "NaN, Inf and finite results must match, and here they do not"
                           : "nothing in the inputs gives this class of result");
    if (gemm.epilogue.is_nan(verdict.got)) lines.emplace_back(kNeverWritten);
  } else if (!std::isnan(verdict.error_ulp)) {
    lines.push_back(describe_error(gemm.epilogue.output(), verdict));
  }
}

void tell_overflow(const PreparedGemm& gemm, const GemmPlace& at, std::vector<std::string>& lines) {
  if (gemm.model) return;
  const auto sum = static_cast<std::int64_t>(gemm.exact_sum(at).nearest_double());
  const std::int32_t wrapped = wrapped_to_int32(sum);
  if (sum == wrapped) return;
  lines.push_back(fmt::format(
      "the sum of the products is {}, beyond the range of s32: the accumulator wraps to {}", sum,
      wrapped));
}

void tell_share(const PreparedGemm& gemm, const GemmPlace& at, const ElementVerdict& verdict,
                std::vector<std::string>& lines) {
  if (!gemm.model || gemm.special(at) || std::isnan(verdict.share)) return;
  const double error = gemm.bound(at).error;
  if (error == 0 && gemm.epilogue.uncertain()) {
    lines.push_back("with these values the sum is exact, and only the activation may be off");
  } else if (error == 0 && gemm.contract.subnormals_flushed && verdict.low != verdict.high) {
    lines.push_back("with these values the sum is exact, and only small numbers may count as 0");
  } else if (error == 0) {
    lines.push_back(
        "with these values the contract's arithmetic is exact: it fixes every bit of the output");
  } else if (std::isinf(verdict.share)) {
    lines.push_back("no value of the accumulator gives this output");
  } else if (verdict.pass) {
    lines.push_back(
        fmt::format("the accumulator may be off by {:.4g}; this output needs {:.0f} % of that",
                    error, verdict.share * 100));
  } else {
    lines.push_back(
        fmt::format("the accumulator may be off by {:.4g}; this output needs {:.4g} times that",
                    error, verdict.share));
  }
}

// Where the exact partial sum starts again from zero: the accumulators of a promotion or a split.
std::int64_t chain_length(const PreparedGemm& gemm) {
  switch (gemm.model->schedule) {
    case Schedule::promote:
      return gemm.model->interval;
    case Schedule::split_k:
      return gemm.model->part_length(gemm.problem.k);
    case Schedule::sequential:
    case Schedule::runs:
    case Schedule::any:
      break;
  }
  return std::max<std::int64_t>(gemm.problem.k, 1);
}

// The contract's own arithmetic beside the exact partial sums.
void tell_steps(const PreparedGemm& gemm, const GemmPlace& at, Explanation& explanation) {
  if (!gemm.model || gemm.special(at)) return;
  AccumulatorOptions options;
  options.keep_steps = true;
  const bool in_instruction = gemm.contract.block_scale;
  const std::vector<double> factors = gemm.factors(at);
  if (in_instruction) {
    options.scale_format = gemm.scale_format().id;
    for (std::int64_t p = 0; p < gemm.problem.k; p += gemm.scales->depth) {
      options.scales_a.push_back(gemm.row_operand(at).scales.at(p));
      options.scales_b.push_back(gemm.column_operand(at).scales.at(p));
    }
  } else {
    options.factors = factors;
  }
  const AccumulatorRun run = run_accumulator(gemm.contract, gemm.sm, gemm.problem.a->layout.format,
                                             gemm.problem.b->layout.format, gemm.row(at),
                                             gemm.column(at), gemm.problem.k, options);
  const Dyadic exact = gemm.exact_sum(at);
  const double unit = ulp(format(FormatId::f32), exact.nearest_double());
  const float *row = gemm.row(at), *column = gemm.column(at);
  const std::int64_t length = chain_length(gemm);
  double hi = 0, lo = 0, before = 0, largest = 0;
  std::int64_t p = 0, jump_begin = 0, jump_end = 0;
  for (const AccumulatorStep& step : run.steps) {
    const std::int64_t begin = p;
    for (; p < step.end; ++p) {
      if (p % length == 0) hi = lo = 0;
      const double factor =
          in_instruction ? factors[static_cast<std::size_t>(p / gemm.scales->depth)] : 1;
      const double product = static_cast<double>(row[p]) * column[p] * factor, sum = hi + product,
                   part = sum - hi;
      lo += (hi - (sum - part)) + (product - part);
      hi = sum;
    }
    double difference = std::fabs((static_cast<double>(step.value) - hi) - lo) / unit;
    if (gemm.scales && !in_instruction)  // in units of the sum it is promoted to
      difference *= std::fabs(factors[static_cast<std::size_t>(begin / length)]);
    explanation.steps.push_back(difference);
    if (begin % length == 0) before = 0;
    if (std::fabs(difference - before) > largest) {
      largest = std::fabs(difference - before);
      jump_begin = begin;
      jump_end = step.end;
    }
    before = difference;
  }
  if (!std::isfinite(run.value)) {
    explanation.lines.push_back(fmt::format(
        "the contract's arithmetic on sm_{} gives {} before the epilogue", gemm.sm, run.value));
    return;
  }
  const double off = (Dyadic(static_cast<double>(run.value)) - exact).nearest_double() / unit;
  const std::uint64_t modeled =
      gemm.epilogue.low_code(gemm.epilogue.value(run.value, gemm.epilogue_operands(at)));
  std::string line =
      fmt::format("the contract's arithmetic on sm_{} gives {}, from an accumulator that is {}",
                  gemm.sm, code_text(gemm.epilogue.output(), modeled),
                  off == 0 ? "exact" : fmt::format("{:+.4g} of its ulp from exact", off));
  if (largest > 0)
    line += fmt::format("; it moves most at k in [{}, {}), by {:.4g} ulp", jump_begin, jump_end,
                        largest);
  explanation.lines.push_back(std::move(line));
}

std::string evidence_of(std::int64_t agreeing, const GemmSurvey& survey) {
  std::vector<std::string> said;
  if (survey.failing.size() > 1)
    said.push_back(fmt::format("so do all {} failing elements tried", survey.failing.size()));
  if (!survey.passing.empty()) {
    said.emplace_back(agreeing == std::ssize(survey.passing)
                          ? "passing elements agree with it as well"
                          : "passing elements were computed without it");
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

// Variants of one kind of fault that may fit one wrong element without being there by chance.
constexpr std::size_t kMostAlike = 2;

// Faults that fit every failing element of the survey.
NamedFaults fitting_faults(const PreparedGemm& gemm, const GemmPlace& at, std::uint64_t got,
                           const GemmSurvey& survey) {
  FaultRanking ranking;
  // One wrong element fits some of so many faults by chance. Where others pass, they have to agree
  // with a fault, too, unless it may befall one element alone and the error is larger than a few
  // roundings.
  constexpr double kSmallError = 4;  // ulp
  const bool is_alone = survey.failing.size() == 1;
  const bool is_small =
      is_alone && std::fabs(judge_element(gemm, at, got).error_ulp) <= kSmallError;
  const auto fitting = [&](const GemmFault& fault, bool is_local) -> std::optional<FittingFault> {
    const auto fits_too = [&](const SurveyedElement& element) {
      return fits(gemm, fault, element.at, element.got);
    };
    if (!fits(gemm, fault, at, got)) return std::nullopt;
    if (!std::ranges::all_of(survey.failing, fits_too)) return std::nullopt;
    const auto excludes_due = [&](const SurveyedElement& element) {
      const ElementVerdict verdict = judge_element(gemm, element.at, element.got);
      return !fits(gemm, fault, element.at, verdict.expected);
    };
    const auto told = [&](const SurveyedElement& element) {
      return can_tell(gemm, fault, element.at);
    };
    if (std::ranges::none_of(survey.failing, told)) return std::nullopt;
    const std::int64_t explained = std::ranges::count_if(survey.failing, excludes_due);
    const bool vague = fault.wide && 2 * explained < std::ssize(survey.failing);
    const std::int64_t passing = std::ranges::count_if(survey.passing, fits_too);
    // A function done wrong is done wrong everywhere.
    const bool needs_passing = is_small || vague || (is_alone && !is_local);
    if (needs_passing && passing != std::ssize(survey.passing)) return std::nullopt;
    // What also explains why other elements pass comes first, then what excludes the right outputs;
    // else simple things first.
    return FittingFault{.words = fault.sentence,
                        .agreement = {passing, explained},
                        .unlikely = fault.unlikely || vague,
                        .evidence = evidence_of(passing, survey)};
  };
  std::size_t by_chance = 0;
  const auto consider = [&](const std::vector<GemmFault>& variants, bool is_local) {
    std::vector<FittingFault> found;
    for (const GemmFault& fault : variants) {
      if (std::optional<FittingFault> one = fitting(fault, is_local))
        found.push_back(*std::move(one));
    }
    // Of one kind one is the cause.
    if (is_alone && !survey.passing.empty() && found.size() > kMostAlike) {
      by_chance += found.size();
      return;
    }
    for (FittingFault& fault : found) ranking.add(std::move(fault));
  };
  for (const GemmFaultKind& kind : gemm_fault_kinds()) consider(kind.variants(gemm), kind.is_local);
  consider(other_constants(gemm, survey.failing), false);
  if (ranking.empty() && by_chance > 0) {
    return NamedFaults::none(fmt::format(
        "{} simple faults fit this one output: too many to tell which it is", by_chance));
  }
  return std::move(ranking).named(0);
}

// How a schedule differs from the contract's, in words.
std::string schedule_fault(const PreparedGemm& gemm, const SumSchedule& schedule) {
  const bool is_whole = schedule.parts == 1 && schedule.ways == 1;
  if (gemm.contract.schedule == Schedule::promote && is_whole && schedule.promote == 0)
    return fmt::format("the promotion to f32 every {} of k was left out", gemm.contract.interval);
  if (gemm.contract.schedule == Schedule::promote && is_whole) {
    return fmt::format("the promotion to f32 came every {} of k, not every {}", schedule.promote,
                       gemm.contract.interval);
  }
  const bool of_one_product = schedule.parts == gemm.problem.k && schedule.block == 1 &&
                              schedule.tree == SumSchedule::Tree::in_order;
  if (gemm.contract.unit == Unit::fma_f32 && of_one_product) {
    return "each product was rounded to f32 before it was added: a multiplication and an addition "
           "in place of an fma";
  }
  return "products are added up in another way: " + schedule.words();
}

// How the products were added up instead, where outputs are not what the contract's order gives.
NamedFaults fitting_orders(const PreparedGemm& gemm, const GemmPlace& at, const Tensor& got) {
  NamedFaults named;
  if (!gemm.model || !gemm.epilogue.certain() || gemm.special(at)) return named;
  const std::optional<SumSchedule> promised = fixed_schedule(gemm.contract);
  if (!promised || !fitting_schedules(gemm, got, {*promised}, 1, 1).empty()) return named;
  constexpr std::size_t kMost = 8;
  for (const FittingSchedule& fitting :
       fitting_schedules(gemm, got, candidate_schedules(gemm.contract, gemm.problem.k), kMost, 1))
    named.names.push_back(schedule_fault(gemm, fitting.schedule));
  if (named.empty()) return NamedFaults::none("no order of additions known here gives these bits");
  named.evidence = "bit for bit, in all outputs that were compared";
  return named;
}

}  // namespace

Explanation explain_gemm(const PreparedGemm& gemm, const GemmPlace& at, const Tensor& got) {
  Explanation explanation;
  const std::uint64_t code = GemmTensorReader(got).bits(at);
  const ElementVerdict verdict = judge_element(gemm, at, code);
  tell_result(gemm, at, verdict, explanation.lines);
  tell_overflow(gemm, at, explanation.lines);
  tell_share(gemm, at, verdict, explanation.lines);
  tell_steps(gemm, at, explanation);
  const NamedFaults orders = fitting_orders(gemm, at, got);
  if (verdict.pass) {
    explanation.faults = orders;
    return explanation;
  }
  const GemmSurvey survey = survey_gemm(gemm, at, got);
  explanation.lines.push_back(survey.where);
  const NamedFaults faults = fitting_faults(gemm, at, code, survey);
  // All bits of many outputs are no chance.
  constexpr std::int64_t kMany = 16;
  const bool is_surely_order = gemm.problem.outputs() >= kMany;
  explanation.faults = is_surely_order ? orders : faults;
  explanation.faults.add(is_surely_order ? faults : orders);
  if (explanation.faults.empty()) explanation.faults = NamedFaults::none(faults.unnamed);
  return explanation;
}

}  // namespace plumbline
