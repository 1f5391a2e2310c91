// SPDX-License-Identifier: MIT
// What `plumbline mutants` found out: how many planted faults the gate catches and by what, which
// survive, and what the rules of other projects would have said.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/card.h"
#include "reports/html/sections.h"

namespace plumbline {
namespace {

constexpr std::size_t kShown = 200;  // rows of a table of mutants

Html scores(const RunRecord& record) {
  Table table;
  table.head = {"kernel",     "score",  "caught", "survived", "no observable effect",
                "duplicates", "refused"};
  for (const KernelRecord& k : record.kernels) {
    const MutantScore s = score(record.mutants, k.name);
    Cell percent = number_cell(s.percent(), fmt::format("{:.1f} %", s.percent()));
    percent.tone = s.survived == 0 ? Tone::pass : Tone::near;
    table.rows.push_back({cell(k.name), percent, count_cell(s.caught), count_cell(s.survived),
                          count_cell(s.no_effect), count_cell(s.duplicates),
                          count_cell(s.refused)});
  }
  Html content = to_html(table);
  Table survivors;
  survivors.head = {"survived", "kernel", "where", "before", "after", "of its bound"};
  for (const MutantRecord& m : record.mutants) {
    if (m.outcome != MutantOutcome::survived || survivors.rows.size() == kShown) continue;
    survivors.rows.push_back(
        {cell(fmt::format("{} ({})", m.id, m.kind)), cell(m.kernel), cell(m.source),
         Cell{element("code", m.before)}, Cell{element("code", m.after)},
         number_cell(m.worst_share,
                     std::isinf(m.worst_share) ? "beyond it" : share_text(m.worst_share))});
  }
  if (!survivors.rows.empty()) content += to_html(survivors);
  const MutantScore all = score(record.mutants);
  return figure_around("Mutation score",
                       fmt::format("{} of {} faults that change any output are caught: {:.1f} %.",
                                   all.caught, all.effective(), all.percent()),
                       content);
}

Html checks(const RunRecord& record) {
  std::map<std::string, std::int64_t> caught;
  Table each;
  each.head = {"fault", "kernel", "caught by", "on", "cases tried"};
  for (const MutantRecord& m : record.mutants) {
    if (m.outcome != MutantOutcome::caught) continue;
    ++caught[caught_by(m)];
    if (each.rows.size() == kShown) continue;
    each.rows.push_back(
        {cell(fmt::format("{} ({})", m.id, m.kind)), cell(m.kernel), cell(caught_by(m)),
         Cell{element("code", fmt::format("{} [{}]", m.text, m.device))}, count_cell(m.cases)});
  }
  if (caught.empty()) return {};
  Table table;
  table.head = {"check", "faults caught first by it"};
  for (const auto& [check, count] : caught) table.rows.push_back({cell(check), count_cell(count)});
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& x, const auto& y) { return x[1].value > y[1].value; });
  const auto values = caught.contains("bound") ? caught.at("bound") : 0;
  const std::string finding = fmt::format(
      "{} of {} by a value outside its bound; the others by a value of the wrong class, by other "
      "bits "
      "where they have to be the same, or by what the device saw.",
      values, score(record.mutants).caught);
  return figure_around("Claims that catch the faults", finding, to_html(table), &each);
}

// Rules of other projects on the same outputs.
Html peers(const RunRecord& record) {
  if (record.peers.empty()) return {};
  Table table;
  table.head = {"kernel",       "rule",  "formula (e error, r exact, o output)",
                "lets through", "asked", "rejects of the right kernel",
                "cases"};
  std::int64_t through = 0, asked = 0, alarms = 0, cases = 0;
  for (const PeerRecord& rule : record.peers) {
    const PeerScore s = peer_score(record.mutants, rule);
    through += s.let_through;
    asked += s.asked;
    alarms += rule.false_alarms;
    cases += rule.cases;
    Cell missed = count_cell(s.let_through), alarmed = count_cell(rule.false_alarms);
    missed.tone = s.let_through > 0 ? Tone::fail : Tone::pass;
    alarmed.tone = rule.false_alarms > 0 ? Tone::near : Tone::pass;
    table.rows.push_back({cell(rule.kernel), cell(rule.rule), Cell{element("code", rule.formula)},
                          missed, count_cell(s.asked), alarmed, count_cell(rule.cases)});
  }
  const auto percent = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  Html content = to_html(table);
  content += element("p",
                     "On our cases, which are harder on tolerances than a project's own. A fault "
                     "is let through when a rule accepts every case that the kernel completed.",
                     "class=\"note\"");
  return figure_around(
      "Tolerances of other projects",
      fmt::format("On average they let {:.1f} % of the faults through that are caught here, and "
                  "reject {:.1f} % of the cases of the kernel that is right.",
                  percent(through, asked), percent(alarms, cases)),
      content);
}

}  // namespace

Html mutant_sections(const RunRecord& record) {
  if (record.mutants.empty()) return {};
  Html html = scores(record);
  html += checks(record);
  html += peers(record);
  return html;
}

}  // namespace plumbline
