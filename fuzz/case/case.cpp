// SPDX-License-Identifier: MIT
// The text of a case: one line that names it, replays it and keys it.
#include "fuzz/case/case.h"

#include <fmt/format.h>

#include "fuzz/case/literal.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"

namespace plumbline {

std::string Case::problem_text() const {
  PLUMB_ASSERT(kernel != nullptr);
  const std::string fields = problem.text();
  return fields.empty() ? kernel->name : fmt::format("{} {}", kernel->name, fields);
}

std::string Case::text() const {
  std::string text = fmt::format("{} value={}", problem_text(), recipe.value_class);
  if (recipe.value_class != kLiteralValues) text += fmt::format(" seed={:#x}", recipe.seed);
  if (!literals.empty()) text += fmt::format(" bits={:#018x}", literal_fingerprint(literals));
  return text;
}

std::uint64_t Case::key() const {
  std::string text = fmt::format("{} value={}", problem_text(), recipe.value_class);
  if (!literals.empty()) text += fmt::format(" bits={:#018x}", literal_fingerprint(literals));
  return fingerprint(text);
}

}  // namespace plumbline
