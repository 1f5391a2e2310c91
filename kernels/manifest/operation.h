// SPDX-License-Identifier: MIT
// Operation: what the program must know about an operation to run any kernel that computes it: the
// fields of its problem, its tensors, and its oracle. A new operation is one file in kernels/ops/
// and one row in kernels/operations.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/manifest/expression.h"
#include "kernels/manifest/pieces.h"
#include "kernels/manifest/problem.h"
#include "oracles/base/result.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/oracle.h"
#include "oracles/stages/staged.h"

namespace plumbline {

enum class TensorRole : std::uint8_t { input, output, workspace };

struct TensorSpec {
  std::string name;  // "a": as in manifests and case files
  TensorRole role;
  TensorLayout layout;  // of what is kept, where it is in pieces
  Pieces pieces{};
  std::string in_place_of{};  // of an output: the input whose memory it is; empty: its own
};

// The tensors of one case, by name, in the order of Operation::tensors().
struct CaseTensors {
  std::vector<TensorSpec> specs;
  std::vector<Tensor> tensors;

  const Tensor* find(std::string_view name) const;
  Tensor* find(std::string_view name);
};

// A tensor an operation may have, for manifests and documents.
struct TensorName {
  std::string_view name;
  TensorRole role;
  std::string_view help{};
  std::string_view format{};                    // where a manifest names none; empty: it must
  std::span<const std::string_view> formats{};  // that it can have
  // The word field that says its format, where there is one: what a manifest names must agree.
  std::string_view field{};
  bool optional = false;           // a kernel without it leaves it out of [formats]
  std::string_view in_place_of{};  // of an output: the input that it is always written over
  std::string_view like{};         // the tensor whose format it has where a manifest names none
};

// Scratch memory, which any kernel may ask for (Manifest::workspace).
constexpr std::string_view kWorkspace = "workspace";

class Manifest;

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string_view name() const = 0;  // "gemm"
  virtual std::string_view about()
      const = 0;  // what it computes, in Markdown, for docs/operations.md
  virtual std::span<const Field> schema() const = 0;

  // All tensors any problem of this operation can have, in their order.
  virtual std::span<const TensorName> tensor_names() const = 0;

  // Names that expressions in manifests can use beside the fields: ld_a, the leading dimension in
  // effect.
  virtual std::span<const Derived> derived() const { return {}; }

  // Inputs, outputs and workspaces of this problem with their layouts; tensors the problem lacks
  // (no bias) are left out. Errors: sizes whose storage overflows, leading dimensions smaller than
  // the row.
  virtual Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                                  const Manifest& manifest) const = 0;

  // Whether input data that decide about shapes (group sizes) fit the problem.
  virtual Status check_values(const Problem&, const CaseTensors&) const { return {}; }

  // The format in which a factor of a sum of products reaches the unit (s8 weights may become bf16
  // first).
  virtual FormatId factor_format(FormatId stored) const { return stored; }

  // Multiply-accumulates of the problem, for progress and time budgets.
  virtual double work(const Problem& problem) const = 0;

  // One case in so many that passed is tried again as a related problem. Where judging a case takes
  // little time next to emulating it, relations are to cost no more than a twentieth of a run.
  virtual std::uint64_t relations_one_in() const { return 12; }

  // Whether a contract may say that B is dequantized before the product, or that the unit takes
  // scales of blocks of k.
  virtual bool has_scaled_operands() const { return false; }

  // Whether outputs are sums of floating-point products to which nothing is added, so that they are
  // odd and linear in them up to rounding.
  virtual bool has_pure_sums(const Problem&, const Manifest&) const { return true; }

  // Whether a row of this output is a sum of rows of values with weights that depend on the row:
  // how tests of many errors take it. The others are products of matrices, or are not taken.
  virtual bool sums_weighted_values(std::string_view /*output*/) const { return false; }

  // Names of the tensors that are the factors of an output's sums: what its contract's unit must
  // take.
  struct Factors {
    std::string_view output, a, b;
  };

  virtual std::span<const Factors> factors() const { return {}; }

  // The size that the sums of an output run over, where it is not k, keys or n.
  virtual std::string_view sum_length(std::string_view /*output*/) const { return {}; }

  // Dot products of given vectors as one problem of the operation, for probes of its arithmetic:
  // element [i, i] of `output` is vector i of `a` times vector i of `b`. Vectors are rows of a, or
  // its columns, and columns of b. Other inputs are 1, or what `others` says.
  struct DotProducts {
    std::string_view output, a, b;
    std::string fields;  // without those that have the right default
    bool columns_of_a = false;
    std::vector<std::pair<std::string_view, double>> others{};
  };

  // Of `count` pairs of vectors of `depth` elements; one entry for each kind of sum it has.
  virtual std::vector<DotProducts> dot_products(std::int64_t /*count*/,
                                                std::int64_t /*depth*/) const {
    return {};
  }

  // An operation that is more than sums of products: what its contract must settle (its arithmetic
  // has no other words then). The manifest's [contract] gives them values; a term without a usable
  // default must be there.
  virtual std::span<const Field> terms() const { return {}; }

  // Whether every target of the manifest can keep them.
  virtual Status check_terms(const Problem& /*terms*/, const Manifest&) const { return {}; }

  // Whether it can be computed at every size that the manifest's domain leaves, as far as a few
  // sizes tell. Asked when a manifest has been read.
  virtual Status check_sizes(const Manifest&) const { return {}; }

  // An output that is judged by another one as the kernel stored it: the oracle reads that too.
  struct Follows {
    std::string_view output, from;
  };

  virtual std::span<const Follows> follows() const { return {}; }

  // The oracle of a case under the manifest's contracts; it refers to `tensors`, which must outlive
  // it. `sm` picks the hardware model.
  virtual std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest,
                                             int sm, const CaseTensors& tensors) const = 0;

  // An input that stands for data of a model, and the tensor of its scales (if there can be one).
  struct Quantized {
    std::string_view tensor, scale{};
  };

  // What error propagation starts from; empty for an operation without stages.
  virtual std::span<const Quantized> quantized() const { return {}; }

  // What kernels that compute it are usually like, for drafts of manifests, and which problems show
  // how errors grow.
  struct Usual {
    // What their names have, all words of one of these: "rms norm".
    std::span<const std::string_view> names{};
    // Tensors in the order of their parameters, a list for each number of them: "a b bias d".
    std::span<const std::string_view> tensors{};
    // Small enough for the emulator, deep enough for the sums to round.
    std::span<const std::string_view> deep_problems{};
  };

  virtual Usual usual() const { return {}; }

  // Fills these inputs of `tensors`, and their scales, from f32 tensors of the same shapes. Without
  // scales every element is rounded to its format.
  virtual void quantize(const Problem& problem, const CaseTensors& sources,
                        CaseTensors& tensors) const;

  // The case in stages: `tensors` as the kernel sees them, `sources` as they were. Both must
  // outlive it. Null for an operation without stages.
  virtual std::unique_ptr<StagedComputation> staged(const Problem&, const Manifest&, int /*sm*/,
                                                    const CaseTensors& /*tensors*/,
                                                    const CaseTensors& /*sources*/) const {
    return nullptr;
  }
};

const Operation* find_operation(std::string_view name);

// The operation that a text file says: "add_rmsnorm.op".
Result<const Operation*> operation_of_text(const std::string& path);
std::vector<const Operation*> all_operations();

}  // namespace plumbline
