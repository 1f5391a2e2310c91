// SPDX-License-Identifier: MIT
// Automatic mutants: faults that plumbline itself plants in the PTX of one kernel. They are found,
// drawn, planted so that they can run, and written to disk where a user asks for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/mutation/mutants.h"
#include "harness/mutation/planted_fault.h"

namespace plumbline {

class AutomaticMutants {
 public:
  // Reads the PTX that this target runs. Errors: no PTX, and what the parser refuses.
  static Result<AutomaticMutants> open(const Manifest& kernel, const Target& target);

  // Which faults are planted: those with these ids, or a sample of those in lines that are
  // executed.
  void choose(const std::vector<std::string>& ids);
  void choose(int count, std::uint64_t seed, const std::vector<int>& executed_lines);

  std::int64_t possible() const { return static_cast<std::int64_t>(possible_.size()); }

  // Of the possible ones, those in executed lines.
  std::int64_t executed() const { return executed_; }

  bool none_chosen() const { return chosen_.empty(); }

  // They refer to this object.
  std::vector<Mutant> mutants() const;

  // <folder>/<kernel>_<id>.diff for every survivor.
  Status save_survivors(const std::filesystem::path& folder,
                        const std::vector<MutantRecord>& records) const;
  // <folder>/<id>/<kernel>_<id>.toml with its PTX, for every chosen one: a kernel that
  // `verify --kernel` takes and a GPU loads.
  Status save_kernels(const std::filesystem::path& folder) const;

 private:
  const Manifest* kernel_ = nullptr;
  int build_ = 0;
  std::string text_, path_;  // the PTX
  std::vector<PlantedFault> possible_, chosen_;
  std::int64_t executed_ = 0;
};

}  // namespace plumbline
