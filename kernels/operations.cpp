// SPDX-License-Identifier: MIT
// The operations there are: one row each.
#include "kernels/manifest/operation.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/attention_backward.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/grouped_gemm.h"
#include "kernels/ops/linear_backward.h"
#include "kernels/ops/quantize.h"
#include "kernels/ops/row_operations.h"
#include "kernels/ops/swiglu_mlp.h"
#include "kernels/ops/text_operation.h"

namespace plumbline {
namespace {

constexpr auto kOperations = {&attention_operation,
                              &attention_backward_operation,
                              &gemm_operation,
                              &grouped_gemm_operation,
                              &layernorm_operation,
                              &layernorm_backward_operation,
                              &linear_backward_operation,
                              &quantize_operation,
                              &rmsnorm_operation,
                              &rmsnorm_backward_operation,
                              &softmax_operation,
                              &softmax_backward_operation,
                              &swiglu_mlp_operation};

}  // namespace

const Operation* find_operation(std::string_view name) {
  for (const auto operation : kOperations) {
    if (operation().name() == name) return &operation();
  }
  return nullptr;
}

Result<const Operation*> operation_of_text(const std::string& path) {
  const Result<const TextOperation*> read = read_text_operation(path);
  if (!read) return read.error();
  return *read;
}

std::vector<const Operation*> all_operations() {
  std::vector<const Operation*> all;
  for (const auto operation : kOperations) all.push_back(&operation());
  return all;
}

}  // namespace plumbline
