// SPDX-License-Identifier: MIT
#include "oracles/reference/swiglu/explain.h"

#include <fmt/format.h>

#include "oracles/bounds/contract/silu_range.h"
#include "oracles/exact/dyadic.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/swiglu/faults.h"
#include "oracles/reference/swiglu/silu.h"

namespace plumbline {
namespace {

std::string words_of(std::string_view name, const PreparedGemm& gemm, const GemmPlace& at,
                     const F32Range& range) {
  if (gemm.special(at)) {
    return fmt::format("{} is a sum of products that are not all finite; its accumulator may be {}",
                       name, describe_range(range));
  }
  return fmt::format("{} is {:.12g}; its accumulator may be {}", name,
                     gemm.exact_sum(at).nearest_double(), describe_range(range));
}

}  // namespace

Explanation explain_hidden(const SwigluHidden& hidden, std::int64_t index, const Tensor& got) {
  const GemmPlace at = hidden.gate().place(index);
  const F32Range gate = SwigluHidden::accumulators(hidden.gate(),
                                                   SwigluHidden::known_exactly(hidden.gate(), at)),
                 up = SwigluHidden::accumulators(hidden.up(),
                                                 SwigluHidden::known_exactly(hidden.up(), at));
  const RangedElement known = hidden.element(at);
  Explanation out;
  out.lines = {
      words_of("gate", hidden.gate(), at, gate), words_of("up", hidden.up(), at, up),
      fmt::format("silu(gate) may be {}", describe_range(silu_range(hidden.contract().silu, gate))),
      fmt::format(
          "exact {}; before it is stored, f32 values {} are admissible; the kernel stored {}",
          number_text(known.exact.value, 12), describe_range(known.range),
          number_text(to_double(format(got.layout.format), got.bits(index)), 9))};
  out.faults = hidden_faults(hidden, index, got);
  return out;
}

}  // namespace plumbline
