// SPDX-License-Identifier: MIT
// An operation that a text says (oracles/text/syntax.h): its fields are the text's sizes and
// scalars, its tensors the text's, its oracle the text evaluated.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/operation.h"
#include "oracles/text/syntax.h"

namespace plumbline {

class TextOperation : public Operation {
 public:
  // The text, checked.
  virtual const text::OperationText& text() const = 0;

  // The named sizes, in the order in which the text names them; each is an integer field of a
  // problem.
  virtual const std::vector<std::string>& sizes() const = 0;

  // Whether a problem may have none of this size: it is nothing but the first size of tensors.
  virtual bool may_be_empty(std::string_view size) const = 0;

  // The fields for elements after each row: "pad_x" of every tensor with two sizes or more.
  virtual const std::vector<std::string>& pads() const = 0;

  // For an input whose elements are integers, or real numbers from a range: what they are in this
  // problem. Of real numbers high is a value too.
  struct Values {
    double low = 0, high = 0;
    std::vector<double> others;
  };

  // The sizes that tensors of these shapes must have, as far as they follow: those that a dimension
  // of one unknown size gives. The problem has the scalars, and sizes that are given.
  using Shapes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;
  virtual void find_sizes(const Shapes& shapes, std::set<std::string, std::less<>>& unknown,
                          Problem& problem) const = 0;

  virtual bool has_values(std::string_view tensor) const = 0;
  virtual Values values(std::string_view tensor, const Problem& problem) const = 0;
};

// The operation of a file <name>.op: the one that is called like the file, or the only one. It
// lives as long as the program; the same text at the same path gives the same operation.
Result<const TextOperation*> read_text_operation(const std::string& path);
Result<const TextOperation*> parse_text_operation(std::string_view text, const std::string& path);

// One of a text's operations.
Result<std::unique_ptr<const TextOperation>> text_operation(const text::OperationText& text);

// The operation as a text, or null for one that is built in.
const TextOperation* as_text(const Operation& operation);

}  // namespace plumbline
