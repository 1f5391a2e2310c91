// SPDX-License-Identifier: MIT
#include "reports/verdict_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/count_text.h"
#include "reports/propagation_text.h"
#include "reports/significance.h"

namespace plumbline {
namespace {

std::string names_of(const RunRecord& record, Verdict verdict) {
  std::string names;
  int more = -3;
  for (const KernelRecord& k : record.kernels) {
    if (k.verdict != verdict) continue;
    if (++more <= 0) names += (names.empty() ? "" : ", ") + k.name;
  }
  return more > 0 ? fmt::format("{} and {} more", names, more) : names;
}

std::int64_t count_of(const RunRecord& record, Verdict verdict) {
  return std::count_if(record.kernels.begin(), record.kernels.end(),
                       [&](const KernelRecord& k) { return k.verdict == verdict; });
}

// What was found of the first stack: of what was asked for where it was, else the first finding.
std::string depth_sentence(const RunRecord& record) {
  const DepthRecord& first = record.depths.front();
  const auto asked = std::ranges::find_if(first.findings, [](const std::string& finding) {
    return finding.starts_with(kGivenArithmetic);
  });
  std::string finding = asked != first.findings.end() ? *asked
                        : first.findings.empty()      ? "no arithmetic stands out"
                                                      : first.findings.front();
  if (finding.ends_with('.')) finding.pop_back();
  if (asked != first.findings.end()) finding[0] = 'A';  // "As --model says"
  std::string text = fmt::format("{} ({}, {}).", finding, steps_text(first),
                                 first.stack.substr(0, first.stack.find(':')));
  const auto more = static_cast<std::int64_t>(record.depths.size()) - 1;
  if (more > 0) text += fmt::format(" {} below.", counted(more, "more stack"));
  return text;
}

std::string mutation_sentence(const RunRecord& record) {
  const MutantScore all = score(record.mutants);
  const Proportion interval =
      wilson_interval(static_cast<double>(all.caught), static_cast<double>(all.effective()));
  return fmt::format(
      "{} of {} planted faults that change an output are caught: {:.1f} % (95 % interval {:.1f} to "
      "{:.1f} %).",
      all.caught, all.effective(), all.percent(), 100 * interval.low, 100 * interval.high);
}

// What was found first of each kernel, of three at most.
std::string propagation_sentence(const RunRecord& record) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::vector<std::string> kernels;
  for (const PropagationRecord& p : record.propagations) {
    if (p.findings.empty() || std::ranges::count(kernels, p.kernel) > 0) continue;
    kernels.push_back(p.kernel);
    if (kernels.size() <= kShown)
      text += fmt::format("{}{}: {}", text.empty() ? "" : " ", p.kernel, p.findings.front());
  }
  if (kernels.size() > kShown) {
    text += fmt::format(" {} below.",
                        counted(static_cast<std::int64_t>(kernels.size() - kShown), "more kernel"));
  }
  return text;
}

}  // namespace

std::string verdict_sentence(const RunRecord& record) {
  const auto all = static_cast<std::int64_t>(record.kernels.size());
  const std::int64_t failed = count_of(record, Verdict::fail),
                     errors = count_of(record, Verdict::error),
                     mistrusted = count_of(record, Verdict::mistrusted),
                     passed = count_of(record, Verdict::pass);
  std::int64_t compared = 0;
  for (const KernelRecord& k : record.kernels) compared += k.compared;
  std::string sentence;
  if (failed == 1 && all == 1) {
    sentence = fmt::format("{} broke its promise.", names_of(record, Verdict::fail));
  } else if (failed > 0) {
    sentence = fmt::format("{} of {} broke {} promise: {}.", failed, counted(all, "kernel"),
                           failed == 1 ? "its" : "their", names_of(record, Verdict::fail));
    if (errors > 0)
      sentence += fmt::format(" {} could not run: {}.", errors, names_of(record, Verdict::error));
  } else if (errors > 0) {
    sentence = fmt::format("{} of {} could not run: {}.", errors, counted(all, "kernel"),
                           names_of(record, Verdict::error));
  } else if (mistrusted > 0) {
    sentence =
        fmt::format("Nothing failed, but {} of {} passed on evidence that is mistrusted: {}.",
                    mistrusted, counted(all, "kernel"), names_of(record, Verdict::mistrusted));
  } else if (!record.mutants.empty()) {
    sentence = mutation_sentence(record);
  } else if (!record.propagations.empty()) {
    sentence = propagation_sentence(record);
  } else if (passed == 0 && !record.depths.empty()) {
    sentence = depth_sentence(record);
  } else if (passed == 0) {
    sentence = "Nothing ran.";
  } else {
    sentence = fmt::format("Every promise held: {}, {}, {} compared with exact values.",
                           counted(passed, "kernel"),
                           counted(static_cast<std::int64_t>(record.cases.size()), "case"),
                           counted(compared, "output"));
  }
  if (record.ended_early()) {
    sentence += fmt::format(" The run {}",
                            record.interrupted ? "did not end" : stop_text(record.stopped_after));
    sentence += record.planned == 0
                    ? "."
                    : fmt::format(": {} of {} planned cases are in this report.",
                                  count_text(static_cast<std::int64_t>(record.cases.size())),
                                  count_text(record.planned));
  }
  if (record.shard || !record.missing_shards.empty()) {
    sentence +=
        record.shard
            ? fmt::format(" This is shard {} of {}.", record.shard->index, record.shard->count)
            : fmt::format(" Missing shards: {}.", fmt::join(record.missing_shards, ", "));
  }
  return sentence;
}

}  // namespace plumbline
