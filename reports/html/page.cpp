// SPDX-License-Identifier: MIT
#include "reports/html/page.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "reports/html/page_files.h"
#include "reports/record/escape.h"

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

std::string_view sign_of(Tone tone) {
  return tone == Tone::fail ? "✗" : tone == Tone::near ? "!" : "✓";
}

}  // namespace

Html group_heading(std::string_view title) {
  std::string id;
  for (const char c : title) id += c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  return element("h2", title, fmt::format("id=\"{}\"", id));
}

Html of_group(Html html, std::string_view group) {
  for (FigureTable& table : html.tables)
    if (table.group.empty()) table.group = group;
  return html;
}

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

std::string html_page(const PageHead& head, const Html& body) {
  const std::string_view sign = sign_of(head.tone);
  const std::string title = html_text(fmt::format("{} {}: {}", sign, head.verb, head.verdict));
  const std::string policy = policy_hash(kChartScript) + " " + policy_hash(kPageScript);
  const std::string verdict = html_text(head.verdict);
  const std::string what = html_text("plumbline " + head.verb + head.what);
  const std::string navigated = navigation(body).text + body.text;
  return filled(kPageHtml.text, {{"title", title},
                                 {"policy", policy},
                                 {"style", kPageStyle.text},
                                 {"tone", name(head.tone)},
                                 {"sign", sign},
                                 {"what", what},
                                 {"verdict", verdict},
                                 {"body", navigated},
                                 {"chart.js", kChartScript.text},
                                 {"page.js", kPageScript.text}});
}

}  // namespace plumbline
