// SPDX-License-Identifier: MIT
// Manifest: everything the program knows about one kernel, read from <kernel>.toml.
// docs/manifest.md is its manual. Adding a kernel needs no change of the program.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/expression.h"
#include "kernels/operation.h"
#include "oracles/base/result.h"
#include "oracles/bounds/contract.h"

namespace plumbline {

// One kernel parameter: "ptr a" (address of tensor a, null when the problem lacks it), "s32 m",
// "s64 lda", "f32 alpha".
struct KernelParameter {
  enum class Kind : std::uint8_t { pointer, s32, u32, s64, f32 } kind;
  std::string name;       // tensor name for pointers, field name for f32
  Expression expression;  // integers
};

struct DomainRule {
  Expression condition;  // must be non-zero
  std::string reason;    // shown when it is not: "k must be a multiple of 8"
};

class Manifest {
 public:
  std::string name;     // the folder's and file's base name: "gemm_bf16"
  std::string path;     // of the .toml
  std::string summary;  // one line for `plumbline list`
  const Operation* operation = nullptr;
  std::string source;        // .cu beside the manifest; empty when `ptx` is given
  std::string ptx;           // a PTX file beside the manifest, instead of a source
  std::vector<int> targets;  // {80, 90}
  std::string
      entry_pattern;  // "gemm_bf16_{layout}_{out}": {field} is replaced by the word or number
  std::vector<KernelParameter> parameters;
  std::array<Expression, 3> grid, block;
  Expression shared_bytes;
  std::map<std::string, std::string>
      formats;  // tensor -> format name, or "{out}" for a field of the problem
  std::vector<DomainRule> domain;
  Contract contract;
  // Sizes at which the kernel's behaviour changes, for the shape classes: tile.m = 128, ...
  std::map<std::string, std::int64_t> tile;

  std::string entry(const Problem& problem) const;
  FormatId tensor_format(std::string_view tensor, const Problem& problem) const;
  // Empty when the kernel accepts the problem; else the reason, for people.
  std::optional<std::string> excluded(const Problem& problem) const;
  // The compiled PTX for a target: beside the manifest, or in the build tree (<name>.sm_80.ptx).
  std::string ptx_path(int sm) const;
};

// Reads and checks a manifest. Every error has file, line and column, and unknown keys are errors
// with a suggestion.
Result<Manifest> read_manifest(const std::string& path);

// The same from text; `path` names the kernel and is where its files are looked for.
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace plumbline
