// SPDX-License-Identifier: MIT
// The table of fault kinds, simplest first. Each function lists the variants of one kind of fault.
#include "oracles/reference/gemm/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/bounds/contract/epilogue_steps.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm/operand_faults.h"
#include "oracles/reference/gemm/scale_faults.h"

namespace plumbline {
namespace {

std::vector<GemmFault> nothing_stored(const PreparedGemm& gemm) {
  GemmFault zero(gemm, "the output is 0, as if nothing had been accumulated or stored");
  zero.zero = true;
  return {zero};
}

// How many products may be missing at the end: one, or those behind whole tiles.
std::set<std::int64_t> counts_at_the_end(std::int64_t k) {
  std::set<std::int64_t> missing;
  if (k >= 1) missing.insert(1);
  for (const std::int64_t tile : {2, 4, 8, 16, 32, 64, 128, 256}) {
    if (k % tile != 0) missing.insert(k % tile);
  }
  return missing;
}

std::vector<GemmFault> last_products(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const std::int64_t k = gemm.problem.k;
  for (const std::int64_t count : counts_at_the_end(k)) {
    faults.push_back(GemmFault(
        gemm,
        count == k ? std::string("all products are missing")
        : count == 1
            ? fmt::format("the last k product is missing (the result is the sum over k < {})",
                          k - 1)
            : fmt::format("the last {} k products are missing (the result is the sum over k < {})",
                          count, k - count)));
    faults.back().skipped = {k - count, k};
  }
  return faults;
}

// Every aligned tile of k of the usual sizes that is not the whole of it.
std::vector<KRange> tiles_of(const PreparedGemm& gemm) {
  const std::int64_t k = gemm.problem.k;
  std::vector<KRange> tiles;
  std::vector<std::int64_t> sizes{256, 128, 64, 32, 16, 8, 4, 2, 1};
  const std::int64_t own = gemm.contract.interval;
  if (own > 0 && std::find(sizes.begin(), sizes.end(), own) == sizes.end())
    sizes.insert(sizes.begin(), own);
  for (const std::int64_t size : sizes) {
    if (size >= k || k / size > 512) continue;
    for (std::int64_t begin = 0; begin < k; begin += size)
      tiles.push_back({begin, std::min(k, begin + size)});
  }
  return tiles;
}

// The last products of every stage of k, as of a loop that ends too early.
std::vector<GemmFault> stages_cut(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const std::int64_t stage : {64, 128, 256}) {
    for (const std::int64_t missing : {16, 32, 64}) {
      if (missing >= stage || gemm.problem.k <= stage - missing) continue;
      faults.push_back(
          GemmFault(gemm, fmt::format("the last {} of every {} of k are missing", missing, stage)));
      faults.back().a_change = [=](const PreparedGemm&, const GemmPlace&, std::vector<float>& row) {
        for (std::size_t p = 0; p < row.size(); ++p) {
          if (static_cast<std::int64_t>(p) % stage >= stage - missing) row[p] = 0;
        }
        return true;
      };
    }
  }
  return faults;
}

std::vector<GemmFault> tile_dropped(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const std::int64_t k = gemm.problem.k;
  const std::set<std::int64_t> at_the_end = counts_at_the_end(k);
  for (const KRange& tile : tiles_of(gemm)) {
    if (tile.end == k && at_the_end.contains(k - tile.begin)) continue;  // see last_products()
    faults.push_back(
        GemmFault(gemm, fmt::format("a k tile was dropped: k in [{}, {})", tile.begin, tile.end)));
    faults.back().skipped = tile;
  }
  return faults;
}

std::vector<GemmFault> tile_repeated(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const KRange& tile : tiles_of(gemm)) {
    faults.push_back(GemmFault(
        gemm, fmt::format("a k tile was counted twice: k in [{}, {})", tile.begin, tile.end)));
    faults.back().repeated = tile;
  }
  return faults;
}

std::vector<GemmFault> output_rounding(const PreparedGemm& gemm) {
  struct Mode {
    Rounding rounding;
    std::string_view words;
  };

  std::vector<GemmFault> faults;
  for (const Mode& mode :
       {Mode{Rounding::toward_zero, "truncated"},
        Mode{Rounding::nearest_away, "rounded with ties away from zero"},
        Mode{Rounding::nearest_even, "rounded to nearest even"}, Mode{Rounding::up, "rounded up"},
        Mode{Rounding::down, "rounded down"}}) {
    if (mode.rounding == gemm.contract.output.rounding) continue;
    faults.push_back(
        GemmFault(gemm, fmt::format("the output was {}{}", mode.words,
                                    gemm.contract.output.rounding == Rounding::nearest_even
                                        ? " instead of rounded to nearest even"
                                        : ", not as the contract says")));
    faults.back().output.rounding = mode.rounding;
  }
  return faults;
}

std::vector<GemmFault> output_overflow(const PreparedGemm& gemm) {
  if (gemm.contract.output.overflow != Overflow::saturate) {
    if (format(gemm.problem.output).storage_bits > 8) return {};
    GemmFault saturated(gemm,
                        "overflow became the largest finite number: output.overflow = "
                        "\"saturate\"");
    saturated.output.overflow = Overflow::saturate;
    return {saturated};
  }
  GemmFault special = GemmFault(
      gemm,
      "overflow became Inf or NaN instead of the largest finite number: output.overflow = "
      "\"special\"");
  special.output.overflow = Overflow::to_special;
  return {special};
}

std::vector<GemmFault> alpha_narrowed(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3}) {
    const Format& narrow = format(id);
    const auto alpha = static_cast<float>(
        to_double(narrow, encode(narrow, static_cast<double>(gemm.scalars.alpha))));
    if (alpha == gemm.scalars.alpha || std::isnan(alpha)) continue;
    faults.push_back(
        GemmFault(gemm, fmt::format("alpha was rounded to {} before it was used", narrow.name)));
    faults.back().scalars.alpha = alpha;
  }
  return faults;
}

std::vector<GemmFault> epilogue_step_missing(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const auto without = [&](std::string_view step, const auto& change) {
    faults.push_back(GemmFault(gemm, fmt::format("{} was not applied", step)));
    change(faults.back().scalars);
  };
  const EpilogueScalars& scalars = gemm.scalars;
  if (scalars.alpha != 1) without("alpha", [](EpilogueScalars& s) { s.alpha = 1; });
  if (scalars.beta != 0) without("beta * C", [](EpilogueScalars& s) { s.beta = 0; });
  if (scalars.beta != 0 && scalars.beta != 1) {
    faults.push_back(GemmFault(gemm, "beta was taken as 1"));
    faults.back().scalars.beta = 1;
  }
  if (scalars.has_bias) without("the bias", [](EpilogueScalars& s) { s.has_bias = false; });
  if (scalars.activation != Activation::none) {
    without(word_of(scalars.activation),
            [](EpilogueScalars& s) { s.activation = Activation::none; });
  }
  if (scalars.has_scale_d) without("scale_d", [](EpilogueScalars& s) { s.has_scale_d = false; });
  if (scalars.zero_d != 0) without("zero_d", [](EpilogueScalars& s) { s.zero_d = 0; });
  if (scalars.alpha != 1 && scalars.beta != 0) {
    faults.push_back(GemmFault(gemm, "alpha and beta were not applied"));
    faults.back().scalars.alpha = 1;
    faults.back().scalars.beta = 0;
  }
  return faults;
}

// The same steps, rounded elsewhere: what a compiler or another author makes of the formula. The
// words in quotes are the contract's.
std::vector<GemmFault> epilogue_rounded_elsewhere(const PreparedGemm& gemm) {
  using enum EpilogueStep;

  struct Variation {
    std::vector<EpilogueStep> promised, done;
    std::string_view sentence;
  };

  static const std::vector<Variation> kVariations = {
      {{bias},
       {bias_fma},
       "the bias was added by one fma with the product before it: \"bias fma\""},
      {{bias_fma}, {bias}, "the product was rounded before the bias was added: \"bias\""},
      {{beta_c}, {beta_c_fma}, "beta * C was added by fma: \"beta_c fma\""},
      {{beta_c_fma}, {beta_c}, "beta * C was rounded before it was added: \"beta_c\""},
      {{scale_ab},
       {scale_a, scale_b},
       "one scale was applied after the other: \"scale_a\", \"scale_b\""},
      {{scale_ab},
       {scale_b, scale_a},
       "one scale was applied after the other: \"scale_b\", \"scale_a\""},
      {{scale_a, scale_b}, {scale_b, scale_a}, "scale_b was applied before scale_a"},
      {{scale_b, scale_a}, {scale_a, scale_b}, "scale_a was applied before scale_b"},
      {{scale_a, scale_b}, {scale_ab}, "the scales were multiplied first: \"scale_ab\""},
      {{scale_b, scale_a}, {scale_ab}, "the scales were multiplied first: \"scale_ab\""},
  };
  std::vector<GemmFault> faults;
  const std::span<const EpilogueStep> steps = gemm.epilogue.steps();  // the usual ones, too
  for (const Variation& variation : kVariations) {
    const auto found = std::search(steps.begin(), steps.end(), variation.promised.begin(),
                                   variation.promised.end());
    if (found == steps.end()) continue;
    faults.push_back(GemmFault(gemm, std::string(variation.sentence)));
    std::vector<EpilogueStep>& done = faults.back().steps;
    done.assign(steps.begin(), found);
    done.insert(done.end(), variation.done.begin(), variation.done.end());
    const auto length = static_cast<std::ptrdiff_t>(variation.promised.size());
    done.insert(done.end(), found + length, steps.end());
  }
  return faults;
}

// What nvcc's --use_fast_math does to a kernel.
std::vector<GemmFault> subnormals_lost(const PreparedGemm& gemm) {
  if (gemm.contract.subnormals_flushed) return {};
  GemmFault lost(gemm, "f32 numbers below 2^-126 counted as 0: subnormals = \"flushed\"");
  lost.flushes = true;
  return {lost};
}

// Another function, or the same computed in another way.
std::vector<GemmFault> other_activation(const PreparedGemm& gemm) {
  const Activation promised = gemm.scalars.activation;
  std::vector<GemmFault> faults;
  if (promised == Activation::none && gemm.problem.output != FormatId::s32) {
    for (const Activation done :
         {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      faults.push_back(
          GemmFault(gemm, fmt::format("{} was applied although there is none", word_of(done))));
      faults.back().scalars.activation = done;
      faults.back().wide = is_smooth(done);
    }
  }
  if (promised == Activation::none) return faults;
  for (const std::string_view word : epilogue_words()) {
    const EpilogueStep step = *epilogue_step(word);
    const Activation done = activation_of(step);
    const std::vector<EpilogueStep>& steps = gemm.contract.epilogue;
    const bool named = std::ranges::find(steps, step) != steps.end();
    if (done == Activation::none || (named && done == promised)) continue;
    faults.push_back(GemmFault(
        gemm, done == promised
                  ? fmt::format("the activation was computed in another way: \"{}\"", word)
                  : fmt::format("the activation was {} instead of {}: \"{}\"", word_of(done),
                                word_of(promised), word)));
    GemmFault& other = faults.back();
    other.scalars.activation = done;
    other.unlikely = done == promised;
    other.wide = is_smooth(done) && !other.unlikely;
    for (EpilogueStep& at : other.steps) {
      if (activation_of(at) == promised && !named) at = step;
    }
  }
  return faults;
}

// The activation before or after steps it should follow or precede.
std::vector<GemmFault> activation_elsewhere(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const std::vector<EpilogueStep>& steps = gemm.contract.epilogue;
  const auto at = std::ranges::find_if(
      steps, [&](EpilogueStep step) { return activation_of(step) == gemm.scalars.activation; });
  if (gemm.scalars.activation == Activation::none || at == steps.end()) return faults;
  const auto place = at - steps.begin();
  for (std::ptrdiff_t other = 0; other < std::ssize(steps); ++other) {
    if (other == place) continue;
    faults.push_back(GemmFault(
        gemm, fmt::format("the activation came {} \"{}\"", other < place ? "before" : "after",
                          word_of(steps[static_cast<std::size_t>(other)]))));
    faults.back().wide = is_smooth(gemm.scalars.activation);
    std::vector<EpilogueStep>& moved = faults.back().steps;
    moved.erase(moved.begin() + place);
    moved.insert(moved.begin() + other, *at);
  }
  return faults;
}

// The bias before what should be multiplied first, or after what should be multiplied later.
std::vector<GemmFault> bias_elsewhere(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const std::span<const EpilogueStep> steps = gemm.epilogue.steps();  // the usual ones, too
  const auto at = std::ranges::find_if(
      steps, [](EpilogueStep step) { return row_of(step).addend == StepAddend::bias; });
  if (at == steps.end()) return faults;
  const auto place = at - steps.begin();
  for (std::ptrdiff_t other = 0; other < std::ssize(steps); ++other) {
    const EpilogueStepRow& row = row_of(steps[static_cast<std::size_t>(other)]);
    if (other == place || row.factor == StepFactor::none) continue;
    faults.push_back(GemmFault(gemm, fmt::format("the bias was added {} \"{}\"",
                                                 other < place ? "before" : "after", row.word)));
    std::vector<EpilogueStep>& moved = faults.back().steps;
    moved.assign(steps.begin(), steps.end());
    moved.erase(moved.begin() + place);
    moved.insert(moved.begin() + other, EpilogueStep::bias);
  }
  return faults;
}

std::vector<GemmFault> bias_of_another_place(const PreparedGemm& gemm) {
  if (gemm.problem.bias_kind == BiasKind::none) return {};
  std::vector<GemmFault> faults;
  const bool by_column = gemm.problem.bias_kind == BiasKind::per_column;
  const auto add = [&](std::string sentence, auto index) {
    faults.emplace_back(gemm, std::move(sentence));
    faults.back().bias_index = [index, by_column](const GemmPlace& at) {
      return by_column ? index(at.j, at.i) : index(at.i, at.j);
    };
  };
  using Index = std::int64_t;
  add(by_column ? "the bias was taken by row instead of by column"
                : "the bias was taken by column instead of by row",
      [](Index /*own*/, Index other) { return other; });
  const std::string_view vector = by_column ? "column" : "row";
  add(fmt::format("the bias was taken from the next {}", vector),
      [](Index own, Index) { return own + 1; });
  add(fmt::format("the bias was taken from the previous {}", vector),
      [](Index own, Index) { return own - 1; });
  add(fmt::format("the biases of the two {}s of each pair were exchanged", vector),
      [](Index own, Index) { return own ^ 1; });
  add(fmt::format("the bias of {} 0 was added everywhere", vector),
      [](Index, Index) { return Index{0}; });
  const Index vectors = by_column ? gemm.problem.n : gemm.problem.m;
  for (Index tile = 16; tile <= 256 && tile < vectors; tile *= 2) {
    add(fmt::format("the bias was taken by the {}'s number within a tile of {}", vector, tile),
        [tile](Index own, Index) { return own % tile; });
  }
  return faults;
}

std::vector<GemmFault> c_read(const PreparedGemm& gemm) {
  if (gemm.problem.beta != 0 || gemm.problem.c == nullptr) return {};
  GemmFault read(gemm, "C was read although beta = 0 (0 * NaN and 0 * Inf are NaN)");
  read.reads_c = true;
  return {read};
}

std::vector<GemmFault> other_position(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  const auto moved = [&](std::string sentence, std::function<GemmPlace(const GemmPlace&)> source) {
    faults.push_back(GemmFault(gemm, std::move(sentence)));
    faults.back().source = std::move(source);
  };
  moved("the element belongs to position (j, i): rows and columns are exchanged",
        [](const GemmPlace& at) { return GemmPlace{at.batch, at.j, at.i}; });
  for (const std::int64_t step : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const std::int64_t shift : {step, -step}) {
      if (step < gemm.problem.m)
        moved(fmt::format("the element belongs to position (i {:+}, j)", shift),
              [shift](const GemmPlace& at) { return GemmPlace{at.batch, at.i + shift, at.j}; });
      if (step < gemm.problem.n)
        moved(fmt::format("the element belongs to position (i, j {:+})", shift),
              [shift](const GemmPlace& at) { return GemmPlace{at.batch, at.i, at.j + shift}; });
      if (step < gemm.problem.batch)
        moved(fmt::format("the element belongs to the batch {} {}", step,
                          shift > 0 ? "further on" : "before"),
              [shift](const GemmPlace& at) { return GemmPlace{at.batch + shift, at.i, at.j}; });
    }
  }
  return faults;
}

std::vector<GemmFault> bf16_partial_sums(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  std::set<std::int64_t> lengths;
  if (!gemm.model || gemm.scales) return faults;
  std::vector<std::int64_t> part_counts{2, 3, 4, 5, 6, 8, 12, 16};
  std::vector<std::int64_t> blocks{1, 8, 16, 32, 64, 128};
  if (gemm.contract.schedule == Schedule::split_k) {  // its own ranges first
    part_counts.insert(part_counts.begin(), gemm.contract.parts);
    blocks.insert(blocks.begin(), std::max<std::int64_t>(gemm.contract.interval, 1));
  }
  for (const std::int64_t parts : part_counts) {
    for (const std::int64_t block : blocks) {
      const std::int64_t k = gemm.problem.k, even = (k + parts - 1) / parts;
      const std::int64_t length = std::max(block, (even + block - 1) / block * block);
      // A kernel that splits may round its only part as well.
      if (length >= k && gemm.contract.schedule != Schedule::split_k) continue;
      if (!lengths.insert(std::min(length, k)).second) continue;
      faults.push_back(GemmFault(
          gemm, length < k ? fmt::format("partial sums were rounded to bf16 before the join "
                                         "(split at every {} of k)",
                                         length)
                           : "the only part of the split was rounded to bf16"));
      faults.back().bf16_parts = parts;
      faults.back().bf16_block = block;
    }
  }
  return faults;
}

}  // namespace

std::vector<GemmFaultKind> gemm_fault_kinds() {
  // clang-format off
  return {
      {"C read",                  c_read},
      {"special values lost",     special_values_lost},
      {"output rounding",         output_rounding},
      {"output overflow",         output_overflow},
      {"epilogue step missing",   epilogue_step_missing},
      {"rounded elsewhere",       epilogue_rounded_elsewhere},
      {"subnormals lost",         subnormals_lost},
      {"activation elsewhere",    activation_elsewhere},
      {"other activation",        other_activation},
      {"activation mistaken",     activation_mistaken},
      {"sum rounded",             sum_rounded},
      {"alpha narrowed",          alpha_narrowed},
      {"bias elsewhere",          bias_elsewhere},
      {"bias of another place",   bias_of_another_place},
      {"scale missing",           scale_missing},
      {"zero points wrong",       zero_points_wrong},
      {"sum clamped",             sum_clamped},
      {"scales exchanged",        scales_exchanged},
      {"scale read once",         scale_read_once},
      {"scale of a neighbor",     scale_of_neighbor, true},
      {"scales laid out",         scales_otherwise_laid_out},
      {"scales to powers of two", scales_to_powers_of_two},
      {"B dequantized otherwise", dequantized_otherwise},
      {"subnormal operands",      subnormal_operands},
      {"integers in f32",         integers_in_f32},
      {"scales in turn",          scales_in_turn},
      {"NaN scale infinite",      nan_scale_infinite},
      {"operand read elsewhere",  operand_read_elsewhere, true},
      {"half of k twice",         half_of_k_twice, true},
      {"other FP8 format",        other_fp8_format},
      {"zeros skipped",           zeros_skipped},
      {"promotion missing",       promotion_missing},
      {"promoted sum narrow",     promoted_sum_narrow},
      {"split part wrong",        split_part_wrong},
      {"nothing stored",          nothing_stored, true},  // or all products missing
      {"last products missing",   last_products, true},
      {"other position",          other_position, true},
      {"bf16 partial sums",       bf16_partial_sums},
      {"stages cut",              stages_cut, true},
      {"k tile dropped",          tile_dropped, true},
      {"k tile counted twice",    tile_repeated, true},
  };
  // clang-format on
}

}  // namespace plumbline
