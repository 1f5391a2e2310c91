// SPDX-License-Identifier: MIT
#include "harness/run/filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "fuzz/case/generator.h"
#include "fuzz/case/literal.h"
#include "fuzz/case/values.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 4> kClassWords = {"class", "shape", "strides", "origin"};

// The text a class word of the filter refers to.
std::string_view class_value(const Case& test_case, std::string_view key) {
  if (key == "class") return test_case.recipe.value_class;
  if (key == "shape") return test_case.shape_class;
  if (key == "strides") return test_case.layout_class;
  return test_case.origin;
}

bool is_class_word(std::string_view key) {
  return std::find(kClassWords.begin(), kClassWords.end(), key) != kClassWords.end();
}

template <typename T>
bool compare(const T& a, std::string_view comparison, const T& b) {
  if (comparison == "=") return a == b;
  if (comparison == "!=") return a != b;
  if (comparison == "<") return a < b;
  if (comparison == "<=") return a <= b;
  if (comparison == ">") return a > b;
  return a >= b;
}

const Field* find_field(const Problem& problem, std::string_view key) {
  for (const Field& field : problem.schema()) {
    if (field.name == key) return &field;
  }
  return nullptr;
}

// Where cases come from, as the field `origin` of a record has it.
constexpr std::array<std::string_view, 5> kOrigins = {"designed", "planned", "population", "corpus",
                                                      "fuzz"};

// What a word can be for some of the kernels; empty where it is a number.
std::vector<std::string_view> values_of(std::string_view key,
                                        const std::vector<const Manifest*>& kernels) {
  std::vector<std::string_view> values;
  const auto add = [&](const auto& classes) {
    for (const auto& one : classes) values.push_back(one.name);
  };
  if (key == "origin") values.assign(kOrigins.begin(), kOrigins.end());
  for (const Manifest* kernel : kernels) {
    if (key == "class") {
      add(value_classes(*kernel->operation));
      values.push_back(kLiteralValues);
    }
    if (key == "shape") add(shape_classes(*kernel->operation));
    if (key == "strides") add(layout_classes(*kernel->operation));
    for (const Field& field : kernel->schema()) {
      if (field.name == key)
        values.insert(values.end(), field.choices.begin(), field.choices.end());
    }
  }
  return values;
}

// What a number can be compared with, for some of the kernels: whole numbers, or any.
std::optional<FieldKind> number_kind(std::string_view key,
                                     const std::vector<const Manifest*>& kernels) {
  for (const Manifest* kernel : kernels) {
    for (const Field& field : kernel->schema()) {
      if (field.name == key && field.kind != FieldKind::word) return field.kind;
    }
  }
  return std::nullopt;
}

Status check_number(std::string_view key, std::string_view value, FieldKind kind) {
  const bool whole = kind == FieldKind::integer;
  if (whole ? parse_number<std::int64_t>(value).has_value()
            : parse_number<float>(value).has_value())
    return {};
  return Error{ErrorKind::bad_input,
               fmt::format("--only: {} is compared with \"{}\", which is no {}number", key, value,
                           whole ? "whole " : ""),
               "", whole ? "digits alone, as in k>1000" : "as in alpha<0.5"};
}

Status check_value(std::string_view key, std::string_view value,
                   const std::vector<const Manifest*>& kernels) {
  const std::vector<std::string_view> values = values_of(key, kernels);
  if (const std::optional<FieldKind> kind = number_kind(key, kernels); kind && values.empty())
    return check_number(key, value, *kind);
  if (values.empty() || std::find(values.begin(), values.end(), value) != values.end()) return {};
  const std::string meant = did_you_mean(value, values);
  return Error{ErrorKind::bad_input,
               fmt::format("--only: no case of these kernels has {}={}", key, value), "",
               !meant.empty() ? meant
               : is_class_word(key) && key != "origin"
                   ? "plumbline list classes"
                   : fmt::format("it is one of {}", fmt::join(values, ", "))};
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text, const std::vector<const Manifest*>& kernels) {
  std::vector<std::string_view> known(kClassWords.begin(), kClassWords.end());
  for (const Manifest* kernel : kernels) {
    for (const Field& field : kernel->schema()) known.push_back(field.name);
  }
  Filter filter;
  while (true) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return filter;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t at = word.find_first_of("=!<>");
    const std::size_t after =
        at == std::string_view::npos ? at : word.find_first_not_of("=!<>", at);
    if (at == 0 || after == std::string_view::npos) {
      return Error{ErrorKind::bad_input,
                   fmt::format("--only: \"{}\" is not key=value, key<value, ...", word), "",
                   "for example --only 'class=cancelling k>512'"};
    }
    Term term{std::string(word.substr(0, at)), std::string(word.substr(at, after - at)),
              std::string(word.substr(after))};
    if (term.key == "value") term.key = "class";  // as case texts have it
    static constexpr std::array<std::string_view, 6> kComparisons = {"=",  "!=", "<",
                                                                     "<=", ">",  ">="};
    if (std::find(kComparisons.begin(), kComparisons.end(), term.comparison) ==
        kComparisons.end()) {
      return Error{ErrorKind::bad_input,
                   fmt::format("--only: unknown comparison \"{}\"", term.comparison), "",
                   "use = != < <= > >="};
    }
    if (std::find(known.begin(), known.end(), term.key) == known.end()) {
      return Error{ErrorKind::bad_input, fmt::format("--only: nothing is called \"{}\"", term.key),
                   "", did_you_mean(term.key, known)};
    }
    const Status checked = check_value(term.key, term.value, kernels);
    if (!checked) return checked.error();
    filter.terms_.push_back(std::move(term));
  }
}

bool Filter::holds(const Case& test_case) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (is_class_word(term.key)) {
      return compare(class_value(test_case, term.key), term.comparison,
                     std::string_view(term.value));
    }
    const Field* field = find_field(test_case.problem, term.key);
    if (!field) return false;
    switch (field->kind) {
      case FieldKind::word:
        return compare(test_case.problem.word(term.key), term.comparison,
                       std::string_view(term.value));
      case FieldKind::real:
        // As the case has it: no f32 is the double 0.97.
        return compare(test_case.problem.real(term.key), term.comparison,
                       parse_number<float>(term.value).value_or(0));
      case FieldKind::integer:
        return compare(test_case.problem.integer(term.key), term.comparison,
                       parse_number<std::int64_t>(term.value).value_or(0));
    }
    return false;
  });
}

}  // namespace plumbline
