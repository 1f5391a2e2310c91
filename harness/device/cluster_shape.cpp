// SPDX-License-Identifier: MIT
#include "harness/device/cluster_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumbline {

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
