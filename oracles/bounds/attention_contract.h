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
//         lanes are joined at the end
//     O = fl(O * a), then O += P . V by the unit in increasing j with P = p_j rounded to `p`
//         (p_j * 2^p_shift, which is taken back at the end)
//         Where V has scales per block of rows, the tile's keys of each block, in increasing order,
//         have a product P . V of their own, by the unit, from zero: O = fma(v_scale, product, O)
//   a sink is one more tile of one key with z = sink and no row of V, after all others
// With several `parts` (a field of the problem, not of the contract) a sequence's keys are cut into
// that many stretches of whole tiles, part_keys() each, the last ones shorter or empty. All above
// is done for each part alone, but for the sink; then, with m' = max(m of all parts, sink),
//     a = ex2(fl(fl(m - m') * c)) of each part
//     l = sum of fl(l * a) over the parts, in their order, then + ex2(fma(sink, c, -fl(m' * c)))
//     O = sum of fl(O * a) over the parts, in their order
//   at the end O = fl(O * fl(fl(1 / l) * v)) or fl(fl(O / l) * v), where the division may be
//   div.full.f32 (2 ulp) instead, rounded to the output, with
//   v = v_scale * 2^-p_shift, or 2^-p_shift alone where V has no scale of the whole head;
//   LSE = fl(fl(m * scale) + fl(lg2(l) * fl(ln 2))).
// tanh(x) = fl(1 - fl(2 / fl(1 + ex2(fl(x * fl(2 log2 e)))))), with a division to nearest.
// That is LogitBase::natural. Kernels that keep logits in base 2 have, with r = fl(m * c) and r' of
// m',
//   two:        y_j = fl(z_j * c), p_j = ex2(fl(y_j - r)), where r is the largest of the y_j as
//   well two_fused:  p_j as above both:       a = ex2(fl(r - r')),  LSE = fl(fl(r + lg2(l)) * fl(ln
//   2))
// A row without a visible key (and without a sink) has O = 0 and LSE = masked_lse.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oracles/bounds/contract.h"
#include "oracles/formats/format.h"

namespace plumbline {

enum class RowSum : std::uint8_t { unrounded, rounded };  // l adds p_j, or P

enum class Normalization : std::uint8_t { reciprocal, quotient, div_full };

// The unit that maxima are kept in; see above.
enum class LogitBase : std::uint8_t { natural, two, two_fused };

struct AttentionContract {
  Unit unit = Unit::tensor_core;  // of both products
  Instruction instruction = Instruction::mma_sync;
  bool integer_scores = false;  // q . k is added in s32 instead
  std::int64_t tile = 64;       // keys per step of the online softmax
  FormatId p = FormatId::bf16;
  int p_shift = 0;
  RowSum row_sum = RowSum::unrounded;
  std::int64_t row_sum_lanes = 4;  // partial sums of l per row
  LogitBase logit_base = LogitBase::natural;
  Normalization normalization = Normalization::reciprocal;
  bool masked_lse_is_negative = true;  // -inf, else +inf
  std::int64_t parts = 1;              // of the keys

  bool base_2() const { return logit_base != LogitBase::natural; }

  // Keys of each part but the last ones; at least 1.
  std::int64_t part_keys(std::int64_t keys) const {
    const std::int64_t tiles = (keys + tile - 1) / tile;
    return std::max<std::int64_t>(1, (tiles + parts - 1) / parts) * tile;
  }

  // The contracts of the sums q . k and P . V.
  Contract score_product() const;
  Contract value_product() const;
};

// Errors of the special functions of docs/bounds.md, relative unless said otherwise.
inline constexpr double kEx2Error = 2.1 * 0x1p-23;  // ex2.approx.ftz.f32; exact at 0
inline constexpr double kLg2AbsoluteError =
    0x1p-22;  // lg2.approx.ftz.f32 on (0.5, 2); relative beyond
inline constexpr double kTanhAbsoluteError = 0x1p-21;  // 1 - 2 / (1 + ex2(2x log2 e)) in f32

}  // namespace plumbline
