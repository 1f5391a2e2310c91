// SPDX-License-Identifier: MIT
#include "harness/run/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "oracles/formats/format.h"

namespace plumbline {
namespace {

// With as many, a fault in one output of a thousand is missed once in three times (0.999^1000).
constexpr std::int64_t kFewOutputs = 1000;

// One output tensor over all cases of a kernel.
struct OutputEvidence {
  std::int64_t elements = 0, compared = 0, open = 0, nonzero = 0;
  bool is_integer = false;
  std::int64_t bounded = 0, useless = 0;   // tensors with a bound, and those it tells nothing of
  std::int64_t cases = 0, zero_cases = 0;  // and those in which it is mostly zero
};

// A kernel that writes zeros passes on many inputs: benchdnn's rule of 30 %.
bool mostly_zero(std::int64_t elements, std::int64_t nonzero) {
  return nonzero * 10 < elements * 3;
}

std::map<std::string, OutputEvidence> by_output(const KernelRecord& kernel,
                                                const RunRecord& record) {
  std::map<std::string, OutputEvidence> all;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name) continue;
    for (const OutputRecord& output : c.outputs) {
      OutputEvidence& one = all[output.name];
      one.elements += output.verdict.elements;
      one.compared += output.verdict.compared;
      one.open += output.verdict.open;
      one.nonzero += output.verdict.nonzero;
      ++one.cases;
      one.zero_cases += mostly_zero(output.verdict.elements, output.verdict.nonzero);
      const auto id = format_by_name(output.format);
      one.is_integer = id && format(*id).is_integer;
      if (output.verdict.bounded == 0 || !id || one.is_integer) continue;
      ++one.bounded;
      const double whole_result = std::ldexp(1.0, format(*id).mantissa_bits);  // in ulp, at least
      one.useless += output.verdict.median_bound_ulp >= whole_result;
    }
  }
  return all;
}

// With as many outputs that are not zero nobody wrote zeros for all of them: a mask has most. Of
// integers, of which each is right or wrong, fewer do: flags and counters are 0 by nature.
constexpr std::int64_t kManyNonzero = 10'000;
constexpr std::int64_t kManyIntegers = 1'000;

// Of all outputs, and in most cases: a mask hides most of a few large ones.
bool mostly_zero(const OutputEvidence& output) {
  return output.elements >= 10 &&
         output.nonzero < (output.is_integer ? kManyIntegers : kManyNonzero) &&
         mostly_zero(output.elements, output.nonzero) && output.zero_cases * 2 > output.cases;
}

// A bound as large as the results lets nearly anything pass, zeros too. That is as it should be
// where sums cancel, a few cases of any plan; with a contract that promises nothing, it is most.
bool bound_is_useless(const OutputEvidence& output) { return output.useless * 2 > output.bounded; }

// One output does not vouch for another.
void weigh_outputs(const KernelRecord& kernel, const RunRecord& record,
                   std::vector<std::string>& reasons) {
  const std::map<std::string, OutputEvidence> outputs = by_output(kernel, record);
  for (const auto& [name, output] : outputs) {
    const std::string of = outputs.size() > 1 ? " of " + name : "";
    if (output.elements > 0 && output.compared == 0 && outputs.size() > 1)
      reasons.push_back(fmt::format("no output of {} was compared with an exact value", name));
    if (output.compared > 0 && output.open > output.compared) {
      reasons.push_back(fmt::format(
          "f32 may overflow on the way to {} of {} outputs{}, so that any value of them is "
          "admissible",
          output.open, output.elements, of));
    }
    if (mostly_zero(output)) {
      reasons.push_back(fmt::format(
          "only {:.0f} % of {} outputs{} are not zero",
          100.0 * static_cast<double>(output.nonzero) / static_cast<double>(output.elements),
          output.elements, of));
    }
    if (bound_is_useless(output)) {
      reasons.push_back(fmt::format(
          "the bound{} is as large as the results themselves in {} of {} tensors: the contract "
          "allows nearly anything",
          of, output.useless, output.bounded));
    }
  }
}

// Why cases that passed prove nothing: the first one's reason.
void note_mistrusted_cases(const KernelRecord& kernel, const RunRecord& record,
                           std::vector<std::string>& reasons) {
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name || c.verdict != Verdict::mistrusted) continue;
    reasons.push_back(
        fmt::format("in {} of {} cases {}", kernel.mistrusted, kernel.cases, c.reason));
    return;
  }
}

// Whether a run that ended early says of each kernel what did not run: `not_run` and the cases that
// ran are the plan. Other verbs have more to do than cases.
bool knows_whole_kernels(const RunRecord& record) {
  if (record.verb != "verify" && record.verb != "replay") return false;
  if (!record.missing_shards.empty()) return false;
  auto cases = static_cast<std::int64_t>(record.cases.size());
  for (const KernelRecord& kernel : record.kernels) cases += kernel.not_run;
  return cases == record.planned;
}

}  // namespace

std::vector<std::string> reasons_to_mistrust(const KernelRecord& kernel, const RunRecord& record) {
  std::vector<std::string> reasons;
  if (kernel.cases == kernel.skipped) return reasons;
  note_mistrusted_cases(kernel, record, reasons);
  if (kernel.compared == 0) {
    reasons.push_back("no output was compared with an exact value");
    return reasons;
  }
  weigh_outputs(kernel, record, reasons);
  if (kernel.disagreements > 0) {
    reasons.push_back(
        fmt::format("the fast oracle and its referees disagree {} times", kernel.disagreements));
  }
  if (kernel.refereed == 0) reasons.push_back("no output was recomputed by the MPFR referee");
  // A part of a plan may be small.
  if (const bool whole_plan = !kernel.code.empty(); whole_plan && kernel.compared < kFewOutputs) {
    reasons.push_back(fmt::format("the whole plan compares only {} outputs", kernel.compared));
  }
  // What never ran cannot have been found wrong. Kernels that share code by a choice at run time
  // leave some of it unused (quantize_fp8 a quarter).
  for (const auto& [device, code] : kernel.code) {
    if (code.executed * 2 >= code.instructions) continue;
    reasons.push_back(fmt::format(
        "only {:.0f} % of {} instructions ran on the {}",
        100.0 * static_cast<double>(code.executed) / static_cast<double>(code.instructions),
        code.instructions, device));
  }
  // A plan with several cases must also have several answers.
  std::set<std::string> fingerprints;
  std::int64_t ran = 0;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name || c.outputs.empty() || c.outputs.front().verdict.elements == 0)
      continue;
    ++ran;
    fingerprints.insert(c.fingerprint);
  }
  if (ran >= 3 && fingerprints.size() == 1)
    reasons.push_back("every case gave the same output bits");
  return reasons;
}

void weigh_evidence(RunRecord& record) {
  for (KernelRecord& kernel : record.kernels) {
    if (kernel.not_run > 0) continue;  // see weigh_incomplete()
    if (kernel.verdict != Verdict::pass && kernel.verdict != Verdict::mistrusted) continue;
    kernel.mistrusted_because = reasons_to_mistrust(kernel, record);
    if (!kernel.mistrusted_because.empty() || !kernel.reasons.empty())
      kernel.verdict = Verdict::mistrusted;
  }
}

void weigh_incomplete(RunRecord& record) {
  const std::string why = describe_incomplete(record);
  const bool whole_kernels = knows_whole_kernels(record);
  for (KernelRecord& kernel : record.kernels) {
    if (kernel.verdict == Verdict::mistrusted && kernel.mistrusted_because.empty() &&
        kernel.reasons.empty())
      note_mistrusted_cases(kernel, record, kernel.mistrusted_because);
    if (why.empty() || (whole_kernels && kernel.not_run == 0)) continue;
    if (kernel.verdict != Verdict::pass && kernel.verdict != Verdict::mistrusted) continue;
    kernel.verdict = Verdict::mistrusted;
    // A record that is reported again says so already.
    if (std::ranges::count(kernel.mistrusted_because, why) == 0)
      kernel.mistrusted_because.insert(kernel.mistrusted_because.begin(), why);
  }
}

}  // namespace plumbline
