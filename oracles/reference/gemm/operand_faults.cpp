// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/operand_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// An operand as it lies in memory: lines of adjacent elements, `leading` from one to the next.
struct Lines {
  std::string_view name;
  OperandOffset GemmFault::* offset;
  bool across;     // lines are its columns
  bool line_is_k;  // the place in k decides the line
  bool packed;     // two elements in a byte
  std::int64_t first, lines, width, leading, batches, stride;

  std::int64_t line(const GemmPlace& at) const { return across ? at.j : at.i; }

  std::int64_t within(const GemmPlace& at) const { return across ? at.i : at.j; }
};

Lines lines_of(const GemmProblem& problem, GemmSide side) {
  const TensorLayout& layout = (side == GemmSide::a ? problem.a : problem.b)->layout;
  const bool across = layout.strides[2] != 1;
  const std::int64_t rows = layout.shape[1], columns = layout.shape[2];
  Lines out{};
  out.name = side == GemmSide::a ? "A" : "B";
  out.offset = side == GemmSide::a ? &GemmFault::a_offset : &GemmFault::b_offset;
  out.across = across;
  out.line_is_k = across == (side == GemmSide::a);
  out.packed = layout.format == FormatId::e2m1;
  out.first = layout.offset;
  out.lines = across ? columns : rows;
  out.width = across ? rows : columns;
  out.leading = layout.strides[across ? 2 : 1];
  out.batches = layout.shape[0];
  out.stride = out.batches > 1 ? layout.strides[0] : 0;
  return out;
}

// What a split's part starts with, or 0.
std::int64_t part_length(const PreparedGemm& gemm) {
  if (!gemm.model || gemm.model->schedule != Schedule::split_k) return 0;
  const std::int64_t length = gemm.model->part_length(gemm.problem.k);
  return length < gemm.problem.k ? length : 0;
}

void add_faults(const PreparedGemm& gemm, const Lines& x, std::vector<GemmFault>& faults) {
  const auto read = [&](std::string sentence, OperandOffset offset) {
    faults.emplace_back(gemm);
    faults.back().sentence = std::move(sentence);
    faults.back().*x.offset = [first = x.first, offset = std::move(offset)](const GemmPlace& at) {
      return first + offset(at);
    };
  };
  if (x.packed && x.width > 1) {
    read(fmt::format("the two elements in each byte of {} were exchanged", x.name),
         [x](const GemmPlace& at) {
           return at.batch * x.stride + x.line(at) * x.leading + (x.within(at) ^ 1);
         });
  }
  if (x.leading > x.width && x.lines > 1) {
    read(fmt::format("{} was read with its width ({}) for leading dimension ({})", x.name, x.width,
                     x.leading),
         [x](const GemmPlace& at) {
           return at.batch * x.stride + x.line(at) * x.width + x.within(at);
         });
  }
  for (const std::int64_t stride : {x.lines * x.width, x.lines * x.leading}) {
    if (x.batches == 1 || stride == x.stride) continue;
    read(fmt::format("{} was read with another batch stride ({} instead of {})", x.name, stride,
                     x.stride),
         [x, stride](const GemmPlace& at) {
           return at.batch * stride + x.line(at) * x.leading + x.within(at);
         });
    if (x.lines * x.width == x.lines * x.leading) break;
  }
  if (x.lines == x.width && x.lines > 1) {
    read(fmt::format("{} was read transposed", x.name), [x](const GemmPlace& at) {
      return at.batch * x.stride + x.within(at) * x.leading + x.line(at);
    });
  }
  const std::int64_t part = part_length(gemm);
  if (part > 0 && x.line_is_k && x.leading > x.width) {
    read(fmt::format(
             "parts of the split start in {} as if its leading dimension ({}) were its width ({})",
             x.name, x.leading, x.width),
         [x, part](const GemmPlace& at) {
           const std::int64_t begin = x.line(at) / part * part;
           return at.batch * x.stride + begin * x.width + (x.line(at) - begin) * x.leading +
                  x.within(at);
         });
  }
}

}  // namespace

std::vector<GemmFault> operand_read_elsewhere(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const GemmSide side : {GemmSide::a, GemmSide::b})
    add_faults(gemm, lines_of(gemm.problem, side), faults);
  return faults;
}

// A register of a fragment that was loaded twice, in place of its neighbor.
std::vector<GemmFault> half_of_k_twice(const PreparedGemm& gemm) {
  std::vector<GemmFault> faults;
  for (const std::int64_t half : {4, 8, 16, 32, 64}) {
    if (half >= gemm.problem.k) break;
    for (const bool second : {true, false}) {
      const OperandChange change = [half, second](const PreparedGemm&, const GemmPlace&,
                                                  std::vector<float>& values) {
        const auto size = std::ssize(values);
        for (std::int64_t p = 0; p < size; ++p) {
          const bool in_second = p / half % 2 == 1;
          if (in_second != second) continue;
          const std::int64_t from = second ? p - half : p + half;
          values[static_cast<std::size_t>(p)] =
              from < size ? values[static_cast<std::size_t>(from)] : 0;
        }
        return true;
      };
      for (const GemmSide side : {GemmSide::a, GemmSide::b}) {
        faults.emplace_back(gemm);
        faults.back().sentence =
            fmt::format("of {}, the {} half of each {} of k stands for the {} one, too",
                        side == GemmSide::a ? "A" : "B", second ? "first" : "second", 2 * half,
                        second ? "second" : "first");
        (side == GemmSide::a ? faults.back().a_change : faults.back().b_change) = change;
      }
    }
  }
  return faults;
}

std::vector<GemmFault> subnormal_operands(const PreparedGemm& gemm) {
  const auto flushing = [&gemm](const Tensor& operand) -> OperandChange {
    const Format& stored = format(operand.layout.format);
    // What is small in bf16 is small in f32: see subnormals_lost().
    const bool as_f32 = stored.emin() == format(FormatId::f32).emin();
    if (stored.is_integer || (as_f32 && gemm.model && gemm.model->fma)) return {};
    const double smallest = std::ldexp(1.0, stored.emin());
    return [smallest](const PreparedGemm&, const GemmPlace&, std::vector<float>& values) {
      for (float& x : values) {
        if (std::fabs(static_cast<double>(x)) < smallest) x = 0;
      }
      return true;
    };
  };
  const OperandChange of_a = flushing(*gemm.problem.a), of_b = flushing(*gemm.problem.b);
  std::vector<GemmFault> faults;
  const auto add = [&](std::string_view words, bool a, bool b) {
    if ((a && !of_a) || (b && !of_b)) return;
    faults.emplace_back(gemm);
    faults.back().sentence = fmt::format("subnormal numbers of {} were taken for 0", words);
    if (a) faults.back().a_change = of_a;
    if (b) faults.back().b_change = of_b;
  };
  add("A and B", true, true);
  add("A", true, false);
  add("B", false, true);
  return faults;
}

std::vector<GemmFault> dequantized_otherwise(const PreparedGemm& gemm) {
  const GemmProblem& problem = gemm.problem;
  if (!problem.quantized) return {};
  std::vector<GemmFault> faults;
  using Place = std::function<ScalePlace(const ScalePlace&)>;
  const Format& multiplied = format(problem.b->layout.format);
  const auto add = [&](std::string sentence, const Place& place, auto scaled, auto value) {
    faults.emplace_back(gemm);
    faults.back().sentence = std::move(sentence);
    faults.back().b_change = [=, &multiplied](const PreparedGemm& g, const GemmPlace& at,
                                              std::vector<float>& values) {
      const GemmProblem& stored = *g.problem.quantized;
      const GemmTensorReader codes(*stored.b);
      for (std::int64_t p = 0; p < stored.k; ++p) {
        const ScalePlace from = place({at.j, p});
        const std::optional<float> scale = scale_at(stored, GemmSide::b, from.vector, from.p);
        if (!scale) return false;
        const double code =
            to_double(format(stored.b->layout.format), codes.bits({at.batch, p, at.j}));
        values[static_cast<std::size_t>(p)] = static_cast<float>(
            value(multiplied, static_cast<float>(code - static_cast<double>(stored.zero_b)),
                  scaled(*scale)));
      }
      return true;
    };
  };
  const auto here = [](const ScalePlace& at) { return at; };
  const auto same = [](float scale) { return scale; };
  const auto rounded = [](const Format& to, double x, Rounding rounding) {
    return to_double(to, encode(to, x, {.rounding = rounding}));
  };
  const auto nearest = [=](const Format& to, float x, float scale) {
    return rounded(to, static_cast<double>(x * scale), Rounding::nearest_even);
  };
  add(fmt::format("B was truncated to {} when it was dequantized, not rounded to nearest",
                  multiplied.name),
      here, same, [=](const Format& to, float x, float scale) {
        return rounded(to, static_cast<double>(x * scale), Rounding::toward_zero);
      });
  for (const FormatId narrow : {FormatId::bf16, FormatId::f16}) {
    add(
        fmt::format("scales of B were rounded to {} before B was dequantized", format(narrow).name),
        here,
        [=](float scale) {
          return static_cast<float>(
              rounded(format(narrow), static_cast<double>(scale), Rounding::nearest_even));
        },
        nearest);
  }
  add("B was not multiplied by its scales", here, [](float) { return 1.0f; }, nearest);
  const ScaleBlock block = problem.quantized->scale_b_block;
  const std::int64_t last = problem.k - 1;
  for (const std::int64_t tile : {2, 4, 8, 16, 32, 64, 128}) {
    if (block.depth > 0 && tile > block.depth && tile / 2 < problem.k) {
      add(
          fmt::format("the scale of B was read once per {} rows when B was dequantized", tile),
          [=](const ScalePlace& at) { return ScalePlace{at.vector, at.p / tile * tile}; }, same,
          nearest);
    }
    if (block.vectors > 0 && tile > block.vectors && tile / 2 < problem.n) {
      add(
          fmt::format("the scale of B was read once per {} columns when B was dequantized", tile),
          [=](const ScalePlace& at) { return ScalePlace{at.vector / tile * tile, at.p}; }, same,
          nearest);
    }
  }
  for (const std::int64_t step : {1, -1}) {
    const char* which = step > 0 ? "next" : "previous";
    if (block.vectors > 0) {
      add(
          fmt::format("B was dequantized with the scale of the {} column{}", which,
                      block.vectors > 1 ? " block" : ""),
          [=](const ScalePlace& at) { return ScalePlace{at.vector + step * block.vectors, at.p}; },
          same, nearest);
    }
    if (block.depth > 0) {
      add(
          fmt::format("B was dequantized with the scale of the {} {}", which,
                      block.depth > 1 ? "k block" : "row"),
          [=](const ScalePlace& at) {
            return ScalePlace{at.vector,
                              std::clamp<std::int64_t>(at.p + step * block.depth, 0, last)};
          },
          same, nearest);
    }
  }
  return faults;
}

// An element that is NaN or infinite meets only zeros, whose products are left out with it.
std::vector<GemmFault> zeros_skipped(const PreparedGemm& gemm) {
  if (!gemm.model || gemm.scales) return {};
  GemmFault skipped(gemm);
  skipped.sentence = "products with 0 were left out, those of NaN and infinities too";
  skipped.zeros_skipped = true;
  return {skipped};
}

}  // namespace plumbline
