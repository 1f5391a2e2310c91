// SPDX-License-Identifier: MIT
// The curated faults of kernels/mutants: each a patch of a kernel's source or of the headers
// kernels share, with a header that says what it re-creates. A patched kernel is a kernel of its
// own, <kernel>_<id>, in a folder of its own, so that it can be verified, replayed and explained
// like any other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

struct KernelPatch {
  std::string id;      // "G01": the file's name
  std::string kernel;  // which it is for
  std::string title;   // "K loop one short"
  // Needs sizes that the quick profile has no time for: a line "profile default" of its header.
  bool takes_default_profile = false;
  std::string path;
};

// All patches of a folder, by id. Errors: no such folder, a patch without its header.
Result<std::vector<KernelPatch>> read_patches(const std::string& folder);

// Puts the kernel and the shared headers, patched, into the folder and gives the manifest,
// <folder>/<kernel>_<id>.toml, to be compiled (compile.h). Files that are there already with the
// same bytes stay as old as they are, so that PTX made from them need not be made again. Errors: a
// patch that does not apply, no `patch` on this machine.
Result<Manifest> apply_patch(const KernelPatch& patch, const Manifest& kernel,
                             const std::string& folder);

}  // namespace plumbline
