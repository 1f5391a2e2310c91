// SPDX-License-Identifier: MIT
// A GoogleTest matcher for outputs:
//   EXPECT_THAT(d, plumbline::ConformsTo("gemm_bf16 m=64 n=64 k=512", 90, {a, b}));
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plumbline/check.h"

namespace plumbline {

inline void PrintTo(const TensorView& tensor, std::ostream* out) {
  *out << tensor.name << " [";
  for (std::size_t d = 0; d < tensor.shape.size(); ++d)
    *out << (d == 0 ? "" : ", ") << tensor.shape[d];
  *out << "]";
}

// Matches one output, or a vector of all outputs, of a call with these inputs (check()). A failure
// says which element is outside, what is admissible there, and which simple fault fits. Where there
// is no verdict (a misspelled call, no program, too little compared) the test fails by an
// exception, under testing::Not, too.
class ConformsToMatcher {
 public:
  using is_gtest_matcher = void;

  ConformsToMatcher(std::string call, int sm, std::vector<TensorView> inputs, Options options)
      : call_(std::move(call)), sm_(sm), inputs_(std::move(inputs)), options_(std::move(options)) {}

  bool MatchAndExplain(const TensorView& output, std::ostream* why) const {
    return MatchAndExplain(std::vector<TensorView>{output}, why);
  }

  bool MatchAndExplain(const std::vector<TensorView>& outputs, std::ostream* why) const {
    std::vector<TensorView> tensors = inputs_;
    tensors.insert(tensors.end(), outputs.begin(), outputs.end());
    const Verdict verdict = check(call_, sm_, tensors, options_);
    if (verdict) return true;
    if (verdict.outcome != Outcome::broken)
      throw std::runtime_error("plumbline check gives no verdict:\n" + verdict.text);
    if (why != nullptr) *why << "plumbline check says\n" << verdict.text;
    return false;
  }

  void DescribeTo(std::ostream* out) const { *out << "conforms to " << call_ << " on sm_" << sm_; }

  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not conform to " << call_ << " on sm_" << sm_;
  }

 private:
  std::string call_;
  int sm_;
  std::vector<TensorView> inputs_;
  Options options_;
};

inline ConformsToMatcher ConformsTo(std::string call, int sm, std::vector<TensorView> inputs,
                                    Options options = {}) {
  return {std::move(call), sm, std::move(inputs), std::move(options)};
}

}  // namespace plumbline
