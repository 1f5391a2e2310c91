// SPDX-License-Identifier: MIT
#include "kernels/manifest/operation.h"

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

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
    if (!source) continue;  // the kernel has no such input
    PLUMB_ASSERT(stored && source->layout.shape == stored->layout.shape);
    const Format &from = format(source->layout.format), &to = format(stored->layout.format);
    for (std::int64_t i = 0; i < stored->layout.count(); ++i)
      stored->set_bits(i, encode(to, to_double(from, source->bits(i))));
  }
}

}  // namespace plumbline
