// SPDX-License-Identifier: MIT
#include "oracles/base/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace plumbline {
namespace {

// Whether all of the text was written. What is interrupted by a signal goes on.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

LineFile::LineFile(LineFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), waiting_(std::move(other.waiting_)) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(waiting_, other.waiting_);
  return *this;
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<LineFile> LineFile::open(const std::filesystem::path& path) {
  LineFile file;
  // A link that lies there is not followed: it may lead to any file of the user's.
  file.descriptor_ =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file.descriptor_ < 0)
    return Error{ErrorKind::bad_input, std::string("cannot be written: ") + std::strerror(errno),
                 path.string(), ""};
  return file;
}

void LineFile::append(std::string_view line) {
  waiting_ += line;
  waiting_ += '\n';
  struct stat before{};
  if (::fstat(descriptor_, &before) != 0) return;
  if (write_all(descriptor_, waiting_)) {
    waiting_.clear();
    return;
  }
  // Half a line in the middle of the file would make the whole file unreadable.
  while (::ftruncate(descriptor_, before.st_size) != 0 && errno == EINTR) {
  }
}

void LineFile::clear() {
  waiting_.clear();
  while (::ftruncate(descriptor_, 0) != 0 && errno == EINTR) {
  }
}

}  // namespace plumbline
