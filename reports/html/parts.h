// SPDX-License-Identifier: MIT
// What every section of report.html is made of: a table, and a figure: a title, a sentence that
// says what is seen, a drawing of its table, and the table folded beneath. The table is the only
// copy of the numbers: page.js draws a chart from the text a reader can copy.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/count_text.h"
#include "reports/figure_table.h"
#include "reports/record/record.h"

namespace plumbline {

// Markup: text that is escaped already. A plain std::string never is. It carries the tables in it,
// for programs that read them.
struct Html {
  std::string text{};
  std::vector<FigureTable> tables{};

  Html& operator+=(const Html& more) {
    text += more.text;
    tables.insert(tables.end(), more.tables.begin(), more.tables.end());
    return *this;
  }

  friend Html operator+(Html one, const Html& more) { return one += more; }
};

Html escaped(std::string_view text);
// <tag>text</tag>; `attributes` are literals of the caller.
Html element(std::string_view tag, std::string_view text, std::string_view attributes = {});
Html element(std::string_view tag, const Html& content, std::string_view attributes = {});

// Colors that mean something, always beside a word: the classes of page.css.
enum class Tone : std::uint8_t { none, pass, near, fail, exact, off };

std::string_view name(Tone tone);
Tone tone_of(Verdict verdict);
// Past its bound, 1, a kernel fails; how much of it a passing one uses says nothing about it.
Tone tone_of_share(double share);
// The verdict as a sign and a word: "✓ pass".
Html badge(Verdict verdict);

struct Cell {
  Html content;
  double value = std::numeric_limits<double>::quiet_NaN();  // drawn where there is one
  bool number = false;                                      // aligned to the right
  Tone tone = Tone::none;
};

Cell cell(std::string_view text);
Cell number_cell(double value, std::string_view text);
Cell count_cell(std::int64_t value);

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
  std::string caption{};
  // Lines that sum up the rows from this one on. They are not among the numbers, and not sorted.
  std::map<std::size_t, std::vector<Cell>> groups{};
};

Html to_html(const Table& table);

// The table as lines of cells between tabs. page.js makes a table of it when it comes into view, so
// large tables cost a page little. Signs give their cells the tone: ✓, !, ✗ and –.
Html to_text(const Table& table);

struct Axis {
  std::string title;
  bool log = false;
  double limit = std::numeric_limits<double>::quiet_NaN();  // what lies beyond is not drawn
};

struct Series {
  std::string label;
  int column = 1;              // of the figure's table
  std::string style = "line";  // how page.js draws it: line, dots, dashed, guide, steps,
                               // expected
  std::string color = "blue";  // a name in page.css: blue, orange, vermillion, green, gray, purple
};

// A chart of a table: column `x` against the columns of the series.
struct Figure {
  std::string title, finding;
  Table table;
  Axis x, y;
  int x_column = 0;
  std::vector<Series> series;
  std::string note{};  // how to read it, beneath
};

Html to_html(const Figure& figure);

// A figure that is drawn without script (a heat map), or whose table is the drawing. A table that
// finds nothing wrong is folded.
Html figure_around(const std::string& title, const std::string& finding, const Html& content,
                   const Table* folded = nullptr);

}  // namespace plumbline
