// SPDX-License-Identifier: MIT
// Operation: what the program must know about an operation to run any kernel that computes it: the
// fields of its problem, its tensors, and its oracle. A new operation is one file in kernels/ops/
// and one row in operation.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression.h"
#include "kernels/problem.h"
#include "oracles/base/result.h"
#include "oracles/bounds/contract.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

enum class TensorRole : std::uint8_t { input, output, workspace };

struct TensorSpec {
  std::string name;  // "a": as in manifests and case files
  TensorRole role;
  TensorLayout layout;
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
};

// Declares the operand formats, by tensor name ("a" -> bf16); a field of the problem may choose
// ("d" -> out).
class Manifest;

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string_view name() const = 0;  // "gemm"
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

  // Multiply-accumulates of the problem, for progress and time budgets.
  virtual double work(const Problem& problem) const = 0;

  // The oracle of a case; it refers to `tensors`, which must outlive it. `sm` picks the hardware
  // model.
  virtual std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Contract& contract,
                                             int sm, const CaseTensors& tensors) const = 0;
};

const Operation* find_operation(std::string_view name);
std::vector<const Operation*> all_operations();

}  // namespace plumbline
