// SPDX-License-Identifier: MIT
#include "harness/run/shard.h"

#include <fmt/format.h>

#include "oracles/base/text.h"
#include "reports/record/record.h"

namespace plumbline {

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const auto number = [](std::string_view part) { return parse_number<int>(part).value_or(0); };
  shard.index = number(text.substr(0, slash));
  shard.count = slash == std::string_view::npos ? 0 : number(text.substr(slash + 1));
  const bool good = shard.count >= 1 && shard.index >= 1 && shard.index <= shard.count &&
                    shard.count <= kMostShards;
  if (!good) {
    return Error{ErrorKind::bad_input,
                 fmt::format("--shard {} is not i/n with 1 <= i <= n <= {}", text, kMostShards), "",
                 "for example --shard 3/8"};
  }
  return shard;
}

}  // namespace plumbline
