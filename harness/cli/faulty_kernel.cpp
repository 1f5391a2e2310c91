// SPDX-License-Identifier: MIT
#include "harness/cli/faulty_kernel.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Status write(const fs::path& path, const std::string& text) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (out.flush()) return {};
  return Error{ErrorKind::bad_input, "cannot write", path, "choose another folder with --out"};
}

// The manifest with its source or PTX replaced by `ptx`, for one target. Both keys stand on lines
// of their own, before the first table.
std::string manifest_for(const std::string& manifest, const std::string& ptx, int target) {
  std::istringstream lines(manifest);
  std::string text;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    in_table = in_table || line.starts_with("[");
    const std::string key = line.substr(0, line.find_first_of(" ="));
    if (!in_table && (key == "source" || key == "ptx")) line = fmt::format("ptx = \"{}\"", ptx);
    if (!in_table && key == "targets") line = fmt::format("targets = [{}]", target);
    text += line + "\n";
  }
  return text;
}

}  // namespace

Status save_diff(const fs::path& folder, const Manifest& kernel, const std::string& text,
                 const std::string& path, const PlantedFault& fault) {
  return write(folder / fmt::format("{}_{}.diff", kernel.name, fault.id),
               fault_diff(text, fault, fs::path(path).filename().string()));
}

Status save_faulty_kernel(const fs::path& folder, const Manifest& kernel, const Target& target,
                          const std::string& ptx, const std::string& id) {
  std::ifstream file(kernel.path, std::ios::binary);
  std::stringstream manifest;
  manifest << file.rdbuf();
  const std::string name = fmt::format("{}_{}", kernel.name, id);
  const Status written = write(folder / (name + ".ptx"), ptx);
  if (!written) return written;
  return write(folder / (name + ".toml"),
               manifest_for(manifest.str(), name + ".ptx", *best_build(kernel, target.sm)));
}

}  // namespace plumbline
