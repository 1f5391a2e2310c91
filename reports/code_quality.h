// SPDX-License-Identifier: MIT
// gl-code-quality.json, which GitLab shows beside the lines of a merge request: the findings of
// report.sarif that lie in files of the repository.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// `root`: the folder that file names are made relative to, usually the checkout.
std::string code_quality_json(const RunRecord& record, const std::string& root);

}  // namespace plumbline
