// SPDX-License-Identifier: MIT
// One case on one line, as reports print it and people paste it: "gemm_bf16 m=65 n=8 k=33
// value=normal seed=0x2a".
#include "fuzz/case_file/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fuzz/case/literal.h"
#include "fuzz/case/values.h"
#include "fuzz/case_file/corpus.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

namespace plumbline {

namespace {

struct Token {
  std::string_view text;
  std::size_t at = 0;  // offset in the line
};

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  std::size_t at = line.find_first_not_of(kSpaces);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    tokens.push_back({line.substr(at, end - at), at});
    at = line.find_first_not_of(kSpaces, end);
  }
  return tokens;
}

}  // namespace

Result<std::uint64_t> parse_seed(std::string_view text, std::string_view where) {
  const bool hexadecimal = text.starts_with("0x");
  const std::optional<std::uint64_t> seed = hexadecimal
                                                ? parse_number<std::uint64_t>(text.substr(2), 16)
                                                : parse_number<std::uint64_t>(text);
  if (!seed) {
    return Error{ErrorKind::bad_input,
                 fmt::format("seed \"{}\" is not a whole number of 64 bits", text),
                 std::string(where), "write it like 0x2a or 42"};
  }
  return *seed;
}

namespace {

Error literal_class_error(std::string_view where) {
  return {ErrorKind::bad_input, "the data of this case is in its case file", std::string(where),
          "replay the .case file"};
}

}  // namespace

Status check_value_class(const Operation& operation, std::string_view name,
                         std::string_view where) {
  if (has_value_class(operation, name)) return {};
  if (name == kLiteralValues) return literal_class_error(where);
  std::vector<std::string_view> names;
  for (const ValueClassInfo& info : value_classes(operation)) names.push_back(info.name);
  const std::string meant = did_you_mean(name, names);
  return Error{ErrorKind::bad_input,
               fmt::format("{} has no value class \"{}\"", operation.name(), name),
               std::string(where), meant.empty() ? "plumbline list classes" : meant};
}

Result<Case> parse_kernel_and_problem(std::string_view line, const Registry& registry,
                                      std::string_view where) {
  const std::vector<Token> tokens = tokens_of(line);
  if (tokens.empty()) {
    return Error{ErrorKind::bad_input, "no kernel is named", std::string(where),
                 "write <kernel> <field>=<value> ..."};
  }
  Case test_case;
  test_case.kernel = registry.find(tokens[0].text);
  if (!test_case.kernel) {
    std::vector<std::string_view> names;
    for (const Manifest& manifest : registry.all()) names.push_back(manifest.name);
    const std::string meant = did_you_mean(tokens[0].text, names);
    return Error{
        ErrorKind::bad_input, fmt::format("there is no kernel \"{}\"", tokens[0].text),
        advance_position(where, tokens[0].at),
        meant.empty() ? "plumbline list kernels shows them; others need --kernel FILE" : meant};
  }
  const std::size_t fields = tokens[0].at + tokens[0].text.size();
  Result<Problem> problem = parse_problem(test_case.kernel->schema(), line.substr(fields),
                                          advance_position(where, fields));
  if (!problem) return problem.error();
  const auto specs = test_case.kernel->tensors(*problem);
  if (!specs) {
    Error error = specs.error();
    if (error.where.empty()) error.where = where;
    return error;
  }
  test_case.problem = *problem;
  test_case.origin = "file";
  return test_case;
}

Result<Case> parse_case_line(std::string_view line, const Registry& registry,
                             std::string_view where) {
  // What is not the problem's is taken out and replaced by spaces, so that columns stay true.
  std::string problem_line(line);
  Recipe recipe;
  std::optional<std::string> value_at;  // where the value class stands, if it is given
  std::vector<std::string_view> given;
  for (const Token& token : tokens_of(line)) {
    const std::size_t equals = token.text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = token.text.substr(0, equals),
                           value = token.text.substr(equals + 1);
    const std::string at_value = advance_position(where, token.at + equals + 1);
    if (name == "value" || name == "seed") {
      if (std::find(given.begin(), given.end(), name) != given.end()) {
        return Error{ErrorKind::bad_input, fmt::format("{} is given twice", name),
                     advance_position(where, token.at), "keep one of them"};
      }
      given.push_back(name);
    }
    if (name == "value") {
      if (value == kLiteralValues) return literal_class_error(at_value);
      recipe.value_class = value;
      value_at = at_value;
    } else if (name == "seed") {
      Result<std::uint64_t> seed = parse_seed(value, at_value);
      if (!seed) return seed.error();
      recipe.seed = *seed;
    } else if (name == "bits") {
      return literal_class_error(at_value);
    } else {
      continue;
    }
    problem_line.replace(token.at, token.text.size(), token.text.size(), ' ');
  }
  Result<Case> test_case = parse_kernel_and_problem(problem_line, registry, where);
  if (!test_case) return test_case;
  if (value_at) {
    const Status known =
        check_value_class(*test_case->kernel->operation, recipe.value_class, *value_at);
    if (!known) return known.error();
  }
  test_case->recipe = recipe;
  return test_case;
}

}  // namespace plumbline
