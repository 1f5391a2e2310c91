// SPDX-License-Identifier: MIT
#include "harness/launch/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "harness/launch/case_tensor_map.h"
#include "harness/launch/signature.h"
#include "oracles/base/assert.h"

namespace plumbline {
namespace {

// What the kernel gets for a map: zeros where the problem lacks its tensor.
Result<EncodedTensorMap> encoded_map(const Case& test_case, const std::string& name,
                                     const Placement& placement, Device& device) {
  const Manifest& kernel = *test_case.kernel;
  const auto placed = placement.find(kernel.tensor_maps.at(name).tensor);
  if (placed == placement.end()) return EncodedTensorMap{};
  const Result<TensorMap> map =
      case_tensor_map(kernel, name, test_case.problem, placed->second.format, placed->second.first);
  if (!map) return map.error();
  Result<EncodedTensorMap> encoded = device.encode(*map);
  if (encoded) return encoded;
  Error error = encoded.error();
  error.message = fmt::format("tensor map {}: {}", name, error.message);
  if (error.where.empty()) error.where = kernel.path;
  return error;
}

template <typename T>
void put(std::span<std::byte> bytes, T value) {
  PLUMB_ASSERT(bytes.size() == sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
}

// Whether an integer can be stored in so many bytes; 64 bits hold any.
bool fits(std::int64_t value, const ValueType& type) {
  if (type.bytes == 8) return type.is_signed || value >= 0;
  const std::int64_t count = std::int64_t{1} << 8 * type.bytes;
  return type.is_signed ? value >= -count / 2 && value < count / 2 : value >= 0 && value < count;
}

Status put_integer(std::span<std::byte> bytes, const KernelValue& parameter,
                   const ParameterSource& source) {
  const Result<std::int64_t> value = parameter.expression.evaluate(source.test_case.problem);
  if (!value) return value.error();
  if (!fits(*value, *parameter.type)) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("parameter {} = {} does not fit {}", parameter.name, *value,
                             parameter.type->word),
                 source.test_case.kernel->path, "keep such problems out with a [[domain]] rule"};
  }
  std::memcpy(bytes.data(), &*value, bytes.size());  // little endian: the low bytes
  return {};
}

Status put_value(std::span<std::byte> bytes, const KernelValue& parameter,
                 const ParameterSource& source) {
  switch (parameter.type->kind) {
    case ValueType::Kind::pointer: {
      const auto found = source.placement.find(parameter.name);
      put(bytes, found == source.placement.end() ? DeviceAddress{0} : found->second.first);
      return {};
    }
    case ValueType::Kind::tensor_map: {
      if (!source.runs) return {};
      const Result<EncodedTensorMap> map =
          encoded_map(source.test_case, parameter.name, source.placement, source.device);
      if (!map) return map.error();
      put(bytes, *map);
      return {};
    }
    case ValueType::Kind::real: {
      const Result<double> value = parameter.expression.evaluate_real(source.test_case.problem);
      if (!value) return value.error();
      if (bytes.size() == sizeof(double)) {
        put(bytes, *value);
      } else {
        put(bytes, static_cast<float>(*value));
      }
      return {};
    }
    case ValueType::Kind::integer:
      return put_integer(bytes, parameter, source);
  }
  PLUMB_ASSERT(false);
}

}  // namespace

Result<std::vector<std::byte>> pack_parameters(const KernelLaunch& launch, const std::string& entry,
                                               const std::vector<ParameterSlot>& slots,
                                               const ParameterSource& source) {
  if (const Status same = check_parameters(launch, entry, slots); !same) return same.error();
  std::int64_t total = 0;
  for (const ParameterSlot& slot : slots) total = std::max(total, slot.offset + slot.bytes);
  std::vector<std::byte> block(static_cast<std::size_t>(total));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const KernelParameter& parameter = launch.parameters[i];
    for (const KernelValue& value : parameter.values) {
      const std::span<std::byte> bytes =
          std::span(block).subspan(static_cast<std::size_t>(slots[i].offset + value.offset),
                                   static_cast<std::size_t>(value.type->bytes));
      if (const Status done = put_value(bytes, value, source); !done) return done.error();
    }
  }
  return block;
}

}  // namespace plumbline
