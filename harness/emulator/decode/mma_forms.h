// SPDX-License-Identifier: MIT
// Which combinations of shape and types matrix multiplications have, and the arithmetic of each on
// the chip that is emulated. wgmma is made of pieces of m16n8: a warp has 16 rows of it.
#pragma once

#include <optional>

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

// The program's plan for it: one for each kind.
const MmaPlan* plan_for(const MmaKind& kind, Program& program);

}  // namespace plumbline::emulator
