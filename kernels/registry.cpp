// SPDX-License-Identifier: MIT
#include "kernels/registry.h"

#include "kernels/manifest/bad_input.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInstructionK = "instruction_k";

// <folder>/shipped/*/*.toml, sorted. Folders that cannot be read are passed over; Registry::open
// reports the one that matters.
std::vector<std::string> manifest_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const fs::directory_entry& kernel :
       fs::directory_iterator(fs::path(folder) / "shipped", ignored)) {
    if (!kernel.is_directory(ignored)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(kernel.path(), ignored)) {
      if (file.path().extension() == ".toml") paths.push_back(file.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<Registry> Registry::open(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Error{
        .kind = ErrorKind::cannot_run,
        .message = "there is no kernel folder",
        .where = folder,
        .hint = "build first (scripts/plumbline does), or set PLUMBLINE_KERNELS to the folder"};
  }
  Registry registry;
  for (const std::string& path : manifest_paths(folder)) {
    if (Status added = registry.add(path); !added) return added.error();
  }
  for (Manifest& manifest : registry.manifests_) manifest.added = false;
  return registry;
}

Status Registry::add(const std::string& manifest_path, ManifestPart part) {
  Result<Manifest> manifest = read_manifest(manifest_path, part);
  if (!manifest) return manifest.error();
  if (const Manifest* present = find(manifest->name)) {
    return bad_input(
        fmt::format("a kernel named {} is there already, from {}", manifest->name, present->path),
        "rename the manifest file: its name is the kernel's", manifest_path);
  }
  const auto place = std::find_if(manifests_.begin(), manifests_.end(), [&](const Manifest& other) {
    return other.name > manifest->name;
  });
  manifest->added = true;
  manifests_.insert(place, *std::move(manifest));
  return {};
}

void Registry::note_instruction_k(std::string_view name, std::int64_t k) {
  const auto note = [k](Contract& contract) {
    if (contract.unit == Unit::tensor_core && contract.instruction_k == 0)
      contract.instruction_k = k;
  };
  const auto kernel = std::ranges::find(manifests_, name, &Manifest::name);
  if (kernel == manifests_.end()) return;
  note(kernel->promised.contract);
  for (auto& [output, promised] : kernel->promised_for) note(promised.contract);
  const bool is_term =
      std::ranges::count(kernel->operation->terms(), kInstructionK, &Field::name) > 0;
  if (is_term && kernel->terms.integer(kInstructionK) == 0)
    kernel->terms.set_integer(kInstructionK, k);
}

const Manifest* Registry::find(std::string_view name) const {
  for (const Manifest& manifest : manifests_) {
    if (manifest.name == name) return &manifest;
  }
  return nullptr;
}

Result<std::vector<const Manifest*>> Registry::match(const std::vector<std::string>& globs) const {
  std::vector<bool> chosen;
  const bool any_added = std::ranges::any_of(manifests_, &Manifest::added);
  for (const Manifest& manifest : manifests_)
    chosen.push_back(globs.empty() && (!any_added || manifest.added));
  for (const std::string& glob : globs) {
    bool any = false;
    for (std::size_t i = 0; i < manifests_.size(); ++i) {
      if (!glob_matches(glob, manifests_[i].name)) continue;
      chosen[i] = true;
      any = true;
    }
    if (any) continue;
    std::vector<std::string_view> names;
    for (const Manifest& manifest : manifests_) names.push_back(manifest.name);
    std::string meant = did_you_mean(glob, names);
    if (glob.ends_with(".toml"))
      meant = fmt::format("a manifest is given by --kernel {}, each by its own", glob);
    if (glob.ends_with(".cu") || glob.ends_with(".ptx"))
      meant = fmt::format("plumbline init {} drafts a manifest, which --kernel takes", glob);
    return bad_input(
        is_glob(glob) ? fmt::format("no kernel matches \"{}\"", glob)
                      : fmt::format("there is no kernel \"{}\"", glob),
        meant.empty() ? "plumbline list kernels shows them all; others need --kernel FILE" : meant);
  }
  std::vector<const Manifest*> matches;
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    if (chosen[i]) matches.push_back(&manifests_[i]);
  }
  // A verdict on a shipped kernel would be taken for one on the kernel of the manifest.
  if (any_added && std::ranges::none_of(matches, &Manifest::added)) {
    std::vector<std::string_view> added;
    for (const Manifest& manifest : manifests_) {
      if (manifest.added) added.push_back(manifest.name);
    }
    return bad_input(fmt::format("no kernel of the manifests given by --kernel ({}) is among those "
                                 "that are named",
                                 fmt::join(added, ", ")),
                     "name it as well, or leave the names away");
  }
  return matches;
}

std::string default_kernel_folder() {
  if (const char* folder = std::getenv("PLUMBLINE_KERNELS"); folder && *folder) return folder;
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = bin.parent_path() / "share" / "plumbline" / "kernels";
  if (fs::is_directory(installed, ignored)) return installed;
  return bin.parent_path() / "kernels";
}

}  // namespace plumbline
