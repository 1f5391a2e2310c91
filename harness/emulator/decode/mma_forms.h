// SPDX-License-Identifier: MIT
// Which combinations of shape and types matrix multiplications have, and the arithmetic of each on
// the chip that is emulated. wgmma is made of pieces of m16n8: a warp has 16 rows of it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/emulator/decode/decode.h"
#include "oracles/models/generation.h"
#include "oracles/models/mma.h"

namespace plumbline::emulator {

struct MmaForm {
  Type d, a, b, c;
  int k;
};

// Nothing, and the decoder has refused or is left with the modifiers, when there is no such form.
std::optional<MmaKind> mma_kind(Decoder& decoder, plumbline::Instruction instruction,
                                const MmaForm& form, bool saturate);

// .kind:: of mma.sync, in the order of decode.
enum class NarrowKind : std::uint8_t { f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };

struct NarrowForm {
  NarrowKind kind = NarrowKind::f8f6f4;
  Type d{}, a{}, b{}, c{};
  int k = 0;
  int scales = 0;                   // .scale_vec::NX; 0: not given
  std::optional<FormatId> scale{};  // .ue8m0 or .ue4m3; nothing: neither
};

// As mma_kind(), of m16n8 with .kind::.
std::optional<MmaKind> narrow_mma_kind(Decoder& decoder, const NarrowForm& form);

using MmaPlans = std::vector<std::unique_ptr<const MmaPlan>>;

// The plan for it among them: one for each kind.
const MmaPlan* plan_for(const MmaKind& kind, MmaPlans& plans);

inline const MmaPlan* plan_for(const MmaKind& kind, Program& program) {
  return plan_for(kind, program.mma_plans);
}

}  // namespace plumbline::emulator
