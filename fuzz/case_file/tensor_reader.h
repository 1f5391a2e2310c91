// SPDX-License-Identifier: MIT
// Reads one literal tensor of a case file: its format and shape, then its elements over one or more
// lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/operation.h"
#include "oracles/base/result.h"

namespace plumbline {

class CaseTensorReader {
 public:
  // `type` is what the file says ("bf16[1,2,3]"); it must be what the problem needs. `where` is its
  // position.
  static Result<CaseTensorReader> open(const TensorSpec& spec, std::string_view type,
                                       std::string_view where);

  // Elements of one line from `start` on, up to a comment. `where` is the position of the line's
  // first character.
  Status read(std::string_view line, std::size_t start, std::string_view where);

  // The tensor, once all its elements are there. `where` is the line that follows.
  Result<Tensor> close(std::string_view where) const;

  const std::string& name() const { return name_; }

 private:
  CaseTensorReader(std::string name, TensorLayout layout);

  std::string name_;
  TensorLayout layout_;
  std::int64_t elements_;
  std::vector<std::uint64_t>
      bits_;  // storage is allocated once all are there: a short file must not ask for gigabytes
};

// The layout that literal elements have: contiguous, in row-major order.
TensorLayout literal_layout(const TensorSpec& spec);

}  // namespace plumbline
