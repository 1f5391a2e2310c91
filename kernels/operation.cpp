// SPDX-License-Identifier: MIT
// The operations there are: one row each.
#include "kernels/operation.h"

#include "kernels/ops/attention.h"
#include "kernels/ops/attention_backward.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/grouped_gemm.h"
#include "kernels/ops/linear_backward.h"
#include "kernels/ops/quantize.h"
#include "kernels/ops/row_operations.h"
#include "kernels/ops/swiglu_mlp.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

#include <algorithm>

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

template <typename Tensors>
auto find_tensor(Tensors& tensors, const std::vector<TensorSpec>& specs, std::string_view name)
    -> decltype(tensors.data()) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return &tensors[i];
  }
  return nullptr;
}

}  // namespace

const Tensor* CaseTensors::find(std::string_view name) const {
  return find_tensor(tensors, specs, name);
}

Tensor* CaseTensors::find(std::string_view name) { return find_tensor(tensors, specs, name); }

void Operation::quantize(const Problem& /*problem*/, const CaseTensors& sources,
                         CaseTensors& tensors) const {
  for (const Quantized& input : quantized()) {
    const Tensor* source = sources.find(input.tensor);
    Tensor* stored = tensors.find(input.tensor);
    PLUMB_ASSERT(source && stored && source->layout.shape == stored->layout.shape);
    const Format &from = format(source->layout.format), &to = format(stored->layout.format);
    for (std::int64_t i = 0; i < stored->layout.count(); ++i)
      stored->set_bits(i, encode(to, to_double(from, source->bits(i))));
  }
}

const Operation* find_operation(std::string_view name) {
  for (const auto operation : kOperations) {
    if (operation().name() == name) return &operation();
  }
  return nullptr;
}

std::vector<const Operation*> all_operations() {
  std::vector<const Operation*> all;
  for (const auto operation : kOperations) all.push_back(&operation());
  return all;
}

}  // namespace plumbline
