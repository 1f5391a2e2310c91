// SPDX-License-Identifier: MIT
// The bound of Schedule::runs: the products reach the unit in whole instructions and in increasing
// k, but the contract does not say where accumulators begin and end. Kernels do one of these:
//
//   k:          0 ........................................................... k
//   sequential  [------------------------------ one run -----------------------]
//   promoted    [-- run --][-- run --][-- run --][-- run --]   each added to an f32 sum, in order
//   split-K     [------- group -------][------- group ------]  groups of runs, joined in any order
//   sliced-K    0 0 1 1 0 0 1 1 0 0 1 1                        every other block of k to one group
//
// A partial sum of a run is a difference of two prefix sums of the products, which the data give.
// So nothing of it is as large as the sum of magnitudes: on random data it grows as sqrt(k) does.
// docs/bounds/schedules.md derives every line.
#pragma once

#include "oracles/bounds/accumulator/any_order.h"

namespace plumbline::bound {

RunningBound runs_bound(const BoundModel& model, const PreparedProducts& products);

}  // namespace plumbline::bound
