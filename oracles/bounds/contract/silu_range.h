// SPDX-License-Identifier: MIT
// The f32 values that silu(g) can have in a conforming kernel, for g anywhere in a range.
//
// Two bounds, each a theorem; the result is what they have in common.
//
// 1. The contract's steps over ranges (f32_range.h). For a single g nothing is lost: the ends are
//    values that some ex2 within its error gives. Over an interval the steps forget that both
//    factors come from the same g, which near the minimum counts g's uncertainty twice where it
//    should cancel.
// 2. The range of the real function, which falls to its minimum at g = -1.278... and rises after
//    it, widened by the relative error of the steps. With u = 2^-24, L = log2 e, lambda = |fl(L)/L
//    - 1|, epsilon the error of ex2, and a the lower end of the interval:
//
//      |t^ - t| <= |g| L (lambda + u + lambda u) + 2^-149         t = -g L
//      e^ = e^-g (1 + eta),   |eta| <= 2^|t^ - t| (1 + epsilon) - 1
//      (1 + e^) / (1 + e^-g) = 1 + eta (1 - sigma(g)),   1 - sigma(g) <= 1 - sigma(a)
//      s^ = silu(g) (1 + delta),
//      1 + delta <= (1 + u)^r / ((1 - u) (1 - |eta| (1 - sigma(a)))),   r = 1, or 2 by reciprocal
//
//    Results below the smallest normal number are off by another 2^-149 at most, and an e^ that was
//    flushed by 2^-125 relatively. It holds where no step overflows, for g >= -87, and says nothing
//    unless |eta| (1 - sigma(a)) is below 1/2: an interval from -50 to 10^7 has the eta of 10^7 and
//    the a of -50. There the steps alone decide.
#pragma once

#include "oracles/bounds/contract/f32_range.h"
#include "oracles/bounds/contract/swiglu.h"

namespace plumbline {

F32Range silu_range(SiluForm form, const F32Range& g);

}  // namespace plumbline
