// SPDX-License-Identifier: MIT
// The places in source code that the findings and wrong outputs of a run lead to, for SARIF, code
// quality and annotations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

struct CodeLine {
  std::string file;  // relative to a root where it lies below it; empty where not known
  int line = 0;
};

struct FindingPlace {
  std::string kernel;
  FindingRecord finding;  // the first one there
  std::string file;       // source, else PTX; relative to `root` where it lies below it
  int line = 0;
  CodeLine other;          // of the other access of a race
  std::string replay;      // what `plumbline replay` takes to show it again
  std::int64_t cases = 0;  // how many did
  std::string cause = {};  // of wrong values, a sentence: which simple faults fit; may be empty
};

// What the findings of one kind at one line have in common, over all kernels and cases.
struct PlaceFindings {
  FindingPlace first;  // of the kernel with most cases
  std::vector<std::string> kernels;
  std::int64_t cases = 0;
  std::string fingerprint;  // outlives edits above the line
};

// "gemm.cu:48"; empty where no line is named.
CodeLine named_line(const std::string& file_and_line);

// Of the source, else of the PTX. Where a line was inlined from outside `root` it is the call's.
CodeLine code_line(const FindingRecord& finding, const std::string& root);
CodeLine code_line(const OtherAccessRecord& access, const std::string& root);

// Findings with a line, one per kernel, kind and line: those of most cases first.
std::vector<FindingPlace> finding_places(const RunRecord& record, const std::string& root);

// Findings and the stores of wrong outputs, each kind and line once: kernels share their headers. A
// race that was seen from both of its sides is one as well.
std::vector<PlaceFindings> code_places(const RunRecord& record, const std::string& root);

// "Seen in 3 cases of gemm_bf16 and 2 other kernels; replay one with: plumbline replay ...".
std::string seen_in(const PlaceFindings& place);

// The path below `root`, where it lies there.
std::string relative_to(const std::string& root, const std::string& file);

// A text with the paths in it that lie below a folder named from there, as the shell in it does.
std::string with_relative_paths(std::string text, const std::string& root);

// The same for all that a record says of its cases; none where nothing in it changes.
std::optional<RunRecord> with_relative_paths(const RunRecord& record, const std::string& root);

// Where the wrong outputs on the cards were stored, one per kernel and line.
std::vector<FindingPlace> store_places(const RunRecord& record, const std::string& root);

}  // namespace plumbline
