// SPDX-License-Identifier: MIT
// A manifest of attention with every word that there is, for the tests of its generator.
#pragma once

#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {

inline const Manifest& attention_kernel() {
  static const Manifest manifest = manifest_of(R"(
computes   = "attention"
summary    = "a kernel of the tests"
source     = "attention.cu"
targets    = [90]
entry      = "attention"
parameters = ["ptr q", "ptr k", "ptr v", "ptr bias", "ptr sink", "ptr query_starts",
              "ptr key_starts", "ptr o", "ptr lse", "s32 queries", "s32 keys"]

[problem]
causal  = ["none", "bottom_right", "top_left"]
lengths = ["full", "random", "gaps", "ones", "slack"]
bias    = ["none", "f32"]
sink    = ["none", "f32"]
layout  = ["bhs", "bsh", "sbh"]
kv      = ["own", "shared"]
out     = ["bf16", "f32"]
free    = ["batch", "heads", "kv_heads", "dv", "window_left", "window_right", "softcap", "scale", "pad"]

[launch]
grid   = ['queries', 1, 1]
block  = [128]
shared = 0

[formats]
q = "bf16"
k = "bf16"
v = "bf16"
o = "{out}"

[tile]
queries = 64
keys    = 64
d       = 64

[[domain]]
require = 'd % 8 == 0 && d <= 256 && width_v % 8 == 0 && width_v <= 256'
reason  = "d and dv are multiples of 8 up to 256 in this kernel"

[[domain]]
require = 'scale > 0 && softcap >= 0'
reason  = "the running maximum needs a positive scale"

[contract]
unit       = "mma.sync"
tile       = 64
p          = "bf16"
normalize  = "reciprocal"
masked_lse = "-inf"
)",
                                               "attention");
  return manifest;
}

}  // namespace plumbline
