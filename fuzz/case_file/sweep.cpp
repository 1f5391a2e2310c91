// SPDX-License-Identifier: MIT
#include "fuzz/case_file/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fuzz/case_file/corpus.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

constexpr const char *kWhere = "--sweep",
                     *kHint =
                         "write --sweep keys=64..8192 (64, 128, 256 and so on), --sweep "
                         "keys=64,100 or --sweep out=bf16,f32";

Error wrong(const std::string& what) { return {ErrorKind::bad_input, what, kWhere, kHint}; }

Result<std::vector<std::string>> range(std::string_view text, std::size_t dots) {
  const auto first = parse_number<std::int64_t>(text.substr(0, dots)),
             last = parse_number<std::int64_t>(text.substr(dots + 2));
  if (!first || !last || *first < 1 || *last <= *first) {
    return wrong(fmt::format("\"{}\" is no range of two rising integers above 0", text));
  }
  std::vector<std::string> values;
  for (std::int64_t value = *first; value < *last; value *= 2) {
    values.push_back(std::to_string(value));
    if (value > *last / 2) break;
  }
  values.push_back(std::to_string(*last));
  return values;
}

}  // namespace

std::string Sweep::word(const std::string& value) const { return field + "=" + value; }

std::string Sweep::placed(std::string_view text, const std::string& value) const {
  std::string with;
  bool placed = false;
  const auto append = [&](std::string_view part) {
    if (!with.empty()) with += ' ';
    with += part;
  };
  for (const std::string_view part : split(text, ' ')) {
    const bool swept = part.starts_with(field + "=");
    append(swept ? word(value) : part);
    placed = placed || swept;
  }
  if (!placed) append(word(value));
  return with;
}

Result<Sweep> parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 ||
      text.find_first_of(" \t") != std::string::npos) {
    return wrong(fmt::format("\"{}\" is not FIELD=VALUES", text));
  }
  Sweep sweep{text.substr(0, equals), {}};
  if (sweep.field == "class") sweep.field = "value";  // as --only calls it
  const std::string_view values = std::string_view(text).substr(equals + 1);
  for (const std::string_view part : split(values, ',')) {
    const std::size_t dots = part.find("..");
    if (part.empty()) return wrong(fmt::format("\"{}\" has an empty value", text));
    if (dots == std::string_view::npos) {
      sweep.values.emplace_back(part);
    } else {
      const Result<std::vector<std::string>> ranged = range(part, dots);
      if (!ranged) return ranged.error();
      sweep.values.insert(sweep.values.end(), ranged->begin(), ranged->end());
    }
  }
  for (std::size_t i = 0; i < sweep.values.size(); ++i) {
    if (std::find(sweep.values.begin(), sweep.values.begin() + static_cast<std::ptrdiff_t>(i),
                  sweep.values[i]) != sweep.values.begin() + static_cast<std::ptrdiff_t>(i))
      return wrong(fmt::format("{}={} is given twice", sweep.field, sweep.values[i]));
  }
  if (sweep.values.size() < 2) return wrong("a sweep needs at least two values");
  return sweep;
}

Result<SweptCases> swept_cases(const Case& test_case, const Sweep& sweep,
                               const Registry& registry) {
  SweptCases out;
  std::optional<Error> first;
  for (const std::string& value : sweep.values) {
    const std::string word = sweep.word(value);
    Result<Case> changed = parse_case_line(sweep.placed(test_case.text(), value), registry);
    std::optional<std::string> why;
    if (!changed) {
      why = changed.error().message;
      if (!first) first = Error{changed.error().kind, *why, kWhere, changed.error().hint};
    } else {
      why = changed->kernel->excluded(changed->problem);
    }
    if (why) {
      out.refused.push_back(fmt::format("{}: {}", word, *why));
    } else {
      out.cases.push_back({*std::move(changed), word});
    }
  }
  if (!out.cases.empty()) return out;
  if (first) return *first;
  return Error{
      ErrorKind::bad_input,
      fmt::format("{} accepts none of the values: {}", test_case.kernel->name, out.refused.front()),
      kWhere, "plumbline explain KERNEL lists its fields and what it accepts"};
}

}  // namespace plumbline
