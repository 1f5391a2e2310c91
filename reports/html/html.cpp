// SPDX-License-Identifier: MIT
#include "reports/html/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "reports/html/sections.h"
#include "reports/page_files.h"
#include "reports/record/escape.h"
#include "reports/verdict_sentence.h"

namespace plumbline {
namespace {

// The source of a script as a content security policy names it.
std::string policy_hash(const PageFile& script) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < script.sha256.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(script.sha256.data() + i, script.sha256.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return fmt::format("'sha256-{}'", base64(bytes));
}

Html group_heading(std::string_view title) {
  std::string id;
  for (const char c : title) id += c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  return element("h2", title, fmt::format("id=\"{}\"", id));
}

// Tables that nothing smaller claims are of this group.
Html of_group(Html html, std::string_view group) {
  for (FigureTable& table : html.tables)
    if (table.group.empty()) table.group = group;
  return html;
}

Html kernels_where(const RunRecord& record, bool failing, std::string_view title) {
  Html html;
  for (const KernelRecord& k : record.kernels) {
    const bool failed = k.verdict == Verdict::fail || k.verdict == Verdict::error;
    if (failed == failing) html += of_group(kernel_section(record, k), k.name);
  }
  if (html.text.empty()) return {};
  return group_heading(title) + html;
}

// Sections under one heading, which is left out when none of them has data.
Html group(std::string_view title, std::initializer_list<Html> sections) {
  Html html;
  for (const Html& section : sections) html += section;
  if (html.text.empty()) return {};
  // Their figures stand directly under the group: one step of headings higher than in a kernel.
  for (const auto& [from, to] : {std::pair{"<h4>", "<h3>"}, std::pair{"</h4>", "</h3>"}}) {
    for (std::size_t at = 0; (at = html.text.find(from, at)) != std::string::npos;)
      html.text.replace(at, std::string_view(from).size(), to);
  }
  return of_group(element("section", group_heading(title) + html), title);
}

// Links to the groups of a page that has several.
Html navigation(const Html& body) {
  constexpr std::string_view kOpen = "<h2 id=\"";
  Html links;
  std::size_t at = 0;
  while ((at = body.text.find(kOpen, at)) != std::string::npos) {
    at += kOpen.size();
    const std::size_t quote = body.text.find('"', at), end = body.text.find("</h2>", at);
    links += Html{fmt::format("<a href=\"#{}\">{}</a> ", body.text.substr(at, quote - at),
                              body.text.substr(quote + 2, end - quote - 2))};
  }
  return links.text.empty() ? links : element("nav", links, "aria-label=\"sections\"");
}

// The template with its {{places}} filled. What is filled in is never looked at again: a kernel
// named {{style}} is just that.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string_view>>& places) {
  std::string out;
  while (true) {
    const std::size_t open = page.find("{{"), close = page.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos) return out.append(page);
    out.append(page.substr(0, open));
    const std::string_view key = page.substr(open + 2, close - open - 2);
    for (const auto& [name, text] : places) {
      if (name == key) out.append(text);
    }
    page.remove_prefix(close + 2);
  }
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

  const Html body = body_of(record, options);
  const std::string title = html_text(fmt::format("{} {}: {}",
                                                  failing      ? "✗"
                                                  : mistrusted ? "!"
                                                               : "✓",
                                                  record.verb, verdict));
  const std::string policy = policy_hash(kChartScript) + " " + policy_hash(kPageScript);
  const std::string heading = html_text(verdict);
  std::string what = "plumbline " + record.verb;
  if (record.profile != record.verb) what += " · " + record.profile;
  if (!record.devices.empty()) what += fmt::format(" · {}", fmt::join(record.devices, " + "));
  what += " · run " + record.run_id;
  return filled(kPageHtml.text, {{"title", title},
                                 {"policy", policy},
                                 {"style", kPageStyle.text},
                                 {"tone", failing      ? "fail"
                                          : mistrusted ? "near"
                                                       : "pass"},
                                 {"sign", failing      ? "✗"
                                          : mistrusted ? "!"
                                                       : "✓"},
                                 {"what", html_text(what)},
                                 {"verdict", heading},
                                 {"body", navigation(body).text + body.text},
                                 {"chart.js", kChartScript.text},
                                 {"page.js", kPageScript.text}});
}

}  // namespace plumbline
