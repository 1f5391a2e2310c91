// SPDX-License-Identifier: MIT
// Planted faults on disk: as a diff, and as a kernel of its own that `verify --kernel` takes and a
// GPU loads.
#pragma once

#include <filesystem>
#include <string>

#include "harness/mutation/planted_fault.h"
#include "harness/target.h"
#include "kernels/manifest.h"

namespace plumbline {

// <folder>/<id>.diff.
Status save_diff(const std::filesystem::path& folder, const Manifest& kernel,
                 const std::string& text, const std::string& path, const PlantedFault& fault);

// <folder>/<kernel>_<id>.toml and its PTX: the kernel's manifest, for this one build.
Status save_faulty_kernel(const std::filesystem::path& folder, const Manifest& kernel,
                          const Target& target, const std::string& ptx, const std::string& id);

}  // namespace plumbline
