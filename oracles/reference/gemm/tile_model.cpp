// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/tile_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracles/base/assert.h"
#include "oracles/formats/encode.h"
#include "oracles/models/mma_layout.h"

namespace plumbline {
namespace {

// Of 8-bit formats, whose values as f32 numbers are told apart by their upper halves.
std::vector<std::uint8_t> codes_by_upper_half(const Format& f) {
  std::vector<std::uint8_t> codes(1 << 16);
  for (unsigned code = 0; code < 1u << f.code_bits(); ++code) {
    const double value = to_double(f, code);
    if (!std::isfinite(value)) continue;
    codes[std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16] =
        static_cast<std::uint8_t>(code);
  }
  return codes;
}

std::vector<std::uint8_t> encoded(FormatId id, const std::vector<float>& values) {
  const Format& f = format(id);
  std::vector<std::uint8_t> codes;
  if (f.storage_bits == 8) {
    const std::vector<std::uint8_t> table = codes_by_upper_half(f);
    codes.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      codes[i] = table[std::bit_cast<std::uint32_t>(values[i]) >> 16];
    return codes;
  }
  const std::size_t bytes = static_cast<std::size_t>(f.storage_bits) / 8;
  if (id == FormatId::bf16) {  // the upper half, little-endian as everywhere here
    codes.resize(2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(codes.data() + 2 * i, reinterpret_cast<const char*>(&values[i]) + 2, 2);
    return codes;
  }
  codes.resize(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto code = static_cast<std::uint32_t>(encode(f, static_cast<double>(values[i])));
    std::memcpy(codes.data() + i * bytes, &code, bytes);
  }
  return codes;
}

}  // namespace

std::optional<GemmTileModel> GemmTileModel::make(const PreparedGemm& gemm,
                                                 const SumSchedule& schedule,
                                                 const GemmTileModel* like) {
  GemmTileModel model(gemm, schedule);
  if (!model.plan_unit()) return std::nullopt;
  if (gemm.model->scaled) model.schedule_.promote = gemm.scales->depth;
  model.plan_runs();
  model.encode_operands(like);
  return model;
}

GemmTileModel::GemmTileModel(const PreparedGemm& gemm, const SumSchedule& schedule)
    : gemm_(&gemm), schedule_(schedule) {
  PLUMB_ASSERT(gemm.model.has_value());
}

bool GemmTileModel::plan_unit() {
  const Contract& contract = gemm_->contract;
  if (contract.unit != Unit::tensor_core) return schedule_.instruction_k == 0;
  Contract shaped = contract;
  shaped.instruction_k = schedule_.instruction_k;
  const FormatId a = gemm_->problem.a->layout.format, b = gemm_->problem.b->layout.format;
  const std::optional<DotModel> model = shaped.unit_model(gemm_->sm, a, b);
  if (!model) return false;
  bytes_ = format(a).storage_bits / 8;
  const int usual = 32 / bytes_;  // m16n8k8, k16, k32
  const int k = contract.block_scale          ? model->node.products
                : schedule_.instruction_k > 0 ? static_cast<int>(schedule_.instruction_k)
                                              : usual;
  elements_ = k == 64 ? 8 : 4 / bytes_;
  MmaKind kind{{16, 8, k}, a, b, contract.accumulator, false, *model};
  if (contract.block_scale) {
    const FormatId scale = gemm_->scale_format().id;
    const std::int64_t least = scale == FormatId::ue8m0 ? 32 : 16;
    kind.scale = {scale, static_cast<int>(std::min(gemm_->scales->depth, least))};
    if (schedule_.promote % k != 0 || schedule_.grain % k != 0 ||
        (schedule_.parts > 1 && schedule_.block % k != 0))
      return false;
  }
  if (!mma_exists(kind)) return false;
  plan_.emplace(kind);
  step_ = k;
  return true;
}

// The runs of a group: its chunks, cut where a fresh accumulator begins.
void GemmTileModel::plan_runs() {
  const std::int64_t k = gemm_->problem.k;
  std::vector<std::vector<Chunk>> groups;
  // Chunks of [begin, end), which do not cross a promotion.
  const auto take = [&](std::vector<Chunk>& group, std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t left =
          schedule_.promote > 0 ? schedule_.promote - begin % schedule_.promote : step_;
      const std::int64_t count = std::min({step_, left, end - begin});
      group.push_back({begin, count});
      begin += count;
    }
  };
  if (schedule_.ways > 1) {
    groups.resize(static_cast<std::size_t>(schedule_.ways));
    for (std::int64_t begin = 0; begin < k; begin += schedule_.grain)
      take(groups[static_cast<std::size_t>(begin / schedule_.grain % schedule_.ways)], begin,
           std::min(k, begin + schedule_.grain));
  } else {
    const std::int64_t even = (k + schedule_.parts - 1) / schedule_.parts;
    const std::int64_t length =
        std::max(schedule_.block, (even + schedule_.block - 1) / schedule_.block * schedule_.block);
    for (std::int64_t begin = 0; begin < k; begin += length)
      take(groups.emplace_back(), begin, std::min(k, begin + length));
  }
  for (const std::vector<Chunk>& chunks : groups) {
    if (chunks.empty()) continue;
    std::vector<Run>& runs = groups_.emplace_back();
    std::size_t first = 0;
    for (std::size_t next = 1; next <= chunks.size(); ++next) {
      const bool ends = next == chunks.size() ||
                        (schedule_.promote > 0 && chunks[next].begin % schedule_.promote == 0);
      if (!ends) continue;
      runs.push_back(run_over(chunks, first, next));
      first = next;
    }
  }
}

GemmTileModel::Run GemmTileModel::run_over(const std::vector<Chunk>& chunks, std::size_t first,
                                           std::size_t last) const {
  const auto at = [&](std::size_t i) { return chunks.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(first), at(last)},
          gemm_->model->scaled ? chunks[first].begin / gemm_->scales->depth : 0};
}

void GemmTileModel::encode_operands(const GemmTileModel* like) {
  if (!plan_) return;
  if (like != nullptr && like->gemm_ == gemm_ && like->codes_ && like->elements_ == elements_) {
    codes_ = like->codes_;
    return;
  }
  Codes all;
  const auto operand = [&](FormatId id, const std::vector<float>& values) {
    std::vector<std::uint8_t> codes = encoded(id, values);
    // FP4 among operands of 8 bits is in bits 5:2.
    if (id == FormatId::e2m1 && elements_ == 4)
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(code << 2);
    return codes;
  };
  all.a = operand(plan_->kind().a, gemm_->operands.a);
  all.b = operand(plan_->kind().b, gemm_->operands.b);
  if (plan_->kind().scale.block > 0) {
    const Format& f = format(plan_->kind().scale.format);
    const auto codes = [&](const std::vector<float>& values) {
      std::vector<std::uint8_t> out;
      for (const float value : values)
        out.push_back(static_cast<std::uint8_t>(encode(f, static_cast<double>(value))));
      return out;
    };
    all.scales_a = codes(gemm_->scales->a);
    all.scales_b = codes(gemm_->scales->b);
  }
  codes_ = std::make_shared<const Codes>(std::move(all));
}

// The codes of one vector from an offset within a chunk on, as a register holds them; 0 beyond it.
std::uint32_t GemmTileModel::word(const std::vector<std::uint8_t>& codes, std::int64_t vector,
                                  const Chunk& chunk, std::int64_t offset) const {
  std::uint32_t word = 0;
  const std::int64_t count = std::min<std::int64_t>(chunk.count - offset, elements_);
  if (count <= 0) return 0;
  const std::uint8_t* from =
      codes.data() + (vector * gemm_->problem.k + chunk.begin + offset) * bytes_;
  if (elements_ == 8) {
    for (std::int64_t i = 0; i < count; ++i) word |= static_cast<std::uint32_t>(from[i]) << (4 * i);
    return word;
  }
  std::memcpy(&word, from, static_cast<std::size_t>(count * bytes_));
  return word;
}

// Those of a chunk's blocks; 1 beyond the end of k.
std::uint32_t GemmTileModel::scales(const std::vector<std::uint8_t>& codes, std::int64_t vectors,
                                    std::int64_t vector, const Chunk& chunk) const {
  const MmaBlockScale& scale = plan_->kind().scale;
  const BlockScales& given = *gemm_->scales;
  std::uint32_t word = 0;
  for (int i = 0; i < static_cast<int>(step_) / scale.block; ++i) {
    const std::int64_t block = (chunk.begin + i * scale.block) / given.depth;
    const std::uint64_t code = block < given.blocks
                                   ? codes[static_cast<std::size_t>(block * vectors + vector)]
                                   : encode(format(scale.format), 1.0);
    word |= static_cast<std::uint32_t>(code) << (8 * i);
  }
  return word;
}

void GemmTileModel::chain_mma(const GemmPlace& at, const Run& run, Accumulators& sums) const {
  const GemmProblem& problem = gemm_->problem;
  const std::int64_t first_row = (gemm_->operands.batch_a == 1 ? 0 : at.batch) * problem.m + at.i,
                     first_column =
                         (gemm_->operands.batch_b == 1 ? 0 : at.batch) * problem.n + at.j;
  const std::int64_t rows = std::min(kRows, problem.m - at.i),
                     columns = std::min(kColumns, problem.n - at.j);
  const bool scaled = plan_->kind().scale.block != 0;
  const int a_count = a_registers(plan_->kind()), b_count = b_registers(plan_->kind());
  LaneRegister a[4], b[2], c[4] = {}, of_rows = {}, of_columns = {};
  const MmaScales all{{&of_rows, 0, 0}, {&of_columns, 0, 0}};
  PLUMB_ASSERT(a_count <= 4 && b_count <= 2);
  MmaWorkspace workspace;
  for (const Chunk& chunk : run.chunks) {
    for (int r = 0; r < a_count; ++r) {
      for (int lane = 0; lane < 32; ++lane) {
        const FragmentPlace place = a_place(lane, r, 0, elements_);
        a[r][lane] = place.row_or_column < rows
                         ? word(codes_->a, first_row + place.row_or_column, chunk, place.k)
                         : 0;
      }
    }
    for (int r = 0; r < b_count; ++r) {
      for (int lane = 0; lane < 32; ++lane) {
        const FragmentPlace place = b_place(lane, r, 0, elements_);
        b[r][lane] = place.row_or_column < columns
                         ? word(codes_->b, first_column + place.row_or_column, chunk, place.k)
                         : 0;
      }
    }
    for (std::int64_t i = 0; scaled && i < rows; ++i)
      of_rows[4 * (i % 8) + i / 8] = scales(codes_->scales_a, gemm_->scales->m, at.i + i, chunk);
    for (std::int64_t j = 0; scaled && j < columns; ++j)
      of_columns[4 * j] = scales(codes_->scales_b, gemm_->scales->n, at.j + j, chunk);
    plan_->run(a, b, c, c, workspace, false, scaled ? &all : nullptr);
  }
  const Format& of_sums = format(plan_->kind().accumulator);
  const int sums_per_register = 32 / of_sums.storage_bits;
  for (int r = 0; r < c_registers(plan_->kind()); ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < sums_per_register; ++i) {
        const OutputPlace place = c_place(lane, r, i, sums_per_register);
        const std::uint32_t code = c[r][lane] >> (i * of_sums.storage_bits);
        sums[place.row][place.column] = static_cast<float>(
            to_double(of_sums, code & (of_sums.storage_bits == 16 ? 0xffffu : 0xffffffffu)));
      }
    }
  }
}

void GemmTileModel::chain(const GemmPlace& at, const Run& run, Accumulators& sums) const {
  if (plan_) return chain_mma(at, run, sums);
  const bool integers = gemm_->contract.unit == Unit::int32;
  for (std::int64_t i = 0; i < std::min(kRows, gemm_->problem.m - at.i); ++i) {
    const float* row = gemm_->row({at.batch, at.i + i, at.j});
    for (std::int64_t j = 0; j < std::min(kColumns, gemm_->problem.n - at.j); ++j) {
      const float* column = gemm_->column({at.batch, at.i + i, at.j + j});
      float sum = 0;
      double exact = 0;
      for (const Chunk& chunk : run.chunks) {
        for (std::int64_t p = chunk.begin; p < chunk.begin + chunk.count; ++p) {
          if (integers) {
            exact += static_cast<double>(row[p]) * static_cast<double>(column[p]);
          } else {
            sum = std::fma(row[p], column[p], sum);
          }
        }
      }
      sums[i][j] = integers ? static_cast<float>(exact) : sum;
    }
  }
}

void GemmTileModel::run(const GemmPlace& at, Accumulators& sums) const {
  std::vector<std::array<float, kRows * kColumns>> groups(groups_.size());
  const auto each = [](const auto& work) {
    for (std::size_t i = 0; i < kRows * kColumns; ++i) work(i);
  };
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    auto& total = groups[g];
    total.fill(0);
    for (std::size_t r = 0; r < groups_[g].size(); ++r) {
      Accumulators fresh = {};
      chain(at, groups_[g][r], fresh);
      each([&](std::size_t i) {
        const std::int64_t row = static_cast<std::int64_t>(i) / kColumns,
                           column = static_cast<std::int64_t>(i) % kColumns;
        const float sum = fresh[row][column];
        if (gemm_->model->scaled) {
          const bool inside = at.i + row < gemm_->problem.m && at.j + column < gemm_->problem.n;
          const double factor =
              inside ? gemm_->scales->factor(at.i + row, at.j + column, groups_[g][r].interval) : 0;
          total[i] = std::fma(sum, static_cast<float>(factor), total[i]);
        } else {
          total[i] = r == 0 ? sum : total[i] + sum;
        }
      });
    }
  }
  if (schedule_.tree == SumSchedule::Tree::reverse) std::ranges::reverse(groups);
  if (schedule_.tree == SumSchedule::Tree::pairwise) {
    for (std::size_t apart = 1; apart < groups.size(); apart *= 2) {
      for (std::size_t g = 0; g + apart < groups.size(); g += 2 * apart)
        each([&](std::size_t i) { groups[g][i] += groups[g + apart][i]; });
    }
  } else {
    for (std::size_t g = 1; g < groups.size(); ++g)
      each([&](std::size_t i) { groups[0][i] += groups[g][i]; });
  }
  each([&](std::size_t i) {
    sums[static_cast<std::int64_t>(i) / kColumns][static_cast<std::int64_t>(i) % kColumns] =
        groups.empty() ? 0 : groups[0][i];
  });
}

std::uint64_t GemmTileModel::code(const GemmPlace& at, float accumulator) const {
  return gemm_->epilogue.low_code(gemm_->epilogue.value(accumulator, gemm_->epilogue_operands(at)));
}

}  // namespace plumbline
