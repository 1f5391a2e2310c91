// SPDX-License-Identifier: MIT
// LineFile: a text file that grows by whole lines, while a run goes on that may be killed, and on a
// disk that may be full for a while.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "oracles/base/result.h"

namespace plumbline {

class LineFile {
 public:
  LineFile() = default;
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  ~LineFile();

  // Opens the file to append to it, and creates it where there is none. Errors (bad_input): it
  // cannot be written.
  static Result<LineFile> open(const std::filesystem::path& path);

  // The line, which has no newline in it, is in the file when this returns. Where it cannot be
  // written whole, none of it is in the file, and it is tried again before the next one.
  void append(std::string_view line);

  // Takes out every line.
  void clear();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  std::string waiting_;  // whole lines that could not be written yet
};

}  // namespace plumbline
