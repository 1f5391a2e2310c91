// SPDX-License-Identifier: MIT
#include "reports/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "oracles/formats/format.h"
#include "oracles/reference/output_tally.h"
#include "reports/record/separation.h"

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

int severity(Verdict verdict) {
  switch (verdict) {
    case Verdict::fail:
      return 4;
    case Verdict::error:
      return 3;
    case Verdict::mistrusted:
      return 2;
    case Verdict::pass:
      return 1;
    case Verdict::skip:
      return 0;
  }
  return 0;
}

std::string_view name(Claim claim) {
  switch (claim) {
    case Claim::bound:
      return "bound";
    case Claim::bits:
      return "bits";
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

template <typename T>
bool find_name(std::initializer_list<T> all, std::string_view word, T& found) {
  for (const T candidate : all) {
    if (name(candidate) != word) continue;
    found = candidate;
    return true;
  }
  return false;
}

}  // namespace

bool by_name(std::string_view word, Verdict& verdict) {
  return find_name(
      {Verdict::pass, Verdict::fail, Verdict::mistrusted, Verdict::error, Verdict::skip}, word,
      verdict);
}

bool by_name(std::string_view word, Claim& claim) {
  return find_name({Claim::bound, Claim::bits, Claim::specials, Claim::in_bounds,
                    Claim::deterministic, Claim::agrees, Claim::related, Claim::population},
                   word, claim);
}

bool is_coarse(const CaseRecord& test_case, const OutputRecord& output) {
  constexpr double kCoarse = 0.01;
  constexpr std::int64_t kFewestOutputs = 8;
  const OutputVerdict& v = output.verdict;
  const std::optional<FormatId> id = format_by_name(output.format);
  if (test_case.value_class != "positive" || test_case.verdict != Verdict::pass || !id)
    return false;
  const std::int64_t all =
      std::accumulate(v.magnitudes.begin(), v.magnitudes.end(), std::int64_t{0});
  if (v.worst_relative < kCoarse || all < kFewestOutputs) return false;
  // An ulp is at least so much of a number, and half of the outputs are in this cell or beyond.
  const double ulp = std::ldexp(1.0, -format(*id).precision());
  std::int64_t beyond = 0;
  std::size_t median = v.magnitudes.size();
  while (median > 0 && 2 * beyond < all) beyond += v.magnitudes[--median];
  const int start = static_cast<int>(median) - OutputTally::kFirstBinade - 1;
  return median > 0 && std::ldexp(ulp, start) >= kCoarse;
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
  for (KnownRecord& known : kernel.known)
    known.cases += std::ranges::count(test_case.known, known.says);
  // Plans end with the cases that are meant for it.
  if (!test_case.population.empty()) kernel.population = test_case.population;
  for (const OutputRecord& output : test_case.outputs) {
    if (!output.verdict.sampled) continue;
    kernel.sampled += output.verdict.bounded;
    kernel.unsampled += output.verdict.unbounded;
  }
  kernel.sampled_cases += std::ranges::any_of(
      test_case.outputs, [](const OutputRecord& output) { return output.verdict.sampled; });
  for (const OutputRecord& output : test_case.outputs) {
    const OutputVerdict& v = output.verdict;
    kernel.outputs += v.elements;
    kernel.compared += v.compared;
    kernel.bounded += v.bounded;
    kernel.nonzero += v.nonzero;
    kernel.undecided += v.undecided;
    kernel.refereed += v.refereed;
    kernel.confirmed += v.confirmed;
    kernel.disagreements += v.disagreements;
    kernel.worst_ulp = std::max(kernel.worst_ulp, v.worst_ulp);
    if (v.worst_share > kernel.worst_share) {
      kernel.worst_share = v.worst_share;
      kernel.worst_case = test_case.text;
    }
    if (is_coarse(test_case, output) && v.worst_relative > kernel.worst_relative) {
      kernel.worst_relative = v.worst_relative;
      kernel.least_accurate_case = fmt::format("{} [{}]", test_case.text, test_case.device);
    }
  }
}

}  // namespace

namespace {

// Those that passed or failed. What has no outputs and passes says nothing of the others.
std::vector<SortedCase> sorted_cases(const RunRecord& record, const KernelRecord& kernel) {
  std::vector<SortedCase> sorted;
  for (const CaseRecord& c : record.cases) {
    const bool judged = c.verdict != Verdict::error && c.verdict != Verdict::skip;
    if (c.kernel != kernel.name || !judged) continue;
    const bool empty = !c.outputs.empty() && std::ranges::all_of(c.outputs, [](const auto& output) {
      return output.verdict.elements == 0;
    });
    if (c.verdict == Verdict::fail || !empty) sorted.push_back(sorted_case(c));
  }
  return sorted;
}

}  // namespace

void shorten_figures(CaseRecord& record) {
  if (record.verdict != Verdict::pass) return;
  for (OutputRecord& output : record.outputs) {
    OutputVerdict& v = output.verdict;
    for (double* figure : {&v.worst_ulp, &v.worst_share, &v.worst_relative, &v.median_bound_ulp})
      *figure = std::strtod(fmt::format("{:.6g}", *figure).c_str(), nullptr);
  }
}

KernelRecord without_cases(const KernelRecord& kernel) {
  KernelRecord k;
  k.name = kernel.name;
  k.summary = kernel.summary;
  k.operation = kernel.operation;
  k.formats = kernel.formats;
  k.manifest = kernel.manifest;
  k.source_hash = kernel.source_hash;
  k.ptx_hashes = kernel.ptx_hashes;
  k.contracts = kernel.contracts;
  k.arithmetic = kernel.arithmetic;
  k.reasons = kernel.reasons;
  k.left_out = kernel.left_out;
  k.code_parts = kernel.code_parts;
  for (const KnownRecord& known : kernel.known) k.known.push_back({known.says, known.reason, 0});
  return k;
}

void summarize(RunRecord& record) {
  for (KernelRecord& kernel : record.kernels) {
    for (const CaseRecord& test_case : record.cases) {
      if (test_case.kernel == kernel.name) add(kernel, test_case);
    }
    if (kernel.failed > 0) {
      kernel.verdict = Verdict::fail;
      kernel.failing = what_separates(sorted_cases(record, kernel));
    } else if (kernel.errors > 0) {
      kernel.verdict = Verdict::error;
    } else if (kernel.mistrusted > 0) {
      kernel.verdict = Verdict::mistrusted;
    } else if (kernel.cases == kernel.skipped) {
      kernel.verdict = Verdict::skip;
    }
  }
}

std::string stop_text(std::int64_t failures) {
  return failures == 1 ? "stopped at its first failure"
                       : fmt::format("stopped after {} failures", failures);
}

std::string describe_incomplete(const RunRecord& record) {
  std::string why;
  if (!record.missing_shards.empty()) {
    why = fmt::format("shard{} {} {} missing", record.missing_shards.size() == 1 ? "" : "s",
                      fmt::join(record.missing_shards, ", "),
                      record.missing_shards.size() == 1 ? "is" : "are");
  }
  const auto add = [&](const std::string& what) {
    why += fmt::format("{}{}", why.empty() ? "" : ", and ", what);
  };
  // A search that is stopped has what it found until then.
  if (record.interrupted && record.verb != "fuzz") add("the run did not end");
  if (record.stopped_after > 0) add("the run " + stop_text(record.stopped_after));
  if (why.empty()) return "";
  return fmt::format("{}: {} of {} planned cases are here", why, record.cases.size(),
                     record.planned);
}

Claim broken_claim(const CaseRecord& record) {
  for (const Claim claim :
       {Claim::in_bounds, Claim::specials, Claim::bound, Claim::bits, Claim::deterministic,
        Claim::agrees, Claim::related, Claim::population}) {
    const auto found = record.claims.find(claim);
    if (found != record.claims.end() && found->second == Verdict::fail) return claim;
  }
  return Claim::bound;
}

std::vector<const CaseRecord*> failures_to_explain(const RunRecord& record, int per_kernel) {
  std::vector<const CaseRecord*> chosen;
  std::map<std::string, std::set<Claim>> seen;  // by kernel
  for (const CaseRecord& c : record.cases) {
    if (c.verdict != Verdict::fail) continue;
    std::set<Claim>& claims = seen[c.kernel];
    if (static_cast<int>(claims.size()) < per_kernel && claims.insert(broken_claim(c)).second)
      chosen.push_back(&c);
  }
  return chosen;
}

void keep_counts(CaseRecord& failed) {
  failed.findings.clear();
  for (OutputRecord& output : failed.outputs) {
    output.verdict.failures.clear();
    output.verdict.others.clear();
  }
}

namespace {

// The case that Kernel::worst_case names, with its device.
const CaseRecord* closest_to_bound(const RunRecord& record, const KernelRecord& kernel) {
  const CaseRecord* closest = nullptr;
  double share = -1;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name) continue;
    for (const OutputRecord& output : c.outputs) {
      if (!(output.verdict.worst_share > share)) continue;
      share = output.verdict.worst_share;
      closest = &c;
    }
  }
  return closest;
}

}  // namespace

std::vector<const CaseRecord*> cases_with_error_maps(const RunRecord& record) {
  std::vector<const CaseRecord*> chosen = failures_to_explain(record);
  std::erase_if(chosen, [](const CaseRecord* c) {
    const Claim claim = broken_claim(*c);
    return claim != Claim::bound && claim != Claim::bits && claim != Claim::specials;
  });
  for (const KernelRecord& kernel : record.kernels) {
    if (kernel.failed > 0) continue;
    if (const CaseRecord* closest = closest_to_bound(record, kernel)) chosen.push_back(closest);
  }
  return chosen;
}

}  // namespace plumbline
