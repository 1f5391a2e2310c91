// SPDX-License-Identifier: MIT
// From a case to its tensors: asks the operation for layouts, refuses what cannot fit in memory,
// and fills the inputs from literal bits where the case has them and from the recipe elsewhere.
#include <fmt/format.h>

#include <new>
#include <stdexcept>

#include "fuzz/case/case.h"
#include "fuzz/case/literal.h"
#include "fuzz/case/values.h"
#include "oracles/base/memory.h"

namespace plumbline {

namespace {

Error too_large(const Case& test_case, double bytes) {
  return {ErrorKind::out_of_memory,
          fmt::format("the tensors of {} need {:.1f} GiB, more than this machine has",
                      test_case.text(), bytes / 0x1p30),
          "", "use smaller sizes or strides"};
}

Error bad_literal(std::string message) {
  return {ErrorKind::bad_input, std::move(message), "", ""};
}

const TensorSpec* find_input(const std::vector<TensorSpec>& specs, std::string_view name) {
  for (const TensorSpec& spec : specs) {
    if (spec.name == name && spec.role == TensorRole::input) return &spec;
  }
  return nullptr;
}

Status check_literals(const Case& test_case, const std::vector<TensorSpec>& specs) {
  for (const auto& [name, literal] : test_case.literals) {
    const TensorSpec* spec = find_input(specs, name);
    if (!spec) {
      return bad_literal(fmt::format("this problem has no input tensor \"{}\"", name));
    }
    if (literal.layout.shape != spec->layout.shape ||
        literal.layout.format != spec->layout.format) {
      TensorLayout expected = spec->layout;
      expected.strides = contiguous_strides(expected.shape);
      return bad_literal(fmt::format("tensor {} is {}, this problem needs {}", name,
                                     literal.layout.text(), expected.text()));
    }
  }
  if (test_case.recipe.value_class != kLiteralValues) return {};
  for (const TensorSpec& spec : specs) {
    if (spec.role == TensorRole::input && !find_literal(test_case.literals, spec.name)) {
      return bad_literal(
          fmt::format("tensor {} has no data and the case has no value class", spec.name));
    }
  }
  return {};
}

}  // namespace

void fill_padding(Tensor& tensor) {
  const TensorLayout& layout = tensor.layout;
  if (layout.offset == 0 && layout.strides == contiguous_strides(layout.shape)) return;
  const Format& element = format(tensor.layout.format);
  const std::uint64_t bits = element.has_nan() ? element.canonical_nan : element.max_finite();
  const std::int64_t count = tensor.layout.storage_elements();
  for (std::int64_t i = 0; i < count; ++i) tensor.set_bits_at(i, bits);
}

Result<CaseTensors> materialize(const Case& test_case) {
  const Manifest& kernel = *test_case.kernel;
  if (test_case.recipe.value_class != kLiteralValues &&
      !has_value_class(*kernel.operation, test_case.recipe.value_class)) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} has no value class \"{}\"", kernel.operation->name(),
                             test_case.recipe.value_class),
                 "", "plumbline list classes"};
  }
  Result<std::vector<TensorSpec>> specs = kernel.tensors(test_case.problem);
  if (!specs) return specs.error();
  if (Status literals = check_literals(test_case, *specs); !literals) return literals.error();

  double bytes = 0;
  for (const TensorSpec& spec : *specs) bytes += static_cast<double>(spec.layout.storage_bytes());
  if (bytes > physical_memory_bytes()) return too_large(test_case, bytes);

  CaseTensors tensors;
  try {
    for (TensorSpec& spec : *specs) {
      tensors.tensors.emplace_back(spec.layout);
      if (spec.role == TensorRole::input) fill_padding(tensors.tensors.back());
      tensors.specs.push_back(std::move(spec));
    }
    if (test_case.recipe.value_class != kLiteralValues) fill_inputs(test_case, tensors);
  } catch (const std::bad_alloc&) {
    return too_large(test_case, bytes);
  } catch (const std::length_error&) {
    return too_large(test_case, bytes);
  }
  for (const auto& [name, literal] : test_case.literals) {
    if (!copy_literal(literal, *tensors.find(name))) {
      return bad_literal(
          fmt::format("elements of tensor {} that share storage (stride 0) differ", name));
    }
  }
  if (Status fits = kernel.operation->check_values(test_case.problem, tensors); !fits) {
    return fits.error();
  }
  return tensors;
}

}  // namespace plumbline
