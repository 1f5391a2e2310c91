// SPDX-License-Identifier: MIT
#include "fuzz/case/literal.h"

#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/formats/elements.h"

namespace plumbline {

const Tensor* find_literal(const Literals& literals, std::string_view name) {
  for (const auto& [literal_name, tensor] : literals) {
    if (literal_name == name) return &tensor;
  }
  return nullptr;
}

std::uint64_t literal_fingerprint(const Literals& literals) {
  // Tensor by tensor, so that no combined copy of large inputs is needed.
  std::string digest;
  for (const auto& [name, tensor] : literals) {
    digest += name + tensor.layout.text();
    digest += std::to_string(fingerprint(tensor.storage)) + ' ';
  }
  return fingerprint(digest);
}

Tensor contiguous_copy(const Tensor& tensor) {
  TensorLayout layout = tensor.layout;
  layout.strides = contiguous_strides(layout.shape);
  layout.offset = 0;
  Tensor copy(std::move(layout));
  std::int64_t linear = 0;
  for_each_element(tensor.layout, [&](std::int64_t storage_index) {
    copy.set_bits_at(linear++, tensor.bits_at(storage_index));
  });
  return copy;
}

bool copy_literal(const Tensor& literal, Tensor& tensor) {
  PLUMB_ASSERT(literal.layout.shape == tensor.layout.shape);
  PLUMB_ASSERT(literal.layout.format == tensor.layout.format);
  PLUMB_ASSERT(literal.layout.strides == contiguous_strides(literal.layout.shape));
  std::int64_t linear = 0;
  for_each_element(tensor.layout, [&](std::int64_t storage_index) {
    tensor.set_bits_at(storage_index, literal.bits_at(linear++));
  });
  bool same = true;
  linear = 0;
  for_each_element(tensor.layout, [&](std::int64_t storage_index) {
    same = same && tensor.bits_at(storage_index) == literal.bits_at(linear++);
  });
  return same;
}

Result<Case> freeze(const Case& test_case) {
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) return tensors.error();
  Case frozen = test_case;
  frozen.literals.clear();
  for (std::size_t i = 0; i < tensors->specs.size(); ++i) {
    if (tensors->specs[i].role != TensorRole::input) continue;
    frozen.literals.emplace_back(tensors->specs[i].name, contiguous_copy(tensors->tensors[i]));
  }
  frozen.recipe = Recipe{std::string(kLiteralValues), 0};
  return frozen;
}

}  // namespace plumbline
