// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "harness/judge/claims.h"

namespace plumbline {

Result<std::optional<ClaimVerdict>> judge_deterministic(const Case& test_case, const Target&,
                                                        Launcher& launcher, Examined& examined) {
  const int repeat = launcher.options().repeat;
  if (!examined.reordered && !examined.called_again && repeat <= 1)
    return std::optional<ClaimVerdict>();
  std::string reason;
  if (examined.different > 0) {
    reason = fmt::format("{} of {} launches gave other bits", examined.different, repeat);
  } else if (!examined.same_in_any_order) {
    reason =
        "with its CTAs in another legal order the kernel gives other bits, which [contract] would "
        "allow by deterministic = false";
  } else if (!examined.same_when_called_again) {
    reason =
        "called again, after a call with other inputs, the kernel gives other bits: it finds what "
        "a call left in a variable of its module";
  }
  const bool held = reason.empty() || !test_case.kernel->deterministic();
  if (held && launcher.options().stateless && examined.launch.changed_variables) {
    return std::optional(
        ClaimVerdict{Claim::deterministic, Verdict::mistrusted,
                     "a call leaves a variable of its module changed, and later calls than the "
                     "second may do anything"});
  }
  return std::optional(
      ClaimVerdict{Claim::deterministic, held ? Verdict::pass : Verdict::fail, reason});
}

}  // namespace plumbline
