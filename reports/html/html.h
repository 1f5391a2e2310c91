// SPDX-License-Identifier: MIT
// report.html: the whole record as one page, for people. Self-contained (no network, opens from an
// archive), light and dark, printable, readable without script. Every chart asks a title,
// answers it in a sentence computed from the data, and keeps its numbers in a table beneath.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/baseline.h"
#include "reports/figure_table.h"
#include "reports/record/record.h"

namespace plumbline {

struct PageOptions {
  std::optional<Baseline> baseline;  // reports say what changed since
  bool strict_baseline = false;      // and junit.xml lets an error that grew fail
};

std::string report_html(const RunRecord& record, const PageOptions& options = {});

// The tables behind its figures, in the order of the page.
std::vector<FigureTable> report_tables(const RunRecord& record, const PageOptions& options = {});

}  // namespace plumbline
