// SPDX-License-Identifier: MIT
// The counterexample card: what a person sees of one failure, on the terminal, in junit.xml and in
// summary.md.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

// Lines without trailing newlines; the first is "FAIL  kernel   claim / class", the last ones are
// card_commands().
std::vector<std::string> card_lines(const Counterexample& counterexample);

// The same in few lines: what failed, the first fault that fits, the commands.
std::vector<std::string> brief_card_lines(const Counterexample& counterexample);

// The finding, or the first fault that fits and where the output was stored: "fits: the bias was
// taken by row instead of by column; stored at epilogue.cuh:179". May be empty.
std::string cause_line(const Counterexample& counterexample);

// "Found as gemm m=16; shrunk in 1 step of 4 tries."; empty where nothing was shrunk.
std::string found_as(const Counterexample& counterexample);

// The case, and what to type to replay and explain it: lines to be copied, so never to be broken.
std::vector<std::string> card_commands(const Counterexample& counterexample);

// The simple faults that fit: one of them, or all that there are, so that none is taken for the
// cause before the others are ruled out.
std::string fits_sentence(const Counterexample& counterexample);

// Whether an error in ulp among values of one sign is an error of the kernel's. Of an operation
// that subtracts, such values cancel all the same: so much tells only if terms are known to hardly
// cancel.
bool is_meaningful(double ulp, const KernelRecord& kernel);

// What `plumbline replay` is given: the saved case, or the case as found where none was saved (the
// bits of a shrunk one are nowhere else), and the manifest where the kernel is not a shipped one;
// empty where nothing holds the bits.
std::string replay_subject(const Counterexample& counterexample);

// The same for a case as it was planned.
std::string replay_subject(const RunRecord& record, const CaseRecord& planned);

// A table cell: "3.1 ulp", "22 %", "64 x".
std::string ulp_text(double ulp);
std::string share_text(double share);

// Of large outputs that were not bounded one and all: how many were, and how likely a wrong output
// is to be missed.
std::string sampling_note(const KernelRecord& kernel);

// What to say of outputs of which `is_coarse` says that the contract's arithmetic loses much.
std::string accuracy_note(double worst_relative);

// Of its outputs; empty for a kernel that fails, and where no output is coarse.
std::string accuracy_note(const KernelRecord& kernel);

// One finding of every kind, then the others: a race among fifty unwritten reads is seen.
std::vector<FindingRecord> of_every_kind_first(const std::vector<FindingRecord>& findings);

// The same as sentences, one for all findings of a kind whose other access has one line: a barrier
// that is missing shows at every access behind it.
std::vector<std::string> finding_sentences(const std::vector<FindingRecord>& findings);

// How often a finding was met that the manifest knows, and why that is all right; or that none was.
std::string known_note(const KnownRecord& known);

}  // namespace plumbline
