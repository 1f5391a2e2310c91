// SPDX-License-Identifier: MIT
#include "fuzz/unquantized.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/attention/backward_fill.h"
#include "fuzz/case/literal.h"
#include "fuzz/case/values.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

constexpr double kFreshData = 0.5;

// Adds the data of another seed.
void add_draw(const Case& test_case, int draw, CaseTensors& sources) {
  CaseTensors fresh = sources;
  Case other = test_case;
  other.recipe.seed = Random(test_case.recipe.seed).fork(static_cast<std::uint64_t>(draw)).next();
  fill_inputs(other, fresh);
  for (const Operation::Quantized& input : test_case.kernel->operation->quantized()) {
    Tensor* known = sources.find(input.tensor);
    if (!known) continue;  // the kernel has no such input
    Tensor& to = *known;
    const Tensor& from = *fresh.find(input.tensor);
    const Format& f32 = format(FormatId::f32);
    for (std::int64_t i = 0; i < to.layout.count(); ++i) {
      to.set_bits(
          i, encode(f32, to_double(f32, to.bits(i)) + kFreshData * to_double(f32, from.bits(i))));
    }
  }
}

}  // namespace

Result<UnquantizedCase> unquantized(const Case& test_case, int draw) {
  const Operation& operation = *test_case.kernel->operation;
  if (operation.quantized().empty()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} has no stages: where its errors come from cannot be told yet",
                             operation.name()),
                 "", "plumbline propagate --stochastic needs none"};
  }
  const ValueClassInfo* data = find_value_class(test_case.recipe.value_class);
  if (!data || data->has_specials) {
    return Error{ErrorKind::bad_input,
                 fmt::format("errors of value class \"{}\" cannot be told apart",
                             test_case.recipe.value_class),
                 "", "choose a class of finite data: plumbline list classes"};
  }
  Result<CaseTensors> stored = materialize(test_case);
  if (!stored) return stored.error();

  UnquantizedCase out;
  out.stored = test_case;
  out.sources = *stored;
  for (const Operation::Quantized& input : operation.quantized()) {
    Tensor* known = out.sources.find(input.tensor);
    if (!known) continue;
    Tensor& tensor = *known;
    TensorLayout layout = tensor.layout;
    layout.format = FormatId::f32;
    tensor = Tensor(layout);
    for (TensorSpec& spec : out.sources.specs)
      if (spec.name == input.tensor) spec.layout = layout;
  }
  // A value depends on the class, the seed and its place, not on the format it ends in.
  fill_inputs(test_case, out.sources);
  if (draw > 0) add_draw(test_case, draw, out.sources);
  operation.quantize(test_case.problem, out.sources, *stored);
  const Tensor* lse = stored->find("lse");
  if (lse && stored->find("do")) attention_store_forward(test_case.problem, *stored);
  for (std::size_t i = 0; i < stored->specs.size(); ++i) {
    const TensorSpec& spec = stored->specs[i];
    if (spec.role == TensorRole::input)
      out.stored.literals.emplace_back(spec.name, contiguous_copy(stored->tensors[i]));
  }
  return out;
}

}  // namespace plumbline
