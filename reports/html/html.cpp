// SPDX-License-Identifier: MIT
#include "reports/html/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html/page.h"
#include "reports/html/sections.h"
#include "reports/verdict_sentence.h"

namespace plumbline {
namespace {

Html kernels_where(const RunRecord& record, bool failing, std::string_view title) {
  Html html;
  for (const KernelRecord& k : record.kernels) {
    const bool failed = k.verdict == Verdict::fail || k.verdict == Verdict::error;
    if (failed == failing) html += of_group(kernel_section(record, k), k.name);
  }
  if (html.text.empty()) return {};
  return group_heading(title) + (failing ? html : element("div", html, "class=\"compact\""));
}

// Where and when it ran, as far as the record knows: "2026-11-25 19:16 UTC · AMD EPYC 7763 · commit
// 1234abcd". Of merged shards only what all have.
std::string place_of(const RunRecord& record) {
  if (record.places.empty()) return {};
  PlaceRecord all = record.places.front();
  for (const PlaceRecord& place : record.places) {
    all.date = std::min(all.date, place.date);
    if (place.processor != all.processor) all.processor.clear();
    if (place.commit != all.commit) all.commit.clear();
    all.uncommitted_changes = all.uncommitted_changes || place.uncommitted_changes;
  }
  constexpr std::size_t kMinutes = 16;  // of "2026-11-25T19:16:21Z"
  constexpr std::size_t kShownDigits = 12;
  std::string text, date = all.date.substr(0, kMinutes);
  if (date.size() == kMinutes) date[10] = ' ';
  if (!date.empty()) text += " · " + date + " UTC";
  if (!all.processor.empty()) text += " · " + all.processor;
  if (!all.commit.empty()) {
    text += fmt::format(" · commit {}{}", all.commit.substr(0, kShownDigits),
                        all.uncommitted_changes ? ", with uncommitted changes" : "");
  }
  return text;
}

bool any_failing(const RunRecord& record) {
  return std::ranges::any_of(record.kernels, [](const KernelRecord& k) {
    return k.verdict == Verdict::fail || k.verdict == Verdict::error;
  });
}

Html body_of(const RunRecord& record, const PageOptions& options) {
  Html body;
  body += lead(record);
  body += group("Kernels", {kernel_overview(record)});
  body += group("Changes", {change_section(record, options)});
  body += kernels_where(record, true, "Failing kernels");
  body += kernels_where(record, false, any_failing(record) ? "Other kernels" : "Kernels in detail");
  body += group("Error propagation", {propagation_sections(record)});
  body += group("Planted faults", {mutant_sections(record)});
  body += group("Coverage of the plan", {coverage_overview(record)});
  body +=
      group("Evidence", {bits_section(record), determinism_section(record),
                         agreement_section(record), agreement_matrix(record),
                         relations_section(record), code_section(record), oracle_section(record)});
  body += environment_section(record);
  return body;
}

}  // namespace

std::vector<FigureTable> report_tables(const RunRecord& record, const PageOptions& options) {
  return body_of(record, options).tables;
}

std::string report_html(const RunRecord& record, const PageOptions& options) {
  const std::string verdict = verdict_sentence(record);
  const bool failing = any_failing(record);
  const bool mistrusted =
      record.interrupted ||
      std::any_of(record.kernels.begin(), record.kernels.end(),
                  [](const KernelRecord& k) { return k.verdict == Verdict::mistrusted; });

  std::string what = record.profile == record.verb ? "" : " · " + record.profile;
  if (!record.devices.empty()) what += fmt::format(" · {}", fmt::join(record.devices, " + "));
  what += " · run " + record.run_id + place_of(record);
  return html_page({.tone = failing      ? Tone::fail
                            : mistrusted ? Tone::near
                                         : Tone::pass,
                    .verb = record.verb,
                    .what = what,
                    .verdict = verdict},
                   body_of(record, options));
}

}  // namespace plumbline
