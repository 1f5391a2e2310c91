// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/type_names.h"

#include <array>

namespace plumbline::emulator {
namespace {

struct TypeName {
  std::string_view name;
  int bits;
  bool is_float;
};

// PTX ISA 9.0 §5.2. Opaque types (.texref ...) are 64-bit handles.
// clang-format off
constexpr std::array kTypes = {
    TypeName{".b32",  32, false}, TypeName{".b64",  64, false}, TypeName{".f32",  32, true},
    TypeName{".b8",    8, false}, TypeName{".b16",  16, false}, TypeName{".b128", 128, false},
    TypeName{".u8",    8, false}, TypeName{".u16",  16, false}, TypeName{".u32",  32, false},
    TypeName{".u64",  64, false}, TypeName{".s8",    8, false}, TypeName{".s16",  16, false},
    TypeName{".s32",  32, false}, TypeName{".s64",  64, false}, TypeName{".f64",  64, true},
    TypeName{".pred",  1, false}, TypeName{".f16",  16, true},  TypeName{".f16x2",  32, false},
    TypeName{".bf16", 16, true},  TypeName{".bf16x2", 32, false}, TypeName{".tf32", 32, true},
    TypeName{".e4m3",  8, false}, TypeName{".e5m2",  8, false}, TypeName{".e4m3x2", 16, false},
    TypeName{".e5m2x2", 16, false}, TypeName{".f32x2", 64, false},
    TypeName{".texref", 64, false}, TypeName{".samplerref", 64, false}, TypeName{".surfref", 64, false},
};

// clang-format on

const TypeName* find(std::string_view directive) {
  for (const TypeName& type : kTypes) {
    if (type.name == directive) return &type;
  }
  return nullptr;
}

}  // namespace

int type_bits(std::string_view directive) {
  const TypeName* type = find(directive);
  return type == nullptr ? 0 : type->bits;
}

bool is_float_type(std::string_view directive) {
  const TypeName* type = find(directive);
  return type != nullptr && type->is_float;
}

}  // namespace plumbline::emulator
