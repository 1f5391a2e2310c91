// SPDX-License-Identifier: MIT
// Layout classes of attention: the order of batch, heads and length in memory, and rows with space
// after them.
#pragma once

#include <span>
#include <string>

#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"

namespace plumbline {

struct AttentionLayoutClass {
  ClassInfo info;
  std::string (*draw)(const Manifest& manifest, Random& random);  // "layout=bsh pad=8"
};

std::span<const AttentionLayoutClass> attention_layout_classes();

}  // namespace plumbline
