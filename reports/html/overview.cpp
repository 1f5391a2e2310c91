// SPDX-License-Identifier: MIT
// The first screen of report.html: the verdict in one sentence, what is wrong, and how close every
// kernel is to its bound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/card.h"
#include "reports/change.h"
#include "reports/html/sections.h"
#include "reports/record/separation.h"

namespace plumbline {
namespace {

constexpr std::size_t kLeads = 3;

}  // namespace

Html lead(const RunRecord& record) {
  Html html;
  std::size_t shown = 0, failing = 0;
  for (const KernelRecord& k : record.kernels) {
    if (k.verdict != Verdict::fail && k.verdict != Verdict::error) continue;
    if (++failing > kLeads) continue;
    ++shown;
    Html box = badge(k.verdict);
    box += escaped(" ");
    box +=
        element("a", element("code", k.name), fmt::format("href=\"#{}\"", kernel_anchor(k.name)));
    const auto card = std::find_if(record.counterexamples.begin(), record.counterexamples.end(),
                                   [&](const Counterexample& c) { return c.kernel == k.name; });
    Html words;
    if (card != record.counterexamples.end()) {
      words += element("p", card->headline);
      if (const std::string failures = failures_line(k); !failures.empty())
        words += element("p", failures);
      if (!card->findings.empty()) words += element("p", card->findings.front().text);
      if (!card->faults.empty())
        words += element("p", Html{fmt::format("Would explain it exactly: <strong>{}</strong>.",
                                               escaped(card->faults.front()).text)});
      if (const std::string subject = replay_subject(*card); !subject.empty()) {
        words += element("pre", "plumbline replay " + subject, "class=\"replay\" tabindex=\"0\"");
      }
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
    html += element("div", Html{element("p", box).text + words.text}, "class=\"lead\"");
  }
  if (failing > shown)
    html += element(
        "p", fmt::format("{} more below.",
                         counted(static_cast<std::int64_t>(failing - shown), "failing kernel")));
  return html;
}

namespace {

// The bar of a share on a logarithmic axis from 1/1000 to 1000; the bound, 1, is in the middle.
Html bar(double share) {
  const double place =
      std::isinf(share) ? 100 : std::clamp((std::log10(share) + 3) / 6 * 100, 1.0, 100.0);
  return {
      fmt::format("<div class=\"bar\" aria-hidden=\"true\"><i class=\"{}\" "
                  "style=\"width:{:.1f}%\"></i></div>",
                  name(tone_of_share(share)), place)};
}

}  // namespace

Html bound_overview(const RunRecord& record) {
  if (record.kernels.empty() && !record.depths.empty()) return {};  // none was asked for
  std::vector<const KernelRecord*> kernels;
  for (const KernelRecord& k : record.kernels) kernels.push_back(&k);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    if (severity(a->verdict) != severity(b->verdict))
      return severity(a->verdict) > severity(b->verdict);
    return a->worst_share > b->worst_share;
  });
  Table table;
  table.head = {"verdict", "kernel", "cases", "of its bound", "1/1000 … bound … 1000"};
  const KernelRecord* closest = nullptr;
  std::int64_t beyond = 0, near = 0;
  for (const KernelRecord* k : kernels) {
    Cell used, drawn;
    if (k->compared == 0) {
      used = cell(k->verdict == Verdict::skip ? "did not run" : "not compared");
      used.tone = Tone::off;
    } else if (k->worst_share == 0) {
      used = number_cell(0, "exact");  // a bar of length zero would look like nothing was tried
      used.tone = Tone::exact;
    } else {
      used = number_cell(k->worst_share, bound_text(k->worst_share));
      used.tone = tone_of_share(k->worst_share);
      drawn.content = bar(k->worst_share);
    }
    beyond += k->worst_share > 1;
    near += k->worst_share > 0.5 && k->worst_share <= 1;
    if (k->worst_share <= 1 && (!closest || k->worst_share > closest->worst_share)) closest = k;
    table.rows.push_back({Cell{badge(k->verdict)},
                          Cell{element("a", element("code", k->name),
                                       fmt::format("href=\"#{}\"", kernel_anchor(k->name)))},
                          count_cell(k->cases), used, drawn});
  }
  std::string finding =
      beyond > 0 ? fmt::format("{} beyond what its contract allows", counted(beyond, "kernel"))
                 : "";
  if (closest && closest->worst_share > 0) {
    finding += fmt::format(
        "{}{} comes closest{}, with {} of its bound{}", finding.empty() ? "" : "; ", closest->name,
        finding.empty() ? "" : " of those within", bound_text(closest->worst_share),
        near > 1 ? fmt::format(" ({} use more than half)", near) : "");
  }
  if (finding.empty()) finding = "Nothing used any of its bound";
  Html html =
      figure_around("How close is every kernel to its contract?", finding + ".", to_html(table));
  return element("section", html);
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
  return element(
      "section",
      figure_around(fmt::format("What changed since {}?", options.baseline->from),
                    finding.empty() ? "Nothing to compare." : finding + ".", to_html(table)));
}

}  // namespace plumbline
