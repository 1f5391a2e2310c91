// SPDX-License-Identifier: MIT
// Which mma the vector path does, and how. The ranges asked for here are those for which the
// comments of mma_node-inl.h show it to be exact.
#include "oracles/models/mma_fast_plan.h"

namespace plumbline {
namespace {

bool is_bytes(FastInput input) { return input != FastInput::bf16 && input != FastInput::f16; }

// False when the format has no vector path.
bool take_input(FormatId id, FastInput& input) {
  switch (id) {
    case FormatId::bf16:
      input = FastInput::bf16;
      return true;
    case FormatId::f16:
      input = FastInput::f16;
      return true;
    case FormatId::e4m3:
      input = FastInput::e4m3;
      return true;
    case FormatId::e5m2:
      input = FastInput::e5m2;
      return true;
    case FormatId::e2m3:
      input = FastInput::e2m3;
      return true;
    case FormatId::e3m2:
      input = FastInput::e3m2;
      return true;
    case FormatId::e2m1:
      input = FastInput::e2m1;
      return true;
    default:
      return false;
  }
}

// False when the nodes of the model are not made of whole planes.
bool take_chain(const DotModel& model, int k, bool bytes, FastChain& chain) {
  const int most = model.node.products;
  if (model.chaining == Chaining::hopper_fp8) {
    chain = k == 16 ? FastChain::join_one_one : FastChain::join_two_two;
    return bytes && k <= 2 * most;
  }
  if (k <= most) {
    chain = k == 8 ? FastChain::one : k == 16 ? FastChain::two : FastChain::four;
    return true;
  }
  chain = k == 16 ? FastChain::one_then_one : FastChain::two_then_two;
  return k == 16 ? most == 8 && !bytes : k == 32 && most == 16;
}

}  // namespace

bool make_plan(const MmaKind& kind, FastFloatPlan& plan) {
  const NodeModel& node = kind.model.node;
  if (kind.accumulator != FormatId::f32 || node.output == NodeOutput::f16_nearest_even)
    return false;
  if (!take_input(kind.a, plan.a) || !take_input(kind.b, plan.b) || !mma_exists(kind)) return false;
  plan.scaled = kind.scale.block != 0;
  if (kind.shape.k == 64) return false;
  if (plan.scaled && (kind.scale.format != FormatId::ue8m0 || kind.scale.block != kind.shape.k))
    return false;
  if (node.zero_exponent > -100) return false;  // the lowest alignment the path takes
  if (node.fraction_bits < 1 || node.fraction_bits > 25) return false;
  plan.bytes = is_bytes(plan.a);
  // 32 products below 4 * 2^F and an accumulator below 2 * 2^F stay below 130 * 2^F.
  plan.narrow = plan.bytes && node.fraction_bits <= 16;
  plan.registers = kind.shape.k / (plan.bytes ? 16 : 8);
  plan.field_biases = format(kind.a).bias + format(kind.b).bias;
  plan.fraction_bits = node.fraction_bits;
  plan.result_mask = node.output == NodeOutput::e8m13_toward_zero ? ~0x3ffu : ~0u;
  return take_chain(kind.model, kind.shape.k, plan.bytes, plan.chain);
}

bool make_plan(const MmaKind& kind, FastFp4Plan& plan) {
  const NodeModel& node = kind.model.node;
  if (kind.shape.k != 64 || !mma_exists(kind)) return false;
  // Sums of aligned addends stay below 2^50, and alignments within 2^400.
  if (node.group != 16 || node.output != NodeOutput::f32_toward_zero || node.fraction_bits > 35 ||
      node.zero_exponent < -400)
    return false;
  plan = {kind.shape.k / kind.scale.block, node.fraction_bits, node.zero_exponent};
  return true;
}

bool make_plan(const MmaKind& kind, FastIntegerPlan& plan) {
  if (kind.accumulator != FormatId::s32 || !mma_exists(kind)) return false;
  plan.a_signed = kind.a == FormatId::s8;
  plan.b_signed = kind.b == FormatId::s8;
  plan.saturate = kind.saturate;
  plan.registers = kind.shape.k / 16;
  return true;
}

}  // namespace plumbline
