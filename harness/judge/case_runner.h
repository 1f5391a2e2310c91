// SPDX-License-Identifier: MIT
// CaseRunner: runs one case on one target, from input bits to verdict. It keeps its devices and
// loaded modules, so each worker thread has a runner of its own. verify, fuzz, replay, explain and
// shrinking all go through it.
#pragma once

#include <memory>
#include <optional>

#include "harness/judge/claims.h"
#include "harness/launch/launcher.h"

namespace plumbline {

class CaseRunner {
 public:
  explicit CaseRunner(RunnerOptions options) : launcher_(std::move(options)) {}

  // Never fails: what could not run becomes a record with Verdict::error and its reason. Nothing
  // when it was given up.
  std::optional<CaseRecord> run(const Case& test_case, const Target& target);

  // The same, keeping tensors and oracle. Errors are what run() would have recorded, or
  // nothing.
  Result<std::unique_ptr<Examined>> examine(const Case& test_case, const Target& target);

  // The two halves of it: all launches a verdict looks at, and the verdict.
  Result<Execution> execute(const Case& test_case, const Target& target,
                            std::uint64_t instruction_budget = 0);
  Result<std::unique_ptr<Examined>> judge(const Case& test_case, const Target& target,
                                          Execution execution);

  // Whether the kernel's image can be loaded for this target.
  Status load(const Manifest& kernel, const Target& target);

 private:
  // judge(), which may throw.
  Result<std::unique_ptr<Examined>> try_judge(const Case& test_case, const Target& target,
                                              Execution execution);

  Launcher launcher_;
};

// An Error when the kernel's domain excludes the case's problem.
Status check_domain(const Case& test_case);

// The record of a case that could not run.
CaseRecord error_record(const Case& test_case, const Target& target, const Error& error);

}  // namespace plumbline
