// SPDX-License-Identifier: MIT
// One kernel of report.html: the card first where it fails, then its charts, then what it promises.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/card.h"
#include "reports/html/sections.h"

namespace plumbline {
namespace {

constexpr std::size_t kShownCases = 10;

// A reason may quote a whole instruction and its place; record.json has all of it.
std::string shortened(const std::string& text) {
  constexpr std::size_t kShown = 240;
  if (text.size() <= kShown) return text;
  std::size_t end = kShown;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "…";
}

// How much of its bound the worst output of a case used: "22 %", "64 x". Where its accumulator may
// not err at all there is no such number, and the error stands beside what rounding may add.
std::string describe_use(const CaseRecord& c, double share) {
  if (!std::isinf(share)) return share_text(share);
  const auto worst = std::ranges::max_element(
      c.outputs, {}, [](const OutputRecord& o) { return o.verdict.worst_share; });
  const ElementVerdict& e = worst->verdict.worst;
  if (e.class_mismatch || std::isnan(e.error_ulp)) return "wrong class";
  if (e.bound_ulp == 0) return ulp_text(std::fabs(e.error_ulp)) + ", must be exact";
  return fmt::format("{}; {} is allowed", ulp_text(std::fabs(e.error_ulp)), ulp_text(e.bound_ulp));
}

// The failing cases, or those closest to the bound: ten of however many.
Html telling_cases(const RunRecord& record, const KernelRecord& kernel) {
  std::vector<const CaseRecord*> chosen;
  const auto share = [](const CaseRecord& c) {
    double worst = 0;
    for (const OutputRecord& o : c.outputs) worst = std::max(worst, o.verdict.worst_share);
    return worst;
  };
  const bool any_wrong = kernel.passed + kernel.skipped < kernel.cases;
  for (const CaseRecord& c : record.cases) {
    const bool wrong = c.verdict != Verdict::pass && c.verdict != Verdict::skip;
    if (c.kernel == kernel.name && (wrong || !any_wrong)) chosen.push_back(&c);
  }
  const std::size_t all = chosen.size();
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const CaseRecord* a, const CaseRecord* b) { return share(*a) > share(*b); });
  // One row per case, however many devices it ran on.
  std::vector<std::pair<const CaseRecord*, std::string>> rows;
  for (const CaseRecord* c : chosen) {
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const auto& row) { return row.first->text == c->text; });
    if (same != rows.end()) {
      same->second += ", " + c->device;
    } else if (rows.size() < kShownCases) {
      rows.emplace_back(c, c->device);
    }
  }
  if (rows.empty()) return {};
  Table table;
  table.head = {"error over its bound", "devices", any_wrong ? "case, and why" : "case"};
  if (any_wrong) table.head.insert(table.head.begin(), "verdict");
  for (const auto& [c, devices] : rows) {
    Cell used = number_cell(share(*c), describe_use(*c, share(*c)));
    used.tone = tone_of_share(used.value);
    Html why = element("code", c->text);
    if (!c->reason.empty()) why += element("p", shortened(c->reason), "class=\"note\"");
    std::vector<Cell>& row = table.rows.emplace_back();
    if (any_wrong) row.push_back(Cell{badge(c->verdict)});
    row.insert(row.end(), {used, cell(devices), Cell{why}});
  }
  const std::string what = counted(static_cast<std::int64_t>(all), "case");
  return figure_around(
      any_wrong ? "Failing cases" : "Cases closest to their bounds",
      any_wrong ? fmt::format("{} did not pass; those furthest from their bounds come first.", what)
                : fmt::format("All {} passed; those closest to their bounds come first.", what),
      to_html(table));
}

Html promises(const KernelRecord& kernel) {
  Html content;
  for (const auto& [sm, contract] : kernel.contracts) {
    content += element("h4", sm);
    content += element("pre", contract, "tabindex=\"0\"");
  }
  for (const auto& [device, words] : kernel.arithmetic)
    content += element("p", fmt::format("Probes on {} find {}.", device, words));
  if (content.text.empty()) return {};
  return element("details", element("summary", "What it promises") + content);
}

}  // namespace

// Names may hold anything; anchors are their letters and digits, and a hash keeps them apart.
std::string kernel_anchor(std::string_view kernel) {
  std::string anchor = "k";
  for (const char c : kernel) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    anchor += plain ? std::string(1, c) : fmt::format(".{:02x}", static_cast<unsigned char>(c));
  }
  return anchor;
}

Html kernel_section(const RunRecord& record, const KernelRecord& kernel) {
  Html facts;
  facts += element("p", kernel.summary);
  facts += element("p",
                   fmt::format("{} · {} · {}, {}, {} compared with exact values", kernel.operation,
                               kernel.formats, counted(kernel.cases, "case"),
                               counted(kernel.outputs, "output"), count_text(kernel.compared)),
                   "class=\"note\"");
  for (const std::string& reason : kernel.reasons)
    facts += element("p", reason, "class=\"finding\"");
  for (const std::string& reason : kernel.mistrusted_because)
    facts += element("p", "Mistrusted: " + reason, "class=\"finding\"");
  if (!kernel.left_out.empty()) facts += element("p", kernel.left_out, "class=\"note\"");
  const std::string accuracy = accuracy_note(kernel);
  if (!accuracy.empty())
    facts += element("p", fmt::format("{} ({})", accuracy, kernel.least_accurate_case));
  for (const KnownRecord& known : kernel.known) facts += element("p", known_note(known));
  facts += cards(record, kernel);
  facts += telling_cases(record, kernel);
  facts += heat_maps(record, kernel);
  facts += error_histogram(record, kernel);
  facts += error_by_length(record, kernel);
  facts += error_quantiles(record, kernel);
  facts += error_by_magnitude(record, kernel);
  facts += special_values(record, kernel);
  facts += coverage_matrix(record, kernel);
  facts += promises(kernel);
  facts = element("div", facts, "class=\"facts\"");

  const std::string id = fmt::format("id=\"{}\"", kernel_anchor(kernel.name));
  Html title = badge(kernel.verdict);
  title += escaped(" ");
  title += element("code", kernel.name);
  const bool opened = tone_of(kernel.verdict) == Tone::fail;
  if (opened) {
    Html html = element("h3", title);
    html += facts;
    return element("section", html, id + " class=\"kernel\"");
  }
  return element("details", element("summary", element("h3", title)) + facts,
                 id + " class=\"kernel\"");
}

}  // namespace plumbline
