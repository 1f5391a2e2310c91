// SPDX-License-Identifier: MIT
// How outputs were added up, where their contract leaves that open: the orders that kernels use are
// tried until one gives every output bit for bit.
#pragma once

#include <string>

#include "harness/judge/case_runner.h"

namespace plumbline {

// In words, for every output that is one GEMM under such a contract; empty where there is none.
// Outputs that an order gives are held to it from then on: their verdicts say so
// (OutputVerdict::modeled), and the claim `bits` holds.
std::string name_orders(Examined& examined, int threads);

}  // namespace plumbline
