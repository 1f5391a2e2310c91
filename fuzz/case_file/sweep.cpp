// SPDX-License-Identifier: MIT
#include "fuzz/case_file/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "fuzz/case_file/corpus.h"

namespace plumbline {
namespace {

constexpr const char *kWhere = "--sweep",
                     *kHint =
                         "write --sweep keys=64..8192 (64, 128, 256 and so on), --sweep "
                         "keys=64,100 or --sweep out=bf16,f32";

Error wrong(const std::string& what) { return {ErrorKind::bad_input, what, kWhere, kHint}; }

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<std::vector<std::string>> range(std::string_view text, std::size_t dots) {
  const std::optional<std::int64_t> first = integer(text.substr(0, dots)),
                                    last = integer(text.substr(dots + 2));
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

// The case's text with the word of the sweep in place of its own.
std::string with_word(const Case& test_case, const std::string& field, const std::string& word) {
  std::string text;
  bool placed = false;
  const std::string whole = test_case.text();
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find(' ', at), whole.size());
    std::string part = whole.substr(at, end - at);
    if (part.starts_with(field + "=")) {
      part = word;
      placed = true;
    }
    text += (text.empty() ? "" : " ") + part;
    at = end + 1;
  }
  return placed ? text : text + " " + word;
}

}  // namespace

Result<Sweep> parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 ||
      text.find_first_of(" \t") != std::string::npos) {
    return wrong(fmt::format("\"{}\" is not FIELD=VALUES", text));
  }
  Sweep sweep{text.substr(0, equals), {}};
  if (sweep.field == "class") sweep.field = "value";  // as --only calls it
  const std::string_view values = std::string_view(text).substr(equals + 1);
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find(',', at), values.size());
    const std::string_view part = values.substr(at, end - at);
    const std::size_t dots = part.find("..");
    if (part.empty()) return wrong(fmt::format("\"{}\" has an empty value", text));
    if (dots == std::string_view::npos) {
      sweep.values.emplace_back(part);
    } else {
      const Result<std::vector<std::string>> ranged = range(part, dots);
      if (!ranged) return ranged.error();
      sweep.values.insert(sweep.values.end(), ranged->begin(), ranged->end());
    }
    at = end + 1;
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
    const std::string word = sweep.field + "=" + value;
    Result<Case> changed = parse_case_line(with_word(test_case, sweep.field, word), registry);
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
