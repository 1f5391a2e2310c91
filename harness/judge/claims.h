// SPDX-License-Identifier: MIT
// The claims of a case that take more than its outputs and their exact values (judge.h has the
// others): each a function that may launch again, in a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/judge/judge.h"
#include "harness/launch/execute.h"

namespace plumbline {

// A case that ran, with everything needed to explain it.
struct Examined : Execution {
  CaseRecord record;
  std::unique_ptr<CaseOracle> oracle;  // refers to tensors
};

struct ClaimVerdict {
  Claim claim = Claim::related;
  Verdict verdict = Verdict::pass;
  std::string reason{};  // where it does not pass
};

// nullopt where the claim does not apply to the case.
using ClaimJudge = Result<std::optional<ClaimVerdict>>(const Case&, const Target&, Launcher&,
                                                       Examined&);

// A changed problem changes the outputs as it must: one relation, or all (RunnerOptions).
ClaimJudge judge_related;
// The errors of all outputs together are those of the contract. What is suspect has to be suspect
// on fresh draws of the inputs, too. Says in the record what would have shown.
ClaimJudge judge_population;
// All launches gave the same bits.
ClaimJudge judge_deterministic;
// The emulator's copy of a case that ran on a GPU: its findings, its values where they are others,
// and whether both are the same. Where only the emulator's outputs break a promise, `examined`
// becomes the emulator's.
ClaimJudge judge_agrees;

}  // namespace plumbline
