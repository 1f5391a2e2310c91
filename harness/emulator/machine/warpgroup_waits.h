// SPDX-License-Identifier: MIT
// A product is one operation of four warps, and wgmma.wait_group waits for the whole of it (PTX ISA
// 9.0 section 9.7.15.7.3): a warp that comes back may hand the tiles of all four to the thread that
// fills them next. So a warp that has computed its part waits until the others have computed
// theirs.
#pragma once

namespace plumbline::emulator {

class Cta;
class Warp;
struct Inst;

// The warp has computed more groups than before: it goes on, or waits for its warpgroup.
void meet_warpgroup(Warp& warp, const Inst& inst);

// Ends all such waits where the other warps never come. False when no warp waits.
bool give_up_warpgroups(Cta& cta);

}  // namespace plumbline::emulator
