// SPDX-License-Identifier: MIT
// Designed cases of GEMM: for every fault that real kernels have had (kernels/mutants/), the
// smallest inputs that must show it, built from the kernel's own tile sizes. They run before
// anything generated, so a broken kernel fails in seconds.
#include "fuzz/gemm/designed.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/case/far_apart.h"
#include "fuzz/gemm/shapes.h"

namespace plumbline {

namespace {

class Designer : public DesignedCases {
 public:
  Designer(const GemmTile& tile, std::string_view word)
      : tile_(tile), a_transposed_(word[0] == 't'), b_transposed_(word[1] == 't') {}

  void add(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view rest,
           std::string_view value, std::string_view shape, std::string_view layout,
           std::string_view purpose) {
    put(fmt::format("m={} n={} k={} {}", m, n, k, rest), value, shape, layout, purpose);
  }

  void k_loop();
  void output_tiles();
  void leading_dimensions();
  void bias_and_scalars();
  void accumulation();
  void output_cast();
  void empty();
  void selection();
  void zero_points(const Manifest& manifest);
  void integer_sums();

 private:
  GemmTile tile_;
  bool a_transposed_, b_transposed_;  // where a case names no layout
};

// The k loop stops one short, or its partial tile is skipped or read without a mask.
void Designer::k_loop() {
  const std::string_view purpose =
      "the last partial k tile: skipped, cut short, or read past its end";
  for (const std::int64_t k :
       {tile_.k + 1, 2 * tile_.k + 1, tile_.k - 1, std::int64_t{1}, std::int64_t{17}}) {
    if (k < 1) continue;
    const std::string_view shape = k == 1 ? "tiny" : "k_tail";
    add(17, 9, k, "out=f32", "positive", shape, "nn", purpose);
    add(8, 16, k, "layout=nt", "one_hot", shape, "nt", purpose);
    add(9, 17, k, "layout=tt out=f32", "ones", shape, "tt", purpose);
  }
  for (const std::int64_t stages : {2, 3, 4, 5, 6}) {
    add(16, 8, stages * tile_.k, "out=f32", "integers", "tiny", "nn",
        "as many k tiles as a pipeline has stages, and more");
    add(5, 7, stages * tile_.k + 1, "layout=tn", "ones", "k_tail", "tn", purpose);
  }
}

// The last tile in m or n is stored without a mask, not stored, or stored one tile off.
void Designer::output_tiles() {
  const std::string_view purpose =
      "partial tiles of the output: stored unmasked, not stored, or shifted";
  const std::int64_t m = tile_.m, n = tile_.n;
  const std::int64_t short_k = 8;
  add(1, 1, short_k, "", "normal", "tiny", "nn", purpose);
  add(m - 1, n - 1, short_k, "out=f32", "index_code", "tile_minus_1", "nn", purpose);
  add(m - 1, 3, short_k, "layout=nt", "normal", "tile_minus_1", "nt", purpose);
  add(3, n - 1, short_k, "layout=tn", "normal", "tile_minus_1", "tn", purpose);
  add(m, n, tile_.k, "", "integers", "tile", "nn", "one whole tile");
  add(m + 1, n, short_k, "out=f32", "index_code", "tile_plus_1", "nn", purpose);
  add(m, n + 1, short_k, "layout=nt", "integers", "tile_plus_1", "nt", purpose);
  add(m + 1, n + 1, short_k, "layout=tt", "one_hot", "tile_plus_1", "tt", purpose);
  add(2 * m + 3, 5, short_k, "out=f32", "integers", "two_tiles_plus_3", "nn", purpose);
  add(5, 2 * n + 3, short_k, "", "index_code", "two_tiles_plus_3", "nn", purpose);
  add(2 * m + 3, 2 * n + 3, short_k, "layout=nt out=f32", "index_code", "two_tiles_plus_3", "nt",
      purpose);
  const std::string_view order = "the order of tiles in the grid";
  add(3 * m, 2 * n, short_k, "", "index_code", "many_tiles", "nn", order);
  // Tiles are walked in groups of eight rows or columns: a whole group, and a short last one.
  add(9 * m + 3, 2 * n + 3, short_k, "", "index_code", "many_tiles", "nn", order);
  add(2 * m + 3, 9 * n + 3, short_k, "", "index_code", "many_tiles", "nn", order);
}

// A leading dimension taken for the width, a batch stride ignored.
void Designer::leading_dimensions() {
  const std::int64_t m = 20, n = 12, k = 40;
  const std::int64_t a_row = a_transposed_ ? m : k, b_row = b_transposed_ ? k : n;
  const std::string_view rows = "a leading dimension longer than the row";
  add(m, n, k, fmt::format("lda={}", a_row + 8), "integers", "k_tail", "padded_8", rows);
  add(m, n, k, fmt::format("ldb={}", b_row + 8), "integers", "k_tail", "padded_8", rows);
  add(m, n, k, fmt::format("layout=tt lda={} ldb={}", m + 8, k + 8), "integers", "k_tail",
      "padded_8", rows);
  add(m, n, k, fmt::format("ldd={} out=f32", n + 8), "integers", "k_tail", "padded_8", rows);
  add(m, n, k, fmt::format("beta=1 ldc={} ldd={}", n + 8, n + 16), "integers", "k_tail", "padded_8",
      rows);
  add(m, n, k, fmt::format("lda={} ldb={} ldd={}", a_row + 1, b_row + 1, n + 3), "integers",
      "k_tail", "padded_odd", rows);
  const std::string_view batches = "the stride between matrices of a batch";
  add(m, n, k, "batch=3", "integers", "batched", "nn", batches);
  add(m, n, k, fmt::format("batch=3 stride_a={}", m * k + 24), "integers", "batched", "batch_gaps",
      batches);
  add(m, n, k, fmt::format("batch=3 stride_b={}", n * k + 24), "integers", "batched", "batch_gaps",
      batches);
  add(m, n, k, fmt::format("batch=3 beta=2 stride_c={} stride_d={}", m * n + 24, m * n + 48),
      "integers", "batched", "batch_gaps", batches);
  add(m, n, k, "batch=3 stride_a=0 out=f32", "normal", "batched", "broadcast_a",
      "stride 0: one A for all");
  add(m, n, k, "batch=3 stride_b=0", "normal", "batched", "broadcast_b", "stride 0: one B for all");
  add(m, n, k, "batch=2 beta=1 stride_c=0", "normal", "batched", "broadcast_a",
      "stride 0: one C for all");
  add(1, 1, k, "batch=258", "integers", "batched", "nn",
      "more matrices than blocks for them: what one leaves to the next");
  for (const std::string& strides :
       {fmt::format("lda={}", kFarApart), fmt::format("ldb={}", kFarApart),
        fmt::format("ldd={} out=f32", kFarApart), fmt::format("beta=1 ldc={}", kFarApart)})
    add(6, n, k, strides, "integers", "k_tail", "padded_8", kFarPurpose);
  add(6, n, k, fmt::format("batch=6 stride_a={0} stride_b={0} stride_d={0}", kFarApart), "integers",
      "batched", "batch_gaps", kFarPurpose);
  const std::string_view absurd = "strides of dimensions of size 1 must not be used";
  add(m, n, k, "stride_a=123456789012 stride_b=123456789012 stride_d=123456789012", "integers",
      "k_tail", "absurd_strides", absurd);
  add(1, n, a_transposed_ ? 1 : k, "lda=123456789 ldd=123456789", "integers",
      a_transposed_ ? "tiny" : "k_tail", "absurd_strides", absurd);
  add(m, b_transposed_ ? 1 : n, b_transposed_ ? k : 1, "ldb=123456789", "integers",
      b_transposed_ ? "k_tail" : "tiny", "absurd_strides", absurd);
}

// Bias taken by the other dimension; beta = 0 that still reads C; alpha, beta ignored or held in
// low precision.
void Designer::bias_and_scalars() {
  const std::string_view bias = "bias indexed by the other dimension, or from a tile's start";
  add(24, 40, 8, "bias=row out=f32", "index_code", "tiny", "nn", bias);
  add(24, 40, 8, "bias=column", "index_code", "tiny", "nn", bias);
  add(40, 24, 8, "bias=column out=f32", "integers", "tiny", "nn", bias);
  add(24, 24, 8, "bias=row", "index_code", "square", "nn", bias);
  add(tile_.m + 9, 9, 4, "bias=row", "index_code", "tile_plus_1", "nn", bias);
  add(9, tile_.n + 9, 4, "bias=column", "index_code", "tile_plus_1", "nn", bias);
  add(17, 9, 8, "batch=2 bias=row", "index_code", "batched", "nn", bias);
  const std::string_view unread = "beta = 0: C holds NaN and must not be read";
  add(17, 24, 16, "c=always", "normal", "tiny", "nn", unread);
  add(17, 24, 16, "c=always out=f32 alpha=-1.5", "normal", "tiny", "nn", unread);
  add(33, 9, 16, "c=always bias=row act=relu", "normal", "tiny", "nn", unread);
  const std::string_view scalars = "alpha and beta off their neutral values";
  add(17, 24, 16, "beta=2", "integers", "tiny", "nn", scalars);
  add(17, 24, 16, "beta=-0.5 out=f32", "integers", "tiny", "nn", scalars);
  add(17, 24, 0, "beta=0.0004 out=f32", "normal", "empty_k", "nn", scalars);
  add(9, 12, 5, "beta=-0.5 batch=7", "integers", "batched", "nn", scalars);
  add(17, 24, 16, "alpha=0.97 out=f32", "normal", "tiny", "nn", scalars);
  add(17, 24, 16, "alpha=0.97", "integers", "tiny", "nn", scalars);
  add(17, 24, 16, "alpha=-1.5 beta=0.37 bias=row out=f32", "normal", "tiny", "nn", scalars);
  add(17, 24, 16, "alpha=0 beta=1", "normal", "tiny", "nn", "alpha = 0: the output is C");
  add(17, 24, 16, "alpha=0 bias=column", "specials", "tiny", "nn",
      "alpha = 0 times NaN is NaN under this contract");
  add(17, 24, 16, "alpha=1e-30 out=f32", "normal", "tiny", "nn", "alpha far from 1");
  add(17, 24, 16, "act=relu", "normal", "tiny", "nn", "relu, and where in the epilogue it stands");
  add(17, 24, 16, "act=relu bias=column beta=1 alpha=-1.5 out=f32", "normal", "tiny", "nn",
      "the order of the epilogue");
  add(17, 24, 16, "act=relu", "specials", "tiny", "nn", "relu lets NaN through");
  for (const std::string_view smooth : {"gelu", "gelu_tanh", "silu"}) {
    const std::string_view shape = "an activation that is not monotone, and where it stands";
    add(17, 24, 4, fmt::format("act={}", smooth), "normal", "tiny", "nn", shape);
    add(17, 24, 4, fmt::format("act={} out=f32", smooth), "normal", "tiny", "nn", shape);
    add(17, 24, 4, fmt::format("act={} bias=column beta=1", smooth), "normal", "tiny", "nn", shape);
    add(17, 24, 16, fmt::format("act={}", smooth), "specials", "tiny", "nn",
        "an activation of NaN and infinities");
  }
}

// Narrow accumulators, and partial sums rounded too early.
void Designer::accumulation() {
  const std::string_view narrow = "an accumulator narrower than declared";
  add(10, 8, 2048, "out=f32", "early_large", "large_k", "nn", narrow);
  add(10, 8, 2048, "layout=nt", "early_large", "large_k", "nt", narrow);
  add(10, 8, 4096, "out=f32", "positive", "large_k", "nn", narrow);
  add(10, 8, 64, "out=f32", "width_ladder", "k_tail", "nn", narrow);
  add(10, 8, 2048, "out=f32", "width_ladder", "large_k", "nn", narrow);
  const std::string_view partial = "partial sums rounded to a narrow format before they are joined";
  add(16, 16, 2048, "out=f32", "cancelling", "large_k", "nn", partial);
  add(16, 16, 2048, "layout=nt", "cancelling", "large_k", "nt", partial);
  add(16, 16, 4096, "", "cancelling", "large_k", "nn", partial);
  add(16, 16, 512, "layout=tn out=f32", "cancelling", "k_tail", "tn", partial);
  add(16, 16, 1024, "", "normal", "k_tail", "nn", partial);
  add(16, 16, 1024, "out=f32", "outliers", "k_tail", "nn", "outlier channels");
  add(16, 16, 256, "out=f32", "wide", "k_tail", "nn",
      "alignment of products of very different size");
  add(16, 16, 64, "out=f32", "large", "k_tail", "nn", "overflow of the accumulator");
  add(16, 16, 64, "", "large", "k_tail", "nn", "overflow of the accumulator and of the cast");
  add(16, 16, 64, "out=f32", "subnormal", "k_tail", "nn", "subnormal inputs flushed to zero");
  add(16, 16, 64, "", "subnormal", "k_tail", "nn", "subnormal inputs or outputs flushed to zero");
}

// The cast to the output format truncates, rounds ties away from zero, or rounds twice.
void Designer::output_cast() {
  const std::string_view purpose = "the output cast at and next to midpoints";
  add(24, 24, 1, "", "ties", "tiny", "nn", purpose);
  add(24, 24, 8, "", "ties", "tiny", "nn", purpose);
  add(40, 40, 33, "layout=nt", "ties", "k_tail", "nt", purpose);
  add(24, 24, 8, "bias=row", "ties", "tiny", "nn", purpose);
  add(24, 24, 8, "bias=column out=f32", "ties", "tiny", "nn", "f32 addition of bias at midpoints");
  add(24, 24, 8, "beta=1 out=f32", "ties", "tiny", "nn", "f32 addition of beta * C at midpoints");
}

// Nothing to multiply is not nothing to do.
void Designer::empty() {
  const std::string_view purpose = "k = 0: the output is beta * C + bias, not what was there";
  add(17, 24, 0, "", "normal", "empty_k", "nn", purpose);
  add(17, 24, 0, "beta=2 out=f32", "integers", "empty_k", "nn", purpose);
  add(tile_.m + 3, 24, 0, "bias=row layout=tt", "index_code", "empty_k", "tt", purpose);
  add(17, 24, 0, "beta=1 bias=column batch=2", "normal", "empty_k", "nn", purpose);
  add(0, 24, 16, "", "normal", "empty_m", "nn", "no rows: nothing may be touched");
  add(24, 0, 16, "bias=row out=f32", "normal", "empty_n", "nn",
      "no columns: nothing may be touched");
  add(17, 24, 16, "batch=0", "normal", "empty_m", "nn", "no matrices: nothing may be touched");
  add(0, 0, 0, "", "normal", "empty_m", "nn", "nothing at all");
}

// Which element was read where: one-hot rows and position codes, in square problems too, where a
// transposed read fits.
void Designer::selection() {
  const std::string_view purpose = "each output names the element it was computed from";
  const std::int64_t size = 48;
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    add(size, size, size, fmt::format("layout={} out=f32", layout), "index_code", "square", layout,
        purpose);
    add(size, size, size, fmt::format("layout={}", layout), "one_hot", "square", layout, purpose);
    add(37, 53, 71, fmt::format("layout={}", layout), "power_scaled", "prime", layout,
        "rows or columns taken for others");
  }
  for (const std::string_view layout : {"nn", "nt"})
    add(23, 31, 97, fmt::format("layout={}", layout), "zero_slices", "k_tail", layout,
        "tiles of zeros that are skipped, and NaN and Inf with them");
  add(23, 31, 97, "out=f32", "specials", "k_tail", "nn",
      "NaN and Inf reach their own row or column only");
  add(23, 31, 97, "layout=tt batch=2", "specials", "batched", "tt",
      "NaN and Inf reach their own row or column only");
}

// Corrections by sums of rows and columns: left out before one kind of store, or of one operand.
void Designer::zero_points(const Manifest& manifest) {
  constexpr std::array<std::string_view, 1> kOut = {"out"};
  const std::string_view purpose = "zero points that one of the stores leaves out";
  for (const std::string& out : every_choice(manifest, kOut)) {
    for (const std::string_view zeros : {"zero_a=3 zero_b=-7", "zero_a=3", "zero_b=-7"})
      add(17, 24, 33, fmt::format("{} {}", zeros, out), "integers", "k_tail", "nn", purpose);
  }
  for (const std::string_view zeros : {"a=u8 zero_a=128", "a=u8 zero_a=255 zero_b=-7"})
    add(17, 24, 33, zeros, "integers", "k_tail", "nn", "zero points of u8 that s8 does not have");
  add(2, 2, 4, "batch=258 zero_a=3 zero_b=-7", "integers", "batched", "nn",
      "sums of rows and columns that are kept from one matrix of a batch to another");
  add(10, 8, 4100, "a=u8 zero_a=255 out=f32", "large", "large_k", "nn",
      "corrections that f32 cannot hold");
}

// Sums of one sign that f32 cannot hold.
void Designer::integer_sums() {
  const std::string_view purpose = "integers that are added in a format with fewer bits";
  add(10, 8, 4096, "", "large", "large_k", "nn", purpose);
  add(10, 8, 4096, "out=f32", "large", "large_k", "nn", purpose);
  add(1, 1, 140000, "a=u8 out=s32", "large", "large_k", "nn",
      "sums beyond 32 bits, which wrap around");
}

bool multiplies_integers(const Problem& plain) {
  return plain.word("a") == "s8" || plain.word("a") == "u8";
}

}  // namespace

std::vector<DesignedCase> gemm_designed(const Manifest& manifest) {
  const Problem plain(manifest.schema());
  Designer designer(gemm_tile(manifest), plain.word("layout"));
  designer.k_loop();
  designer.output_tiles();
  designer.leading_dimensions();
  designer.bias_and_scalars();
  designer.accumulation();
  designer.output_cast();
  designer.empty();
  designer.selection();
  designer.zero_points(manifest);
  if (multiplies_integers(plain)) designer.integer_sums();
  return designer.take();
}

}  // namespace plumbline
