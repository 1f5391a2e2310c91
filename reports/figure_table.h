// SPDX-License-Identifier: MIT
// The tables behind the figures of report.html, as files for programs: `plumbline report --tables`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plumbline {

struct FigureTable {
  struct Cell {
    double value;      // NaN where it is a text
    std::string text;  // as the page shows it
  };

  std::string group{};    // what the figure is about: a kernel, "Error propagation"
  std::string title{};    // of the figure; empty: it belongs to none
  std::string caption{};  // tells tables of one title apart; may be empty
  std::vector<std::string> columns{};
  std::vector<std::vector<Cell>> rows{};
};

// One file for each table, "gemm_bf16/error-quantiles.csv" (RFC 4180), and tables.json with all of
// them: {"tables": [{"group", "title", "caption", "file", "columns", "rows"}]}. Numbers are not
// rounded; what is none is the text of the page.
std::vector<std::pair<std::string, std::string>> table_files(
    const std::vector<FigureTable>& tables);  // path and content

}  // namespace plumbline
