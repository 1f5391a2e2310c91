// SPDX-License-Identifier: MIT
// For readers that take a path: a fuzzer's bytes as a file that lives in memory where /dev/shm
// does.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

class FileOf {
 public:
  FileOf(const unsigned char* data, std::size_t size, const char* ending)
      : path_("/dev/shm/plumbline_fuzz_" + std::to_string(getpid()) + ending) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr) std::abort();
    std::fwrite(data, 1, size, file);
    std::fclose(file);
  }

  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;

  ~FileOf() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
