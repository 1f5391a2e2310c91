// SPDX-License-Identifier: MIT
#include "oracles/base/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace plumbline {

namespace fs = std::filesystem;

Result<std::string> read_text_file(const std::string& path, std::string hint,
                                   std::uint64_t longest) {
  const auto error = [&](std::string message) {
    return Error{ErrorKind::bad_input, std::move(message), path, hint};
  };
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  if (fs::is_directory(status)) return error("is a folder");
  if (fs::is_character_file(status) || fs::is_block_file(status)) return error("is a device");
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"),
                                                                &std::fclose);
  if (!file) return error(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, count);
    if (text.size() > longest) return error(fmt::format("is longer than {} bytes", longest));
  }
  if (std::ferror(file.get()))
    return error(fmt::format("cannot be read: {}", std::strerror(errno)));
  return text;
}

}  // namespace plumbline
