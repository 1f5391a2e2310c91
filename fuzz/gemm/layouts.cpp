// SPDX-License-Identifier: MIT
// Layout classes of GEMM: how the same logical matrices lie in memory. Everything a class adds
// around the elements is filled with NaN by materialize(), so a kernel that takes a tight stride
// for granted reads NaN or the wrong element.
#include <fmt/format.h>

#include <algorithm>

#include "fuzz/case/draw.h"
#include "fuzz/case/free_fields.h"
#include "fuzz/gemm/shapes.h"

namespace plumbline {

namespace {

// A matrix as stored: rows of `width` elements.
struct Stored {
  char name;
  std::int64_t rows, width;
};

std::array<Stored, 4> stored_matrices(const GemmSizes& sizes, std::string_view word) {
  const bool a_transposed = word[0] == 't', b_transposed = word[1] == 't';
  return {Stored{'a', a_transposed ? sizes.k : sizes.m, a_transposed ? sizes.m : sizes.k},
          Stored{'b', b_transposed ? sizes.n : sizes.k, b_transposed ? sizes.k : sizes.n},
          Stored{'c', sizes.m, sizes.n}, Stored{'d', sizes.m, sizes.n}};
}

// The fields of one matrix for every matrix the problem has.
template <typename Fields>
std::string for_each_matrix(const GemmLayoutRequest& request, std::string_view word,
                            Fields fields) {
  std::string text = fmt::format("layout={}", word);
  for (const Stored& matrix : stored_matrices(request.sizes, word)) {
    if (matrix.name == 'c' && !request.has_c) continue;
    text += fields(matrix);
  }
  return text;
}

std::string_view draw_word(const GemmLayoutRequest& request, Random& random) {
  return draw_one_of(random, request.words);
}

std::string nn(GemmLayoutRequest&, Random&) { return "layout=nn"; }

std::string nt(GemmLayoutRequest&, Random&) { return "layout=nt"; }

std::string tn(GemmLayoutRequest&, Random&) { return "layout=tn"; }

std::string tt(GemmLayoutRequest&, Random&) { return "layout=tt"; }

std::string padded_8(GemmLayoutRequest& request, Random& random) {
  return for_each_matrix(request, draw_word(request, random), [&](const Stored& matrix) {
    const std::int64_t aligned = (matrix.width + 7) / 8 * 8;
    return fmt::format(" ld{}={}", matrix.name, aligned + 8 * random.between(1, 3));
  });
}

std::string padded_odd(GemmLayoutRequest& request, Random& random) {
  return for_each_matrix(request, draw_word(request, random), [&](const Stored& matrix) {
    return fmt::format(" ld{}={}", matrix.name, matrix.width + 1 + 2 * random.between(0, 3));
  });
}

std::string batch_gaps(GemmLayoutRequest& request, Random& random) {
  if (request.sizes.batch < 2) request.sizes.batch = random.between(2, 3);
  return for_each_matrix(request, draw_word(request, random), [&](const Stored& matrix) {
    const std::int64_t padding = random.below(2) == 0 ? 0 : random.between(1, 9);
    const std::int64_t leading = std::max<std::int64_t>(1, matrix.width + padding);
    const std::int64_t gap =
        random.below(2) == 0 ? 8 * random.between(1, 8) : random.between(1, 70);
    return fmt::format(" ld{0}={1} stride_{0}={2}", matrix.name, leading,
                       matrix.rows * leading + gap);
  });
}

// [row, batch, column] in memory: a batch stride shorter than the matrix, which takes both strides
// of it.
std::string interleaved(GemmLayoutRequest& request, Random& random) {
  if (request.sizes.batch < 2) request.sizes.batch = random.between(2, 3);
  bool any = false;
  std::string text =
      for_each_matrix(request, draw_word(request, random), [&](const Stored& matrix) {
        if (!is_free(request.schema, fmt::format("ld{}", matrix.name)) ||
            !is_free(request.schema, fmt::format("stride_{}", matrix.name)))
          return std::string();
        any = true;
        const std::int64_t width = std::max<std::int64_t>(1, matrix.width);
        return fmt::format(" ld{0}={1} stride_{0}={2}", matrix.name, width * request.sizes.batch,
                           width);
      });
  return any ? text : std::string();
}

std::string broadcast(GemmLayoutRequest& request, Random& random, char name) {
  if (request.sizes.batch < 2) request.sizes.batch = random.between(2, 3);
  std::string text = fmt::format("layout={} stride_{}=0", draw_word(request, random), name);
  if (request.has_c && random.below(2) == 0) text += " stride_c=0";
  return text;
}

std::string broadcast_a(GemmLayoutRequest& request, Random& random) {
  return broadcast(request, random, 'a');
}

std::string broadcast_b(GemmLayoutRequest& request, Random& random) {
  return broadcast(request, random, 'b');
}

// Strides of dimensions of size 1 are never stepped along; frameworks leave anything in them.
std::string absurd_strides(GemmLayoutRequest& request, Random& random) {
  return for_each_matrix(request, draw_word(request, random), [&](const Stored& matrix) {
    std::string text;
    if (matrix.rows == 1)
      text += fmt::format(" ld{}={}", matrix.name, random.between(100000001, 199999999));
    if (request.sizes.batch == 1)
      text += fmt::format(" stride_{}={}", matrix.name, random.between(100000001, 999999999));
    return text;
  });
}

// clang-format off
constexpr std::array kLayoutClasses = {
    GemmLayoutClass{{"nn", "both operands as the product reads, tight"}, nn},
    GemmLayoutClass{{"nt", "B stored transposed, tight"}, nt},
    GemmLayoutClass{{"tn", "A stored transposed, tight"}, tn},
    GemmLayoutClass{{"tt", "both operands stored transposed, tight"}, tt},
    GemmLayoutClass{{"padded_8", "rows longer than the matrix, still aligned"}, padded_8},
    GemmLayoutClass{{"padded_odd", "rows of odd length: loads that assume alignment"}, padded_odd},
    GemmLayoutClass{{"batch_gaps", "space between the matrices of a batch"}, batch_gaps},
    GemmLayoutClass{{"interleaved", "batches side by side within a row"}, interleaved},
    GemmLayoutClass{{"broadcast_a", "one A for the whole batch: stride 0"}, broadcast_a},
    GemmLayoutClass{{"broadcast_b", "one B for the whole batch: stride 0"}, broadcast_b},
    GemmLayoutClass{{"absurd_strides", "huge strides on dimensions of size 1"}, absurd_strides},
};
// clang-format on

}  // namespace

std::vector<std::string_view> gemm_layout_words(const Manifest& manifest) {
  std::vector<std::string_view> words;
  for (const Field& field : manifest.schema()) {
    if (field.name == "layout") words.assign(field.choices.begin(), field.choices.end());
  }
  std::sort(words.begin(), words.end());
  return words;
}

std::span<const GemmLayoutClass> gemm_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
