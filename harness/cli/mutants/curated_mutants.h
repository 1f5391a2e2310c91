// SPDX-License-Identifier: MIT
// The curated faults of kernels/mutants as mutants that can run: patched and compiled.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "harness/mutation/mutants.h"
#include "kernels/manifest/patched_kernel.h"

namespace plumbline {

// Applies all patches, then compiles on all workers, each in <folder>/<id>; those that lie there
// compiled already, from the same sources, are taken as they are. Errors: a patch that does not
// apply, no compiler, what the compiler says.
Result<std::vector<Mutant>> curated_mutants(const std::vector<KernelPatch>& patches,
                                            const Manifest& kernel, const Target& target,
                                            const std::filesystem::path& folder, int jobs,
                                            const std::function<void(std::size_t done)>& compiled);

}  // namespace plumbline
