// SPDX-License-Identifier: MIT
// Finds manifests: the installed or built kernel folder, and files named on the command line.
#pragma once

#include <string>
#include <vector>

#include "kernels/manifest/manifest.h"

namespace plumbline {

class Registry {
 public:
  // Reads <folder>/shipped/*/*.toml. A broken manifest is an error of its own, not a missing
  // kernel.
  static Result<Registry> open(const std::string& folder);

  // --kernel path/to/mine.toml. Pointers to manifests from before are no longer valid.
  Status add(const std::string& manifest_path, ManifestPart part = ManifestPart::whole);

  // That a kernel's code has instructions of this k (Contract::instruction_k), where its manifest
  // does not say.
  void note_instruction_k(std::string_view name, std::int64_t k);

  const std::vector<Manifest>& all() const { return manifests_; }

  const Manifest* find(std::string_view name) const;

  // Kernels whose names match any of the globs (* and ?), in name order. Without globs, those that
  // were added after open(), or all when none were. An exact name or glob that matches nothing is
  // an error with a did-you-mean.
  Result<std::vector<const Manifest*>> match(const std::vector<std::string>& globs) const;

 private:
  std::vector<Manifest> manifests_;
};

// The kernel folder of this program: PLUMBLINE_KERNELS if set, else
// <exe>/../share/plumbline/kernels, else <exe>/../kernels of a build tree.
std::string default_kernel_folder();

}  // namespace plumbline
