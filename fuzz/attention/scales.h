// SPDX-License-Identifier: MIT
// Scales of Q, K, V and dO: a power of two by which values fit their format, times a factor of its
// own. Elements are stored in units of the power, so that scores and values are what a value class
// wants, give or take that factor. A tensor of scales has one for the whole matrix, one for every
// sequence and head, or one for every 64 rows of a head as they lie.
//
// Neighboring blocks have units up to four times as large and factors from 1 to 1 + 2^-6: a scale
// taken from another block shows, and keys that a class sets far apart remain so. All blocks of one
// head in four are alike, under which what is exact across blocks stays exact. Blocks of V are free
// to be far apart, since no logit depends on them: one in eight is 2^12 times as large or as small
// as its class wants.
#pragma once

#include <string_view>
#include <vector>

#include "fuzz/attention/values.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

class AttentionScales {
 public:
  // `scales`: of a matrix with elements of that format; null: the problem has none, and all are 1.
  // `shared`: all sequences have the first one's elements. `free`: blocks may be far apart.
  AttentionScales(const Format& element, Tensor* scales, bool shared, bool free = false);

  bool any() const { return scales_ != nullptr; }

  // First every value of the matrix is shown. `row`: where the spot's row lies in the tensor.
  void see(const AttentionSpot& at, std::int64_t row, double value);

  // Then all scales are drawn and stored.
  void draw(const AttentionStream& stream);

  // What a value is divided by before it is stored.
  double unit(const AttentionSpot& at, std::int64_t row) const {
    return scales_ ? units_[entry(at, row)] : 1;
  }

 private:
  std::size_t entry(const AttentionSpot& at, std::int64_t row) const;
  void draw_head(Random random, std::size_t at);
  void draw_blocks(const AttentionStream& stream, std::int64_t batch, std::int64_t head);
  void set(std::size_t at, double unit, double factor);

  const Format& element_;
  Tensor* scales_;
  bool whole_ = false;  // one scale for all
  std::int64_t sequences_ = 0, heads_ = 0;
  std::int64_t blocks_ = 0;  // 0: one scale per head
  bool shared_, free_;
  std::vector<double> largest_, units_;  // units: powers of two
};

// Fills what dS is multiplied by before it is rounded: mostly such that it keeps its bits,
// sometimes so large or so small that it saturates or becomes 0.
void fill_ds_scale(const AttentionContext& context, Tensor* scale);

}  // namespace plumbline
