// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/mma_forms.h"

#include <fmt/format.h>

#include <memory>

namespace plumbline::emulator {
namespace {

struct MmaRow {
  Type d, a, b, c;
  int k;
  FormatId a_format, b_format, accumulator;
  int sm;
};

// m16n8; every row.col.
// clang-format off
constexpr MmaRow kMmaRows[] = {
  {Type::f32, Type::bf16, Type::bf16, Type::f32, 8,  FormatId::bf16, FormatId::bf16, FormatId::f32, 80},
  {Type::f32, Type::bf16, Type::bf16, Type::f32, 16, FormatId::bf16, FormatId::bf16, FormatId::f32, 80},
  {Type::f32, Type::f16,  Type::f16,  Type::f32, 8,  FormatId::f16,  FormatId::f16,  FormatId::f32, 75},
  {Type::f32, Type::f16,  Type::f16,  Type::f32, 16, FormatId::f16,  FormatId::f16,  FormatId::f32, 80},
  {Type::f16, Type::f16,  Type::f16,  Type::f16, 8,  FormatId::f16,  FormatId::f16,  FormatId::f16, 75},
  {Type::f16, Type::f16,  Type::f16,  Type::f16, 16, FormatId::f16,  FormatId::f16,  FormatId::f16, 80},
  {Type::f32, Type::tf32, Type::tf32, Type::f32, 4,  FormatId::tf32, FormatId::tf32, FormatId::f32, 80},
  {Type::f32, Type::tf32, Type::tf32, Type::f32, 8,  FormatId::tf32, FormatId::tf32, FormatId::f32, 80},
  {Type::f32, Type::e4m3, Type::e4m3, Type::f32, 16, FormatId::e4m3, FormatId::e4m3, FormatId::f32, 89},
  {Type::f32, Type::e4m3, Type::e5m2, Type::f32, 16, FormatId::e4m3, FormatId::e5m2, FormatId::f32, 89},
  {Type::f32, Type::e5m2, Type::e4m3, Type::f32, 16, FormatId::e5m2, FormatId::e4m3, FormatId::f32, 89},
  {Type::f32, Type::e5m2, Type::e5m2, Type::f32, 16, FormatId::e5m2, FormatId::e5m2, FormatId::f32, 89},
  {Type::f32, Type::e4m3, Type::e4m3, Type::f32, 32, FormatId::e4m3, FormatId::e4m3, FormatId::f32, 89},
  {Type::f32, Type::e4m3, Type::e5m2, Type::f32, 32, FormatId::e4m3, FormatId::e5m2, FormatId::f32, 89},
  {Type::f32, Type::e5m2, Type::e4m3, Type::f32, 32, FormatId::e5m2, FormatId::e4m3, FormatId::f32, 89},
  {Type::f32, Type::e5m2, Type::e5m2, Type::f32, 32, FormatId::e5m2, FormatId::e5m2, FormatId::f32, 89},
  {Type::f16, Type::e4m3, Type::e4m3, Type::f16, 16, FormatId::e4m3, FormatId::e4m3, FormatId::f16, 89},
  {Type::f16, Type::e4m3, Type::e5m2, Type::f16, 16, FormatId::e4m3, FormatId::e5m2, FormatId::f16, 89},
  {Type::f16, Type::e5m2, Type::e4m3, Type::f16, 16, FormatId::e5m2, FormatId::e4m3, FormatId::f16, 89},
  {Type::f16, Type::e5m2, Type::e5m2, Type::f16, 16, FormatId::e5m2, FormatId::e5m2, FormatId::f16, 89},
  {Type::f16, Type::e4m3, Type::e4m3, Type::f16, 32, FormatId::e4m3, FormatId::e4m3, FormatId::f16, 89},
  {Type::f16, Type::e4m3, Type::e5m2, Type::f16, 32, FormatId::e4m3, FormatId::e5m2, FormatId::f16, 89},
  {Type::f16, Type::e5m2, Type::e4m3, Type::f16, 32, FormatId::e5m2, FormatId::e4m3, FormatId::f16, 89},
  {Type::f16, Type::e5m2, Type::e5m2, Type::f16, 32, FormatId::e5m2, FormatId::e5m2, FormatId::f16, 89},
  {Type::s32, Type::s8,   Type::s8,   Type::s32, 16, FormatId::s8,   FormatId::s8,   FormatId::s32, 80},
  {Type::s32, Type::s8,   Type::u8,   Type::s32, 16, FormatId::s8,   FormatId::u8,   FormatId::s32, 80},
  {Type::s32, Type::u8,   Type::s8,   Type::s32, 16, FormatId::u8,   FormatId::s8,   FormatId::s32, 80},
  {Type::s32, Type::u8,   Type::u8,   Type::s32, 16, FormatId::u8,   FormatId::u8,   FormatId::s32, 80},
  {Type::s32, Type::s8,   Type::s8,   Type::s32, 32, FormatId::s8,   FormatId::s8,   FormatId::s32, 80},
  {Type::s32, Type::s8,   Type::u8,   Type::s32, 32, FormatId::s8,   FormatId::u8,   FormatId::s32, 80},
  {Type::s32, Type::u8,   Type::s8,   Type::s32, 32, FormatId::u8,   FormatId::s8,   FormatId::s32, 80},
  {Type::s32, Type::u8,   Type::u8,   Type::s32, 32, FormatId::u8,   FormatId::u8,   FormatId::s32, 80},
};

// clang-format on

}  // namespace

std::optional<MmaKind> mma_kind(Decoder& decoder, plumbline::Instruction instruction,
                                const MmaForm& form, bool saturate) {
  for (const MmaRow& row : kMmaRows) {
    if (row.d != form.d || row.a != form.a || row.b != form.b || row.c != form.c || row.k != form.k)
      continue;
    const bool warpgroup = instruction == plumbline::Instruction::wgmma;
    decoder.require_sm(warpgroup ? 90 : row.sm);
    MmaKind kind{{16, 8, row.k}, row.a_format, row.b_format, row.accumulator};
    const bool integer = row.accumulator == FormatId::s32;
    if (saturate && !integer) return std::nullopt;
    kind.saturate = saturate;
    if (integer) return kind;
    const auto model =
        dot_model(decoder.device_sm(), instruction, row.a_format, row.b_format, row.accumulator);
    if (!model) {
      decoder.refuse(
          fmt::format("sm_{} has no such {}", decoder.device_sm(), warpgroup ? "wgmma" : "mma"));
      return std::nullopt;
    }
    kind.model = *model;
    return kind;
  }
  decoder.refuse("the emulator has no such combination of shape and types");
  return std::nullopt;
}

namespace {

std::optional<FormatId> narrow_format(Type type) {
  switch (type) {
    case Type::e4m3:
      return FormatId::e4m3;
    case Type::e5m2:
      return FormatId::e5m2;
    case Type::e3m2:
      return FormatId::e3m2;
    case Type::e2m3:
      return FormatId::e2m3;
    case Type::e2m1:
      return FormatId::e2m1;
    default:
      return std::nullopt;
  }
}

// How many scales a row has: the number given, or the one that there is.
int scales_of(const NarrowForm& form) {
  if (form.kind == NarrowKind::mxf4nvf4 || form.scales != 0) return form.scales;
  return form.kind == NarrowKind::mxf4 ? 2 : 1;
}

}  // namespace

std::optional<MmaKind> narrow_mma_kind(Decoder& decoder, const NarrowForm& form) {
  decoder.require_sm(120);
  const auto a = narrow_format(form.a), b = narrow_format(form.b);
  const FormatId accumulator = form.d == Type::f16 ? FormatId::f16 : FormatId::f32;
  const bool floats = form.d == form.c && (form.d == Type::f32 || form.d == Type::f16);
  const bool four_bits = form.kind == NarrowKind::mxf4 || form.kind == NarrowKind::mxf4nvf4;
  if (!a || !b || !floats || form.k != (four_bits ? 64 : 32)) {
    decoder.refuse("the emulator has no such combination of shape, kind and types");
    return std::nullopt;
  }
  MmaKind kind{{16, 8, form.k}, *a, *b, accumulator};
  if (form.kind == NarrowKind::f8f6f4) {
    const auto model =
        dot_model(decoder.device_sm(), plumbline::Instruction::mma_sync, *a, *b, accumulator);
    if (model) kind.model = *model;
    if (model && decoder.device_sm() >= 120) return kind;
  } else {
    const int scales = scales_of(form);
    const auto node =
        scaled_node_model(decoder.device_sm(), plumbline::Instruction::mma_sync, form.k);
    const bool ue8m0_only = form.kind != NarrowKind::mxf4nvf4 || scales == 2;
    if (form.scale && scales > 0) kind.scale = {*form.scale, form.k / scales};
    if (!form.scale || scales == 0 || !mma_exists(kind) ||
        (ue8m0_only && *form.scale != FormatId::ue8m0) ||
        (form.kind == NarrowKind::mxf4 && scales != 2)) {
      decoder.refuse("there are no such scales of this kind");
      return std::nullopt;
    }
    if (node) kind.model.node = *node;
    if (node) return kind;
  }
  decoder.refuse(fmt::format("sm_{} has no such mma", decoder.device_sm()));
  return std::nullopt;
}

const MmaPlan* plan_for(const MmaKind& kind, MmaPlans& plans) {
  for (const auto& plan : plans) {
    if (plan->is_for(kind)) return plan.get();
  }
  return plans.emplace_back(std::make_unique<const MmaPlan>(kind)).get();
}

}  // namespace plumbline::emulator
