// SPDX-License-Identifier: MIT
// The text of a case: one line that names it, replays it and keys it.
#include "fuzz/case.h"

#include <fmt/format.h>

#include "fuzz/literal.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

std::string problem_text(const Case& test_case) {
  PLUMB_ASSERT(test_case.kernel != nullptr);
  const std::string problem = test_case.problem.text();
  return problem.empty() ? test_case.kernel->name
                         : fmt::format("{} {}", test_case.kernel->name, problem);
}

}  // namespace

std::string Case::text() const {
  std::string text = fmt::format("{} value={}", problem_text(*this), recipe.value_class);
  if (recipe.value_class != kLiteralValues) text += fmt::format(" seed={:#x}", recipe.seed);
  if (!literals.empty()) text += fmt::format(" bits={:#018x}", literal_fingerprint(literals));
  return text;
}

std::uint64_t Case::key() const {
  std::string text = fmt::format("{} value={}", problem_text(*this), recipe.value_class);
  if (!literals.empty()) text += fmt::format(" bits={:#018x}", literal_fingerprint(literals));
  return fingerprint(text);
}

}  // namespace plumbline
