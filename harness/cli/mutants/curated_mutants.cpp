// SPDX-License-Identifier: MIT
#include "harness/cli/mutants/curated_mutants.h"

#include <mutex>

#include "harness/run/workers.h"
#include "kernels/manifest/compile.h"

namespace plumbline {

Result<std::vector<Mutant>> curated_mutants(const std::vector<KernelPatch>& patches,
                                            const Manifest& kernel, const Target& target,
                                            const std::filesystem::path& folder, int jobs,
                                            const std::function<void(std::size_t done)>& compiled) {
  std::vector<Manifest> patched;
  for (const KernelPatch& patch : patches) {
    Result<Manifest> manifest = apply_patch(patch, kernel, folder / patch.id);
    if (!manifest) return manifest.error();
    manifest->targets = {*best_build(kernel, target.sm)};
    patched.push_back(*std::move(manifest));
  }
  std::mutex report;
  std::optional<Error> error;
  std::size_t done = 0;
  for_each_on_workers(patched.size(), jobs, [&] {
    return [&](std::size_t i) {
      const Status succeeded = compile_outdated(patched[i]);
      const std::lock_guard lock(report);
      if (!succeeded && !error) error = succeeded.error();
      compiled(++done);
    };
  });
  if (error) return *error;

  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < patched.size(); ++i) {
    Mutant mutant;
    mutant.record.kernel = kernel.name;
    mutant.record.id = patches[i].id;
    mutant.record.kind = patches[i].title;
    mutant.image = [own = patched[i]](const Manifest&, int sm) { return read_image(own, sm); };
    mutants.push_back(std::move(mutant));
  }
  return mutants;
}

}  // namespace plumbline
