// SPDX-License-Identifier: MIT
// The MLP of a transformer block: h = silu(x . w_gate^T) * (x . w_up^T), y = h . w_down^T. This
// header is the operation's data; the definition over MPFR numbers is swiglu/definition.h, the
// verdicts are swiglu/hidden.h (on h) and, as h is stored, that of a GEMM (on y).
#pragma once

#include <cstdint>

#include "oracles/formats/tensor.h"

namespace plumbline {

// Not owned. Matrices of any strides.
struct SwigluProblem {
  const Tensor* x = nullptr;         // [tokens, d]
  const Tensor* gate = nullptr;      // [hidden, d]
  const Tensor* up = nullptr;        // [hidden, d]
  const Tensor* down = nullptr;      // [d_out, hidden]
  const Tensor* h = nullptr;         // [tokens, hidden]: as the kernel stored it
  FormatId output = FormatId::bf16;  // of y

  std::int64_t tokens() const { return x->layout.shape[0]; }

  std::int64_t d() const { return x->layout.shape[1]; }

  std::int64_t hidden() const { return gate->layout.shape[0]; }

  std::int64_t d_out() const { return down->layout.shape[0]; }
};

}  // namespace plumbline
