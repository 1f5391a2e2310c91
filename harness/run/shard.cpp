// SPDX-License-Identifier: MIT
#include "harness/run/shard.h"

#include <fmt/format.h>

#include <charconv>

#include "reports/record/record.h"

namespace plumbline {

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const auto read = [](std::string_view part, int& out) {
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), out);
    return code == std::errc{} && end == part.data() + part.size();
  };
  const bool good = slash != std::string_view::npos && read(text.substr(0, slash), shard.index) &&
                    read(text.substr(slash + 1), shard.count) && shard.count >= 1 &&
                    shard.index >= 1 && shard.index <= shard.count && shard.count <= kMostShards;
  if (!good) {
    return Error{ErrorKind::bad_input,
                 fmt::format("--shard {} is not i/n with 1 <= i <= n <= {}", text, kMostShards), "",
                 "for example --shard 3/8"};
  }
  return shard;
}

}  // namespace plumbline
