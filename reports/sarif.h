// SPDX-License-Identifier: MIT
// report.sarif (SARIF 2.1.0): the findings that own a line of source or PTX, for code-scanning
// pages. Wrong numbers have no line and are not in it; they are in report.html and junit.xml.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// `root`: the folder that file names are made relative to, where they lie below it; usually the
// checkout. Findings of one kind at one line are one result, whichever kernels and cases
// showed it.
std::string sarif_json(const RunRecord& record, const std::string& root);

}  // namespace plumbline
