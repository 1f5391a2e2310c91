// SPDX-License-Identifier: MIT
// What was tried of a kernel: value classes against shape classes, and what became of NaN, Inf and
// numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "oracles/formats/decode.h"
#include "reports/html/sections.h"

namespace plumbline {
namespace {

struct Tally {
  std::int64_t cases = 0, failed = 0, mistrusted = 0;

  void add(Verdict verdict) {
    if (verdict == Verdict::skip) return;
    ++cases;
    failed += verdict == Verdict::fail || verdict == Verdict::error;
    mistrusted += verdict == Verdict::mistrusted;
  }

  std::string text() const {
    if (cases == 0) return "–";
    if (failed > 0) return fmt::format("✗ {} of {}", failed, cases);
    return fmt::format("{} {}", mistrusted > 0 ? "!" : "✓", cases);
  }
};

std::string class_word(const Format& f, std::uint64_t bits) {
  const Decoded d = decode(f, bits);
  if (d.cls == ValueClass::nan) return "NaN";
  if (d.cls == ValueClass::infinite) return d.negative ? "-Inf" : "Inf";
  return "a number";
}

}  // namespace

Html coverage_overview(const RunRecord& record) {
  std::map<std::string, std::map<std::string, Tally>> kernels;  // then value class
  std::map<std::string, bool> classes;
  for (const CaseRecord& c : record.cases) {
    kernels[c.kernel][c.value_class].add(c.verdict);
    classes[c.value_class] = true;
  }
  if (kernels.size() < 2) return {};  // its own matrix says more
  Table table;
  table.head = {"kernel"};
  for (const auto& [value_class, unused] : classes) table.head.push_back(value_class);
  std::size_t empty = 0;
  for (const KernelRecord& k : record.kernels) {
    if (!kernels.contains(k.name)) continue;
    std::vector<Cell> row = {cell(k.name)};
    for (const auto& [value_class, unused] : classes) {
      const Tally& tally = kernels[k.name][value_class];
      empty += tally.cases == 0;
      row.push_back(cell(tally.text()));
    }
    table.rows.push_back(std::move(row));
  }
  const std::string finding =
      empty == 0 ? fmt::format("Every kernel met all {} value classes.", classes.size())
                 : fmt::format(
                       "{} of {} combinations of kernel and value class are empty: the "
                       "operation does not have the class, or this run left it out.",
                       empty, table.rows.size() * classes.size());
  return figure_around("Value classes by kernel", finding, {}, &table);
}

Html coverage_matrix(const RunRecord& record, const KernelRecord& kernel) {
  std::map<std::string, std::map<std::string, Tally>> values;  // by value class, then shape class
  std::map<std::string, bool> shapes;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name) continue;
    const std::string shape = c.shape_class.empty() ? "from a file" : c.shape_class;
    shapes[shape] = true;
    values[c.value_class][shape].add(c.verdict);
  }
  if (values.empty()) return {};
  Table table;
  table.head = {"values \\ shapes"};
  for (const auto& [shape, unused] : shapes) table.head.push_back(shape);
  std::int64_t tried = 0, failing = 0;
  for (auto& [value_class, by_shape] : values) {
    std::vector<Cell> row = {cell(value_class)};
    for (const auto& [shape, unused] : shapes) {
      const Tally& tally = by_shape[shape];
      tried += tally.cases > 0;
      failing += tally.failed > 0;
      row.push_back(cell(tally.text()));
    }
    table.rows.push_back(std::move(row));
  }
  const auto all = static_cast<std::int64_t>(values.size() * shapes.size());
  const std::string finding =
      fmt::format("{} of {} combinations of value class and shape class were tried{}.", tried, all,
                  failing > 0 ? fmt::format("; {} fail", failing) : "");
  return figure_around("Value classes by shape class", finding, to_text(table));
}

Html special_values(const RunRecord& record, const KernelRecord& kernel) {
  struct Row {
    std::int64_t cases = 0, outputs = 0, wrong = 0;
    std::string example;
  };

  std::map<std::string, Row> rows;
  std::int64_t wrong = 0, outputs = 0;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name || !c.claims.contains(Claim::specials)) continue;
    Row& row = rows[c.value_class];
    ++row.cases;
    for (const OutputRecord& o : c.outputs) {
      row.outputs += o.verdict.compared;
      outputs += o.verdict.compared;
      row.wrong += o.verdict.class_mismatches;
      wrong += o.verdict.class_mismatches;
      const auto id = format_by_name(o.format);
      for (const ElementVerdict& e : o.verdict.failures) {
        if (!e.class_mismatch || !row.example.empty() || !id) continue;
        row.example = fmt::format("{}[{}] is {}, expected {} ({})", o.name, e.index,
                                  class_word(format(*id), e.got),
                                  class_word(format(*id), e.expected), c.text);
      }
    }
  }
  // Only what says something: classes with wrong outputs, and those meant to make special values.
  constexpr std::string_view kMeant[] = {"specials", "huge", "overflow", "subnormal", "maxima"};
  std::erase_if(rows, [&](const auto& entry) {
    return entry.second.wrong == 0 &&
           std::none_of(std::begin(kMeant), std::end(kMeant), [&](std::string_view word) {
             return entry.first.find(word) != std::string::npos;
           });
  });
  if (rows.empty()) return {};
  Table table;
  table.head = {"values", "cases", "outputs", "of the wrong class", "for example"};
  for (const auto& [value_class, row] : rows) {
    Cell count = count_cell(row.wrong);
    count.tone = row.wrong > 0 ? Tone::fail : Tone::pass;
    table.rows.push_back({cell(value_class), count_cell(row.cases), count_cell(row.outputs), count,
                          cell(row.example)});
  }
  const std::string finding = fmt::format("{} of {} {} the wrong class (NaN, Inf or finite).",
                                          wrong == 0 ? "None" : count_text(wrong),
                                          counted(outputs, "output"), wrong > 1 ? "have" : "has");
  return figure_around("Special values", finding, to_html(table));
}

}  // namespace plumbline
