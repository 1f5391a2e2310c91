// SPDX-License-Identifier: MIT
// The counterexample card: the smallest case that goes wrong, with everything to debug it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/card.h"
#include "reports/excerpt.h"
#include "reports/html/sections.h"

namespace plumbline {
namespace {

constexpr std::size_t kShownFindings = 8;

// The step where the accumulator leaves the exact sum.
Html difference_figure(const Counterexample& c) {
  if (c.differences.size() < 2) return {};
  const std::vector<double>& d = c.differences;
  const auto step_of = [&](std::size_t i) {
    return static_cast<std::int64_t>(i + 1) * c.difference_stride;
  };
  std::size_t jump = 0;
  double largest = std::fabs(d[0]);
  for (std::size_t i = 1; i < d.size(); ++i) {
    if (std::fabs(d[i] - d[i - 1]) <= largest) continue;
    largest = std::fabs(d[i] - d[i - 1]);
    jump = i;
  }
  Figure figure;
  figure.title = "Accumulator error by step";
  figure.finding = largest == 0
                       ? "At none: what the contract's accumulator does at this place is exact."
                       : fmt::format(
                             "The largest jump, {:.3g} ulp, is at step {} of {}; at the end the "
                             "contract's accumulator is {:+.3g} ulp from exact.",
                             largest, step_of(jump), step_of(d.size() - 1), d.back());
  figure.x.title = "steps of the sum";
  figure.y.title = "accumulator − exact, in its ulp";
  figure.table.head = {"step", "difference (ulp)"};
  figure.series = {{"difference", 1, "line", "vermillion"}};
  for (std::size_t i = 0; i < d.size(); ++i) {
    figure.table.rows.push_back(
        {count_cell(step_of(i)), number_cell(d[i], fmt::format("{:.6g}", d[i]))});
  }
  return to_html(figure);
}

Html list_of(const std::vector<std::string>& lines, std::string_view title) {
  if (lines.empty()) return {};
  Html items;
  for (const std::string& line : lines) items += element("li", line);
  Html html = element("h5", title);
  html += element("ul", items);
  return html;
}

// The line that is meant stands out by its sign, too.
Html source_lines(const SourceExcerpt& excerpt) {
  const std::vector<std::string> lines = excerpt_lines(excerpt);
  Html text;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const bool meant = excerpt.first + static_cast<int>(i) - 1 == excerpt.line;
    text += meant ? element("mark", lines[i]) : escaped(lines[i]);
    text += escaped("\n");
  }
  return element("pre", text, "class=\"source\" tabindex=\"0\"");
}

// What is known beside the values: the explanation, the case as found, the steps of its sum.
Html rest_of_card(const Counterexample& c) {
  std::vector<std::string> why = c.explanation;
  if (c.faults.empty() && !c.faults.unnamed.empty()) why.push_back(c.faults.unnamed);
  Html html = list_of(why, "Why");
  if (const std::string origin = found_as(c); !origin.empty()) html += element("p", origin);
  html += element("p", element("code", c.text));
  html += difference_figure(c);
  return html;
}

// Without the first finding where that stands elsewhere.
Html findings_of(const Counterexample& c, std::string_view title, bool without_first) {
  std::vector<std::string> findings = finding_sentences(c.findings);
  if (without_first && !findings.empty()) findings.erase(findings.begin());
  const std::size_t more = findings.size() > kShownFindings ? findings.size() - kShownFindings : 0;
  if (more > 0) {
    findings.resize(kShownFindings);
    findings.push_back(fmt::format("{} more in record.json", more));
  }
  return list_of(findings, title);
}

Html values_of(const Counterexample& c) {
  if (c.elements.empty()) return {};
  std::string lines;
  for (const std::string& line : c.elements) lines += line + "\n";
  return element("pre", lines, "tabindex=\"0\"");
}

Html commands_of(const Counterexample& c) {
  const std::string subject = replay_subject(c);
  if (subject.empty()) return {};
  return element("pre", fmt::format("plumbline replay  {0}\nplumbline explain {0}", subject),
                 "class=\"replay\" tabindex=\"0\"");
}

Html card(const Counterexample& c, bool in_lead) {
  Html html = element("h4", fmt::format("{} / {}", c.claim, c.value_class));
  if (in_lead) {
    html += element("p", "Its values and source are at the top of the page.", "class=\"note\"");
    html += findings_of(c, "What else the device saw", true);
  } else {
    html += element("p", c.headline, "class=\"finding\"");
    html += values_of(c);
    html += findings_of(c, "What the device saw", false);
    Html source;
    for (const SourceExcerpt& excerpt : c.excerpts) {
      source += element("h5", excerpt_lines(excerpt)[0]);
      source += source_lines(excerpt);
    }
    // The line of a finding is the cause; that of a store only leads to it.
    if (!c.findings.empty()) html += source;
    html += list_of(c.faults.names, "Simple faults that give exactly these outputs");
    if (c.findings.empty()) html += source;
    html += commands_of(c);
  }
  html += rest_of_card(c);
  return element("article", html, "class=\"card\"");
}

}  // namespace

Html card_in_lead(const Counterexample& c) {
  Html html;
  if (!c.findings.empty()) {
    html += element("p", finding_sentences(c.findings).front());
  } else if (!c.faults.empty()) {
    html += element("p", element("strong", fits_sentence(c)));
  }
  for (const SourceExcerpt& excerpt : c.excerpts) {
    html += element("p", excerpt_lines(excerpt)[0]);
    html += source_lines(excerpt);
  }
  if (!c.findings.empty() && !c.faults.empty()) html += element("p", fits_sentence(c));
  html += values_of(c);
  html += commands_of(c);
  return html;
}

Html cards(const RunRecord& record, const KernelRecord& kernel) {
  Html html;
  for (const Counterexample& c : record.counterexamples) {
    if (c.kernel == kernel.name) html += card(c, is_in_lead(record, c));
  }
  return html;
}

}  // namespace plumbline
