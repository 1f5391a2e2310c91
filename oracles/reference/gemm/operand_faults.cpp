// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/operand_faults.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

// An operand as it lies in memory: lines of adjacent elements, `leading` from one to the next.
struct Lines {
  std::string_view name;
  OperandOffset GemmFault::* offset;
  bool across;     // lines are its columns
  bool line_is_k;  // the place in k decides the line
  std::int64_t lines, width, leading, batches, stride;

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
    faults.back().*x.offset = std::move(offset);
  };
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

}  // namespace plumbline
