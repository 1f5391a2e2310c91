// SPDX-License-Identifier: MIT
// One case of a kernel, element by element: where in a tile its errors are, and which threads
// stored them.
#include <fmt/format.h>
#include <lodepng.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "reports/html/sections.h"
#include "reports/record/escape.h"
#include "reports/significance.h"

namespace plumbline {
namespace {

using Color = std::array<unsigned char, 3>;

// On light paper light yellow to dark red, on dark paper dark red to light yellow: what is worst is
// furthest from the paper, and lightness alone tells the order. Exact is blue, near the paper.
struct Palette {
  Color exact, line;
  std::array<Color, 5> scale;
};

constexpr Palette kLight = {
    {222, 235, 247},
    {70, 80, 90},
    {{{255, 247, 188}, {254, 196, 79}, {236, 112, 20}, {178, 24, 43}, {74, 0, 31}}}};
constexpr Palette kDark = {
    {34, 48, 66},
    {130, 140, 150},
    {{{96, 22, 44}, {178, 38, 48}, {236, 112, 20}, {254, 196, 79}, {255, 250, 215}}}};

int level(char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 1 : 0; }

// The error a letter stands for, as an upper end (record.h).
std::string level_text(int level) {
  if (level == 0) return "exact";
  if (level == 26) return "2^21 ulp or more";
  return level <= 8 ? fmt::format("below {:g} ulp", std::ldexp(1.0, level - 4))
                    : fmt::format("below 2^{} ulp", level - 4);
}

std::string short_level_text(int level) {
  if (level == 0) return "0";
  return level == 26 ? "≥2^21" : fmt::format("2^{}", level - 4);
}

Color color_of(const Palette& palette, int at, int most) {
  if (at == 0) return palette.exact;
  const double place = most <= 1 ? 4.0 : 4.0 * (at - 1) / (most - 1);
  const auto low = static_cast<std::size_t>(std::min(3.0, std::floor(place)));
  const double part = place - static_cast<double>(low);
  Color color{};
  for (std::size_t i = 0; i < 3; ++i) {
    color[i] = static_cast<unsigned char>(
        std::lround((1 - part) * palette.scale[low][i] + part * palette.scale[low + 1][i]));
  }
  return color;
}

// Each cell `scale` pixels wide and high. Where cells of different warps meet, the first row or
// column of pixels is a line.
std::string png(const ErrorMap& p, const Palette& palette, int most, std::size_t scale) {
  const std::size_t rows = p.heat.size(), columns = p.heat.front().size();
  const auto other_warp = [&](std::size_t r, std::size_t c, std::size_t beside_r,
                              std::size_t beside_c) {
    return !p.warps.empty() && p.warps[r][c] != p.warps[beside_r][beside_c];
  };
  std::vector<unsigned char> pixels;
  for (std::size_t y = 0; y < rows * scale; ++y) {
    for (std::size_t x = 0; x < columns * scale; ++x) {
      const std::size_t r = y / scale, c = x / scale;
      const bool line = (y % scale == 0 && r > 0 && other_warp(r, c, r - 1, c)) ||
                        (x % scale == 0 && c > 0 && other_warp(r, c, r, c - 1));
      const Color color = line ? palette.line : color_of(palette, level(p.heat[r][c]), most);
      pixels.insert(pixels.end(), color.begin(), color.end());
    }
  }
  std::vector<unsigned char> bytes;
  const unsigned failed = lodepng::encode(bytes, pixels, static_cast<unsigned>(columns * scale),
                                          static_cast<unsigned>(rows * scale), LCT_RGB);
  return failed ? "" : std::string(bytes.begin(), bytes.end());
}

struct Spread {
  std::size_t cells = 0, wrong = 0, rows = 0, columns = 0;  // at least `limit`, and rows with any
  std::size_t all_rows = 0, all_columns = 0;
};

// Where the largest errors are: those within a factor of four of the worst.
Spread spread_of(const ErrorMap& p, int limit) {
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

// Whether the marked places are in so few of the rows that chance is no explanation.
bool confined(std::size_t marked, std::size_t within, std::size_t all) {
  return within * 4 <= all && chance_of_confinement(marked, within, all) < 1e-3;
}

// Fewer places or threads make no pattern.
constexpr std::size_t kFewestPlaces = 16, kFewestLines = 8;

// Whether more than half of all would be marked of however many more.
bool mostly(std::size_t marked, std::size_t all) {
  return wilson_interval(static_cast<double>(marked), static_cast<double>(all)).low > 0.5;
}

std::string describe_spread(const ErrorMap& p, int most) {
  if (most == 0) return "Every output is correctly rounded.";
  const Spread s = spread_of(p, std::max(1, most - 2));
  const bool has_pattern = std::min(s.all_rows, s.all_columns) >= kFewestLines;
  const bool in_few_columns = confined(s.wrong, s.columns, s.all_columns),
             in_few_rows = confined(s.wrong, s.rows, s.all_rows);
  std::string where;
  if (has_pattern && mostly(s.wrong, s.cells)) {
    where = ", all over the tile: rounding, a scale or an operand, not an edge";
  } else if (in_few_columns && s.rows * 2 > s.all_rows) {
    where = fmt::format(
        ", in {} of {} columns, down all rows: a stripe, as lanes or the epilogue "
        "leave it",
        s.columns, s.all_columns);
  } else if (in_few_rows && s.columns * 2 > s.all_columns) {
    where = fmt::format(
        ", in {} of {} rows, across all columns: a stripe, as lanes or a row's "
        "scale leave it",
        s.rows, s.all_rows);
  } else if (in_few_rows && in_few_columns) {
    where = fmt::format(
        ", in {} by {} of {} by {} places: a corner or a spot, as a tail predicate "
        "leaves it",
        s.rows, s.columns, s.all_rows, s.all_columns);
  }
  return fmt::format("{} of {} {} within a factor of four of the worst error ({}){}.", s.wrong,
                     counted(static_cast<std::int64_t>(s.cells), "place"),
                     s.wrong == 1 ? "is" : "are", level_text(most), where);
}

// At most 16x16 blocks of the map, the worst of each: what a table can show of it.
Table coarse(const ErrorMap& p) {
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
      line.push_back(cell(short_level_text(worst)));
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

Html legend(int most) {
  Html html;
  for (const int at : {0, 1, (1 + most) / 2, most}) {
    if (at > most || (at == most && most == 0 && !html.text.empty())) continue;
    const auto hex = [&](const Palette& palette) {
      const Color c = color_of(palette, at, most);
      return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
    };
    html += Html{fmt::format("<span class=\"swatch\" style=\"--onlight:{};--ondark:{}\"></span>{} ",
                             hex(kLight), hex(kDark), html_text(level_text(at)))};
  }
  return element("p", html, "class=\"note\"");
}

Html heat_map(const ErrorMap& p) {
  int most = 0;
  for (const std::string& row : p.heat) {
    for (const char letter : row) most = std::max(most, level(letter));
  }
  const std::string words = describe_spread(p, most);
  const bool folded = p.rows > p.tile_rows || p.columns > p.tile_columns;
  // Whole pixels per cell, so that no cell is blurred.
  const std::size_t scale =
      std::clamp<std::size_t>(384 / std::max(p.heat.size(), p.heat.front().size()), 1, 24);
  Html content{fmt::format(
      "<picture><source media=\"screen and (prefers-color-scheme: dark)\" "
      "srcset=\"data:image/png;base64,{}\"/><img class=\"heat\" alt=\"{}\" "
      "width=\"{}\" height=\"{}\" src=\"data:image/png;base64,{}\"/></picture>",
      base64(png(p, kDark, most, scale)), html_text(words), p.heat.front().size() * scale,
      p.heat.size() * scale, base64(png(p, kLight, most, scale)))};
  content += legend(most);
  content += element(
      "p",
      Html{fmt::format(
          "{} of <code>{}</code> on {}: {} by {} outputs{}.{}", html_text(p.output),
          html_text(p.text), html_text(p.device), p.rows, p.columns,
          folded ? fmt::format(", rows modulo {}, columns modulo {}", p.tile_rows, p.tile_columns)
                 : "",
          p.warps.empty() ? "" : " Lines are where another warp stored.")},
      "class=\"note\"");
  const Table table = coarse(p);
  return figure_around("Error map", words, content, &table);
}

// "warp 3 of 4", "lanes 0, 1, 2 and 3 of 32"; empty where it is most of them, or where the
// `threads` that they belong to are too few to tell.
std::string some_of(const std::set<std::size_t>& some, std::size_t all, std::size_t threads,
                    std::string_view noun) {
  if (some.size() * 2 > all || chance_of_confinement(threads, some.size(), all) > 1e-3) return "";
  std::string text = fmt::format("{}{} ", noun, some.size() == 1 ? "" : "s");
  std::size_t at = 0;
  for (const std::size_t number : some) {
    if (at > 0) text += at + 1 == some.size() ? " and " : ", ";
    text += fmt::format("{}", number);
    ++at;
  }
  return fmt::format("{} of {}", text, all);
}

// By lanes in fours, as tensor cores spread a row over them.
Html thread_table(const ErrorMap& p) {
  constexpr std::size_t kFour = 4;
  if (p.threads.empty()) return {};
  int most = 0;
  for (const std::string& lanes : p.threads) {
    for (const char letter : lanes) most = std::max(most, level(letter));
  }
  std::set<std::size_t> all_warps, all_lanes, warps, lanes;  // that stored anything, and the worst
  std::size_t threads = 0, stored = 0;                       // of the worst, and of all
  for (std::size_t warp = 0; warp < p.threads.size(); ++warp) {
    for (std::size_t lane = 0; lane < p.threads[warp].size(); ++lane) {
      const char letter = p.threads[warp][lane];
      if (letter == ' ') continue;
      ++stored;
      all_warps.insert(warp);
      all_lanes.insert(lane);
      if (level(letter) < std::max(1, most - 2)) continue;
      ++threads;
      warps.insert(warp);
      lanes.insert(lane);
    }
  }
  const std::string by_warp = some_of(warps, all_warps.size(), threads, "warp"),
                    by_lane = some_of(lanes, all_lanes.size(), threads, "lane");
  if (stored < kFewestPlaces) return {};
  const std::string finding =
      by_warp.empty() && by_lane.empty()
          ? fmt::format(
                "{} of {} threads stored an error within a factor of four of the worst{}.", threads,
                stored,
                mostly(threads, stored) ? ": it is not confined to some warps or lanes" : "")
          : fmt::format("What is within a factor of four of the worst error was stored by {}{}{}.",
                        by_warp, by_warp.empty() || by_lane.empty() ? "" : ", ", by_lane);
  Table table;
  table.caption = "the worst error of what four lanes of a warp stored, in ulp (upper ends)";
  table.head = {"warp \\ lanes"};
  for (std::size_t first = 0; first < 32; first += kFour)
    table.head.push_back(fmt::format("{} to {}", first, first + kFour - 1));
  for (const std::size_t warp : all_warps) {
    std::vector<Cell> row = {cell(fmt::format("{}", warp))};
    for (std::size_t first = 0; first < 32; first += kFour) {
      const std::string four = p.threads[warp].substr(first, kFour);
      const char worst = *std::max_element(four.begin(), four.end());
      row.push_back(cell(worst == ' ' ? "-" : short_level_text(level(worst))));
    }
    table.rows.push_back(std::move(row));
  }
  return figure_around("Errors by warp and lane", finding, to_html(table));
}

}  // namespace

Html heat_maps(const RunRecord& record, const KernelRecord& kernel) {
  Html html;
  if (kernel.verdict != Verdict::fail) return html;
  for (const ErrorMap& p : record.error_maps) {
    if (p.kernel != kernel.name || p.heat.empty()) continue;
    if (p.heat.size() * p.heat.front().size() < kFewestPlaces) continue;  // the card shows them
    html += heat_map(p);
    html += thread_table(p);
  }
  return html;
}

}  // namespace plumbline
