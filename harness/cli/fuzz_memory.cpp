// SPDX-License-Identifier: MIT
#include "harness/cli/fuzz_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>

#include "fuzz/case_file/corpus.h"
#include "harness/cli/session.h"
#include "harness/judge/case_runner.h"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kOn = "  on ";

std::string line_of(const Remembered& one) {
  std::string line = fmt::format("{}  # {}", one.test_case.text(), one.test_case.shape_class);
  if (!one.device.empty()) line += fmt::format("{}{}", kOn, one.device);
  return line;
}

// What follows the #: "tile  on emulator sm_90".
void read_note(std::string_view note, Remembered& one) {
  note.remove_prefix(std::min(note.find_first_not_of("# "), note.size()));
  const std::size_t on = std::min(note.rfind(kOn), note.size());
  one.test_case.shape_class = note.substr(0, on);
  if (on < note.size()) one.device = note.substr(on + kOn.size());
}

// While one lives, no other search reads or writes what is in the folder. On file systems without
// locks everybody may.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }

  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

bool is_same_file(int descriptor, const fs::path& path) {
  struct stat open{};
  struct stat there{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &there) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

}  // namespace

Result<FuzzMemory> FuzzMemory::open(const fs::path& folder, const Manifest& kernel,
                                    const Registry& registry) {
  FuzzMemory memory;
  memory.path_ = folder / (kernel.name + ".txt");
  std::error_code code;
  fs::create_directories(folder, code);
  const FolderLock alone(folder);
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
      Remembered one{*std::move(parsed), ""};
      if (mark < line.size()) read_note(std::string_view(line).substr(mark), one);
      // A kernel's domain may have become narrower since.
      if (one.test_case.kernel == &kernel && check_domain(one.test_case))
        memory.cases_.push_back(std::move(one));
    }
    in.close();
    if (fs::file_size(memory.path_, code) > whole && !code)
      fs::resize_file(memory.path_, whole, code);
    memory.read_ = whole;
  }
  Result<LineFile> file = LineFile::open(memory.path_);
  if (!file) {
    return Error{ErrorKind::bad_input, "cannot write what the search remembers",
                 memory.path_.string(), "choose another folder with --out DIR"};
  }
  memory.file_ = *std::move(file);
  return memory;
}

void FuzzMemory::append(const Remembered& remembered) {
  const FolderLock alone(path_.parent_path());
  if (!is_same_file(file_.descriptor(), path_)) {  // another search has replaced it
    if (Result<LineFile> file = LineFile::open(path_)) file_ = *std::move(file);
  }
  file_.append(line_of(remembered));
}

Status FuzzMemory::replace(std::vector<Remembered> cases) {
  std::string text;
  for (const Remembered& one : cases) text += line_of(one) + "\n";
  cases_ = std::move(cases);
  const FolderLock alone(path_.parent_path());
  if (std::ifstream in(path_); in) {
    in.seekg(static_cast<std::streamoff>(std::exchange(read_, text.size())));
    text.append(std::istreambuf_iterator<char>(in), {});
  }
  return write_file(path_, text);
}

}  // namespace plumbline
