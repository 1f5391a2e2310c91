// SPDX-License-Identifier: MIT
// safetensors: the file in which frameworks hand over tensors. Eight bytes with the length of a
// JSON header (name -> dtype, shape, data_offsets; strings under __metadata__), then the data,
// row-major, without holes. Bits are kept as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracles/base/result.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

// A file whose tensors are read when they are asked for: it may hold a whole model beside them.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    TensorLayout layout;              // row-major
    std::int64_t begin = 0, end = 0;  // bytes of the data
  };

  // Errors (bad_input) name the file and the tensor: a file that is cut off, a header that is none,
  // a dtype plumbline has no format for, data that overlaps or does not fit the shape.
  static Result<SafetensorsFile> open(const std::string& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // In the order of their data.
  const std::vector<Entry>& entries() const { return entries_; }

  const Entry* find(std::string_view name) const;

  Result<Tensor> read(const Entry& entry) const;

 private:
  std::string path_;
  std::int64_t data_ = 0;  // where it begins in the file
  std::map<std::string, std::string> metadata_;
  std::vector<Entry> entries_;
};

struct NamedTensors {
  std::vector<std::pair<std::string, Tensor>> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;

  const Tensor* find(std::string_view name) const;
};

// All of a file.
Result<NamedTensors> read_safetensors(const std::string& path);

// Layouts become row-major. Errors: the file cannot be written, a format the file type lacks.
Status write_safetensors(const std::string& path, const NamedTensors& contents);

}  // namespace plumbline
