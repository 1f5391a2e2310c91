// SPDX-License-Identifier: MIT
#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/card.h"
#include "reports/change.h"
#include "reports/peer_table.h"
#include "reports/propagation_text.h"
#include "reports/record/escape.h"
#include "reports/record/separation.h"
#include "reports/representative_error.h"
#include "reports/sweep.h"
#include "reports/verdict_sentence.h"

namespace plumbline {
namespace {

constexpr std::size_t kMaxBytes =
    64 * 1024;  // over 1 MiB GitHub drops a step summary whole; stay far below
constexpr std::size_t kMaxTable = 40 * 1024;  // the rest is for cards
constexpr std::size_t kMaxCards = 5;

// The longest run of backticks in a text, so that a fence around it can be longer.
std::string fence_for(const std::string& text) {
  std::size_t longest = 2, current = 0;
  for (const char c : text) {
    current = c == '`' ? current + 1 : 0;
    longest = std::max(longest, current);
  }
  return std::string(longest + 1, '`');
}

// The scores, and every mutant that survived, by source line.
std::string mutants_markdown(const RunRecord& record) {
  if (record.mutants.empty()) return {};
  std::string out =
      "\n| kernel | score | caught | survived | no observable effect | duplicates | refused |\n"
      "|---|--:|--:|--:|--:|--:|--:|\n";
  for (const KernelRecord& k : record.kernels) {
    const MutantScore s = score(record.mutants, k.name);
    out += fmt::format("| `{}` | {:.1f} % | {} | {} | {} | {} | {} |\n", k.name, s.percent(),
                       s.caught, s.survived, s.no_effect, s.duplicates, s.refused);
  }
  if (!record.peers.empty())
    out += "\nRules of other projects on the same outputs:\n\n" + peer_table(record);
  bool first = true;
  for (const MutantRecord& m : record.mutants) {
    if (m.outcome != MutantOutcome::survived || out.size() > kMaxBytes / 2) continue;
    if (first) out += "\n| survived | kernel | where | before | after |\n|---|---|---|---|---|\n";
    first = false;
    const auto code = [](const std::string& text) {
      return text.empty() ? std::string() : markdown_code(text);
    };
    out += fmt::format("| {} ({}) | `{}` | {} | {} | {} |\n", m.id, m.kind, m.kernel, m.source,
                       code(m.before), code(m.after));
  }
  return out;
}

// Everything propagation found, while there is room.
void add_propagation(const RunRecord& record, std::string& out) {
  std::int64_t left_out = 0;
  const auto add = [&](const std::string& title, const std::vector<std::string>& lines,
                       const std::vector<std::string>& findings) {
    std::string block = fmt::format("\n### `{}`\n\n", title);
    for (const std::string& finding : findings) block += finding + "\n\n";
    block += fmt::format("```\n{}\n```\n", fmt::join(lines, "\n"));
    if (out.size() + block.size() > kMaxBytes - 400) {
      ++left_out;
    } else {
      out += block;
    }
  };
  for (const SweepTable& s : sweep_tables(record)) add(s.title, sweep_lines(s), s.findings);
  for (const PropagationRecord& p : record.propagations)
    add(p.text, propagation_lines(p), p.findings);
  for (const DepthRecord& d : record.depths) add(d.stack, depth_lines(d), d.findings);
  for (const GradientRecord& g : record.gradients) add(g.text, gradient_lines(g), g.findings);
  for (const StochasticRecord& s : record.stochastics) add(s.text, stochastic_lines(s), s.findings);
  if (left_out > 0) out += fmt::format("\n{} more in record.json.\n", left_out);
}

}  // namespace

std::string summary_markdown(const RunRecord& record, const std::optional<Baseline>& baseline) {
  std::string out = fmt::format("## plumbline {}\n\n{}\n\n", markdown_text(record.verb),
                                markdown_text(verdict_sentence(record)));
  if (baseline) {
    for (const KernelChange& change : changes(*baseline, baseline_of(record))) {
      if (out.size() > kMaxTable || change.change == Change::same) continue;
      out += fmt::format("Since {}: {}: {}: {}\n\n", markdown_text(baseline->from),
                         markdown_code(change.kernel), name(change.change),
                         markdown_text(change.words));
    }
  }
  out += "| verdict | kernel | cases | outputs compared | 99 % of outputs within |\n";
  out += "|---|---|--:|--:|--:|\n";
  std::size_t rows = 0;
  for (const KernelRecord& k : record.kernels) {
    if (out.size() > kMaxTable) break;
    ++rows;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name(k.verdict), markdown_code(k.name),
                       k.cases, k.compared, describe_error(record, k));
  }
  if (rows < record.kernels.size())
    out += fmt::format("\n{} more kernels in report.html.\n", record.kernels.size() - rows);
  for (const KernelRecord& k : record.kernels) {
    if (out.size() > kMaxTable) break;
    if (const std::string failures = failures_line(k); !failures.empty())
      out += fmt::format("\n{}: {}\n", markdown_code(k.name), markdown_text(failures));
    for (const std::string& reason : k.reasons)
      out += fmt::format("\n{}: {}\n", markdown_code(k.name), markdown_text(reason));
    for (const std::string& reason : k.mistrusted_because)
      out += fmt::format("\n{}: mistrusted: {}\n", markdown_code(k.name), markdown_text(reason));
    for (const KnownRecord& known : k.known)
      out += fmt::format("\n{}: {}\n", markdown_code(k.name), markdown_text(known_note(known)));
    const std::string note = accuracy_note(k);
    if (note.empty()) continue;
    out += fmt::format("\n{}: {} ({})\n", markdown_code(k.name), note,
                       markdown_code(k.least_accurate_case));
  }
  out += mutants_markdown(record);
  add_propagation(record, out);
  std::size_t shown = 0;
  for (const Counterexample& c : record.counterexamples) {
    std::string card;
    for (const std::string& line : card_lines(c)) card += readable(line) + "\n";
    const std::string fence = fence_for(card);
    const std::string block = fmt::format("\n{}\n{}{}\n", fence, card, fence);
    if (shown == kMaxCards || out.size() + block.size() > kMaxBytes - 200) break;
    out += block;
    ++shown;
  }
  if (shown < record.counterexamples.size()) {
    out += fmt::format("\n{} more in report.html.\n", record.counterexamples.size() - shown);
  }
  out += fmt::format(
      "\n{} · seed 0x{:x} · profile {} · run {}\n",
      markdown_text(fmt::format("{}", fmt::join(record.devices, " + "))).substr(0, 4096),
      record.seed, markdown_text(record.profile), record.run_id);
  return out;
}

}  // namespace plumbline
