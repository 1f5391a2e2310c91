// SPDX-License-Identifier: MIT
#include "kernels/ops/gemm_quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/gemm_layout.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// Which entry of the scale tensor an element of A [batch, m, k] or B [batch, k, n] has.
class ScaleEntries {
 public:
  ScaleEntries(const Problem& problem, GemmSide side, const Tensor* scale)
      : side_(side), scale_(scale ? scale->layout : TensorLayout{}) {
    gemm_.m = problem.integer("m");
    gemm_.n = problem.integer("n");
    gemm_.k = problem.integer("k");
    gemm_.scale_a_block = gemm_scale_block(problem, "scale_a");
    gemm_.scale_b_block = gemm_scale_block(problem, "scale_b");
  }

  std::int64_t operator()(std::int64_t element) const {
    return side_ == GemmSide::a
               ? scale_entry(gemm_, side_, scale_, element / gemm_.k % gemm_.m, element % gemm_.k)
               : scale_entry(gemm_, side_, scale_, element % gemm_.n, element / gemm_.n % gemm_.k);
  }

 private:
  GemmSide side_;
  TensorLayout scale_;
  GemmProblem gemm_;
};

}  // namespace

void quantize_tensor(const Tensor& source, Tensor& stored, Tensor* scales,
                     const std::function<std::int64_t(std::int64_t)>& entry_of, std::int64_t zero) {
  PLUMB_ASSERT(source.layout.shape == stored.layout.shape);
  const Format &from = format(source.layout.format), &to = format(stored.layout.format);
  const std::int64_t count = source.layout.count();
  std::vector<double> scale(1, 1.0);
  if (scales) {
    scale.assign(static_cast<std::size_t>(scales->layout.count()), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      double& largest = scale[static_cast<std::size_t>(entry_of(i))];
      largest = std::max(largest, std::fabs(to_double(from, source.bits(i))));
    }
    const Format& of_scales = format(scales->layout.format);
    const EncodeOptions up{.rounding = of_scales.id == FormatId::ue8m0 ? Rounding::up
                                                                       : Rounding::nearest_even};
    const double limit = to_double(to, to.max_finite());
    for (std::size_t i = 0; i < scale.size(); ++i) {
      const std::uint64_t bits = encode(of_scales, scale[i] > 0 ? scale[i] / limit : 1.0, up);
      scales->set_bits(static_cast<std::int64_t>(i), bits);
      scale[i] = to_double(of_scales, bits);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double by = scale[scales ? static_cast<std::size_t>(entry_of(i)) : 0];
    const double units = to_double(from, source.bits(i)) / by + static_cast<double>(zero);
    stored.set_bits(i, encode(to, units, {.overflow = Overflow::saturate}));
  }
}

void quantize_operand(const Problem& problem, GemmSide side, const CaseTensors& sources,
                      CaseTensors& tensors) {
  const bool of_a = side == GemmSide::a;
  Tensor* scale = tensors.find(of_a ? "scale_a" : "scale_b");
  quantize_tensor(*sources.find(of_a ? "a" : "b"), *tensors.find(of_a ? "a" : "b"), scale,
                  ScaleEntries(problem, side, scale), problem.integer(of_a ? "zero_a" : "zero_b"));
}

}  // namespace plumbline
