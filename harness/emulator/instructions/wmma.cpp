// SPDX-License-Identifier: MIT
// wmma.load, wmma.mma, wmma.store (PTX ISA 9.0 section 9.7.14.4). Where a fragment's elements lie
// is for the implementation to say; here they lie as those of the mma.sync that each product is
// made of:
//
//   m16n16k16, m16n16k8   D | D      one piece of A, two of B: m16n8 side by side
//   m32n8k16              D / D      two pieces of A, one of B: m16n8 below each other
//   m8n32k16              (D | D)^T  transposed: two pieces of B^T as A, one of A^T as B
//
// with g = lane / 4, t = lane % 4 and p elements of A in a register:
//   A, register r, element e: row = g + 8 (r % 2), k = p t + e + 4 p (r / 2)
//   B, register r, element e: k = p t + e + 4 p r, column = g
//   C and D in f32 and s32:   row = g + 8 (r / 2), column = 2t + r % 2; in f16 two a register
// Fragments of f16 that have more registers than elements hold them again, as their number asks
// for. f64 is m8n8k4, an element of A and of B in each lane: a chain of fma in increasing k.
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/mma_forms.h"
#include "harness/emulator/instructions/matrix_pieces.h"
#include "harness/emulator/instructions/rounding.h"
#include "harness/emulator/machine/access.h"
#include "oracles/models/random_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// --- where elements lie ---

struct Shape {
  std::string_view name;
  int m, n, k;
  int a_pieces, b_pieces;  // of the mma that it is made of
  bool transposed;         // whose A is B^T and whose B is A^T
};

constexpr Shape kShapes[] = {{"m16n16k16", 16, 16, 16, 1, 2, false},
                             {"m32n8k16", 32, 8, 16, 2, 1, false},
                             {"m8n32k16", 8, 32, 16, 2, 1, true},
                             {"m16n16k8", 16, 16, 8, 1, 2, false},
                             {"m8n8k4", 8, 8, 4, 1, 1, false}};

enum class Matrix : std::uint8_t { a, b, c };

struct Place {
  int row, column;
};

// Element e of register r of a piece.
Place place_in_a(int lane, int r, int e, int per_register) {
  const int g = lane / 4, t = lane % 4;
  return {g + 8 * (r % 2), per_register * t + e + 4 * per_register * (r / 2)};
}

Place place_in_b(int lane, int r, int e, int per_register) {
  const int g = lane / 4, t = lane % 4;
  return {per_register * t + e + 4 * per_register * r, g};
}

Place place_in_c(int lane, int r, int e, int per_register) {
  const int g = lane / 4, t = lane % 4, i = r * per_register + e;
  return {g + 8 * (i / 2), 2 * t + i % 2};
}

// How a fragment is loaded and stored, element by element.
struct FragmentMap {
  const Shape* shape = nullptr;
  Matrix matrix = Matrix::a;
  int bits = 0;       // of an element
  int registers = 0;  // that hold all elements once

  int per_register() const { return bits == 64 ? 1 : 32 / bits; }

  int piece_registers() const { return registers / pieces(); }

  // C and D have a piece for each product.
  int pieces() const {
    if (matrix == Matrix::c) return shape->a_pieces * shape->b_pieces;
    return (matrix == Matrix::a) != shape->transposed ? shape->a_pieces : shape->b_pieces;
  }

  Place place(int lane, int r, int e) const {
    const int piece = r / piece_registers(), in_piece = r % piece_registers();
    Place at{};
    if (bits == 64) {
      const int g = lane / 4, t = lane % 4;
      if (matrix == Matrix::c) return {g, 2 * t + r};
      return matrix == Matrix::a ? Place{g, t} : Place{t, g};
    }
    if (matrix == Matrix::c) {
      at = place_in_c(lane, in_piece, e, per_register());
      at.row += 16 * (piece / shape->b_pieces);
      at.column += 8 * (piece % shape->b_pieces);
    } else if ((matrix == Matrix::a) != shape->transposed) {
      at = place_in_a(lane, in_piece, e, per_register());
      at.row += 16 * piece;
    } else {
      at = place_in_b(lane, in_piece, e, per_register());
      at.column += 8 * piece;
    }
    return shape->transposed ? Place{at.column, at.row} : at;
  }
};

// The registers of a fragment: those that hold its elements once, and as many as the instruction
// has.
struct FragmentSize {
  int natural = 0, written = 0;
};

FragmentSize size_of(const Shape& shape, Matrix matrix, Type type) {
  if (type == Type::f64) return matrix == Matrix::c ? FragmentSize{2, 2} : FragmentSize{1, 1};
  const FragmentMap map{&shape, matrix, bits(type), 0};
  if (matrix == Matrix::c) {
    const int registers = map.pieces() * (type == Type::f16 ? 2 : 4);
    return {registers, registers};
  }
  const bool as_a = (matrix == Matrix::a) != shape.transposed;
  const int elements = (as_a ? 16 : 8) * shape.k * map.pieces() / kLanes;
  const int registers = elements * bits(type) / 32;
  return {registers, type == Type::f16 ? 8 : registers};
}

// --- load and store: Inst::c indexes Program::wmma_accesses ---

const WmmaAccess& access_of(const Warp& warp, const Inst& inst) {
  return warp.program().wmma_accesses[inst.c];
}

// Where the lanes' elements of one access lie.
void find_elements(const WmmaAccess& access, std::size_t which, const Pointers& base,
                   const std::array<u32, kLanes>& leading, Pointers& p) {
  const u64 bytes = static_cast<u64>(access.bits) / 8;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const WmmaAccess::Place at = access.places[which][lane];
    p.address[lane] = base.address[lane] + bytes * (u64{at.row} * leading[lane] + at.column);
  }
}

// Rows, or columns, have to begin at multiples of 16 bytes: CUDA C++ Programming Guide 13.0, 10.24
// (warp matrix functions). The manual of PTX asks for more there, which the padding of usual
// kernels does not keep to.
bool rows_are_aligned(Warp& warp, const Inst& inst, const WmmaAccess& access, const Pointers& base,
                      u32 mask) {
  const auto leading = lanes<u32>(warp, access.leading);
  const u64 bytes = static_cast<u64>(access.bits) / 8;
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 first = base.address[static_cast<std::size_t>(lane)];
    if (first % 16 == 0 && bytes * leading[lane] % 16 == 0) continue;
    warp.fail(FindingKind::misaligned, inst, lane, [&] {
      return fmt::format(
          "a matrix at {:#x} whose rows are {} bytes apart; both have to be "
          "multiples of 16",
          first, bytes * leading[lane]);
    });
    return false;
  }
  return true;
}

// Moves every element between memory and the registers: `move(bytes of the lane's register, bytes
// in memory, how many)`. False when the launch stops.
template <typename Move>
bool each_element(Warp& warp, const Inst& inst, u32 mask, const Move& move) {
  const WmmaAccess& access = access_of(warp, inst);
  Pointers base;
  gather_addresses(warp, inst, base);
  if (!rows_are_aligned(warp, inst, access, base, mask)) return false;
  std::array<u32, kLanes> leading{};  // a load may write to its register
  for (int lane = 0; lane < kLanes; ++lane)
    leading[static_cast<std::size_t>(lane)] = lanes<u32>(warp, access.leading)[lane];
  const std::size_t of_a_register = access.places.size() / access.natural;
  const auto bytes =
      std::max<std::size_t>(static_cast<std::size_t>(access.bits), 32) / 8 / of_a_register;
  const std::size_t stride = access.bits == 64 ? 8 : 4;
  for (std::size_t i = 0; i < access.places.size(); ++i) {
    const Pointers& p = warp.pointers();
    find_elements(access, i, base, leading, warp.pointers());
    inst.helper(warp, inst, mask);
    if (warp.scratch() == 0) return false;
    std::byte* const registers =
        warp.slot(access.slots[i / of_a_register]) + i % of_a_register * bytes;
    for (u32 left = mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      move(registers + lane * stride, p.host[lane], bytes);
    }
    after_store(warp, inst);
  }
  return true;
}

void load(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) mask = whole_warp(warp, inst, mask);
  if (mask == 0) return;
  const bool done = each_element(warp, inst, mask,
                                 [](std::byte* own, const std::byte* memory, std::size_t bytes) {
                                   __builtin_memcpy(own, memory, bytes);
                                 });
  if (!done) return;
  const WmmaAccess& access = access_of(warp, inst);
  for (std::size_t i = access.natural; i < access.slots.size(); ++i)
    put(warp.slot(access.slots[i]), warp.slot(access.slots[i % access.natural]), mask);
  warp.note_meeting(mask);
}

void store(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) mask = whole_warp(warp, inst, mask);
  if (mask == 0) return;
  warp.note_meeting(mask);
  each_element(warp, inst, mask, [](const std::byte* own, std::byte* memory, std::size_t bytes) {
    __builtin_memcpy(memory, own, bytes);
  });
}

const Shape* take_shape(Modifiers& modifiers) {
  for (const Shape& shape : kShapes) {
    if (modifiers.take(shape.name)) return &shape;
  }
  return nullptr;
}

// The elements that the shapes have, with the first target of each.
bool has_elements(Decoder& decoder, const Shape& shape, Matrix matrix, Type type) {
  const bool f64 = shape.name == "m8n8k4", tf32 = shape.name == "m16n16k8";
  decoder.require_sm(f64 || tf32 || type == Type::bf16 ? 80 : type == Type::s8 ? 72 : 70);
  if (f64) return type == Type::f64;
  if (matrix == Matrix::c) {
    return type == Type::f32 || (!tf32 && (type == Type::f16 || type == Type::s32));
  }
  if (tf32) return type == Type::tf32;
  return type == Type::f16 || type == Type::bf16 || type == Type::s8 || type == Type::u8;
}

void place_registers(Decoder& decoder, const Operand& operand, Type type, int count, bool written,
                     std::vector<Slot>& slots) {
  const std::span<const Operand> registers = decoder.elements(operand);
  if (static_cast<int>(registers.size()) != count) {
    decoder.refuse(fmt::format("a fragment has {} registers, not {}", registers.size(), count));
    return;
  }
  const int width = type == Type::f64 ? 64 : 32;
  for (const Operand& one : registers) {
    slots.push_back(written ? decoder.destination(one, width) : decoder.source(one, width));
  }
}

void decode_access(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   bool is_load, Inst& out) {
  const int which = is_load ? modifiers.take_one_of("a", "b", "c") : (modifiers.take("d") ? 2 : -1);
  const bool sync = modifiers.take("sync") && modifiers.take("aligned");
  const int layout = modifiers.take_one_of("row", "col");
  const Shape* const shape = take_shape(modifiers);
  const int space = modifiers.take_one_of("global", "shared", "shared::cta");
  const Type type = modifiers.take_type();
  if (which < 0 || !sync || layout < 0 || shape == nullptr ||
      !decoder.require_operands(instruction, 2, 3)) {
    return decoder.refuse("no such matrix");
  }
  const auto matrix = static_cast<Matrix>(which);
  if (!has_elements(decoder, *shape, matrix, type)) {
    return decoder.refuse("no such combination of shape and type");
  }
  const FragmentSize size = size_of(*shape, matrix, type);
  const FragmentMap map{shape, matrix, bits(type), size.natural};
  WmmaAccess access;
  access.bits = bits(type);
  access.natural = static_cast<std::size_t>(size.natural);
  const bool by_columns = layout == 1;
  const auto place = [&](int lane, int r, int e) {
    const Place at = map.place(lane, r, e);
    return by_columns ? Place{at.column, at.row} : at;
  };
  // Elements of a register that lie side by side are one access.
  const bool side_by_side = place(0, 0, 1).column == place(0, 0, 0).column + 1;
  const int accesses = side_by_side ? 1 : map.per_register();
  for (int i = 0; i < size.natural * accesses; ++i) {
    auto& places = access.places.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const Place at = place(lane, i / accesses, i % accesses);
      places[static_cast<std::size_t>(lane)] = {static_cast<std::uint8_t>(at.row),
                                                static_cast<std::uint8_t>(at.column)};
    }
  }
  const int height = matrix == Matrix::b ? shape->k : shape->m;
  const int width = matrix == Matrix::a ? shape->k : shape->n;
  // Without a stride, rows (or columns) follow each other.
  access.leading = instruction.operands.size() == 3
                       ? decoder.source(instruction.operands[2], 32)
                       : decoder.constant(static_cast<u64>(by_columns ? height : width), 32);
  place_registers(decoder, instruction.operands[is_load ? 0 : 1], type, size.written, is_load,
                  access.slots);
  const Space in = space < 0 ? Space::generic : space == 0 ? Space::global : Space::shared;
  decoder.address(instruction.operands[is_load ? 1 : 0], in, out);
  out.helper =
      resolver(in, std::max(bits(type), 32) / 8 / accesses, is_load ? Intent::read : Intent::write);
  out.c = static_cast<Slot>(decoder.program().wmma_accesses.size());
  decoder.program().wmma_accesses.push_back(std::move(access));
  out.execute = is_load ? load : store;
}

// --- mma ---

// Inst::immediate is the first of Inst::flags products in Program::mma. All are done before one is
// handed out: D may be A or B.
template <typename Multiply>
void each_piece(Warp& warp, const Inst& inst, u32 mask, const Multiply& one) {
  if (mask != kFullMask) mask = whole_warp(warp, inst, mask);
  if (mask == 0) return;
  warp.note_meeting(mask);
  alignas(64) LaneRegister copies[4][MmaOperation::kMostRegisters];
  alignas(64) LaneRegister results[2][MmaOperation::kMostRegisters];
  const auto first = static_cast<std::size_t>(inst.immediate);
  for (std::size_t i = 0; i < inst.flags; ++i) {
    const MmaOperation& op = warp.program().mma[first + i];
    if (warp.counts_traffic()) count_products(warp, inst, macs_of_a_piece(op));
    one(op, collect(warp, op, 1, copies[1]), collect(warp, op, 2, copies[2]),
        collect(warp, op, 3, copies[3]), results[i]);
  }
  for (std::size_t i = 0; i < inst.flags; ++i)
    distribute(warp, warp.program().mma[first + i], mask, results[i]);
}

void multiply(Warp& warp, const Inst& inst, u32 mask) {
  WorkerState& worker = warp.cta().worker();
  each_piece(warp, inst, mask,
             [&](const MmaOperation& op, LaneRegister* a, LaneRegister* b, LaneRegister* c,
                 LaneRegister* d) { op.plan->run(a, b, c, d, worker.mma); });
  worker.last_mma = nullptr;
}

template <bool Centered>
void multiply_randomly(Warp& warp, const Inst& inst, u32 mask) {
  each_piece(warp, inst, mask,
             [&](const MmaOperation& op, LaneRegister* a, LaneRegister* b, LaneRegister* c,
                 LaneRegister* d) {
               mma_randomly(op.plan->kind(), a, b, c, d, {warp.next_random(), Centered});
             });
}

// m8n8k4: list is d0, d1, a, b, c0, c1.
void multiply_f64(Warp& warp, const Inst& inst, u32 mask) {
  if (mask != kFullMask) mask = whole_warp(warp, inst, mask);
  if (mask == 0) return;
  warp.note_meeting(mask);
  if (warp.counts_traffic()) count_products(warp, inst, 8 * 8 * 4);
  const auto a = lanes<u64>(warp, inst.list[2]), b = lanes<u64>(warp, inst.list[3]);
  u64 sums[2][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 2; ++i) {
      u64 sum = lanes<u64>(warp, inst.list[4 + i])[lane];
      for (int k = 0; k < 4; ++k) {
        const u64 x = a[lane / 4 * 4 + k], y = b[(2 * (lane % 4) + i) * 4 + k];
        sum =
            hand_nan_on(__builtin_fma(__builtin_bit_cast(double, x), __builtin_bit_cast(double, y),
                                      __builtin_bit_cast(double, sum)),
                        x, y, sum);
      }
      sums[i][lane] = sum;
    }
  }
  for (int i = 0; i < 2; ++i) {
    const auto d = lanes<u64>(warp, inst.list[i]);
    for (u32 left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      d.set(lane, sums[i][lane]);
    }
  }
}

void decode_f64(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  if (!modifiers.take("rn") &&
      (modifiers.take("rz") || modifiers.take("rm") || modifiers.take("rp"))) {
    return decoder.refuse("f64 is emulated with .rn only");
  }
  decoder.require_sm(80);
  std::vector<Slot> list;
  constexpr std::array<int, 4> kCounts = {2, 1, 1, 2};
  for (std::size_t f = 0; f < kCounts.size(); ++f)
    place_registers(decoder, instruction.operands[f], Type::f64, kCounts[f], f == 0, list);
  if (decoder.refused()) return;
  out.list = decoder.keep(list);
  out.execute = multiply_f64;
}

void decode_multiply(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                     Inst& out) {
  const bool sync = modifiers.take("sync") && modifiers.take("aligned");
  // Layouts say how A and B were loaded; the registers are the same.
  const bool layouts =
      modifiers.take_one_of("row", "col") >= 0 && modifiers.take_one_of("row", "col") >= 0;
  const Shape* const shape = take_shape(modifiers);
  const bool saturate = modifiers.take("satfinite");
  const Type d = modifiers.take_type(), second = modifiers.take_type();
  if (!sync || !layouts || shape == nullptr || !decoder.require_operands(instruction, 4, 4))
    return decoder.refuse("no such shape");
  // Of f16 only D and C are named; of all others A and B, too.
  const Type third = modifiers.take_type();
  const bool f16 = third == Type::none;
  const Type a = f16 ? Type::f16 : second, b = f16 ? Type::f16 : third;
  const Type c = f16 ? second : modifiers.take_type();
  if (d == Type::f64 && a == Type::f64 && b == Type::f64 && c == Type::f64 && shape->k == 4)
    return decode_f64(decoder, instruction, modifiers, out);
  if (d != c) return decoder.refuse("D and C of different types are not emulated");
  if (!has_elements(decoder, *shape, Matrix::a, a) ||
      !has_elements(decoder, *shape, Matrix::b, b) ||
      !has_elements(decoder, *shape, Matrix::c, d)) {
    return decoder.refuse("no such combination of shape and types");
  }
  const auto kind = mma_kind(
      decoder, plumbline::Instruction::mma_sync,
      shape->transposed ? MmaForm{d, b, a, c, shape->k} : MmaForm{d, a, b, c, shape->k}, saturate);
  if (!kind) return;
  std::array<std::vector<Slot>, 4> slots;
  constexpr std::array<Matrix, 4> kMatrices = {Matrix::c, Matrix::a, Matrix::b, Matrix::c};
  const std::array<Type, 4> types = {d, a, b, c};
  for (std::size_t f = 0; f < 4; ++f) {
    place_registers(decoder, instruction.operands[f], types[f],
                    size_of(*shape, kMatrices[f], types[f]).written, f == 0, slots[f]);
  }
  if (decoder.refused()) return;
  if (shape->transposed) std::swap(slots[1], slots[2]);
  const std::array<int, 4> counts = {c_registers(*kind), a_registers(*kind), b_registers(*kind),
                                     c_registers(*kind)};
  out.immediate = static_cast<std::int64_t>(decoder.program().mma.size());
  out.flags = static_cast<u32>(shape->a_pieces * shape->b_pieces);
  for (int piece = 0; piece < shape->a_pieces * shape->b_pieces; ++piece) {
    MmaOperation operation;
    operation.plan = plan_for(*kind, decoder.program());
    const std::array<int, 4> at = {piece, piece / shape->b_pieces, piece % shape->b_pieces, piece};
    for (std::size_t f = 0; f < 4; ++f) {
      MmaOperation::Fragment& fragment = operation.fragments[f];
      fragment.count = counts[f];
      for (int i = 0; i < counts[f]; ++i) {
        fragment.slot[static_cast<std::size_t>(i)] =
            slots[f][static_cast<std::size_t>(at[f] * counts[f] + i)];
      }
    }
    decoder.program().mma.push_back(operation);
  }
  out.execute = multiply;
  if (decoder.rounds_randomly()) {
    out.execute = decoder.random_rounding() == RandomRounding::unbiased_nodes
                      ? multiply_randomly<true>
                      : multiply_randomly<false>;
  }
}

void decode_wmma(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  switch (modifiers.take_one_of("load", "store", "mma")) {
    case 0:
      return decode_access(decoder, instruction, modifiers, true, out);
    case 1:
      return decode_access(decoder, instruction, modifiers, false, out);
    case 2:
      return decode_multiply(decoder, instruction, modifiers, out);
    default:
      return decoder.refuse("the emulator has no such form");
  }
}

}  // namespace

std::span<const Family> wmma_families() {
  static constexpr Family kFamilies[] = {{"wmma", decode_wmma}};
  return kFamilies;
}

}  // namespace plumbline::emulator
