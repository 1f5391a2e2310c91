// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/types.h"

#include <algorithm>
#include <array>

#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  int bits;
  char kind;  // 'p'redicate, 'b'its, 'u'nsigned, 's'igned, 'f'loat
};

// clang-format off
constexpr TypeRow kTypes[] = {
  {"pred",   Type::pred,   1,   'p'},
  {"b8",     Type::b8,     8,   'b'}, {"b16",  Type::b16,  16, 'b'}, {"b32", Type::b32, 32, 'b'},
  {"b64",    Type::b64,    64,  'b'}, {"b128", Type::b128, 128, 'b'},
  {"u4",     Type::u4,     4,   'u'}, {"u8",   Type::u8,   8,  'u'}, {"u16", Type::u16, 16, 'u'},
  {"u32",    Type::u32,    32,  'u'}, {"u64",  Type::u64,  64, 'u'},
  {"s4",     Type::s4,     4,   's'}, {"s8",   Type::s8,   8,  's'}, {"s16", Type::s16, 16, 's'},
  {"s32",    Type::s32,    32,  's'}, {"s64",  Type::s64,  64, 's'},
  {"f16",    Type::f16,    16,  'f'}, {"f16x2",  Type::f16x2,  32, 'f'},
  {"bf16",   Type::bf16,   16,  'f'}, {"bf16x2", Type::bf16x2, 32, 'f'},
  {"tf32",   Type::tf32,   32,  'f'}, {"f32",    Type::f32,    32, 'f'}, {"f64", Type::f64, 64, 'f'},
  {"e4m3",   Type::e4m3,   8,   'f'}, {"e5m2",   Type::e5m2,   8,  'f'},
  {"e4m3x2", Type::e4m3x2, 16,  'f'}, {"e5m2x2", Type::e5m2x2, 16, 'f'},
  {"f32x2",  Type::f32x2,  64,  'f'},
  {"e2m1",   Type::e2m1,   4,   'f'}, {"e2m1x2", Type::e2m1x2, 8,  'f'},
  // Codes of 6 bits lie in the low bits of a byte.
  {"e2m3",   Type::e2m3,   8,   'f'}, {"e2m3x2", Type::e2m3x2, 16, 'f'},
  {"e3m2",   Type::e3m2,   8,   'f'}, {"e3m2x2", Type::e3m2x2, 16, 'f'},
  {"ue8m0",  Type::ue8m0,  8,   'f'}, {"ue8m0x2", Type::ue8m0x2, 16, 'f'},
};
// clang-format on

const TypeRow* row(Type type) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeRow& r) { return r.type == type; });
  return found == std::end(kTypes) ? nullptr : found;
}

constexpr std::string_view kHints[] = {
    "uni",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::64B",
    "L2::128B",
    "L2::256B",
};

}  // namespace

const char* name(Space space) {
  switch (space) {
    case Space::reg:
      return "register";
    case Space::param:
      return "parameter";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::constant:
      return "constant";
    case Space::generic:
      return "generic";
  }
  return "";
}

int bits(Type type) {
  const TypeRow* found = row(type);
  return found == nullptr ? 0 : found->bits;
}

bool is_signed(Type type) {
  const TypeRow* found = row(type);
  return found != nullptr && found->kind == 's';
}

bool is_float(Type type) {
  const TypeRow* found = row(type);
  return found != nullptr && found->kind == 'f';
}

std::optional<Type> type_by_name(std::string_view name) {
  for (const TypeRow& r : kTypes) {
    if (r.name == name) return r.type;
  }
  return std::nullopt;
}

bool Modifiers::take(std::string_view word) {
  const auto found = std::find(left_.begin(), left_.end(), word);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}

Type Modifiers::take_type() {
  for (auto it = left_.begin(); it != left_.end(); ++it) {
    if (const std::optional<Type> type = type_by_name(*it)) {
      left_.erase(it);
      return *type;
    }
  }
  return Type::none;
}

RoundingMode Modifiers::take_rounding() {
  switch (take_one_of("rn", "rz", "rm", "rp")) {
    case 0:
      return RoundingMode::rn;
    case 1:
      return RoundingMode::rz;
    case 2:
      return RoundingMode::rm;
    case 3:
      return RoundingMode::rp;
    default:
      return RoundingMode::none;
  }
}

void Modifiers::take_hints() {
  for (const std::string_view hint : kHints) take(hint);
}

std::string Modifiers::take_first() {
  if (left_.empty()) return "";
  std::string first = left_.front();
  left_.erase(left_.begin());
  return first;
}

}  // namespace plumbline::emulator
