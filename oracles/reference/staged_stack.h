// SPDX-License-Identifier: MIT
// The stack of stack.h in the arithmetic of kernels: products through the nodes of a tensor core
// bit for bit, attention by the steps of its contract (staged_attention.h), norms, SiLU and
// additions in f32, every tensor between kernels stored in bf16. It runs the stage models, not
// emulated kernels: a layer of 64 costs milliseconds, and any format or rounding can be tried.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "oracles/formats/encode.h"
#include "oracles/models/real_dot.h"
#include "oracles/reference/stack.h"

namespace plumbline {

struct StackArithmetic {
  int sm = 90;
  FormatId residual = FormatId::bf16;  // bf16 or f32: what x is stored in between layers
  // What multiplies in the linear layers: bf16, or e4m3 with one scale per row of either operand.
  FormatId factors = FormatId::bf16;
  Rounding conversion = Rounding::nearest_even;  // of every f32 to bf16
  // What keys and values are kept in: bf16, or an 8-bit format without a scale, saturating.
  FormatId cache = FormatId::bf16;
};

// The layers' weights prepared once.
class StagedStack {
 public:
  StagedStack(const Stack& stack, const StackArithmetic& arithmetic);
  ~StagedStack();

  // x after one layer, from any x.
  std::vector<double> layer(std::size_t index, const std::vector<double>& x) const;

  // The same behind the tokens in `cache`, whose rows are as stored; appends its own.
  std::vector<double> layer(std::size_t index, const std::vector<double>& x,
                            KeyValues<double>& cache) const;

  // Keys or values as the cache stores them.
  std::vector<double> cached(const std::vector<double>& rows) const;

  // RMS or layer normalization as the layers have it, stored in bf16.
  std::vector<double> normalized(const std::vector<double>& x) const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace plumbline
