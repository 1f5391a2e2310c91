// SPDX-License-Identifier: MIT
// A tcgen05.mma or tcgen05.cp, performed once a thread waits for it. A product is D = A . B + D, in
// pieces of m16n8 whose fragments are those of mma.sync. A tile is read into registers of
// fragments, each eight rows of 16 bytes of k. Row r of D lies in lane r of tensor memory; of 64
// rows, 16 in the lower or the upper half of each quarter (PTX ISA 9.0 section 9.7.16.10.5, layouts
// D and F). Of 256 rows each CTA of a pair has 128 (layout A).
//
// Scales of blocks of k (section 9.7.16.10.7): those of row r of A, or column r of B, lie in column
// r / 32 from the given one on, in lane r % 32 of every quarter: the quarter of D's row is read. A
// word has those of four blocks, of which a step of k takes one, two or four.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "harness/emulator/instructions/matrix_tiles.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/tensor_products.h"
#include "oracles/models/mma_plan.h"
#include "oracles/models/random_node.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t kChunk = 16;

// Registers of fragments: two, of the halves of k, for every eight rows.
using Fragments = std::vector<LaneValues>;

std::byte* row_of(Fragments& to, int row, int half) {
  auto* const bytes =
      reinterpret_cast<std::byte*>(to[static_cast<std::size_t>(row / 8 * 2 + half)].lane);
  return bytes + kChunk * static_cast<std::size_t>(row % 8);
}

// Reads 16 bytes at a time of a CTA's shared memory, by the asynchronous proxy for the thread that
// issued the product.
class ChunkReader {
 public:
  ChunkReader(const TensorProduct& op, Cta& from) : op_(op), shared_(from.shared()) {
    if (!shared_.check()) return;
    who_ = accessor(*op.warp, shared_);
    who_.lane = op.lane;
    who_.inst = op.at;
    view_ = shared_.view(who_);
    known_.emplace(shared_, view_);
  }

  // Bytes behind the first `used` are padding, which may hold anything. Null after a finding that
  // stops the launch.
  const std::byte* read(u64 address, int used = kChunk) {
    if (!shared_.holds(address, kChunk)) {
      out_of_bounds(*op_.warp, *op_.at, op_.lane, address, Space::shared, kChunk, Intent::read);
      return nullptr;
    }
    if (shared_.check()) check(address, used);
    return shared_.data(address);
  }

 private:
  void check(u64 address, int used) {
    const bool whole = used == static_cast<int>(kChunk);
    const bool fine =
        whole ? (who_.from == nullptr && ShadowRow<kChunk>(view_, address).read(op_.lane)) ||
                    known_->read(who_, address)
              : shared_.read_known(who_, address, used).has_value();
    if (!fine) {
      const auto problem = shared_.explain_read(who_, address, used);
      if (problem) shared_problem(*op_.warp, *op_.at, op_.lane, *problem);
    }
    if (whole && shared_.stamped(address, fenced_)) return;
    const auto unfenced = shared_.fence_problem(address, used);
    if (unfenced) return shared_problem(*op_.warp, *op_.at, op_.lane, *unfenced);
    if (whole) fenced_ = shared_.stamp_at(address);
  }

  const TensorProduct& op_;
  SharedMemory& shared_;
  Accessor who_;
  ShadowView view_{};
  std::optional<KnownReads> known_;
  u32 fenced_ = 0;  // the stamp of the last write that a fence came after
};

// Sixteen elements of FP4 or FP6 among operands of 8 bits: they lie packed at the beginning of 16
// bytes (CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B and 16U6_ALIGN16B), and registers of fragments have
// each in a byte, FP4 in bits 2 to 5.
void unpack(const std::byte* packed, int bits, std::byte* to) {
  u64 words[2] = {};
  std::memcpy(words, packed, static_cast<std::size_t>(2 * bits));
  for (int i = 0; i < 16; ++i) {
    const int first = bits * i;
    u64 code = words[first / 64] >> first % 64;
    if (first % 64 + bits > 64) code |= words[1] << (64 - first % 64);
    code &= (u64{1} << bits) - 1;
    to[i] = static_cast<std::byte>(bits == 4 ? code << 2 : code);
  }
}

// How the elements of a tile lie in its rows: `bytes` each, or packed in 16 bytes, `packed` bits
// each.
struct Elements {
  std::size_t bytes = 1;
  int packed = 0;
};

// `rows` rows of m or n that a descriptor names in one CTA's shared memory, to row `first` on.
bool read_tile(const TensorProduct& op, Cta& from, const MatrixTile& tile, int first, int rows,
               const Elements& elements, Fragments& to) {
  ChunkReader reader(op, from);
  if (!tile.transposed) {
    const int used = elements.packed > 0 ? 2 * elements.packed : static_cast<int>(kChunk);
    for (int row = 0; row < rows; ++row) {
      for (int half = 0; half < 2; ++half) {
        const std::byte* const chunk = reader.read(tile.address(row, half), used);
        if (chunk == nullptr) return false;
        std::byte* const there = row_of(to, first + row, half);
        if (elements.packed > 0) {
          unpack(chunk, elements.packed, there);
        } else {
          std::memcpy(there, chunk, kChunk);
        }
      }
    }
    return true;
  }
  const std::size_t element = elements.bytes;
  const int together = static_cast<int>(kChunk / element);  // rows in a chunk
  for (int k = 0; k < 2 * together; ++k) {
    for (int row = 0; row < rows; row += together) {
      const std::byte* const chunk = reader.read(tile.address(k, row / together));
      if (chunk == nullptr) return false;
      for (int i = 0; i < together && row + i < rows; ++i) {
        std::memcpy(row_of(to, first + row + i, k / together) +
                        static_cast<std::size_t>(k % together) * element,
                    chunk + static_cast<std::size_t>(i) * element, element);
      }
    }
  }
  return true;
}

int swizzle_of(u64 descriptor) {
  switch (descriptor >> 61) {
    case 2:
      return 128;
    case 4:
      return 64;
    case 6:
      return 32;
    default:
      return 16;
  }
}

// The lane of a row of D.
int lane_of(const TensorProduct& op, int row) {
  return op.m == 64 ? row / 16 * 32 + row % 16 + op.upper : row;
}

// A word of tensor memory that the product reads.
bool require_written(const TensorProduct& op, int row, int column) {
  TensorMemory& memory = op.cta->tensor_memory();
  if ((memory.written(row / 32, column) >> row % 32 & 1) != 0) return true;
  op.warp->report(FindingKind::read_of_unwritten, *op.at, op.lane, [&] {
    return fmt::format("reads lane {} of column {} of tensor memory, which nothing wrote", row,
                       column);
  });
  return false;
}

bool read_a(const TensorProduct& op, const Elements& elements, Fragments& a) {
  if (!op.a_in_tensor_memory) {
    const MatrixTile tile(op.cta->window(), op.a, swizzle_of(op.a), op.a_by_columns);
    return read_tile(op, *op.cta, tile, 0, op.m, elements, a);
  }
  TensorMemory& memory = op.cta->tensor_memory();
  bool fine = true;
  for (int row = 0; row < op.m; ++row) {
    for (int i = 0; i < 8; ++i) {
      const int column = static_cast<int>(op.a & 0xffff) + i;
      fine = fine && require_written(op, row, column);
      std::memcpy(row_of(a, row, i / 4) + 4 * (i % 4), &memory.word(row, column), 4);
    }
  }
  return true;
}

// Of a pair, each CTA has one half of the columns.
bool read_b(const TensorProduct& op, const Elements& elements, Fragments& b) {
  const bool pair = op.b_of[0] != op.b_of[1];
  const int columns = pair ? op.n / 2 : op.n;
  for (int first = 0; first < op.n; first += columns) {
    Cta& from = *op.b_of[first == 0 ? 0 : 1];
    const MatrixTile tile(from.window(), op.b, swizzle_of(op.b), op.b_by_rows);
    if (!read_tile(op, from, tile, first, columns, elements, b)) return false;
  }
  return true;
}

// The word of the scales of a row of A or column of B, for D's quarter.
u32 scale_word(const TensorProduct& op, const TensorProduct::Scales& scales, int quarter,
               int line) {
  const int row = 32 * quarter + line % 32, column = scales.column + line / 32;
  require_written(op, row, column);
  return op.cta->tensor_memory().word(row, column);
}

// The registers of a piece's scales: lanes 0 and 1 of every four have the rows g and g + 8 of A,
// lane 0 the column g of B.
struct PieceScales {
  LaneRegister a = {}, b = {};

  MmaScales of(const TensorProduct& op) const {
    return {{&a, op.scales_a.byte, 0}, {&b, op.scales_b.byte, 0}};
  }

  PieceScales(const TensorProduct& op, int top, int left) {
    const int quarter = top / 32;
    for (int line = 0; line < 16; ++line)
      a[4 * (line % 8) + line / 8] = scale_word(op, op.scales_a, quarter, top + line);
    for (int line = 0; line < 8; ++line)
      b[4 * line] = scale_word(op, op.scales_b, quarter, left + line);
  }
};

// Where the sums of a piece lie: 16 lanes of tensor memory, one after the other, of eight columns.
struct SumsPlace {
  static constexpr int kRows = 16, kColumns = 8;
  int lane, column;
  u32 enabled;  // a bit for each lane

  SumsPlace(const TensorProduct& op, int top, int left)
      : lane(lane_of(op, top)), column(op.d + left) {
    enabled = ~op.disabled[static_cast<std::size_t>(lane / 32)] >> lane % 32 & 0xffff;
  }
};

// The first word that nothing wrote is a finding, if none was told before.
void read_sums(const TensorProduct& op, const SumsPlace& from, bool& told, MmaTile& to) {
  TensorMemory& memory = op.cta->tensor_memory();
  for (int j = 0; j < SumsPlace::kColumns; ++j) {
    const int column = from.column + j;
    const u32 written = memory.written(from.lane / 32, column) >> from.lane % 32;
    const u32 missing = from.enabled & ~written;
    if (missing != 0 && !told)
      told = !require_written(op, from.lane + std::countr_zero(missing), column);
    std::memcpy(to.columns[j], &memory.word(from.lane, column), sizeof to.columns[j]);
  }
}

// But for those of disabled lanes.
void write_sums(const TensorProduct& op, const MmaTile& from, const SumsPlace& to) {
  TensorMemory& memory = op.cta->tensor_memory();
  for (int j = 0; j < SumsPlace::kColumns; ++j) {
    const int column = to.column + j;
    u32* const words = &memory.word(to.lane, column);
    if (to.enabled == 0xffff) {
      std::memcpy(words, from.columns[j], sizeof from.columns[j]);
    } else {
      for (int row = 0; row < SumsPlace::kRows; ++row)
        if ((to.enabled >> row & 1) != 0) words[row] = from.columns[j][row];
    }
    memory.written(to.lane / 32, column) |= to.enabled << to.lane % 32;
  }
}

void perform_copy(const TensorProduct& op) {
  TensorMemory& memory = op.cta->tensor_memory();
  const MatrixTile tile(op.cta->window(), op.b, swizzle_of(op.b), false);
  ChunkReader reader(op, *op.cta);
  for (int row = 0; row < 32; ++row) {
    const std::byte* const chunk = reader.read(tile.address(row, 0));
    if (chunk == nullptr) return;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < op.n; ++i) {
        std::memcpy(&memory.word(32 * quarter + row, op.d + i), chunk + 4 * i, 4);
        memory.written(quarter, op.d + i) |= u32{1} << row;
      }
    }
  }
}

}  // namespace

void perform(const TensorProduct& op) {
  Warp& warp = *op.warp;
  Cta& cta = *op.cta;
  if (cta.stopping()) return;
  if (op.copies) return perform_copy(op);
  const MmaKind& kind = op.plan->kind();
  // Of FP4 with a depth of 64, which lies along k alone, two elements.
  const auto elements = [&](FormatId id) {
    const int bits = narrow_bits(id);
    return Elements{std::max<std::size_t>(32 / static_cast<std::size_t>(kind.shape.k), 1),
                    kind.shape.k == 32 && bits < 8 ? bits : 0};
  };
  Fragments a(static_cast<std::size_t>(op.m / 4)), b(static_cast<std::size_t>(op.n / 4));
  if (!read_a(op, elements(kind.a), a) || !read_b(op, elements(kind.b), b)) return;
  flip(a.data(), a.size(), op.flip_a);
  flip(b.data(), b.size(), op.flip_b);
  bool told = false;
  WorkerState& worker = cta.worker();
  worker.last_mma = nullptr;
  const RandomRounding rounding = cta.launch().options.random_rounding;
  for (int top = 0; top < op.m; top += 16) {
    // Rows 0 to 7 and 8 to 15 of the first half of k, then of the second.
    const auto* const from = &a[static_cast<std::size_t>(top / 4)];
    alignas(64) const LaneValues left[4] = {from[0], from[2], from[1], from[3]};
    for (int column = 0; column < op.n; column += 8) {
      const SumsPlace place(op, top, column);
      MmaTile sums = {};
      if (op.adds) read_sums(op, place, told, sums);
      const auto* const x = reinterpret_cast<const LaneRegister*>(left);
      const auto* const y =
          reinterpret_cast<const LaneRegister*>(&b[static_cast<std::size_t>(column / 4)]);
      std::optional<PieceScales> words;
      if (op.scaled) words.emplace(op, top, column);
      const std::optional<MmaScales> scales = words ? std::optional(words->of(op)) : std::nullopt;
      const MmaScales* const given = scales ? &*scales : nullptr;
      if (rounding == RandomRounding::off) {
        op.plan->run(x, y, sums, sums, worker.mma, column > 0, given);
      } else {
        LaneRegister c[4];
        to_registers(kind, sums, c);
        mma_randomly(kind, x, y, c, c,
                     {warp.next_random(), rounding == RandomRounding::unbiased_nodes}, given);
        to_tile(kind, c, sums);
      }
      write_sums(op, sums, place);
    }
  }
}

}  // namespace plumbline::emulator
