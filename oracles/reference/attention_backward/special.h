// SPDX-License-Identifier: MIT
// What NaN and Inf in the inputs of attention's backward pass do to its outputs, by class alone. An
// output that no such element reaches through a visible pair is judged as if they were not there.
// Pairs that a mask hides have P = 0, and a kernel may or may not multiply it with what it hides:
// the output may be NaN, or what it would be otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/reference/attention_backward/operands.h"

namespace plumbline {

// In rising order of strength: the strongest effect of any term is that of the sum.
enum class Due : std::uint8_t {
  regular,
  regular_or_nan,
  anything,    // exp of an infinity may be 0, and so may what it meets; dS may saturate
  not_finite,  // NaN or an infinity
  nan,
};

class GradientSpecials {
 public:
  explicit GradientSpecials(const GradientOperands& operands);

  // Whether there are any; if not every output is regular.
  bool any() const { return any_; }

  // Of every column of a line.
  std::vector<Due> line(GradientOutput output, std::int64_t line) const;

 private:
  struct Flags {
    bool nan = false, infinite = false;

    bool any() const { return nan || infinite; }

    void note(const std::vector<float>& values, std::int64_t row, std::int64_t width);
  };

  struct QueryFlags {
    Flags q, d_o, o, lse;
  };

  struct KeyFlags {
    Flags k, v;
  };

  Due score(const GradientPair& at) const;     // what P_ij is
  Due gradient(const GradientPair& at) const;  // what dS_ij is
  bool visible(const GradientPair& at) const;

  const GradientOperands& operands_;
  bool any_ = false;
  std::vector<QueryFlags> queries_;  // [heads, queries]
  std::vector<KeyFlags> keys_;
  bool bias_ = false;
};

}  // namespace plumbline
