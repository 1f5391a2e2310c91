// SPDX-License-Identifier: MIT
// Which mma the vector path does, and how. The ranges asked for here are those for which the comments of mma_node-inl.h
// prove it exact.
#include "oracles/models/mma_fast_plan.h"

namespace plumbline {
namespace {

std::optional<FastInput> fast_input(FormatId id) {
  switch (id) {
    case FormatId::bf16:
      return FastInput::bf16;
    case FormatId::f16:
      return FastInput::f16;
    case FormatId::e4m3:
      return FastInput::e4m3;
    case FormatId::e5m2:
      return FastInput::e5m2;
    default:
      return std::nullopt;
  }
}

std::optional<FastChain> fast_chain(const DotModel& model, int k, bool bytes) {
  if (model.chaining == Chaining::hopper_fp8) {
    if (!bytes || model.node.products < k / 2) return std::nullopt;
    return k == 16 ? FastChain::join_one_one : FastChain::join_two_two;
  }
  if (k <= model.node.products) {
    return k == 8 ? FastChain::one : k == 16 ? FastChain::two : FastChain::four;
  }
  if (k == 16 && model.node.products == 8 && !bytes) return FastChain::one_then_one;
  if (k == 32 && model.node.products == 16) return FastChain::two_then_two;
  return std::nullopt;
}

}  // namespace

std::optional<FastFloatPlan> fast_float_plan(const MmaKind& kind) {
  if (kind.accumulator != FormatId::f32 || !mma_exists(kind)) return std::nullopt;
  const std::optional<FastInput> a = fast_input(kind.a);
  const std::optional<FastInput> b = fast_input(kind.b);
  if (!a || !b) return std::nullopt;

  const NodeModel& node = kind.model.node;
  if (node.output == NodeOutput::f16_nearest_even) return std::nullopt;
  if (node.zero_exponent > -100) return std::nullopt;  // the lowest alignment the path takes
  if (node.fraction_bits < 1 || node.fraction_bits > 25) return std::nullopt;

  const bool bytes = *a == FastInput::e4m3 || *a == FastInput::e5m2;
  const std::optional<FastChain> chain = fast_chain(kind.model, kind.shape.k, bytes);
  if (!chain) return std::nullopt;
  const std::uint32_t mask = node.output == NodeOutput::e8m13_toward_zero ? ~0x3ffu : ~0u;
  return FastFloatPlan{*a, *b, *chain, kind.shape.k / 8, node.fraction_bits, mask};
}

std::optional<FastIntegerPlan> fast_integer_plan(const MmaKind& kind) {
  if (kind.accumulator != FormatId::s32 || !mma_exists(kind)) return std::nullopt;
  return FastIntegerPlan{kind.a == FormatId::s8, kind.b == FormatId::s8, kind.saturate,
                         kind.shape.k / 16};
}

}  // namespace plumbline
