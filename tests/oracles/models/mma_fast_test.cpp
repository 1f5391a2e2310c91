// SPDX-License-Identifier: MIT
// The vector path against the specification: the same bits wherever it does not decline, on every
// instruction set this machine has; and it declines only what is out of the ordinary.
#include "tests/oracles/models/mma_compare.h"

namespace plumbline {
namespace {

bool is_half(const MmaKind& kind) { return kind.a == FormatId::bf16 || kind.a == FormatId::f16; }

// The kinds that our kernels use most get most.
int quick_count(const MmaKind& kind) {
  if (is_half(kind) && kind.shape.k == 16) return 20000;
  return is_half(kind) ? 3000 : 600;
}

class MmaFast : public testing::TestWithParam<FragmentKind> {
 protected:
  void SetUp() override {
    if (!vectors_here()) GTEST_SKIP() << "no vector instruction set on this machine";
  }
};

TEST_P(MmaFast, GivesTheBitsOfTheSpecificationAndSeldomDeclines) {
  const MmaKind& kind = GetParam().mma;
  const Comparison comparison = compare_fast_with_spec(kind, quick_count(kind), 1);
  for (const ValueMix mix : {ValueMix::ordinary, ValueMix::wide, ValueMix::cancelling,
                             ValueMix::zero_c, ValueMix::sparse, ValueMix::whole}) {
    EXPECT_EQ(comparison.declined_share(mix), 0) << "mix " << static_cast<int>(mix);
  }
}

TEST_P(MmaFast, AcceptsTheAccumulatorAsDestination) {
  const MmaKind& kind = GetParam().mma;
  Random random(2);
  Fragments in = random_fragments(kind, ValueMix::ordinary, random);
  LaneRegister apart[4];
  ASSERT_TRUE(mma_fast(kind, in.a, in.b, in.c, apart));
  ASSERT_TRUE(mma_fast(kind, in.a, in.b, in.c, in.c));
  EXPECT_EQ(std::memcmp(apart, in.c, sizeof apart), 0);
}

// Puts the special values of a format into registers, one at a time and then two to a sum, where a
// path that took them for numbers might cancel them; all else is zero. `taken`: by the vector path.
void compare_specials(const MmaKind& kind, const Fragments& in, FormatId id,
                      LaneRegister* registers, int count, bool taken) {
  const Format& format = plumbline::format(id);
  if (format.specials == Specials::none) return;  // every code is a number
  const auto compare = [&](std::uint32_t& word, std::uint32_t value) {
    LaneRegister d[4], spec[4];
    word = value;
    EXPECT_EQ(mma_fast(kind, in.a, in.b, in.c, d), taken) << format.name << " in " << value;
    mma(kind, in.a, in.b, in.c, d);
    mma_spec(kind, in.a, in.b, in.c, spec);
    EXPECT_EQ(std::memcmp(d, spec, sizeof d), 0) << format.name << " in " << value;
    word = 0;
  };
  std::vector<std::uint64_t> specials = {format.canonical_nan};
  if (format.has_infinity()) specials.push_back(format.max_finite() + 1);
  for (const std::uint64_t special : specials) {
    const auto code = static_cast<std::uint32_t>(special);
    for (int reg = 0; reg < count; ++reg) {
      for (std::uint32_t& word : registers[reg]) {
        std::uint32_t twice = 0;
        for (int at = 0; at < 32; at += format.storage_bits) {
          compare(word, code << at);
          if (at < 2 * format.storage_bits) twice |= code << at;
        }
        compare(word, twice);
      }
    }
  }
}

TEST_P(MmaFast, LeavesSpecialOperandsToTheSpecificationAndTakesSpecialSums) {
  const MmaKind& kind = GetParam().mma;
  if (kind.accumulator == FormatId::s32) return;  // every code is a number
  Fragments in;
  compare_specials(kind, in, kind.a, in.a, a_registers(kind), false);
  compare_specials(kind, in, kind.b, in.b, b_registers(kind), false);
  compare_specials(kind, in, kind.accumulator, in.c, c_registers(kind), true);
}

// Where a few elements are beyond the vector path, it does the other outputs.
void compare_with_exceptions(const MmaKind& kind, int count, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const Fragments in = random_fragments(kind, ValueMix::exceptions, random);
    LaneRegister d[4], spec[4];
    mma(kind, in.a, in.b, in.c, d);
    mma_spec(kind, in.a, in.b, in.c, spec);
    ASSERT_EQ(std::memcmp(d, spec, sizeof d), 0) << i;
  }
}

TEST_P(MmaFast, ExceptionsChangeNoOtherOutputs) { compare_with_exceptions(GetParam().mma, 300, 5); }

INSTANTIATE_TEST_SUITE_P(Kinds, MmaFast, testing::ValuesIn(fast_kinds()),
                         [](const auto& row) { return row.param.name; });

TEST(MmaFastTargets, AllOfThisMachineAgreeWithTheSpecification) {
  on_every_target([] {
    for (const FragmentKind& kind : fast_kinds()) {
      SCOPED_TRACE(kind.name);
      compare_fast_with_spec(kind.mma, 90, 3);
      compare_with_exceptions(kind.mma, 100, 6);
    }
  });
}

TEST(MmaFastTargets, WithoutVectorsEverythingIsLeftToTheSpecification) {
  const OnlyTarget none(HWY_SCALAR);
  const FragmentKind kind = float_kind(90, FormatId::bf16, FormatId::bf16, 16);
  Random random(4);
  const Fragments in = random_fragments(kind.mma, ValueMix::ordinary, random);
  LaneRegister d[4], spec[4];
  EXPECT_FALSE(mma_fast(kind.mma, in.a, in.b, in.c, d));
  mma(kind.mma, in.a, in.b, in.c, d);
  mma_spec(kind.mma, in.a, in.b, in.c, spec);
  EXPECT_EQ(std::memcmp(d, spec, sizeof d), 0);
}

// The fast path is meant to handle these, not only to be right about them.
TEST(MmaFastRange, TakesSubnormalsOfBf16AndF16) {
  for (const FormatId id : {FormatId::bf16, FormatId::f16}) {
    const MmaKind kind = float_kind(90, id, id, 16).mma;
    Fragments in;
    in.a[0][0] = 0x00010003;                                      // two subnormals
    in.b[0][0] = id == FormatId::bf16 ? 0x5f005f00 : 0x3c003c00;  // 2^63, 1
    LaneRegister d[4], spec[4];
    ASSERT_TRUE(mma_fast(kind, in.a, in.b, in.c, d));
    mma_spec(kind, in.a, in.b, in.c, spec);
    EXPECT_NE(d[0][0], 0u);
    EXPECT_EQ(std::memcmp(d, spec, sizeof d), 0);
  }
}

TEST(MmaFastRange, DeclinesASumThatLeaves32Bits) {
  const MmaKind kind = float_kind(90, FormatId::bf16, FormatId::bf16, 16).mma;
  Fragments in;
  for (auto& reg : in.a) std::fill(std::begin(reg), std::end(reg), 0x3fff3fffu);
  for (auto& reg : in.b) std::fill(std::begin(reg), std::end(reg), 0x3fff3fffu);
  for (auto& reg : in.c) std::fill(std::begin(reg), std::end(reg), 0x3fffffffu);
  LaneRegister d[4];
  EXPECT_FALSE(mma_fast(kind, in.a, in.b, in.c, d));
}

}  // namespace
}  // namespace plumbline
