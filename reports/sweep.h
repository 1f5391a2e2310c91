// SPDX-License-Identifier: MIT
// What `plumbline propagate --sweep keys=64..8192` found, one row a value of the field: the cases
// of a sweep stand one by one in the record, and are put side by side here.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

struct SweepTable {
  struct Column {
    std::string title;
    bool drawn = false;  // as a curve; else in the table only
  };

  struct Row {
    std::string value;            // of the field, as the case has it
    std::vector<double> numbers;  // one a column
    std::string largest;  // the stage that makes most of the kernel's own error; may be empty

    double x() const;  // the value as a number, or NaN
  };

  std::string field{};   // "keys"
  std::string title{};   // "o of attention_bf16_forward queries=64 d=64 on emulator sm_90"
  std::string of{};      // "o of attention_bf16_forward"
  std::string axis;      // of the curves: "relative error"
  std::string subject;   // of the sentence about it: "The kernel's own error"
  std::size_t told = 0;  // the column that the sentence is about
  std::vector<Column> columns;
  std::vector<Row> rows{};  // in the order of the sweep
  std::vector<std::string> findings{};

  // The field of every row is a number.
  bool numeric() const;
};

// One for each output of each case that was swept. Errors relative to the norm of the exact output.
std::vector<SweepTable> sweep_tables(const RunRecord& record);

// The table for a terminal, of at most 60 columns.
std::vector<std::string> sweep_lines(const SweepTable& table);

}  // namespace plumbline
