// SPDX-License-Identifier: MIT
// The lines of source code that a failure leads to, with two lines of context on either side, as
// they were when the run ended: a report may be read where the source is not.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

// Of the first finding that has a line, and its other access; where there are no findings, of the
// store of the worst wrong output. Where the line was inlined it is the call's, which says more
// than the line of a helper. Paths are relative to `root` where they lie below it. Without a source
// that can be read (an ordinary file with an ending of source code: PTX may name any) it is the
// PTX, and without that nothing.
std::vector<SourceExcerpt> source_excerpts(const Counterexample& counterexample,
                                           const std::string& root);

// "gemm.cu:48, where it happens", then "> 48 | code" for the line itself and "  47 | code" for
// those around it.
std::vector<std::string> excerpt_lines(const SourceExcerpt& excerpt);

}  // namespace plumbline
