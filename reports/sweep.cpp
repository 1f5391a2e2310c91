// SPDX-License-Identifier: MIT
#include "reports/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "oracles/base/text.h"
#include "reports/propagation_text.h"
#include "reports/significance.h"

namespace plumbline {
namespace {

// Doubling the field changes an error by less than 7 %, up or down, below this exponent.
constexpr double kFlat = 0.1;
// More turns than these from one stage to another say nothing about the field.
constexpr int kMostStages = 3;
// Of a terminal's line, and the columns in it.
constexpr std::size_t kLineWidth = 60, kMostShown = 3;

// A case's text without the word of `field`.
std::string text_without(const std::string& text, const std::string& field) {
  std::string kept;
  for (const std::string_view word : split(text, ' ')) {
    if (word.starts_with(field + "=")) continue;
    if (!kept.empty()) kept += ' ';
    kept += word;
  }
  return kept;
}

std::string field_of(const std::string& swept) { return swept.substr(0, swept.find('=')); }

// The table that a record of a sweep belongs to, made where it is the first.
SweepTable& table_of(std::vector<SweepTable>& tables, const std::string& swept,
                     const std::string& of, const std::string& title, SweepTable empty) {
  const std::string field = field_of(swept);
  for (SweepTable& table : tables) {
    if (table.field == field && table.title == title && table.axis == empty.axis) return table;
  }
  empty.field = field;
  empty.of = of;
  empty.title = title;
  return tables.emplace_back(std::move(empty));
}

// The same for one output of a case.
template <typename Found>
SweepTable& table_of(std::vector<SweepTable>& tables, const Found& found, SweepTable empty) {
  const std::string field = field_of(found.swept);
  return table_of(
      tables, found.swept, fmt::format("{} of {}", found.output, found.kernel),
      fmt::format("{} of {} on {}", found.output, text_without(found.text, field), found.device),
      std::move(empty));
}

std::string value_of(const std::string& swept) { return swept.substr(swept.find('=') + 1); }

std::string largest_stage(const PropagationRecord& found) {
  const StageRecord* largest = nullptr;
  for (const StageRecord& stage : found.stages) {
    if (stage.kind != "quantization" && (!largest || stage.own_in_order > largest->own_in_order))
      largest = &stage;
  }
  return largest && largest->own_in_order > 0 ? largest->name : "";
}

// How one column follows the field: an exponent where the points have one.
std::string growth_finding(const SweepTable& table) {
  const std::size_t column = table.told;
  const std::string& what = table.subject;
  std::vector<std::pair<double, double>> points;
  const SweepTable::Row *least = nullptr, *most = nullptr;
  for (const SweepTable::Row& row : table.rows) {
    const double y = row.numbers[column];
    if (!std::isfinite(y)) continue;
    if (!least || y < least->numbers[column]) least = &row;
    if (!most || y > most->numbers[column]) most = &row;
    if (row.x() > 0 && y > 0) points.emplace_back(row.x(), y);
  }
  if (!least || least == most) return "";
  const std::optional<PowerLaw> law =
      table.numeric() && points.size() == table.rows.size() ? power_law(points) : std::nullopt;
  const bool trend = law && (law->low > 0 || law->high < 0);
  if (law && (!trend || std::fabs(law->exponent) < kFlat)) {
    return fmt::format("{} {} with {} (exponent {:.2f}, 95 % interval {:.2f} to {:.2f}).", what,
                       trend ? "hardly changes" : "shows no trend", table.field, law->exponent,
                       law->low, law->high);
  }
  if (law) {
    return fmt::format("{} {} as {}^{:.2f} (95 % interval {:.2f} to {:.2f}).", what,
                       law->exponent > 0 ? "grows" : "falls", table.field, law->exponent, law->low,
                       law->high);
  }
  return fmt::format("{} is least, {:.2g}, at {}={}, and largest, {:.2g}, at {}={}.", what,
                     least->numbers[column], table.field, least->value, most->numbers[column],
                     table.field, most->value);
}

// Which stage makes most of the kernel's own error, from which value on.
std::string stage_finding(const SweepTable& table) {
  std::string text, last;
  int changes = 0;
  for (const SweepTable::Row& row : table.rows) {
    if (row.largest.empty() || row.largest == last) continue;
    text += last.empty()
                ? fmt::format("\"{}\"", row.largest)
                : fmt::format(", from {}={} on by \"{}\"", table.field, row.value, row.largest);
    last = row.largest;
    ++changes;
  }
  if (changes == 0) return "";
  if (changes > 1 && (!table.numeric() || changes > kMostStages)) return "";
  return fmt::format("Most of the kernel's own error is made by {}.", text);
}

void add_propagations(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const PropagationRecord& found : record.propagations) {
    if (found.swept.empty()) continue;
    SweepTable empty = {
        .axis = "relative error",
        .subject = "The kernel's own error",
        .told = 1,
        .columns = {{"error", true}, {"kernel's own", true}, {"model's own", true}}};
    for (const StageRecord& stage : found.stages) empty.columns.push_back({stage.name + " alone"});
    SweepTable& table = table_of(tables, found, std::move(empty));
    SweepTable::Row row{value_of(found.swept),
                        {found.error, found.own_error, found.modelled},
                        largest_stage(found)};
    for (const StageRecord& stage : found.stages) row.numbers.push_back(stage.alone);
    row.numbers.resize(table.columns.size(), std::nan(""));
    table.rows.push_back(std::move(row));
  }
}

void add_gradients(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const GradientRecord& found : record.gradients) {
    if (found.swept.empty()) continue;
    table_of(tables, found,
             {.axis = "relative error of the gradient",
              .subject = "The kernel's own error",
              .told = 1,
              .columns = {{"error", true},
                          {"kernel's own", true},
                          {"model's own", true},
                          {"1 - cosine"},
                          {"bias"}}})
        .rows.push_back(
            {value_of(found.swept),
             {found.source_relative, found.relative, found.expected, found.cosine_gap, found.bias},
             ""});
  }
}

void add_stochastics(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const StochasticRecord& found : record.stochastics) {
    if (found.swept.empty()) continue;
    table_of(tables, found,
             {.axis = "relative deviation",
              .subject = "The deviation under random rounding",
              .told = 0,
              .columns = {{"deviation", true}, {"significant bits"}, {"one in ten"}, {"bias"}}})
        .rows.push_back(
            {value_of(found.swept), {found.deviation, found.bits, found.bits_low, found.bias}, ""});
  }
}

// The errors in the end. Curves that an interrupt left out are not numbers.
void add_depths(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const DepthRecord& found : record.depths) {
    if (found.swept.empty() || found.curves.empty()) continue;
    SweepTable empty;
    empty.axis = "relative error in the end";
    for (const DepthCurve& curve : found.curves) empty.columns.push_back({curve.name, true});
    // What was asked for comes last.
    empty.told = found.curves.back().name == kGivenArithmetic ? found.curves.size() - 1 : 0;
    empty.subject = fmt::format("The error of \"{}\" in the end", empty.columns[empty.told].title);
    SweepTable& table = table_of(
        tables, found.swept,
        fmt::format("{}, {}", steps_text(found), found.stack.substr(0, found.stack.find(':'))),
        fmt::format("{}: {}", steps_text(found), text_without(found.stack, field_of(found.swept))),
        std::move(empty));
    SweepTable::Row row{value_of(found.swept), {}, ""};
    for (const SweepTable::Column& column : table.columns) {
      const auto curve = std::ranges::find(found.curves, column.title, &DepthCurve::name);
      row.numbers.push_back(curve == found.curves.end() || curve->relative.empty()
                                ? std::nan("")
                                : curve->relative.back());
    }
    table.rows.push_back(std::move(row));
  }
}

std::string text_of(double value) {
  if (std::isnan(value)) return "-";
  return value != 0 && (std::fabs(value) < 1e-2 || std::fabs(value) >= 1e4)
             ? fmt::format("{:.1e}", value)
             : fmt::format("{:.3g}", value);
}

}  // namespace

double SweepTable::Row::x() const { return parse_number<double>(value).value_or(std::nan("")); }

bool SweepTable::numeric() const {
  return std::ranges::none_of(rows, [](const Row& row) { return std::isnan(row.x()); });
}

std::vector<SweepTable> sweep_tables(const RunRecord& record) {
  std::vector<SweepTable> tables;
  add_propagations(record, tables);
  add_gradients(record, tables);
  add_stochastics(record, tables);
  add_depths(record, tables);
  for (SweepTable& table : tables) {
    for (const std::string& finding : {growth_finding(table), stage_finding(table)})
      if (!finding.empty()) table.findings.push_back(finding);
  }
  return tables;
}

std::vector<std::string> sweep_lines(const SweepTable& table) {
  std::vector<std::string> lines;
  const bool stages = std::ranges::any_of(
      table.rows, [](const SweepTable::Row& row) { return !row.largest.empty(); });
  std::size_t first = table.field.size();
  for (const SweepTable::Row& row : table.rows) first = std::max(first, row.value.size());
  const auto width = [&](std::size_t column) {
    return std::max(table.columns[column].title.size() + 2, std::size_t{9});
  };
  // As many as fit, that of the sentence in any case.
  std::vector<std::size_t> shown = {table.told};
  std::size_t used = 2 + first + width(table.told);
  for (std::size_t i = 0; i < table.columns.size() && shown.size() < kMostShown; ++i) {
    if (i == table.told || used + width(i) > kLineWidth) continue;
    used += width(i);
    shown.push_back(i);
  }
  std::ranges::sort(shown);
  std::string head = fmt::format("  {:>{}}", table.field, first);
  for (const std::size_t i : shown) head += fmt::format("{:>{}}", table.columns[i].title, width(i));
  lines.push_back(head + (stages ? "  largest stage" : ""));
  for (const SweepTable::Row& row : table.rows) {
    std::string line = fmt::format("  {:>{}}", row.value, first);
    for (const std::size_t i : shown)
      line += fmt::format("{:>{}}", text_of(row.numbers[i]), width(i));
    if (stages) line += "  " + row.largest;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace plumbline
