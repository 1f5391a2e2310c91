// SPDX-License-Identifier: MIT
// Case: a kernel, a problem, and where its input bits come from: a recipe (value class and seed),
// or the bits themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/manifest/manifest.h"
#include "kernels/manifest/operation.h"
#include "kernels/manifest/problem.h"

namespace plumbline {

struct Recipe {
  std::string value_class = "normal";  // a name from values.h
  std::uint64_t seed = 1;
};

struct Case {
  const Manifest* kernel = nullptr;
  Problem problem;
  Recipe recipe;
  std::vector<std::pair<std::string, Tensor>>
      literals;             // inputs by name; when present they win over the recipe
  std::string shape_class;  // names from shapes.h, for coverage; empty for cases from files
  std::string layout_class;
  // The case that it was made small from, where its file says so.
  std::shared_ptr<const Case> shrunk_from;
  std::string origin = "planned";  // corpus | designed | planned | population | fuzz | file | dump

  // "gemm_bf16 m=65 n=8 k=33 layout=nt value=cancelling seed=0x2a": parses back with
  // parse_case_line().
  std::string text() const;
  // "gemm_bf16 m=65 n=8 k=33 layout=nt": the kernel and its problem.
  std::string problem_text() const;
  // Hash of text() without seed: the shard key and file name.
  std::uint64_t key() const;
};

// The tensors of a case: inputs filled, with NaN codes in storage no logical element reaches;
// outputs and workspaces allocated (their poison is the runner's business). Errors: shapes outside
// the operation's rules or this machine's memory, unknown value classes, literals that do not fit
// the problem.
Result<CaseTensors> materialize(const Case& test_case);

// Of an input, before its elements are set: storage that none of them reaches, between rows and in
// front of an offset, holds NaN (the largest number where the format has none). A kernel that reads
// it shows it.
void fill_padding(Tensor& tensor);

}  // namespace plumbline
