// SPDX-License-Identifier: MIT
// Manifest: everything the program knows about one kernel, read from <kernel>.toml.
// docs/manifest.md is its manual. Adding a kernel needs no change of the program.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/expression.h"
#include "kernels/manifest/kernel_schema.h"
#include "kernels/manifest/operation.h"
#include "oracles/base/result.h"
#include "oracles/bounds/contract/contract.h"

namespace plumbline {

// What a parameter, or a field of a struct, can be: "s32", 4 bytes.
struct ValueType {
  enum class Kind : std::uint8_t { pointer, integer, real, tensor_map } kind;
  std::string_view word;
  int bytes;
  int alignment;
  bool is_signed = false;
};

// A value that a kernel gets: "ptr a" (address of tensor a, null when the problem lacks it),
// "s32 m", "s64 lda", "f32 alpha", "tensor_map a".
struct KernelValue {
  const ValueType* type = nullptr;
  std::int64_t offset = 0;  // in its parameter, in bytes
  std::string name;         // of a tensor or a tensor map; else the expression's text
  Expression expression;    // integers and real numbers
};

// One kernel parameter: a value at offset 0, or "struct params": the values of [struct.params], its
// bytes between them zero.
struct KernelParameter {
  std::string text;
  std::string where;  // in the manifest
  std::int64_t bytes = 0;
  std::vector<KernelValue> values;
};

// [tensor_map.<name>]: a tensor as the chip's bulk copies see it. Counts are of elements, innermost
// dimension first.
struct KernelTensorMap {
  std::string tensor;
  std::vector<Expression> dims, strides, box;  // strides from dimension 1 on: one fewer
  int swizzle = 0;                             // bytes: 32, 64, 128, or 0 for none
  int integers = 0;  // bits: elements are integers of that width; 0: the tensor's own
  bool fill_nan = false;
};

struct DomainRule {
  Expression condition;  // must be non-zero
  std::string reason;    // shown when it is not: "k must be a multiple of 8"
};

// [[known]]: a finding that people have looked at. Findings whose text has `says` in it do not fail
// a case; the contract's words carry the reason.
struct KnownFinding {
  std::string says;
  std::string reason;
};

// One launch of the kernel. All launches of a kernel see the same tensors, one after the other.
struct KernelLaunch {
  std::string entry;  // "gemm_bf16_{layout}_{out}": {field} is replaced by the word or number
  std::vector<KernelParameter> parameters;
  std::string entry_where, parameters_where;  // in the manifest
  std::array<Expression, 3> grid, block;
  std::optional<std::array<Expression, 3>> cluster;  // in blocks; none: as the PTX says
  Expression shared_bytes;
  std::optional<Expression> when;  // 0: this problem goes without the launch
};

// What a kernel promises for one output. A split-K contract may take its number of parts from the
// problem.
struct PromisedContract {
  Contract contract;
  std::optional<Expression> parts;
  std::vector<FormatId> saturates;  // output formats whose conversion saturates, although
                                    // `overflow` may say otherwise of the others
};

class Manifest {
 public:
  std::string name;     // the folder's and file's base name: "gemm_bf16"
  std::string path;     // of the .toml
  bool added = false;   // by --kernel: not of the kernel folder
  std::string summary;  // one line for `plumbline list`
  const Operation* operation = nullptr;
  std::string source;              // .cu beside the manifest; empty when `ptx` is given
  std::vector<std::string> flags;  // nvcc's for the source, in place of the usual ones
  std::string ptx;                 // a PTX file beside the manifest, instead of a source
  std::vector<int> targets;        // {80, 90}
  // Of targets whose code is for one chip ('a') or one family of chips ('f') alone: "90a".
  std::map<int, char> specific_targets;
  std::vector<KernelLaunch> launches;
  std::map<std::string, KernelTensorMap> tensor_maps;  // all that parameters name
  std::map<std::string, std::string>
      formats;  // tensor -> format name, or "{out}" for a field of the problem
  std::map<std::string, std::string> in_place;  // output -> the input that it is written over
  std::vector<std::string> zeroed;  // outputs whose elements are 0 before the first launch
  std::vector<DomainRule> domain;
  std::vector<KnownFinding> known;
  PromisedContract promised;                             // [contract]
  std::map<std::string, PromisedContract> promised_for;  // [contract.<output>] overrides it
  Problem terms;                        // [contract] of an operation with Operation::terms()
  std::optional<Expression> workspace;  // f32 elements of scratch memory
  std::shared_ptr<const KernelSchema> own_schema;
  // Sizes at which the kernel's behavior changes, for the shape classes: tile.m = 128, ...
  std::map<std::string, std::int64_t> tile;

  // The operation's fields as this kernel has them.
  std::span<const Field> schema() const { return own_schema->fields(); }

  std::string entry(const KernelLaunch& launch, const Problem& problem) const;
  // The operation's tensors for this problem, and the workspace if the kernel wants one.
  Result<std::vector<TensorSpec>> tensors(const Problem& problem) const;
  // Whether a parameter of some launch has the tensor's address or a tensor map of it.
  bool hands_over(std::string_view tensor) const;
  Contract contract(const Problem& problem, std::string_view output) const;
  // All of it in words, for a problem on a chip.
  std::string describe_contract(const Problem& problem, int sm) const;
  // What adds up products, and how: a line for each part. Empty for an operation whose contract is
  // terms alone (Operation::terms).
  std::string describe_products(const Problem& problem, int sm) const;
  bool deterministic() const;
  FormatId tensor_format(std::string_view tensor, const Problem& problem) const;
  // Empty when the kernel accepts the problem; else the reason, for people.
  std::optional<std::string> excluded(const Problem& problem) const;
  // A target as compilers name it: "90", "90a".
  std::string architecture(int target) const;
  // Whether the build for a target runs on a chip.
  bool runs_on(int target, int sm) const;
  // The compiled PTX for a target: beside the manifest, or in the build tree (<name>.sm_80.ptx).
  std::string ptx_path(int sm) const;
};

// Of a task that others write kernels for, what it computes alone: the source, the entries and
// their launches are theirs. Of a contract that tensors are judged by, no other sizes than theirs:
// a text need not be defined at all sizes that the manifest allows.
enum class ManifestPart : std::uint8_t { whole, task, contract };

// Reads and checks a manifest. Every error has file, line and column, and unknown keys are errors
// with a suggestion.
Result<Manifest> read_manifest(const std::string& path, ManifestPart part = ManifestPart::whole);

// The same from text; `path` names the kernel and is where its files are looked for.
Result<Manifest> parse_manifest(std::string_view text, const std::string& path,
                                ManifestPart part = ManifestPart::whole);

}  // namespace plumbline
