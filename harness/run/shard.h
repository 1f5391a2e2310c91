// SPDX-License-Identifier: MIT
// --shard i/n: which part of a plan a machine runs. A case's shard depends on its own text alone,
// so adding cases never moves old ones.
#pragma once

#include <string_view>

#include "fuzz/case/case.h"
#include "oracles/base/result.h"

namespace plumbline {

struct Shard {
  int index = 1, count = 1;  // 1-based

  bool holds(const Case& test_case) const {
    return test_case.key() % static_cast<std::uint64_t>(count) ==
           static_cast<std::uint64_t>(index - 1);
  }
};

Result<Shard> parse_shard(std::string_view text);  // "3/8"

}  // namespace plumbline
