// SPDX-License-Identifier: MIT
#include "kernels/manifest/patched_kernel.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "kernels/manifest/command.h"
#include "kernels/manifest/compile.h"
#include "oracles/base/file.h"
#include "oracles/base/shell_word.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Error failed(const fs::path& where, const std::string& what) {
  return {ErrorKind::cannot_run, what, where, "is there space, and may it be written?"};
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  const Result<std::string> one = read_text_file(a, ""), other = read_text_file(b, "");
  return one && other && *one == *other;
}

struct ScratchFolder {
  fs::path path;

  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// Where this or another process patches until the patch has proved to apply.
constexpr std::string_view kPatching = "patching.";

// What processes that were killed have left in a kernel's folder.
void remove_abandoned(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPatching)) continue;
    const int process = std::atoi(name.c_str() + kPatching.size());
    const bool gone = process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
    if (gone || process == ::getpid()) fs::remove_all(entry, ignored);
  }
}

Result<KernelPatch> read_patch(const fs::path& path) {
  KernelPatch patch;
  patch.id = path.stem();
  patch.path = path;
  std::ifstream file(path);
  constexpr std::string_view kSeparator = " · ", kKernel = "kernel ";
  for (std::string line; std::getline(file, line) && !line.starts_with("---");) {
    if (patch.title.empty() && line.starts_with(patch.id + std::string(kSeparator)))
      patch.title = line.substr(line.rfind(kSeparator) + kSeparator.size());
    if (line.starts_with("profile ") && line.ends_with(" default"))
      patch.takes_default_profile = true;
    if (!line.starts_with(kKernel)) continue;
    const std::size_t name = line.find_first_not_of(' ', kKernel.size());
    if (name != std::string::npos) patch.kernel = line.substr(name);
  }
  if (patch.title.empty() || patch.kernel.empty()) {
    return Error{
        ErrorKind::bad_input, "has no header", path,
        fmt::format("begin it with \"{} · tier N · TITLE\" and a line \"kernel NAME\"", patch.id)};
  }
  return patch;
}

}  // namespace

Result<std::vector<KernelPatch>> read_patches(const std::string& folder) {
  std::error_code missing;
  std::vector<KernelPatch> patches;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, missing)) {
    if (file.path().extension() != ".patch") continue;
    Result<KernelPatch> patch = read_patch(file.path());
    if (!patch) return patch.error();
    patches.push_back(*std::move(patch));
  }
  if (patches.empty()) {
    return Error{ErrorKind::cannot_run, "there are no patches to plant", folder,
                 "build or install the kernels, or plant faults of the program's own: --auto 100"};
  }
  std::sort(patches.begin(), patches.end(),
            [](const KernelPatch& a, const KernelPatch& b) { return a.id < b.id; });
  return patches;
}

Result<Manifest> apply_patch(const KernelPatch& patch, const Manifest& kernel,
                             const std::string& folder) {
  const fs::path original = fs::absolute(kernel.path).parent_path();
  remove_abandoned(folder);
  const fs::path patching = fs::path(folder) / fmt::format("{}{}", kPatching, ::getpid());
  const fs::path all = patching / "kernels";
  const fs::path copy = all / "shipped" / kernel.name;
  std::error_code code;
  fs::create_directories(copy, code);
  if (code) return failed(copy, code.message());
  const ScratchFolder scratch{patching};
  std::vector<std::string> own = {kernel.name + ".toml", kernel.source};
  for (const fs::directory_entry& file : fs::directory_iterator(original, code)) {
    if (file.path().extension() == ".op") own.push_back(file.path().filename());
  }
  for (const std::string& file : own) {
    fs::copy_file(original / file, copy / file, code);
    if (code) return failed(copy / file, "cannot copy the kernel: " + code.message());
  }
  fs::copy(include_folder(kernel) / "device", all / "device", fs::copy_options::recursive, code);
  if (code) return failed(copy, "cannot copy the kernel: " + code.message());

  // No fuzz: context that does not match is a patch that no longer says what it means.
  const CommandOutcome patched =
      run_command(fmt::format("patch --batch --fuzz=0 -p1 -d {} -i {}", shell_word(patching),
                              shell_word(fs::absolute(patch.path))));
  if (!patched.succeeded) {
    const bool missing = patched.output.find("not found") != std::string::npos;
    return missing ? Error{ErrorKind::cannot_run, "there is no `patch` to apply it", patch.path,
                           "run scripts/setup, or install patch"}
                   : Error{ErrorKind::bad_input,
                           fmt::format("{} no longer applies to {}", patch.id, kernel.name),
                           patch.path, patched.output.substr(0, patched.output.find('\n'))};
  }
  // Side by side with the headers, and under its own name, so that it never stands for the kernel
  // it was made from.
  const fs::path manifest = fs::path(folder) / fmt::format("{}_{}.toml", kernel.name, patch.id);
  std::vector<std::pair<fs::path, fs::path>> files = {{copy / (kernel.name + ".toml"), manifest}};
  for (const std::string& file : std::span(own).subspan(1))
    files.emplace_back(copy / file, folder / fs::path(file));
  for (const fs::directory_entry& header : fs::recursive_directory_iterator(all / "device", code)) {
    if (header.is_regular_file(code))
      files.emplace_back(header, folder / fs::relative(header.path(), all));
  }
  for (const auto& [from, to] : files) {
    if (same_bytes(from, to)) continue;
    fs::create_directories(to.parent_path(), code);
    fs::rename(from, to, code);
    if (code) return failed(to, code.message());
  }
  return read_manifest(manifest);
}

}  // namespace plumbline
