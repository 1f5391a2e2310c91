// SPDX-License-Identifier: MIT
#include "harness/cli/mutants/automatic_mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "oracles/base/file.h"

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

// The manifest with its source or PTX replaced by `ptx`, for one target. These keys stand before
// the first table, on lines of their own.
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

Result<AutomaticMutants> AutomaticMutants::open(const Manifest& kernel, const Target& target) {
  AutomaticMutants all;
  all.kernel_ = &kernel;
  all.build_ = *best_build(kernel, target.sm);
  Result<std::string> text = read_image(kernel, all.build_);
  if (!text) return text.error();
  all.text_ = *std::move(text);
  all.path_ = kernel.ptx_path(all.build_);
  Result<std::vector<PlantedFault>> possible = possible_faults(all.text_, all.path_);
  if (!possible) return possible.error();
  all.possible_ = *std::move(possible);
  return all;
}

void AutomaticMutants::choose(const std::vector<std::string>& ids) {
  std::copy_if(possible_.begin(), possible_.end(), std::back_inserter(chosen_),
               [&](const PlantedFault& fault) {
                 return std::find(ids.begin(), ids.end(), fault.id) != ids.end();
               });
}

void AutomaticMutants::choose(int count, std::uint64_t seed,
                              const std::vector<int>& executed_lines) {
  const auto runs = [&](const PlantedFault& fault) {
    return std::binary_search(executed_lines.begin(), executed_lines.end(), fault.line);
  };
  executed_ = std::count_if(possible_.begin(), possible_.end(), runs);
  chosen_ = sample_faults(possible_, count, seed, runs);
}

std::vector<Mutant> AutomaticMutants::mutants() const {
  std::vector<Mutant> mutants;
  for (const PlantedFault& fault : chosen_) {
    Mutant mutant;
    mutant.record.kernel = kernel_->name;
    mutant.record.id = fault.id;
    mutant.record.kind = fault.kind;
    mutant.record.line = fault.line;
    mutant.record.source = fault.source;
    mutant.record.before = fault.before;
    mutant.record.after = fault.after;
    mutant.image = [this, &fault](const Manifest&, int) -> Result<std::string> {
      return plant(text_, fault);
    };
    mutants.push_back(std::move(mutant));
  }
  return mutants;
}

Status AutomaticMutants::save_survivors(const fs::path& folder,
                                        const std::vector<MutantRecord>& records) const {
  for (const MutantRecord& record : records) {
    if (record.outcome != MutantOutcome::survived) continue;
    const auto fault = std::find_if(chosen_.begin(), chosen_.end(),
                                    [&](const PlantedFault& f) { return f.id == record.id; });
    const Status saved = write(folder / fmt::format("{}_{}.diff", kernel_->name, record.id),
                               fault_diff(text_, *fault, fs::path(path_).filename().string()));
    if (!saved) return saved;
  }
  return {};
}

Status AutomaticMutants::save_kernels(const fs::path& folder) const {
  const Result<std::string> manifest = read_text_file(kernel_->path, "");
  if (!manifest) return manifest.error();
  for (const PlantedFault& fault : chosen_) {
    const std::string name = fmt::format("{}_{}", kernel_->name, fault.id);
    Status saved = write(folder / fault.id / (name + ".ptx"), plant(text_, fault));
    if (saved) {
      saved = write(folder / fault.id / (name + ".toml"),
                    manifest_for(*manifest, name + ".ptx", build_));
    }
    if (!saved) return saved;
  }
  return {};
}

}  // namespace plumbline
