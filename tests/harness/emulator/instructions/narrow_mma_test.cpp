// SPDX-License-Identifier: MIT
// mma.sync with .kind::, through PTX: fragments and scales laid out by the ISA's formulas, values
// whose sums are exact, so that a matrix product in double is what has to come out. What rounds is
// tested on the nodes (nodes_of_mmasim_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using enum FormatId;

struct NarrowCase {
  const char* form;  // after "mma.sync.aligned.", up to the accumulator
  FormatId a, b;
  int k;
  int block = 0;           // of k that have one scale; 0: no scales
  const char* scale = "";  // the last word
  int a_byte = 0, a_thread = 0, b_byte = 0, b_thread = 0;
};

constexpr NarrowCase kCases[] = {
    {"m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", e4m3, e2m1, 32},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e3m2.f32", e2m3, e3m2, 32},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32", e2m1, e5m2, 32},
    {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32", e4m3, e5m2, 32,
     32, "ue8m0", 0, 0, 0, 0},
    {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e2m1.f32", e2m3, e2m1, 32, 32, "ue8m0",
     3, 1, 2, 3},
    {"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32", e2m1, e2m1, 64, 32,
     "ue8m0", 2, 1, 0, 2},
    {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32", e2m1, e2m1, 64,
     32, "ue8m0", 0, 0, 2, 1},
    {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32", e2m1, e2m1, 64,
     16, "ue4m3", 0, 1, 0, 3},
};

// Codes of a row or column, and where they lie in the words of the lanes.
class Words {
 public:
  Words(int registers, u32 filled)
      : registers_(registers), words_(static_cast<std::size_t>(32 * registers), filled) {}

  void put(int lane, int reg, int bit, int bits, u32 code) {
    u32& word = words_[static_cast<std::size_t>(lane * registers_ + reg)];
    const u32 mask = ((bits == 32 ? 0 : 1u << bits) - 1) << bit;
    word = (word & ~mask) | code << bit;
  }

  void append_to(int lane, std::vector<u32>& in) const {
    for (int reg = 0; reg < registers_; ++reg)
      in.push_back(words_[static_cast<std::size_t>(lane * registers_ + reg)]);
  }

 private:
  int registers_;
  std::vector<u32> words_;
};

// An element is 4 bits wide with k = 64, else a byte: FP4 in its bits 5:2.
void put_element(const NarrowCase& one, FormatId id, Words& words, int lane, int reg, int element,
                 u32 code) {
  if (one.k == 64) return words.put(lane, reg, 4 * element, 4, code);
  words.put(lane, reg, 8 * element, 8, id == e2m1 ? code << 2 : code);
}

struct Problem {
  std::vector<u32> in;  // of each lane: A, B, C, the scales of A and of B
  std::vector<double> due;
};

Problem problem_of(const NarrowCase& one, Random& random) {
  const int per = one.k == 64 ? 8 : 4, chunk = 4 * per, blocks = one.block ? one.k / one.block : 0;
  const Format& s = format(one.scale == std::string_view("ue4m3") ? e4m3 : ue8m0);
  // 1 to 3.5 and their negatives: products and sums are exact.
  const auto code = [&](FormatId id) {
    const Format& f = format(id);
    const auto exponent = static_cast<u32>(f.bias + random.between(0, 1));
    const auto mantissa = static_cast<u32>(random.below(1u << f.mantissa_bits));
    return (static_cast<u32>(random.below(2)) << f.exponent_bits | exponent) << f.mantissa_bits |
           mantissa;
  };
  const auto size = [](int rows, int columns) { return static_cast<std::size_t>(rows * columns); };
  std::vector<double> a(size(16, one.k)), b(size(8, one.k)), a_scale(size(16, 4), 1),
      b_scale(size(8, 4), 1);
  Words a_words(4, 0), b_words(2, 0), c_words(4, 0), sa_words(1, ~0u), sb_words(1, ~0u);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < one.k; ++k) {
      const u32 bits = code(one.a);
      a[static_cast<std::size_t>(row * one.k + k)] = to_double(format(one.a), bits);
      put_element(one, one.a, a_words, row % 8 * 4 + k % chunk / per, row / 8 + 2 * (k / chunk),
                  k % per, bits);
    }
  }
  for (int column = 0; column < 8; ++column) {
    for (int k = 0; k < one.k; ++k) {
      const u32 bits = code(one.b);
      b[static_cast<std::size_t>(column * one.k + k)] = to_double(format(one.b), bits);
      put_element(one, one.b, b_words, column * 4 + k % chunk / per, k / chunk, k % per, bits);
    }
  }
  // ue4m3 ignores its sign bit.
  const auto scale = [&](double& value) {
    const u32 bits = static_cast<u32>(s.bias + random.between(-1, 1)) << s.mantissa_bits |
                     static_cast<u32>(random.below(1u << s.mantissa_bits));
    value = to_double(s, bits);
    return s.id == e4m3 ? bits | static_cast<u32>(random.below(2)) << 7 : bits;
  };
  for (int block = 0; block < blocks; ++block) {
    for (int row = 0; row < 16; ++row)
      sa_words.put(row % 8 * 4 + 2 * one.a_thread + row / 8, 0, 8 * (one.a_byte + block), 8,
                   scale(a_scale[static_cast<std::size_t>(4 * row + block)]));
    for (int column = 0; column < 8; ++column)
      sb_words.put(column * 4 + one.b_thread, 0, 8 * (one.b_byte + block), 8,
                   scale(b_scale[static_cast<std::size_t>(4 * column + block)]));
  }
  Problem problem;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const auto c = static_cast<float>(random.between(-50, 50));
      c_words.put(row % 8 * 4 + column / 2, row / 8 * 2 + column % 2, 0, 32, std::bit_cast<u32>(c));
      double sum = static_cast<double>(c);
      for (int k = 0; k < one.k; ++k) {
        const auto block = static_cast<std::size_t>(one.block ? k / one.block : 0);
        sum += a[static_cast<std::size_t>(row * one.k + k)] *
               b[static_cast<std::size_t>(column * one.k + k)] *
               a_scale[static_cast<std::size_t>(4 * row) + block] *
               b_scale[static_cast<std::size_t>(4 * column) + block];
      }
      problem.due.push_back(sum);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (const Words* words : {&a_words, &b_words, &c_words, &sa_words, &sb_words})
      words->append_to(lane, problem.in);
  }
  return problem;
}

std::string scale_operands(const NarrowCase& one) {
  return fmt::format(", %r11, {{{}, {}}}, %r12, {{{}, {}}}", one.a_byte, one.a_thread, one.b_byte,
                     one.b_thread);
}

// The selectors in registers, as nvcc has them of CUTLASS's kernels; words in braces of their own.
constexpr const char* kSelectorsInRegisters = ", {%r11}, {id0, id1}, {%r12}, {id2, id3}";

std::string selectors(const std::array<int, 4>& ids) {
  std::string out = ".reg .b16 id<4>; ";
  for (std::size_t i = 0; i < ids.size(); ++i) out += fmt::format("mov.b16 id{}, {};", i, ids[i]);
  return out;
}

std::string mma_of(const NarrowCase& one, const std::string& scales) {
  return fmt::format(
      "mma.sync.aligned.{}{}{} {{%r20, %r21, %r22, %r23}}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, "
      "{{%r7, %r8, %r9, %r10}}{};\n",
      one.form, one.block ? "." : "", one.scale, scales);
}

void is_the_product(const NarrowCase& one, bool in_registers, Random& random) {
  const Problem problem = problem_of(one, random);
  std::string body =
      "mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, 48; add.s64 %d0, %in, %d0; mul.wide.u32 "
      "%d1, %r0, 16; add.s64 %d1, %out, %d1;\n";
  for (int i = 0; i < 12; ++i) body += fmt::format("ld.global.u32 %r{}, [%d0+{}];", i + 1, 4 * i);
  if (in_registers) body += selectors({one.a_byte, one.a_thread, one.b_byte, one.b_thread});
  body += mma_of(one, in_registers ? kSelectorsInRegisters : one.block ? scale_operands(one) : "");
  body += "st.global.v4.u32 [%d1], {%r20, %r21, %r22, %r23};";
  KernelOptions options;
  options.emulator.sm = 120;
  const KernelRun run = run_kernel(kernel_text(body, 120), bytes_of(problem.in), 512, options);
  ASSERT_TRUE(run.outcome.findings.empty()) << one.form << findings_text(run.outcome);
  const std::vector<float> out = run.values<float>();
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int at = (row % 8 * 4 + column / 2) * 4 + row / 8 * 2 + column % 2;
      EXPECT_EQ(static_cast<double>(out[static_cast<std::size_t>(at)]),
                problem.due[static_cast<std::size_t>(row * 8 + column)])
          << one.form << " " << row << " " << column;
    }
  }
}

TEST(NarrowMma, IsTheProductOfTheMatrices) {
  Random random(3);
  for (const NarrowCase& one : kCases) {
    is_the_product(one, false, random);
    if (one.block) is_the_product(one, true, random);
  }
}

TEST(NarrowMma, SelectorsInRegistersAreTheSameInAllLanesAndExist) {
  const auto found = [](const std::string& ids) {
    const NarrowCase one{
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32",
        e2m1,
        e2m1,
        64,
        16,
        "ue4m3",
        0,
        1,
        0,
        3};
    std::string body;
    for (int i = 1; i <= 12; ++i) body += fmt::format("mov.u32 %r{}, 0;", i);
    KernelOptions options;
    options.emulator.sm = 120;
    return findings_text(
        run_kernel(kernel_text(body + ids + mma_of(one, kSelectorsInRegisters), 120), {}, 4,
                   options)
            .outcome);
  };
  EXPECT_EQ(found(selectors({0, 1, 0, 3})), "");
  EXPECT_THAT(found(selectors({2, 0, 0, 0})),
              ::testing::HasSubstr("there is no byte 2 of thread 0 with 4 scales"));
  EXPECT_THAT(found(selectors({0, 0, 0, 0}) + "mov.u32 %r0, %laneid; cvt.u16.u32 id3, %r0;"),
              ::testing::HasSubstr("differ between the lanes of a warp"));
}

TEST(NarrowMma, FormsThatDoNotExistAreRefused) {
  const auto error = [](const char* form, const char* scales, int sm = 120) {
    const auto device = make_emulator({.sm = sm, .threads = 1});
    const auto module = device->load(
        kernel_text(mma_of({.form = form, .a = e2m1, .b = e2m1, .k = 64}, scales), sm), "k.ptx");
    return module ? "" : module.error().text();
  };
  constexpr const char* kTail = ", %r11, {0, 0}, %r12, {0, 0}";
  constexpr const char* kNvfp4 =
      "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
  EXPECT_EQ(error(kNvfp4, kTail), "");
  EXPECT_NE(error(kNvfp4, kTail, 100), "");  // sm_100 has tcgen05
  EXPECT_NE(error(kNvfp4, ""), "");
  EXPECT_NE(error(kNvfp4, ", %r11, {2, 0}, %r12, {0, 0}"), "");  // all four bytes are scales
  EXPECT_NE(error(kNvfp4, ", %r11, {0, 2}, %r12, {0, 0}"), "");
  EXPECT_NE(error(kNvfp4, ", %r11, {0, 0}, %r12, {0, 4}"), "");
  for (const char* form :
       {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k32.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e4m3.e2m1.f32.ue8m0",
        "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0",
        "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f16.e4m3.e4m3.f16.ue8m0"})
    EXPECT_NE(error(form, kTail), "") << form;
}

}  // namespace
}  // namespace plumbline::emulator
