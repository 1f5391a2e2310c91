// SPDX-License-Identifier: MIT
#include "harness/cli/fuzz_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "fuzz/corpus.h"
#include "harness/case_runner.h"
#include "harness/cli/session.h"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

std::string line_of(const Case& test_case) {
  return fmt::format("{}  # {}\n", test_case.text(), test_case.shape_class);
}

}  // namespace

Result<FuzzMemory> FuzzMemory::open(const fs::path& folder, const Manifest& kernel,
                                    const Registry& registry) {
  FuzzMemory memory;
  memory.path_ = folder / (kernel.name + ".txt");
  std::error_code code;
  fs::create_directories(folder, code);
  if (std::ifstream in(memory.path_); in) {
    std::uintmax_t whole = 0;  // bytes of whole lines
    std::string line;
    for (int number = 1; std::getline(in, line) && !in.eof(); ++number) {
      whole += line.size() + 1;
      const std::size_t mark = std::min(line.find('#'), line.size());
      if (line.find_first_not_of(' ') >= mark) continue;
      Result<Case> parsed = parse_case_line(line.substr(0, mark), registry,
                                            fmt::format("{}:{}:1", memory.path_.string(), number));
      if (!parsed) return parsed.error();
      if (mark < line.size())
        parsed->shape_class =
            line.substr(std::min(line.find_first_not_of("# ", mark), line.size()));
      // A kernel's domain may have become narrower since.
      if (parsed->kernel == &kernel && check_domain(*parsed))
        memory.cases_.push_back(*std::move(parsed));
    }
    in.close();
    if (fs::file_size(memory.path_, code) > whole && !code)
      fs::resize_file(memory.path_, whole, code);
  }
  memory.file_.reset(std::fopen(memory.path_.c_str(), "a"));
  if (!memory.file_) {
    return Error{ErrorKind::bad_input, "cannot write what the search remembers",
                 memory.path_.string(), "choose another folder with --out DIR"};
  }
  return memory;
}

void FuzzMemory::append(const Case& test_case) {
  // Not fmt::print, which throws when the disk is full.
  std::fputs(line_of(test_case).c_str(), file_.get());
  std::fflush(file_.get());
}

Status FuzzMemory::replace(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& test_case : cases) text += line_of(test_case);
  cases_ = cases;
  return write_file(path_, text);
}

}  // namespace plumbline
