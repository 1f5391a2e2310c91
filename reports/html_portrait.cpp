// SPDX-License-Identifier: MIT
// One case of a kernel, element by element: where in a tile its errors are, and for which results.
#include <fmt/format.h>
#include <lodepng.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/escape.h"
#include "reports/html_sections.h"

namespace plumbline {
namespace {

using Color = std::array<unsigned char, 3>;

// Light yellow to dark red, readable without hue: lightness falls all the way. Exact is light blue.
constexpr Color kExact = {222, 235, 247};
constexpr std::array<Color, 5> kScale = {
    {{255, 247, 188}, {254, 196, 79}, {236, 112, 20}, {178, 24, 43}, {74, 0, 31}}};

int level(char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 1 : 0; }

// The error a letter stands for, as an upper end (record.h).
std::string level_text(int level) {
  if (level == 0) return "exact";
  if (level == 26) return "2^21 ulp or more";
  return level <= 8 ? fmt::format("below {:g} ulp", std::ldexp(1.0, level - 4))
                    : fmt::format("below 2^{} ulp", level - 4);
}

Color color_of(int at, int most) {
  if (at == 0) return kExact;
  const double place = most <= 1 ? 4.0 : 4.0 * (at - 1) / (most - 1);
  const auto low = static_cast<std::size_t>(std::min(3.0, std::floor(place)));
  const double part = place - static_cast<double>(low);
  Color color{};
  for (std::size_t i = 0; i < 3; ++i) {
    color[i] = static_cast<unsigned char>(
        std::lround((1 - part) * kScale[low][i] + part * kScale[low + 1][i]));
  }
  return color;
}

std::string png(const Portrait& p, int most) {
  std::vector<unsigned char> pixels;
  for (const std::string& row : p.heat) {
    for (const char letter : row) {
      const Color color = color_of(level(letter), most);
      pixels.insert(pixels.end(), color.begin(), color.end());
    }
  }
  std::vector<unsigned char> bytes;
  const unsigned failed =
      lodepng::encode(bytes, pixels, static_cast<unsigned>(p.heat.front().size()),
                      static_cast<unsigned>(p.heat.size()), LCT_RGB);
  return failed ? "" : std::string(bytes.begin(), bytes.end());
}

struct Spread {
  std::size_t cells = 0, wrong = 0, rows = 0, columns = 0;  // at least `limit`, and rows with any
  std::size_t all_rows = 0, all_columns = 0;
};

// Where the largest errors are: those within a factor of four of the worst.
Spread spread_of(const Portrait& p, int limit) {
  Spread spread;
  spread.all_rows = p.heat.size();
  spread.all_columns = p.heat.front().size();
  std::vector<bool> columns(spread.all_columns);
  for (const std::string& row : p.heat) {
    bool any = false;
    for (std::size_t c = 0; c < row.size(); ++c) {
      ++spread.cells;
      if (level(row[c]) < limit) continue;
      ++spread.wrong;
      any = columns[c] = true;
    }
    spread.rows += any;
  }
  spread.columns = static_cast<std::size_t>(std::count(columns.begin(), columns.end(), true));
  return spread;
}

std::string spread_in_words(const Portrait& p, int most) {
  if (most == 0) return "Every output is correctly rounded.";
  const Spread s = spread_of(p, std::max(1, most - 2));
  std::string where;
  if (s.wrong * 2 > s.cells) {
    where = "all over the tile: rounding, a scale or an operand, not an edge";
  } else if (s.columns * 4 <= s.all_columns && s.rows * 2 > s.all_rows) {
    where = fmt::format(
        "in {} of {} columns, down all rows: a stripe, as lanes or the epilogue "
        "leave it",
        s.columns, s.all_columns);
  } else if (s.rows * 4 <= s.all_rows && s.columns * 2 > s.all_columns) {
    where = fmt::format(
        "in {} of {} rows, across all columns: a stripe, as lanes or a row's "
        "scale leave it",
        s.rows, s.all_rows);
  } else if (s.rows * 4 <= s.all_rows && s.columns * 4 <= s.all_columns) {
    where = fmt::format(
        "in {} by {} of {} by {} places: a corner or a spot, as a tail predicate "
        "leaves it",
        s.rows, s.columns, s.all_rows, s.all_columns);
  } else {
    where = "scattered";
  }
  return fmt::format("{} of {} places are within a factor of four of the worst error ({}), {}.",
                     s.wrong, s.cells, level_text(most), where);
}

// At most 16x16 blocks of the map, the worst of each: what a table can show of it.
Table coarse(const Portrait& p) {
  constexpr std::size_t kBlocks = 16;
  const std::size_t rows = p.heat.size(), columns = p.heat.front().size();
  const std::size_t high = (rows + kBlocks - 1) / kBlocks, wide = (columns + kBlocks - 1) / kBlocks;
  Table table;
  table.caption = high * wide == 1 ? "errors by row and column, in ulp (upper ends)"
                                   : fmt::format(
                                         "the worst error of blocks of {} by {}, in ulp "
                                         "(upper ends)",
                                         high, wide);
  table.head = {"row \\ column"};
  for (std::size_t c = 0; c < columns; c += wide) table.head.push_back(fmt::format("{}", c));
  for (std::size_t r = 0; r < rows; r += high) {
    std::vector<Cell> line = {cell(fmt::format("{}", r))};
    for (std::size_t c = 0; c < columns; c += wide) {
      int worst = 0;
      for (std::size_t i = r; i < std::min(r + high, rows); ++i) {
        for (std::size_t j = c; j < std::min(c + wide, columns); ++j)
          worst = std::max(worst, level(p.heat[i][j]));
      }
      line.push_back(cell(worst == 0    ? "0"
                          : worst == 26 ? "≥2^21"
                                        : fmt::format("2^{}", worst - 4)));
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

Html legend(int most) {
  Html html;
  for (const int at : {0, 1, (1 + most) / 2, most}) {
    if (at > most || (at == most && most == 0 && !html.text.empty())) continue;
    const Color c = color_of(at, most);
    html +=
        Html{fmt::format("<span class=\"swatch\" style=\"background:#{:02x}{:02x}{:02x}\">"
                         "</span>{} ",
                         c[0], c[1], c[2], html_text(level_text(at)))};
  }
  return element("p", html, "class=\"note\"");
}

Html heat_map(const Portrait& p) {
  int most = 0;
  for (const std::string& row : p.heat) {
    for (const char letter : row) most = std::max(most, level(letter));
  }
  const std::string words = spread_in_words(p, most);
  const bool folded = p.rows > p.tile_rows || p.columns > p.tile_columns;
  // Whole pixels per cell, so that no cell is blurred.
  const std::size_t scale =
      std::max<std::size_t>(1, 384 / std::max(p.heat.size(), p.heat.front().size()));
  Html content{
      fmt::format("<img class=\"heat\" alt=\"{}\" width=\"{}\" height=\"{}\" "
                  "src=\"data:image/png;base64,{}\"/>",
                  html_text(words), p.heat.front().size() * std::min<std::size_t>(scale, 24),
                  p.heat.size() * std::min<std::size_t>(scale, 24), base64(png(p, most)))};
  content += legend(most);
  content += element(
      "p",
      Html{fmt::format(
          "{} of <code>{}</code> on {}: {} by {} outputs{}.", html_text(p.output),
          html_text(p.text), html_text(p.device), p.rows, p.columns,
          folded ? fmt::format(", rows modulo {}, columns modulo {}", p.tile_rows, p.tile_columns)
                 : "")},
      "class=\"note\"");
  const Table table = coarse(p);
  return figure_around("Where in the output does it go wrong?", words, content, &table);
}

}  // namespace

Html heat_maps(const RunRecord& record, const KernelRecord& kernel) {
  Html html;
  if (kernel.verdict != Verdict::fail) return html;
  for (const Portrait& p : record.portraits) {
    if (p.kernel == kernel.name && !p.heat.empty() && !p.heat.front().empty()) html += heat_map(p);
  }
  return html;
}

Html error_by_magnitude(const RunRecord& record, const KernelRecord& kernel) {
  Html html;
  for (const Portrait& p : record.portraits) {
    if (p.kernel != kernel.name || p.binades.size() < 2) continue;
    const auto worst =
        std::max_element(p.binades.begin(), p.binades.end(),
                         [](const auto& a, const auto& b) { return a.worst_ulp < b.worst_ulp; });
    if (worst->worst_ulp == 0) continue;
    double elsewhere = 0;
    for (const Portrait::Binade& b : p.binades) {
      if (b.exponent > worst->exponent + 1) elsewhere = std::max(elsewhere, b.worst_ulp);
    }
    Figure figure;
    figure.question = "Which results are wrong?";
    const bool small_only =
        worst->exponent < p.binades.back().exponent - 1 && elsewhere * 8 < worst->worst_ulp;
    figure.finding =
        worst->worst_ulp <= 0.5
            ? "None by their size: all are within half an ulp of exact."
            : fmt::format(
                  "The largest error, {:.3g} ulp, is at results near 2^{}; {}.", worst->worst_ulp,
                  worst->exponent,
                  small_only
                      ? "larger results are much closer: where sums cancel, an ulp is small"
                      : "larger results are no better: the error is not one of cancellation");
    figure.x.title = "magnitude of the exact result, as a power of two";
    figure.y = {"error in output ulp", true};
    figure.table.head = {"2^", "outputs", "median (ulp)", "worst (ulp)"};
    figure.series = {{"worst", 3, "line", "vermillion"}, {"median", 2, "line", "blue"}};
    for (const Portrait::Binade& b : p.binades) {
      figure.table.rows.push_back({number_cell(b.exponent, fmt::format("{}", b.exponent)),
                                   count_cell(b.outputs),
                                   number_cell(b.median_ulp, fmt::format("{:.3g}", b.median_ulp)),
                                   number_cell(b.worst_ulp, fmt::format("{:.3g}", b.worst_ulp))});
    }
    figure.note = fmt::format("{} of {} on {}.", p.output, p.text, p.device);
    html += to_html(figure);
  }
  return html;
}

}  // namespace plumbline
