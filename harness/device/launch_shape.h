// SPDX-License-Identifier: MIT
// What a launch may ask for: the sizes of its grid and blocks, and the cluster it runs in, which
// the kernel's PTX may declare as well.
#pragma once

#include <array>
#include <cstdint>

#include "harness/device/device.h"

namespace plumbline {

// What the PTX of an entry says.
struct DeclaredCluster {
  std::array<std::int64_t, 3> blocks{};  // .reqnctapercluster; zeros: it does not say
  bool required = false;                 // .explicitcluster: a launch has to say it then
};

// Blocks of a cluster that every chip with clusters has room for, and with
// cudaFuncAttributeNonPortableClusterSizeAllowed (CUDA C++ Programming Guide 13.0, section 6.2.3).
constexpr std::int64_t kPortableCluster = 8, kMostBlocksOfACluster = 16;

// What CUDA takes on every chip (CUDA C++ Programming Guide 13.0, table of compute capabilities).
Status check_dimensions(const LaunchRequest& request);

// In blocks; zeros: without clusters. An Error where the two contradict each other, the cluster is
// too large, or the grid is no multiple of it.
Result<std::array<std::int64_t, 3>> cluster_of(const LaunchRequest& request,
                                               const DeclaredCluster& declared);

}  // namespace plumbline
