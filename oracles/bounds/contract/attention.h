// SPDX-License-Identifier: MIT
// AttentionContract: the arithmetic an attention kernel with an online softmax promises. Everything
// that decides about a bit of the output and that kernels do differently is a field; what all of
// them share is written here once.
//
// Forward, for one row of one head, c = fl(scale * fl(log2 e)), all in f32, to nearest even unless
// said otherwise. Where Q and K have scales, `scale` is fl(scale * fl(q_scale * k_scale)): what the
// problem's scale is in effect. These two roundings belong to the function. Scales may be those of
// the whole head, or of the blocks of rows that a query and a key lie in; then each of their pairs
// has a scale of its own:
//   keys are taken in tiles of `tile`; a tile that holds no visible key of the row changes nothing;
//   in each tile b
//     s_j = q . k_j by the unit, from zero, in increasing d; or exactly, of 8-bit integers in s32:
//           no more than 1024 products of them, which f32 holds as well
//     z_j = s_j; with a softcap, a bias, a sink or scales per block z_j = fl(capped(s_j) + bias_j)
//           in natural units, where capped(s) = fl(softcap * tanh(fl(s * fl(scale / softcap)))),
//           or fl(s * scale) without a cap; then c = fl(log2 e), and m takes the place of
//           m * scale in the LSE. Without a bias nothing is added
//     m' = max(m, z_j over visible j),  r = fl(m' * c)
//     p_j = ex2(fma(z_j, c, -r)), 0 for keys that are not visible
//     a = ex2(fl(fl(m - m') * c)), 0 in the row's first tile
//     l = fl(fl(l * a) + sum of p_j): per lane the tile's p_j first, one after the other, then l;
//         lanes are joined at the end. Or (RowSumStart::sum) p_j after p_j is added to l
//     O = fl(O * a), then O += P . V by the unit in increasing j with P = p_j rounded to `p`
//         (p_j * 2^p_shift, which is taken back at the end); with `p` = f32 it is what ex2 gave
//         Where V has scales per block of rows, the tile's keys of each block, in increasing order,
//         have a product P . V of their own, by the unit, from zero: O = fma(v_scale, product, O)
//   a sink is one more tile of one key with z = sink and no row of V, after all others; or
//   (SinkStep::first) before all others, where l may begin with 1 in place of its p; or
//   (SinkStep::maximum_first) m begins with it, and its ex2(fma(sink, c, -r)) is added to l at the
//   end. The latter two are of kernels without a rescale threshold and without parts
// With several `parts` (a field of the problem, not of the contract) a sequence's keys are cut into
// that many ranges of whole tiles, part_keys() each, the last ones shorter or empty. All above
// is done for each part alone, but for the sink; then, with m' = max(m of all parts, sink),
//     a = ex2(fl(fl(m - m') * c)) of each part
//     l = sum of fl(l * a) over the parts, in their order, then + ex2(fma(sink, c, -fl(m' * c)))
//     O = sum of fl(O * a) over the parts, in their order
//   at the end O = fl(O * fl(fl(1 / l) * v)) or fl(fl(O / l) * v), where the division may be
//   div.full.f32 (2 ulp) instead, rounded to the output, with
//   v = v_scale * 2^-p_shift, or 2^-p_shift alone where V has no scale of the whole head;
//   LSE = fl(fl(m * scale) + fl(lg2(l) * fl(ln 2))), or, as a logarithm in base 2,
//   LSE = fl(r + lg2(l)) with r = fl(m * c) in every unit of logits.
// tanh(x) = fl(1 - fl(2 / fl(1 + ex2(fl(x * fl(2 log2 e)))))), with a division to nearest.
// That is LogitBase::natural. Kernels that keep logits in base 2 have, with r = fl(m * c) and r' of
// m',
//   two:        y_j = fl(z_j * c), p_j = ex2(fl(y_j - r)), r the largest of the y_j as well
//   two_fused:  p_j as above
//   both:       a = ex2(fl(r - r')),  LSE = fl(fl(r + lg2(l)) * fl(ln 2))
// With lse_sum_in_base_2 LSE is that of `both` in every unit of logits.
// LogitBase::natural_difference is natural but for p_j = ex2(fl(fl(z_j - m') * c)).
// A row without a visible key (and without a sink) has O = 0 and LSE = masked_lse; one with a logit
// that is NaN or +Inf has O = NaN and LSE = nan_lse, or with nan_rows_open anything: max() of a NaN
// and a number is the number, and code that clamps an exponent by it loses the NaN.
//
// With a rescale_threshold T > 0 the maximum of the tiles before is kept as long as the new one is
// not above it by more than 2^T in p: m' = m where fl(fl(m' - m) * c), or fl(r' - r) in base 2, is
// at most T. Then p_j may be as large as 2^T, and nothing is multiplied by a. Parts are joined
// relative to the largest of what they refer to.
// With exponential_bits p_j is not from ex2.approx but, say, from a polynomial: anything within
// 2^-bits of 2^x, also at x = 0, and up to 2^-126 where 2^x is less; 0 for a logit of -Inf.
// Factors a are from ex2 as ever.
// Tiles are taken from the first key on, or (TileOrder::descending) from the last one back.
// Log2E::f64 has c = fl(scale * log2 e), and fl(log2 e) where the scale is 1 as above.
// Tanh::approx is t = tanh.approx(fl(s * fl(scale / softcap))), within 2^-11 of itself; logits are
// t then, and the cap is a factor of c, of the maximum in LSE, and of no logit. With a cap there is
// neither a bias nor a sink then.
// With `subnormals_flushed` every f32 operation takes subnormal numbers for 0 and gives 0 for them
// (nvcc --use_fast_math): FMAs of the unit too, tensor cores not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "oracles/bounds/contract/contract.h"
#include "oracles/formats/format.h"

namespace plumbline {

enum class RowSum : std::uint8_t { unrounded, rounded };  // l adds p_j, or P

// What a lane's sum over a tile begins with: 0, and l is added at its end; or l.
enum class RowSumStart : std::uint8_t { zero, sum };

// rcp_approx: the reciprocal is rcp.approx.f32 (1 ulp).
enum class Normalization : std::uint8_t { reciprocal, quotient, div_full, rcp_approx };

// Where a sink comes among the tiles of keys.
enum class SinkStep : std::uint8_t { last, first, maximum_first };

// From which end of the keys their tiles come.
enum class TileOrder : std::uint8_t { ascending, descending };

// log2 e in c: rounded to f32, or only c is.
enum class Log2E : std::uint8_t { f32, f64 };

// How a softcap takes tanh: by ex2 as below, or tanh.approx with the cap in c.
enum class Tanh : std::uint8_t { ex2, approx };

// The unit that maxima are kept in; see above.
// natural_either: as natural, but whether fl(z * c) is rounded before r is taken from it is left
// open, as it is for ptxas in PTX without .rn (nvcc without -fmad=false).
enum class LogitBase : std::uint8_t { natural, two, two_fused, natural_either, natural_difference };

enum class NanLse : std::uint8_t { nan, plus_infinity, minus_infinity };

struct AttentionContract {
  Unit unit = Unit::tensor_core;  // of both products
  Instruction instruction = Instruction::mma_sync;
  bool integer_scores = false;  // q . k is added in s32 instead
  std::int64_t tile = 64;       // keys per step of the online softmax
  FormatId p = FormatId::bf16;
  int p_shift = 0;
  RowSum row_sum = RowSum::unrounded;
  std::int64_t row_sum_lanes = 4;  // partial sums of l per row
  RowSumStart row_sum_start = RowSumStart::zero;
  TileOrder order = TileOrder::ascending;
  SinkStep sink_step = SinkStep::last;
  Log2E log2_e = Log2E::f32;
  Tanh tanh = Tanh::ex2;
  bool subnormals_flushed = false;
  LogitBase logit_base = LogitBase::natural;
  bool lse_sum_in_base_2 = false;  // added up there, also of natural logits
  Normalization normalization = Normalization::reciprocal;
  bool masked_lse_is_negative = true;  // -inf, else +inf
  NanLse nan_lse = NanLse::nan;        // of a row with a logit that is NaN or +Inf
  bool nan_rows_open = false;          // anything may come out of such a row
  double rescale_threshold = 0;        // in base 2; 0: every new maximum counts
  int exponential_bits = 0;            // p_j is within 2^-bits of itself; 0: ex2.approx makes it
  std::int64_t parts = 1;              // of the keys

  // Whether the row's first maximum is the sink.
  bool begins_with_sink() const { return sink_step != SinkStep::last; }

  bool base_2() const { return logit_base == LogitBase::two || logit_base == LogitBase::two_fused; }

  // Whether LSE is added up in base 2.
  bool sums_lse_in_base_2() const { return lse_sum_in_base_2 || base_2(); }

  // Whether 2^0 is what ex2 is asked for at the maximum. In the other forms it is what rounding
  // took from m * c, which far from 0 is many binades.
  bool exact_at_maximum() const {
    return logit_base == LogitBase::two || logit_base == LogitBase::natural_difference;
  }

  // Relative, of p_j; `at_zero`: its exponent is 0 for certain.
  double exponential_error(bool at_zero = false) const;

  // Keys of each part but the last ones; at least 1.
  std::int64_t part_keys(std::int64_t keys) const {
    const std::int64_t tiles = (keys + tile - 1) / tile;
    return std::max<std::int64_t>(1, (tiles + parts - 1) / parts) * tile;
  }

  // c for a logit in units of 1 / scale; a softcap may be that scale.
  float to_base_2(float scale) const {
    constexpr double kLog2E = 1.4426950408889634;
    if (log2_e == Log2E::f32) return scale * static_cast<float>(kLog2E);
    return static_cast<float>(static_cast<double>(scale) * kLog2E);
  }

  // The contracts of the sums q . k and P . V.
  Contract score_product() const;
  Contract value_product() const;
};

// Errors of the special functions (docs/bounds/approximate_functions.md), relative unless said
// otherwise.
// ex2.approx.ftz.f32: 2 ulp from the correctly rounded result, so half an ulp more from the exact
// one; exact at 0.
inline constexpr double kEx2Error = 2.5 * 0x1p-23;
inline constexpr double kLg2AbsoluteError =
    0x1p-22;  // lg2.approx.ftz.f32 on (0.5, 2); relative beyond
inline constexpr double kTanhAbsoluteError = 0x1p-21;  // 1 - 2 / (1 + ex2(2x log2 e)) in f32
inline constexpr double kTanhApproxError = 0x1p-11;    // tanh.approx.f32
inline constexpr double kRcpError = 0x1p-23;           // rcp.approx.ftz.f32

inline double AttentionContract::exponential_error(bool at_zero) const {
  if (exponential_bits > 0) return std::ldexp(1.0, -exponential_bits);
  return at_zero ? 0 : kEx2Error;
}

// Calls done(first, end, begins) for the tiles of keys [first, end) in the order a kernel takes
// them: part by part, within each by `order`. begins: the tile is the first of its part.
template <typename Done>
void for_each_tile(TileOrder order, std::int64_t tile, std::int64_t part, std::int64_t first,
                   std::int64_t end, const Done& done) {
  for (std::int64_t begin = first; begin < end;) {
    const std::int64_t part_end = std::min(end, (begin / part + 1) * part);
    bool begins = true;
    for (std::int64_t low = begin, high = part_end; low < high; begins = false) {
      if (order == TileOrder::ascending) {
        const std::int64_t next = std::min(high, (low / tile + 1) * tile);
        done(low, next, begins);
        low = next;
      } else {
        const std::int64_t next = std::max(low, (high - 1) / tile * tile);
        done(next, high, begins);
        high = next;
      }
    }
    begin = part_end;
  }
}

}  // namespace plumbline
