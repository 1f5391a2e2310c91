// SPDX-License-Identifier: MIT
// Step 9 of a run: a failure made small, explained, and saved as a case file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/case_file/corpus.h"
#include "harness/run/run.h"

namespace plumbline {

// A failure made small and in words, and the file that replays it.
struct Explained {
  Counterexample card;
  CaseFile file;
};

// `record` is what was found. Ctrl-C ends the shrinking: the smallest case so far is explained.
// When it came before the failure was seen again, and when the case does not run a second time, the
// card says what was found and why no more is known.
Explained explain_small(const Job& failed, const CaseRecord& record, const RunOptions& options);

// Writes the file into the corpus, if there is one; the card says where.
void save_explained(Explained& explained, const RunOptions& options);

// Both.
Counterexample make_counterexample(const Job& failed, const CaseRecord& record,
                                   const RunOptions& options);

// Saves a failure as it was found, for a search that may be killed before it is made small. The
// path of the new file; nullopt where the corpus has this case or cannot be written.
std::optional<std::string> save_as_found(const Job& failed, const CaseRecord& record,
                                         const std::string& corpus_folder);

// A small case fits many simple faults, some of them by chance; the larger one that it came from
// tells them apart. Keeps of a card's faults those that are among `as_found`, the faults that fit
// the case as found, or takes those where none is, and says so. Numbers in them may differ: they
// belong to the case.
void keep_faults_of(Counterexample& card, const std::vector<std::string>& as_found);

// Values that are mostly zeros or alike fit many faults, too; ordinary values of the problem tell
// them apart. Keeps those that are among `ordinary`, the faults that fit there, or takes those.
void prefer_faults_of(Counterexample& card, const std::vector<std::string>& ordinary);

// Both, by running the case as found again, or the one that this was made small from in an earlier
// run, and the same problem with ordinary values where it fails with these, too.
void narrow_down(Counterexample& card, const Job& as_found, CaseRunner& runner);

}  // namespace plumbline
