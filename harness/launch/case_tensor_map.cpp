// SPDX-License-Identifier: MIT
#include "harness/launch/case_tensor_map.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

// Stores the value of each expression, from `begin` of the array on.
Status evaluate(const std::vector<Expression>& expressions, const Problem& problem,
                std::size_t begin, std::array<std::int64_t, TensorMap::kMaxRank>& values) {
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const Result<std::int64_t> value = expressions[i].evaluate(problem);
    if (!value) return value.error();
    values[begin + i] = *value;
  }
  return {};
}

// From elements to bytes.
Status scale_strides(TensorMap& map) {
  for (std::size_t d = 1; d < map.rank; ++d) {
    const std::int64_t elements = map.strides[d];
    std::int64_t bits = 0;
    if (__builtin_mul_overflow(elements, map.element_bits(), &bits) || bits % 8 != 0) {
      return Error{
          ErrorKind::cannot_run,
          fmt::format("stride of dimension {} is {} elements, {}", d, elements,
                      bits % 8 != 0 ? "which end in the middle of a byte" : "more than memory has"),
          "", ""};
    }
    map.strides[d] = bits / 8;
  }
  return {};
}

}  // namespace

Result<TensorMap> case_tensor_map(const Manifest& kernel, const std::string& name,
                                  const Problem& problem, FormatId format, DeviceAddress first) {
  const KernelTensorMap& described = kernel.tensor_maps.at(name);
  TensorMap map;
  map.format = format;
  map.integers = described.integers;
  map.address = first;
  map.rank = described.dims.size();
  map.swizzle = static_cast<TensorSwizzle>(described.swizzle);
  map.fill_nan = described.fill_nan;
  if (Status dims = evaluate(described.dims, problem, 0, map.dims); !dims) return dims.error();
  if (Status strides = evaluate(described.strides, problem, 1, map.strides); !strides)
    return strides.error();
  if (Status box = evaluate(described.box, problem, 0, map.box); !box) return box.error();
  Status possible = scale_strides(map);
  if (possible) possible = check_tensor_map(map);
  if (possible) return map;
  return Error{
      ErrorKind::cannot_run,
      fmt::format("tensor map {} of {}: {}", name, problem.text(), possible.error().message),
      kernel.path, "a [[domain]] rule should exclude such problems"};
}

}  // namespace plumbline
