// SPDX-License-Identifier: MIT
// The first screen of report.html: the verdict in one sentence, what is wrong, and one line for
// every kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "reports/card.h"
#include "reports/change.h"
#include "reports/html/sections.h"
#include "reports/record/separation.h"
#include "reports/representative_error.h"

namespace plumbline {
namespace {

constexpr std::size_t kLeads = 3;

Html link_to(const KernelRecord& kernel) {
  return element("a", element("code", kernel.name),
                 fmt::format("href=\"#{}\"", kernel_anchor(kernel.name)));
}

// Why passes are mistrusted: each reason once, with the kernels that have it.
Html reasons_to_mistrust(const RunRecord& record) {
  std::map<std::string, std::vector<const KernelRecord*>> reasons;
  for (const KernelRecord& k : record.kernels) {
    for (const std::string& reason : k.mistrusted_because) reasons[reason].push_back(&k);
  }
  Html html;
  std::size_t shown = 0;
  for (const auto& [reason, kernels] : reasons) {
    if (shown++ == kLeads) break;
    Html who = badge(Verdict::mistrusted);
    for (std::size_t i = 0; i < std::min(kernels.size(), kLeads); ++i)
      who += escaped(i == 0 ? " " : ", ") + link_to(*kernels[i]);
    if (kernels.size() > kLeads) who += escaped(fmt::format(", {} more", kernels.size() - kLeads));
    html += element("div", element("p", who) + element("p", reason), "class=\"lead near\"");
  }
  if (reasons.size() > kLeads)
    html += element(
        "p", fmt::format("{} more below.",
                         counted(static_cast<std::int64_t>(reasons.size() - kLeads), "reason")));
  return html;
}

// The most failing cases first.
std::vector<const KernelRecord*> failing_kernels(const RunRecord& record) {
  std::vector<const KernelRecord*> failing;
  for (const KernelRecord& k : record.kernels)
    if (k.verdict == Verdict::fail || k.verdict == Verdict::error) failing.push_back(&k);
  std::ranges::stable_sort(failing, std::greater<>(), [](const KernelRecord* k) {
    return std::pair(k->verdict == Verdict::fail, k->failed);
  });
  return failing;
}

}  // namespace

bool is_in_lead(const RunRecord& record, const Counterexample& card) {
  const std::vector<const KernelRecord*> failing = failing_kernels(record);
  for (std::size_t i = 0; i < std::min(failing.size(), kLeads); ++i) {
    if (failing[i]->name != card.kernel) continue;
    return &card ==
           &*std::ranges::find(record.counterexamples, card.kernel, &Counterexample::kernel);
  }
  return false;
}

Html lead(const RunRecord& record) {
  Html html;
  const std::vector<const KernelRecord*> failing = failing_kernels(record);
  const std::size_t shown = std::min(failing.size(), kLeads);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRecord& k = *failing[i];
    Html box = badge(k.verdict);
    box += escaped(" ");
    box += link_to(k);
    const auto card = std::ranges::find(record.counterexamples, k.name, &Counterexample::kernel);
    Html words;
    if (card != record.counterexamples.end()) {
      words += element("p", card->headline);
      if (const std::string failures = failures_line(k); !failures.empty())
        words += element("p", failures);
      words += card_in_lead(*card);
    } else {
      const auto wrong = std::find_if(
          record.cases.begin(), record.cases.end(),
          [&](const CaseRecord& c) { return c.kernel == k.name && c.verdict == k.verdict; });
      if (wrong != record.cases.end()) {
        words += element("p", wrong->reason);
        words += element("pre", "plumbline replay " + replay_subject(record, *wrong),
                         "class=\"replay\" tabindex=\"0\"");
      }
    }
    html += element("div", element("p", box) + words, "class=\"lead\"");
  }
  if (failing.size() > shown)
    html += element("p", fmt::format("{} more below.",
                                     counted(std::ssize(failing) - static_cast<std::int64_t>(shown),
                                             "failing kernel")));
  return html + reasons_to_mistrust(record);
}

namespace {

// By how much a kernel exceeds its bound, or how large its errors are.
Cell error_cell(const RunRecord& record, const KernelRecord& kernel) {
  Cell out;
  if (kernel.compared == 0) {
    out = cell(kernel.verdict == Verdict::skip ? "did not run" : "not compared");
    out.tone = Tone::off;
  } else if (const std::string excess = describe_excess(kernel); !excess.empty()) {
    out = number_cell(kernel.worst_share, excess);
    out.tone = Tone::fail;
  } else if (kernel.worst_ulp == 0) {
    out = number_cell(0, "exact");
    out.tone = Tone::exact;
  } else if (const auto error = representative_error(record, kernel)) {
    out = number_cell(
        error->ulp,
        error->ulp == 0 ? "exact" : fmt::format("{} ({})", ulp_number(error->ulp), error->format));
  } else {
    out = number_cell(std::nan(""), "");
  }
  return out;
}

// Of the device where the cases reach the least; NaN where it is not known.
double code_run(const KernelRecord& kernel) {
  double least = kernel.code.empty() ? std::nan("") : 1;
  for (const auto& [device, code] : kernel.code) {
    if (code.instructions == 0) continue;
    least = std::min(least,
                     static_cast<double>(code.executed) / static_cast<double>(code.instructions));
  }
  return least;
}

Cell code_cell(double least) {
  if (std::isnan(least)) return {};
  return number_cell(100 * least, fmt::format("{:.0f} %", std::floor(100 * least)));
}

Cell seconds_cell(double milliseconds) {
  return number_cell(milliseconds / 1000, fmt::format("{:.1f}", milliseconds / 1000));
}

std::string overview_finding(const RunRecord& record) {
  std::int64_t beyond = 0, tried = 0, rounded = 0;
  double largest = 0;
  std::string where, kernel;
  for (const KernelRecord& k : record.kernels) {
    beyond += k.compared > 0 && k.worst_share > 1;
    if (k.compared == 0 || k.worst_share > 1) continue;
    const std::optional<RepresentativeError> error = representative_error(record, k);
    if (!error) continue;
    ++tried;
    rounded += error->ulp <= 0.5;
    if (error->ulp <= largest) continue;
    largest = error->ulp;
    where = fmt::format("{} ulp ({})", ulp_number(largest), error->format);
    kernel = k.name;
  }
  std::string text;
  if (beyond > 0)
    text = fmt::format("{} beyond what the contract allows. ", counted(beyond, "kernel"));
  if (tried == 0) return text;
  const std::string_view half = "half an ulp";
  const bool all = rounded == tried || rounded == 0;
  text += fmt::format("Where values have one sign, 99 % of the outputs{} are within {} of exact",
                      tried == 1 ? ""
                      : all      ? " of every kernel"
                                 : fmt::format(" of {} of {} kernels", rounded, tried),
                      rounded > 0 ? half : where);
  if (rounded < tried && tried > 1)
    text += fmt::format("; those of {} are furthest from it{}", kernel,
                        rounded > 0 ? ", within " + where : "");
  return text + ".";
}

}  // namespace

namespace {

// A group of kernels has at least two: those of one operation, and the operations with one kernel.
constexpr std::size_t kFewKernels = 8;

struct Columns {
  bool failed = false, code = false, timed = false;
};

std::vector<std::string> titles(const Columns& columns) {
  std::vector<std::string> head = {"verdict", "kernel", "operation", "cases"};
  if (columns.failed) head.emplace_back("of them failed");
  head.insert(head.end(), {"outputs compared", "99 % within (ulp)"});
  if (columns.code) head.emplace_back("code run");
  if (columns.timed) head.emplace_back("time (s)");
  return head;
}

std::vector<Cell> kernel_row(const RunRecord& record, const KernelRecord& k,
                             const Columns& columns) {
  std::vector<Cell> row = {Cell{badge(k.verdict)}, Cell{link_to(k)}, cell(k.operation),
                           count_cell(k.cases)};
  if (columns.failed) row.push_back(count_cell(k.failed + k.errors));
  row.insert(row.end(), {count_cell(k.compared), error_cell(record, k)});
  if (columns.code) row.push_back(code_cell(code_run(k)));
  if (columns.timed) row.push_back(seconds_cell(k.elapsed_ms));
  return row;
}

// What kernels of a group come to together: sums, the largest error and the least of the code.
std::vector<Cell> group_row(const RunRecord& record, const std::vector<const KernelRecord*>& group,
                            const std::string& name, const Columns& columns) {
  KernelRecord sum;
  std::optional<RepresentativeError> most;
  double least = std::nan("");
  bool exact = true;
  for (const KernelRecord* k : group) {
    sum.cases += k->cases;
    sum.compared += k->compared;
    sum.elapsed_ms += k->elapsed_ms;
    exact = exact && k->worst_ulp == 0;
    const auto error = representative_error(record, *k);
    if (error && (!most || error->ulp > most->ulp)) most = error;
    least = std::isnan(least) ? code_run(*k) : std::min(least, code_run(*k));
  }
  std::vector<Cell> row = {cell(""), Cell{element("strong", name)},
                           cell(counted(std::ssize(group), "kernel")), count_cell(sum.cases)};
  if (columns.failed) row.push_back(count_cell(0));
  row.push_back(count_cell(sum.compared));
  row.push_back(exact  ? number_cell(0, "exact")
                : most ? number_cell(most->ulp, fmt::format("up to {} ({})", ulp_number(most->ulp),
                                                            most->format))
                       : number_cell(std::nan(""), ""));
  if (columns.code) row.push_back(code_cell(least));
  if (columns.timed) row.push_back(seconds_cell(sum.elapsed_ms));
  return row;
}

}  // namespace

Html kernel_overview(const RunRecord& record) {
  if (record.kernels.empty() && !record.depths.empty()) return {};  // none was asked for
  // Of each operation, those that passed: one kernel of an operation goes to the last group.
  const bool grouped = record.kernels.size() > kFewKernels;
  std::map<std::string, std::int64_t> passed;
  for (const KernelRecord& k : record.kernels) passed[k.operation] += k.verdict == Verdict::pass;
  constexpr const char* kSingle = "operations of one kernel";
  const auto group_of = [&](const KernelRecord& k) -> std::string {
    if (!grouped || k.verdict != Verdict::pass) return {};
    return passed[k.operation] > 1 ? k.operation : kSingle;
  };
  std::vector<const KernelRecord*> kernels;
  for (const KernelRecord& k : record.kernels) kernels.push_back(&k);
  std::ranges::stable_sort(kernels, {}, [&](const KernelRecord* k) {
    return std::tuple(-severity(k->verdict), group_of(*k) == kSingle, k->operation);
  });
  Columns columns;
  for (const KernelRecord* k : kernels) {
    columns.failed |= k->failed + k->errors > 0;
    columns.code |= !k->code.empty();
    columns.timed |= k->elapsed_ms > 0;
  }
  Table table;
  table.head = titles(columns);
  table.caption =
      "99 % within: the error that 99 % of the outputs do not exceed where values have one sign, "
      "in ulp of the narrowest output format that is not exact.";
  if (columns.timed) table.caption += " Time: of all cases, one after the other.";
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string group = group_of(*kernels[i]);
    if (!group.empty() && (i == 0 || group_of(*kernels[i - 1]) != group)) {
      std::vector<const KernelRecord*> members;
      for (std::size_t j = i; j < kernels.size() && group_of(*kernels[j]) == group; ++j)
        members.push_back(kernels[j]);
      if (members.size() > 1)
        table.groups[table.rows.size()] = group_row(record, members, group, columns);
    }
    table.rows.push_back(kernel_row(record, *kernels[i], columns));
  }
  Html html = figure_around("Verdicts and errors", overview_finding(record), to_html(table));
  if (!grouped) return html;
  Html filter = element("label", Html{"Show only kernels, operations and verdicts with "
                                      "<input type=\"search\"/>"});
  return element("p", filter, "class=\"filter\" hidden=\"hidden\"") + html;
}

Html change_section(const RunRecord& record, const PageOptions& options) {
  if (!options.baseline) return {};
  Table table;
  table.head = {"change", "kernel", "how"};
  std::map<Change, int> counts;
  for (const KernelChange& change : changes(*options.baseline, baseline_of(record))) {
    ++counts[change.change];
    Cell word = cell(name(change.change));
    word.tone = change.broke || change.change == Change::worse || change.change == Change::error
                    ? Tone::fail
                : change.change == Change::better  ? Tone::pass
                : change.change == Change::unclear ? Tone::near
                                                   : Tone::off;
    table.rows.push_back({word, cell(change.kernel), cell(change.words)});
  }
  std::string finding;
  for (const auto& [change, count] : counts)
    finding += fmt::format("{}{} {}", finding.empty() ? "" : ", ", count, name(change));
  return figure_around(fmt::format("Since {}", options.baseline->from),
                       finding.empty() ? "Nothing to compare." : finding + ".", to_html(table));
}

}  // namespace plumbline
