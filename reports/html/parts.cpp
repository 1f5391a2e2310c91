// SPDX-License-Identifier: MIT
#include "reports/html/parts.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/record/escape.h"

namespace plumbline {

Html escaped(std::string_view text) { return {html_text(text)}; }

Html element(std::string_view tag, const Html& content, std::string_view attributes) {
  return {fmt::format("<{}{}{}>{}</{}>", tag, attributes.empty() ? "" : " ", attributes,
                      content.text, tag),
          content.tables};
}

Html element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return element(tag, escaped(text), attributes);
}

std::string_view name(Tone tone) {
  switch (tone) {
    case Tone::none:
      return "";
    case Tone::pass:
      return "pass";
    case Tone::near:
      return "near";
    case Tone::fail:
      return "fail";
    case Tone::exact:
      return "exact";
    case Tone::off:
      return "off";
  }
  return "";
}

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return Tone::pass;
    case Verdict::fail:
    case Verdict::error:
      return Tone::fail;
    case Verdict::mistrusted:
      return Tone::near;
    case Verdict::skip:
      return Tone::off;
  }
  return Tone::none;
}

Tone tone_of_share(double share) {
  if (std::isnan(share)) return Tone::off;
  return share > 1 ? Tone::fail : Tone::none;
}

Html badge(Verdict verdict) {
  const std::string_view sign = verdict == Verdict::pass         ? "✓"
                                : verdict == Verdict::mistrusted ? "!"
                                : verdict == Verdict::skip       ? "–"
                                                                 : "✗";
  return element("span", fmt::format("{} {}", sign, name(verdict)),
                 fmt::format("class=\"badge {}\"", name(tone_of(verdict))));
}

Cell cell(std::string_view text) { return {escaped(text)}; }

Cell number_cell(double value, std::string_view text) { return {escaped(text), value, true}; }

Cell count_cell(std::int64_t value) {
  return number_cell(static_cast<double>(value), count_text(value));
}

namespace {

// Whole numbers have all their digits.
std::string number_text(double value) {
  return std::trunc(value) == value ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
}

// Without what ends a cell or a line in a table of text.
std::string within_cell(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n') c = ' ';
  }
  return text;
}

// The cell in a table of text: its words, or its number where these do not begin with it ("1,024").
std::string plain_text(const Cell& cell) {
  const std::string text = text_of_html(cell.content.text);
  if (std::isfinite(cell.value)) {
    constexpr double kRounded = 0.005;  // of words with three digits
    double written = std::nan("");
    std::from_chars(text.data(), text.data() + text.size(), written);
    const bool begins = std::fabs(written - cell.value) <= kRounded * std::fabs(cell.value);
    if (!begins) return number_text(cell.value);
  }
  return within_cell(text);
}

FigureTable numbers_of(const Table& table) {
  FigureTable out;
  out.caption = table.caption;
  out.columns = table.head;
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<FigureTable::Cell>& cells = out.rows.emplace_back();
    for (const Cell& c : row) cells.push_back({c.value, text_of_html(c.content.text)});
  }
  return out;
}

Html cells_of(const std::vector<Cell>& row) {
  Html cells;
  for (const Cell& c : row) {
    std::string attributes;
    if (c.number || c.tone != Tone::none) {
      attributes = fmt::format("class=\"{}{}{}\"", c.number ? "n" : "",
                               c.number && c.tone != Tone::none ? " " : "", name(c.tone));
    }
    // What a column is sorted by: the number itself, where the text is rounded or has a unit.
    if (std::isfinite(c.value)) {
      const std::string value = number_text(c.value);
      if (value != c.content.text)
        attributes += fmt::format("{}data-v=\"{}\"", attributes.empty() ? "" : " ", value);
    }
    cells += element("td", c.content, attributes);
  }
  return cells;
}

}  // namespace

Html to_html(const Table& table) {
  Html head, body;
  for (std::size_t i = 0; i < table.head.size(); ++i) {
    const bool numbers = !table.rows.empty() && table.rows.front()[i].number;
    head += element("th", table.head[i], numbers ? "scope=\"col\" class=\"n\"" : "scope=\"col\"");
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto group = table.groups.find(i);
    if (group != table.groups.end())
      body += element("tr", cells_of(group->second), "class=\"group\"");
    body += element("tr", cells_of(table.rows[i]));
  }
  Html content;
  content += element("thead", element("tr", head));
  content += element("tbody", body);
  // Not a <caption>: that is as wide as the table, and would be cut where the table is.
  Html html;
  if (!table.caption.empty()) html += element("p", table.caption, "class=\"note\"");
  html += element("div", element("table", content), "class=\"scroll\" tabindex=\"0\"");
  html.tables.push_back(numbers_of(table));
  return html;
}

Html to_text(const Table& table) {
  std::string text;
  for (const std::string& title : table.head)
    text += (text.empty() ? "" : "\t") + within_cell(title);
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i == 0 ? "\n" : "\t") + plain_text(row[i]);
  }
  Html html;
  if (!table.caption.empty()) html += element("p", table.caption, "class=\"note\"");
  html += element("pre", text, "class=\"rows\" tabindex=\"0\"");
  html.tables.push_back(numbers_of(table));
  return html;
}

namespace {

// The tables that nothing has named yet are a figure's.
Html titled(Html html, const std::string& title) {
  for (FigureTable& table : html.tables)
    if (table.title.empty()) table.title = title;
  return html;
}

Html folded(const Table& table) {
  const std::string title =
      fmt::format("The numbers ({})", counted(static_cast<std::int64_t>(table.rows.size()), "row"));
  return element("details", element("summary", title) + to_text(table), "class=\"numbers\"");
}

// JSON for an attribute between apostrophes, where its many quotation marks need no escape.
std::string attribute_text(const std::string& json) {
  constexpr std::string_view kQuote = "&quot;";
  std::string text = html_text(json);
  for (std::size_t at = 0; (at = text.find(kQuote, at)) != std::string::npos; ++at)
    text.replace(at, kQuote.size(), "\"");
  return text;
}

Html heading(const std::string& title, const std::string& finding) {
  Html html = element("h4", title);
  html += element("p", finding, "class=\"finding\"");
  return html;
}

}  // namespace

Html to_html(const Figure& figure) {
  const auto given = [](const Axis& axis) {
    nlohmann::ordered_json json = {{"title", axis.title}, {"log", axis.log}};
    if (std::isfinite(axis.limit)) json["limit"] = axis.limit;
    return json;
  };
  nlohmann::ordered_json chart = {{"x", given(figure.x)}, {"y", given(figure.y)}};
  chart["x"]["column"] = figure.x_column;
  chart["series"] = nlohmann::ordered_json::array();
  for (const Series& series : figure.series)
    chart["series"].push_back({series.label, series.column, series.style, series.color});
  const std::string json =
      chart.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  Html html = heading(figure.title, figure.finding);
  html += element("div",
                  Html{fmt::format("<canvas role=\"img\" aria-label=\"{}\"></canvas>",
                                   html_text(figure.title))},
                  "class=\"plot\"");
  if (!figure.note.empty()) html += element("p", figure.note, "class=\"note\"");
  html += folded(figure.table);
  return element("figure", titled(html, figure.title),
                 fmt::format("data-chart='{}'", attribute_text(json)));
}

Html figure_around(const std::string& title, const std::string& finding, const Html& content,
                   const Table* numbers) {
  Html html = heading(title, finding);
  html += content;
  if (numbers) html += folded(*numbers);
  return element("figure", titled(html, title));
}

}  // namespace plumbline
