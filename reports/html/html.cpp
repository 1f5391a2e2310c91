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
  return group_heading(title) + html;
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
  what += " · run " + record.run_id;
  return html_page({.tone = failing      ? Tone::fail
                            : mistrusted ? Tone::near
                                         : Tone::pass,
                    .verb = record.verb,
                    .what = what,
                    .verdict = verdict},
                   body_of(record, options));
}

}  // namespace plumbline
