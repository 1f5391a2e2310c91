// SPDX-License-Identifier: MIT
// FuzzMemory: the cases a search found worth remembering, as a text file of one case text per line
// (and after a # its shape class and the device that showed it), so that the next search goes on
// where this one stopped. A line is on disk when append() returns; a last line that was cut off is
// dropped. Searches that run at once may share a folder: no line of either is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "kernels/registry.h"
#include "oracles/base/line_file.h"

namespace plumbline {

struct Remembered {
  Case test_case;
  std::string device;  // as Target::name() has it; empty in files of earlier versions
};

class FuzzMemory {
 public:
  // folder/<kernel>.txt. Errors (bad_input): it cannot be read or written; a line that is no case
  // of this kernel, with its number.
  static Result<FuzzMemory> open(const std::filesystem::path& folder, const Manifest& kernel,
                                 const Registry& registry);

  // What earlier searches left.
  const std::vector<Remembered>& cases() const { return cases_; }

  void append(const Remembered& remembered);
  // In place of what was there when it was opened; what another search added since stays.
  Status replace(std::vector<Remembered> cases);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<Remembered> cases_;
  std::uintmax_t read_ = 0;  // bytes of the lines in cases_
  LineFile file_;
};

}  // namespace plumbline
