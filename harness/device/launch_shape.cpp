// SPDX-License-Identifier: MIT
#include "harness/device/launch_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumbline {

Status check_dimensions(const LaunchRequest& request) {
  const auto refuse = [&](const std::string& message) {
    return Error{ErrorKind::cannot_run, fmt::format("cannot launch {}: {}", request.entry, message),
                 "", ""};
  };
  constexpr std::array<std::int64_t, 3> kGridLimit{0x7fffffff, 65535, 65535};
  constexpr std::array<std::int64_t, 3> kBlockLimit{1024, 1024, 64};
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (request.grid[i] < 1 || request.grid[i] > kGridLimit[i]) {
      return refuse(fmt::format("grid {} is empty or too large", fmt::join(request.grid, " x ")));
    }
    if (request.block[i] < 1 || request.block[i] > kBlockLimit[i]) {
      return refuse(fmt::format("a block of {} threads; 1024 x 1024 x 64 are the most, 1024 in all",
                                fmt::join(request.block, " x ")));
    }
    threads *= request.block[i];
  }
  if (threads > 1024)
    return refuse(fmt::format("a block of {} threads; 1024 is the most", threads));
  constexpr std::int64_t kMostShared = 0x7fffffff;  // far more than any chip has
  if (request.dynamic_shared_bytes < 0) return refuse("negative shared memory");
  if (request.dynamic_shared_bytes > kMostShared)
    return refuse(fmt::format("{} bytes of shared memory", request.dynamic_shared_bytes));
  return {};
}

Result<std::array<std::int64_t, 3>> cluster_of(const LaunchRequest& request,
                                               const DeclaredCluster& declared) {
  const auto refuse = [&](std::string words, std::string hint) {
    return Error{ErrorKind::cannot_run, fmt::format("kernel {} {}", request.entry, words), "",
                 std::move(hint)};
  };
  const bool asked = request.cluster[0] > 0, given = declared.blocks[0] > 0;
  if (!asked && !given) {
    if (!declared.required) return request.cluster;
    return refuse(
        "has to be launched with a cluster (.explicitcluster)",
        "say `cluster` in the manifest's [[launch]], or compile it with __cluster_dims__");
  }
  if (asked && given && request.cluster != declared.blocks) {
    return refuse(fmt::format("declares clusters of {} blocks (.reqnctapercluster), and the "
                              "manifest asks for {}",
                              fmt::join(declared.blocks, " x "), fmt::join(request.cluster, " x ")),
                  "leave `cluster` out of the manifest");
  }
  const std::array<std::int64_t, 3>& cluster = given ? declared.blocks : request.cluster;
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < cluster.size(); ++d) {
    if (cluster[d] > kMostBlocksOfACluster / blocks) {
      return refuse(fmt::format("asks for clusters of {} blocks; {} in all are the most",
                                fmt::join(cluster, " x "), kMostBlocksOfACluster),
                    "");
    }
    blocks *= cluster[d];
    if (request.grid[d] % cluster[d] == 0) continue;
    return refuse(fmt::format("runs in clusters of {} blocks, and its grid of {} is no multiple "
                              "of them",
                              fmt::join(cluster, " x "), fmt::join(request.grid, " x ")),
                  "round `grid` up in the manifest");
  }
  return cluster;
}

}  // namespace plumbline
