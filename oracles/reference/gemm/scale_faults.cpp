// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/scale_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plumbline {
namespace {

// One of the two scales of operands, if the problem has it, with the words for it.
struct SideScale {
  std::string_view name, vector;  // "scale_a", "row"
  const Tensor* tensor;
  ScaleBlock block;
  std::int64_t vectors;  // rows of A, columns of B
  ScaleFault GemmFault::* fault;
};

std::vector<SideScale> side_scales(const GemmProblem& problem) {
  std::vector<SideScale> out;
  if (problem.scale_a != nullptr)
    out.push_back(
        {"scale_a", "row", problem.scale_a, problem.scale_a_block, problem.m, &GemmFault::scale_a});
  if (problem.scale_b != nullptr)
    out.push_back({"scale_b", "column", problem.scale_b, problem.scale_b_block, problem.n,
                   &GemmFault::scale_b});
  return out;
}

bool along_k(const GemmProblem& problem) {
  return problem.scale_a != nullptr && problem.scale_b != nullptr &&
         problem.scale_a_block.along_k() && problem.scale_b_block.along_k();
}

std::int64_t sum_of(const float* values, std::int64_t k) {
  return static_cast<std::int64_t>(std::accumulate(values, values + k, 0.0));
}

}  // namespace

std::vector<GemmFault> scale_missing(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const SideScale& side : side_scales(gemm.problem)) {
    faults.push_back(GemmFault(gemm, fmt::format("{} was not applied", side.name)));
    (faults.back().*side.fault).missing = true;
  }
  if (faults.size() == 2) {
    faults.push_back(GemmFault(gemm, "scale_a and scale_b were not applied"));
    faults.back().scale_a.missing = faults.back().scale_b.missing = true;
  }
  return faults;
}

std::vector<GemmFault> scale_of_neighbor(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const SideScale& side : side_scales(gemm.problem)) {
    // Where k ends (begins), the last (first) block is taken to be read again.
    const std::int64_t last = gemm.problem.k - 1;
    const auto moved = [&](std::string from, std::int64_t vectors, std::int64_t depth) {
      faults.push_back(GemmFault(gemm, fmt::format("{} was taken from the {}", side.name, from)));
      (faults.back().*side.fault).place = [vectors, depth, last](const ScalePlace& at) {
        return ScalePlace{at.vector + vectors, std::clamp<std::int64_t>(at.p + depth, 0, last)};
      };
    };
    const std::string vector =
        side.block.vectors == 1 ? std::string(side.vector) : fmt::format("{} block", side.vector);
    if (side.block.vectors > 0 && side.block.vectors < side.vectors) {
      moved("next " + vector, side.block.vectors, 0);
      moved("previous " + vector, -side.block.vectors, 0);
    }
    if (side.block.depth > 0 && side.block.depth < gemm.problem.k) {
      moved("next k block", 0, side.block.depth);
      moved("previous k block", 0, -side.block.depth);
    }
  }
  return faults;
}

std::vector<GemmFault> scale_read_once(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const SideScale& side : side_scales(gemm.problem)) {
    for (const std::int64_t tile : {2, 4, 8, 16, 32, 64, 128}) {
      if (tile / 2 >= side.vectors) break;  // the same as the tile before
      if (side.block.vectors == 0 || tile <= side.block.vectors ||
          side.vectors <= side.block.vectors)
        continue;
      faults.push_back(GemmFault(
          gemm, fmt::format("{} was read once per tile of {} {}s", side.name, tile, side.vector)));
      (faults.back().*side.fault).place = [tile](const ScalePlace& at) {
        return ScalePlace{at.vector / tile * tile, at.p};
      };
    }
    if (side.block.depth == 0 || side.block.depth >= gemm.problem.k) continue;
    faults.push_back(
        GemmFault(gemm, fmt::format("{} of the first k block was used for all of k", side.name)));
    (faults.back().*side.fault).place = [](const ScalePlace& at) {
      return ScalePlace{at.vector, 0};
    };
  }
  return faults;
}

std::vector<GemmFault> scales_to_powers_of_two(const PreparedGemm& gemm) {
  struct Rounded {
    std::string_view words;
    float (*value)(float);
  };

  static constexpr Rounded kRounded[] = {
      {"up to powers of two",
       [](float x) {
         if (!std::isfinite(x) || x == 0) return x;
         int exponent = 0;
         const float part = std::frexp(x, &exponent);
         return std::copysign(std::ldexp(1.0f, std::fabs(part) == 0.5f ? exponent - 1 : exponent),
                              x);
       }},
      {"down to powers of two",
       [](float x) {
         if (!std::isfinite(x) || x == 0) return x;
         return std::copysign(std::ldexp(1.0f, std::ilogb(x)), x);
       }},
      {"to the nearest powers of two",
       [](float x) {
         if (!std::isfinite(x) || x == 0) return x;
         const int below = std::ilogb(x);
         return std::copysign(
             std::ldexp(1.0f, std::fabs(x) > std::ldexp(1.5f, below) ? below + 1 : below), x);
       }},
  };
  std::vector<GemmFault> faults;
  const std::vector<SideScale> sides = side_scales(gemm.problem);
  const auto add = [&](const Rounded& rounded, std::string_view words) {
    faults.push_back(GemmFault(gemm, fmt::format("{} rounded {}", words, rounded.words)));
    return &faults.back();
  };
  for (const Rounded& rounded : kRounded) {
    if (sides.size() == 2) {
      GemmFault* both = add(rounded, "scale_a and scale_b were");
      both->scale_a.value = both->scale_b.value = rounded.value;
    }
    for (const SideScale& side : sides)
      (add(rounded, fmt::format("{} was", side.name))->*side.fault).value = rounded.value;
  }
  return faults;
}

// Scales in tiles of 128 x 4 that are looked for at another byte.
void add_tile_faults(const SideScale& side, const TensorLayout& layout, const PreparedGemm& gemm,
                     std::vector<GemmFault>& faults) {
  const std::int64_t across = layout.shape[3],
                     along = (gemm.problem.k + side.block.depth - 1) / side.block.depth;
  // `byte`: of row v and block d.
  const auto read = [&](std::string sentence, auto byte) {
    faults.push_back(GemmFault(gemm, std::move(sentence)));
    (faults.back().*side.fault).place = [across, byte,
                                         depth = side.block.depth](const ScalePlace& at) {
      const std::int64_t place = byte(at.vector, at.p / depth), tile = place / 512;
      return ScalePlace{tile / across * 128 + place % 512 / 16 + place / 4 % 4 * 32,
                        (tile % across * 4 + place % 4) * depth};
    };
  };
  read(fmt::format("{} was read row by row, not in tiles of 128 x 4", side.name),
       [along](std::int64_t v, std::int64_t d) { return v * along + d; });
  read(fmt::format("rows of a tile of {} were taken to follow each other", side.name),
       [across](std::int64_t v, std::int64_t d) {
         return (v / 128 * across + d / 4) * 512 + v % 128 * 4 + d % 4;
       });
  // Within its tile.
  const auto within = [](std::int64_t v, std::int64_t d) {
    return v % 32 * 16 + v / 32 % 4 * 4 + d % 4;
  };
  if (across > 1) {
    read(fmt::format("four tiles of {} along k were taken for the first of them", side.name),
         [=](std::int64_t v, std::int64_t d) {
           return (v / 128 * across + d / 16 * 4) * 512 + within(v, d);
         });
  }
  if (across > 1 && side.vectors > 128) {
    read(
        fmt::format("tiles of {} were taken to lie along its rows, one after the other", side.name),
        [=](std::int64_t v, std::int64_t d) { return (v / 128 + d / 4) * 512 + within(v, d); });
  }
  if (along % 4 == 0 || side.vectors <= 128) return;
  read(fmt::format("{} was taken to have no more tiles along k than whole ones ({})", side.name,
                   along / 4),
       [=](std::int64_t v, std::int64_t d) {
         return (v / 128 * (along / 4) + d / 4) * 512 + within(v, d);
       });
}

// A tensor of blocks that is indexed as if it lay otherwise.
std::vector<GemmFault> scales_otherwise_laid_out(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const SideScale& side : side_scales(gemm.problem)) {
    const ScaleBlock block = side.block;
    if (block.vectors == 0) continue;
    const bool of_a = side.fault == &GemmFault::scale_a;
    const TensorLayout& layout = side.tensor->layout;
    // Whether the entries of a row of A (column of B) are neighbors.
    const bool by_vector = of_a || is_in_tiles(layout) || layout.strides[0] == 1;
    const std::int64_t across = (side.vectors + block.vectors - 1) / block.vectors;
    const std::int64_t along =
        block.depth == 0 ? 1 : (gemm.problem.k + block.depth - 1) / block.depth;
    // From an entry's number to a place that it is of; none beyond the tensor.
    const auto read = [&](std::string sentence, auto number) {
      faults.push_back(GemmFault(gemm, std::move(sentence)));
      (faults.back().*side.fault).place = [=](const ScalePlace& at) {
        const std::int64_t entry =
            number(at.vector / block.vectors, block.depth == 0 ? 0 : at.p / block.depth);
        if (entry < 0 || entry >= across * along) return ScalePlace{-1, 0};
        const std::int64_t v = by_vector ? entry / along : entry % across;
        const std::int64_t d = by_vector ? entry % along : entry / across;
        return ScalePlace{v * block.vectors, d * block.depth};
      };
    };
    if (is_in_tiles(layout)) {
      add_tile_faults(side, layout, gemm, faults);
    } else if (across > 1 && along > 1) {
      read(fmt::format("{} was read transposed", side.name), [=](std::int64_t v, std::int64_t d) {
        return by_vector ? d * across + v : v * along + d;
      });
    }
    for (const std::int64_t together : {2, 4}) {
      if (along == 1) break;
      faults.push_back(
          GemmFault(gemm, fmt::format("scales of {} blocks of k were taken in reverse for {}",
                                      together, side.name)));
      (faults.back().*side.fault).place = [=, depth = block.depth](const ScalePlace& at) {
        const std::int64_t first = at.p / depth / together * together,
                           other = 2 * first + together - 1 - at.p / depth;
        return ScalePlace{at.vector, std::min(other, along - 1) * depth};
      };
    }
    if (along > 1 && gemm.problem.k % block.depth != 0 && by_vector && !is_in_tiles(layout)) {
      read(fmt::format("rows of {} were taken to have {} entries, the whole blocks of k alone",
                       side.name, along - 1),
           [=](std::int64_t v, std::int64_t d) { return v * (along - 1) + d; });
    }
    for (const std::int64_t apart : {2, 4, 8, 16}) {
      if (block.vectors != 1 || apart >= across) continue;
      read(fmt::format("{} is that of the {} {} further on or back", side.name, side.vector, apart),
           [=](std::int64_t v, std::int64_t d) {
             const std::int64_t other = v ^ apart;
             return by_vector ? other * along + d : d * across + other;
           });
    }
  }
  // The kernel's one loop reads both.
  const auto of_tiles = [](const GemmFault& one) {
    return one.sentence.starts_with("four tiles of ");
  };
  if (std::ranges::count_if(faults, of_tiles) == 2) {
    GemmFault both = *std::ranges::find_if(faults, of_tiles);
    both.scale_b = std::ranges::find_if(faults.rbegin(), faults.rend(), of_tiles)->scale_b;
    both.sentence = "four tiles of scale_a and scale_b along k were taken for the first of them";
    faults.push_back(both);
  }
  return faults;
}

std::vector<GemmFault> integers_in_f32(const PreparedGemm& gemm) {
  if (gemm.model) return {};
  std::vector<GemmFault> faults;
  for (const std::int64_t block : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16},
                                   std::int64_t{32}, std::int64_t{64}, gemm.problem.k}) {
    if (block > std::max<std::int64_t>(gemm.problem.k, 1)) continue;
    const bool whole = block == gemm.problem.k;
    if (whole && gemm.problem.output != FormatId::s32) continue;
    faults.push_back(GemmFault(
        gemm, whole        ? "the integer sum went through f32, which rounds beyond 2^24"
              : block == 1 ? std::string("the integer sum was carried in f32")
                           : fmt::format("the integer sum was carried in f32, {} products "
                                         "at a time",
                                         block)));
    faults.back().f32_block = block;
    if (whole) break;
  }
  return faults;
}

std::vector<GemmFault> scales_in_turn(const PreparedGemm& gemm) {
  if (gemm.contract.block_scale || gemm.contract.promotion == Promotion::scaled) return {};
  if (!gemm.scales || !along_k(gemm.problem)) return {};
  GemmFault turn(
      gemm, "scale_a and scale_b were applied one after the other, not as their rounded product");
  turn.scales_in_turn = true;
  return {turn};
}

std::vector<GemmFault> scales_exchanged(const PreparedGemm& gemm) {
  const GemmProblem& problem = gemm.problem;
  if (problem.scale_a == nullptr || problem.scale_b == nullptr) return {};
  if (problem.scale_a_block.along_k() != problem.scale_b_block.along_k()) return {};
  GemmFault of_a(gemm, "scale_a was taken for scale_b as well"),
      of_b(gemm, "scale_b was taken for scale_a as well");
  of_a.scale_b.from_other_side = of_b.scale_a.from_other_side = true;
  // The product of two scales of tensors is the same in either order.
  if (problem.scale_a_block == kTensorScale && problem.scale_b_block == kTensorScale)
    return {of_a, of_b};
  GemmFault exchanged(gemm, "scale_a and scale_b were exchanged");
  exchanged.scale_a.from_other_side = exchanged.scale_b.from_other_side = true;
  return {exchanged, of_a, of_b};
}

// With a' and b' the operands less their zero points, as gemm.row() and gemm.column() hold them:
// sum of a b' is the right sum plus zero_a sum of b', and so on.
std::vector<GemmFault> zero_points_wrong(const PreparedGemm& gemm) {
  const GemmProblem& problem = gemm.problem;
  std::vector<GemmFault> faults;
  const auto adding = [&](std::string sentence, auto added) {
    faults.push_back(GemmFault(gemm, std::move(sentence)));
    faults.back().added = added;
  };
  const auto missing_a = [](const PreparedGemm& g, const GemmPlace& at) {
    return g.problem.zero_a * sum_of(g.column(at), g.problem.k);
  };
  const auto missing_b = [](const PreparedGemm& g, const GemmPlace& at) {
    return g.problem.zero_b * sum_of(g.row(at), g.problem.k);
  };
  const auto product = [](const PreparedGemm& g) { return g.problem.zero_a * g.problem.zero_b; };
  if ((problem.zero_a != 0 || problem.zero_b != 0) && problem.output != FormatId::s32) {
    faults.push_back(GemmFault(gemm, "zero points were taken out of the sum in f32"));
    faults.back().zeros_in_f32 = true;
  }
  if (problem.zero_a != 0) adding("zero_a was not subtracted", missing_a);
  if (problem.zero_b != 0) adding("zero_b was not subtracted", missing_b);
  if (problem.zero_a == 0 || problem.zero_b == 0) return faults;
  adding("zero_a and zero_b were not subtracted", [=](const PreparedGemm& g, const GemmPlace& at) {
    return missing_a(g, at) + missing_b(g, at) + g.problem.k * product(g);
  });
  adding("the term k * zero_a * zero_b is missing",
         [=](const PreparedGemm& g, const GemmPlace&) { return -g.problem.k * product(g); });
  if (problem.k != 1) {
    adding("zero_a * zero_b was added without the factor k",
           [=](const PreparedGemm& g, const GemmPlace&) { return (1 - g.problem.k) * product(g); });
  }
  return faults;
}

std::vector<GemmFault> sum_clamped(const PreparedGemm& gemm) {
  if (gemm.model) return {};
  GemmFault clamped(gemm, "the sum was clamped to the range of s32 instead of wrapped");
  clamped.clamped = true;
  GemmFault pairs(gemm, "pairs of products were added in int16, which saturates");
  pairs.added = [](const PreparedGemm& g, const GemmPlace& at) {
    const float *row = g.row(at), *column = g.column(at);
    std::int64_t added = 0;
    for (std::int64_t p = 0; p + 1 < g.problem.k; p += 2) {
      std::int64_t pair = 0;
      for (const std::int64_t q : {p, p + 1}) {
        pair += (static_cast<std::int64_t>(row[q]) + g.problem.zero_a) *
                (static_cast<std::int64_t>(column[q]) + g.problem.zero_b);
      }
      added += std::clamp<std::int64_t>(pair, -32768, 32767) - pair;
    }
    return added;
  };
  return {clamped, pairs};
}

std::vector<GemmFault> promotion_missing(const PreparedGemm& gemm) {
  if (!gemm.model || gemm.scales || gemm.model->schedule != Schedule::promote ||
      gemm.contract.interval >= gemm.problem.k) {
    return {};
  }
  GemmFault missing(
      gemm, fmt::format("the promotion to f32 every {} of k was left out", gemm.contract.interval));
  missing.no_promotion = true;
  return {missing};
}

// Formats a sum may have been kept in by mistake. Shows where the output is the sum itself.
std::vector<GemmFault> promoted_sum_narrow(const PreparedGemm& gemm) {
  if (!gemm.model || gemm.model->schedule != Schedule::promote || !gemm.epilogue.is_identity() ||
      gemm.problem.output != FormatId::f32) {
    return {};
  }
  std::vector<GemmFault> faults;
  for (const int bits : {8, 11, 14, 15}) {
    faults.push_back(
        GemmFault(gemm, fmt::format("the sum over blocks of k kept only {} bits of its 24", bits)));
    faults.back().sum_bits = bits;
  }
  return faults;
}

std::vector<GemmFault> nan_scale_infinite(const PreparedGemm& gemm) {
  if (!gemm.scales) return {};
  GemmFault infinite(gemm, "a NaN scale was taken for infinity");
  infinite.nan_is_infinite = true;
  return {infinite};
}

std::vector<GemmFault> other_fp8_format(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const auto other = [](FormatId id) -> std::optional<FormatId> {
    if (id == FormatId::e4m3) return FormatId::e5m2;
    if (id == FormatId::e5m2) return FormatId::e4m3;
    return std::nullopt;
  };
  const FormatId a = gemm.problem.a->layout.format, b = gemm.problem.b->layout.format;
  const auto sentence = [](std::string_view name, FormatId stored, FormatId read) {
    return fmt::format("{} was read as {} although it is {}", name, format(read).name,
                       format(stored).name);
  };
  if (const auto read = other(a)) {
    faults.push_back(GemmFault(gemm, sentence("A", a, *read)));
    faults.back().a_read_as = read;
  }
  if (const auto read = other(b)) {
    faults.push_back(GemmFault(gemm, sentence("B", b, *read)));
    faults.back().b_read_as = read;
  }
  return faults;
}

std::vector<GemmFault> split_part_wrong(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  if (!gemm.model || gemm.model->schedule != Schedule::split_k || gemm.model->parts == 1) return {};
  const std::int64_t k = gemm.problem.k, length = gemm.model->part_length(k);
  for (std::int64_t begin = 0; begin < k && k > length; begin += length) {
    const KRange range{begin, std::min(k, begin + length)};
    const std::string part =
        fmt::format("part {} of the split (k in [{}, {}))", begin / length, range.begin, range.end);
    faults.push_back(GemmFault(gemm, part + " is missing"));
    faults.back().skipped = range;
    faults.push_back(GemmFault(gemm, part + " was added twice"));
    faults.back().repeated = range;
  }
  return faults;
}

}  // namespace plumbline
