// SPDX-License-Identifier: MIT
// What `plumbline propagate --model` says of the stacks behind --depth, --decode and --denoise, as
// text: sizes in place of their own ("width=256 heads=8"), and one more arithmetic beside those
// they always run in ("qkv=e4m3 out=e4m3 scales=block"), the curve kGivenArithmetic.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/manifest/problem.h"
#include "oracles/stages/stack.h"
#include "oracles/stages/stack_arithmetic.h"
#include "reports/record/propagation.h"

namespace plumbline {

class StackModel {
 public:
  StackModel();  // says nothing

  // The shape with the sizes that are given in place of its own. An error where heads do not divide
  // the width, or the weights, each 4 bytes and 24 more on each thread, do not fit into memory.
  Result<StackShape> shape(StackShape usual, int threads) const;

  // nullopt where no word of it is given.
  std::optional<StackArithmetic> arithmetic() const;

  bool gives(std::string_view field) const;
  bool gives_factors() const;  // of some linear layer

  // "pre-norm transformer blocks: tokens=32 width=96 heads=3 hidden=192 qkv=e4m3" of a shape that
  // shape() made, with these of its sizes.
  std::string describe(std::string_view blocks, std::initializer_list<std::string_view> sizes,
                       const StackShape& shape) const;

  // Adds what the given arithmetic makes of the error in the end, compared with another curve.
  void tell(DepthRecord& record, std::string_view beside) const;

 private:
  friend Result<StackModel> parse_stack_model(std::string_view text, std::string_view where);

  Problem words_;
  std::vector<Field> given_;  // in the order of the text
};

Result<StackModel> parse_stack_model(std::string_view text, std::string_view where);

}  // namespace plumbline
