// SPDX-License-Identifier: MIT
#include "reports/record.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::mistrusted:
      return "mistrusted";
    case Verdict::error:
      return "error";
    case Verdict::skip:
      return "skip";
  }
  return "";
}

std::string_view name(Claim claim) {
  switch (claim) {
    case Claim::bound:
      return "bound";
    case Claim::specials:
      return "specials";
    case Claim::in_bounds:
      return "in-bounds";
    case Claim::deterministic:
      return "deterministic";
    case Claim::agrees:
      return "agrees";
    case Claim::related:
      return "related";
    case Claim::population:
      return "population";
  }
  return "";
}

namespace {

void add(KernelRecord& kernel, const CaseRecord& test_case) {
  ++kernel.cases;
  kernel.passed += test_case.verdict == Verdict::pass;
  kernel.failed += test_case.verdict == Verdict::fail;
  kernel.mistrusted += test_case.verdict == Verdict::mistrusted;
  kernel.errors += test_case.verdict == Verdict::error;
  kernel.skipped += test_case.verdict == Verdict::skip;
  kernel.elapsed_ms += test_case.elapsed_ms;
  if (kernel.population.empty()) kernel.population = test_case.population;
  for (const OutputRecord& output : test_case.outputs) {
    const OutputVerdict& v = output.verdict;
    kernel.outputs += v.elements;
    kernel.compared += v.compared;
    kernel.bounded += v.bounded;
    kernel.nonzero += v.nonzero;
    kernel.undecided += v.undecided;
    kernel.refereed += v.refereed;
    kernel.disagreements += v.disagreements;
    kernel.sampled_cases += v.sampled;
    kernel.worst_ulp = std::max(kernel.worst_ulp, v.worst_ulp);
    if (v.worst_share > kernel.worst_share) {
      kernel.worst_share = v.worst_share;
      kernel.worst_case = test_case.text;
    }
    if (v.worst_relative > kernel.worst_relative) {
      kernel.worst_relative = v.worst_relative;
      kernel.least_accurate_case = fmt::format("{} [{}]", test_case.text, test_case.device);
    }
  }
}

}  // namespace

void summarize(RunRecord& record) {
  for (KernelRecord& kernel : record.kernels) {
    for (const CaseRecord& test_case : record.cases) {
      if (test_case.kernel == kernel.name) add(kernel, test_case);
    }
    if (kernel.failed > 0) {
      kernel.verdict = Verdict::fail;
    } else if (kernel.errors > 0) {
      kernel.verdict = Verdict::error;
    } else if (kernel.mistrusted > 0) {
      kernel.verdict = Verdict::mistrusted;
    } else if (kernel.cases == kernel.skipped) {
      kernel.verdict = Verdict::skip;
    }
  }
}

}  // namespace plumbline
