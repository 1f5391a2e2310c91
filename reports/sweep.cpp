// SPDX-License-Identifier: MIT
#include "reports/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "reports/propagation_text.h"
#include "reports/significance.h"

namespace plumbline {
namespace {

using Columns = std::vector<SweepTable::Column>;

// A case's text without the word of `field`.
std::string text_without(const std::string& text, const std::string& field) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!word.starts_with(field + "=")) kept += (kept.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return kept;
}

// The table that a record of a sweep belongs to, made where it is the first.
template <typename Found>
SweepTable& table_of(std::vector<SweepTable>& tables, const Found& found, const Columns& columns,
                     const char* axis) {
  const std::string field = found.swept.substr(0, found.swept.find('='));
  const std::string title =
      fmt::format("{} of {} on {}", found.output, text_without(found.text, field), found.device);
  for (SweepTable& table : tables) {
    if (table.field == field && table.title == title && table.axis == axis) return table;
  }
  return tables.emplace_back(SweepTable{field, title, axis, columns, {}, {}});
}

std::string value_of(const std::string& swept) { return swept.substr(swept.find('=') + 1); }

std::string largest_stage(const PropagationRecord& found) {
  const StageRecord* largest = nullptr;
  for (const StageRecord& stage : found.stages) {
    if (stage.kind != "quantization" && (!largest || stage.own_any_order > largest->own_any_order))
      largest = &stage;
  }
  return largest && largest->own_any_order > 0 ? largest->name : "";
}

// How one column follows the field: an exponent where the points have one.
std::string growth_finding(const SweepTable& table, std::size_t column, const std::string& what) {
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
  if (law && std::fabs(law->exponent) < 0.1) {
    return fmt::format(
        "{} hardly changes with {} (exponent {:.2f}, 95 % interval {:.2f} to {:.2f}).", what,
        table.field, law->exponent, law->low, law->high);
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
  if (changes > 1 && (!table.numeric() || changes > 3)) return "";
  return fmt::format("Most of the kernel's own error is made by {}.", text);
}

void tell(SweepTable& table, std::size_t column, const std::string& what) {
  for (const std::string& finding : {growth_finding(table, column, what), stage_finding(table)})
    if (!finding.empty()) table.findings.push_back(finding);
}

void add_propagations(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const PropagationRecord& found : record.propagations) {
    if (found.swept.empty()) continue;
    Columns columns = {{"error", "orange"}, {"kernel's own", "blue"}, {"model's own", "gray"}};
    for (const StageRecord& stage : found.stages) columns.push_back({stage.name + " alone"});
    SweepTable& table = table_of(tables, found, columns, "relative error");
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
             {{"error", "orange"},
              {"kernel's own", "blue"},
              {"model's own", "gray"},
              {"1 - cosine"},
              {"bias"}},
             "relative error of the gradient")
        .rows.push_back(
            {value_of(found.swept),
             {found.source_relative, found.relative, found.expected, found.cosine_gap, found.bias},
             ""});
  }
}

void add_stochastics(const RunRecord& record, std::vector<SweepTable>& tables) {
  for (const StochasticRecord& found : record.stochastics) {
    if (found.swept.empty()) continue;
    table_of(tables, found, {{"deviation", "blue"}, {"significant bits"}, {"one in ten"}, {"bias"}},
             "relative deviation")
        .rows.push_back(
            {value_of(found.swept), {found.deviation, found.bits, found.bits_low, found.bias}, ""});
  }
}

std::string text_of(double value) {
  if (std::isnan(value)) return "-";
  return value != 0 && (std::fabs(value) < 1e-2 || std::fabs(value) >= 1e4)
             ? fmt::format("{:.1e}", value)
             : fmt::format("{:.3g}", value);
}

}  // namespace

double SweepTable::Row::x() const {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : std::nan("");
}

bool SweepTable::numeric() const {
  return std::ranges::none_of(rows, [](const Row& row) { return std::isnan(row.x()); });
}

std::vector<SweepTable> sweep_tables(const RunRecord& record) {
  std::vector<SweepTable> tables;
  add_propagations(record, tables);
  add_gradients(record, tables);
  add_stochastics(record, tables);
  for (SweepTable& table : tables) {
    if (table.axis == "relative deviation") {
      tell(table, 0, "The deviation under random rounding");
    } else {
      tell(table, 1, "The kernel's own error");
    }
  }
  return tables;
}

std::vector<std::string> sweep_lines(const SweepTable& table) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> lines = {table.title};
  const std::size_t shown = std::min(kShown, table.columns.size());
  const bool stages = std::ranges::any_of(
      table.rows, [](const SweepTable::Row& row) { return !row.largest.empty(); });
  std::size_t first = table.field.size();
  for (const SweepTable::Row& row : table.rows) first = std::max(first, row.value.size());
  const auto width = [&](std::size_t column) {
    return std::max(table.columns[column].title.size() + 2, std::size_t{9});
  };
  std::string head = fmt::format("  {:>{}}", table.field, first);
  for (std::size_t i = 0; i < shown; ++i)
    head += fmt::format("{:>{}}", table.columns[i].title, width(i));
  lines.push_back(head + (stages ? "  largest stage" : ""));
  for (const SweepTable::Row& row : table.rows) {
    std::string line = fmt::format("  {:>{}}", row.value, first);
    for (std::size_t i = 0; i < shown; ++i)
      line += fmt::format("{:>{}}", text_of(row.numbers[i]), width(i));
    if (stages) line += "  " + row.largest;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace plumbline
