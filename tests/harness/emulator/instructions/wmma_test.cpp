// SPDX-License-Identifier: MIT
// wmma: matrices go in by rows or columns and come out as their product, for every layout of
// fragments. Bits are those of dot() on the chip that is emulated; integers are summed by the host.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Form {
  const char* shape;
  int m, n, k;
  const char* type;         // of A and B, in loads
  const char* types;        // in wmma.mma, behind the shape
  const char* accumulator;  // in loads and stores of C and D
  FormatId a, b, c;
  int a_registers, b_registers, c_registers;
};

using enum FormatId;
// clang-format off
constexpr Form kForms[] = {
  {"m16n16k16", 16, 16, 16, "f16",  "f32.f32",           "f32", f16,  f16,  f32, 8, 8, 8},
  {"m16n16k16", 16, 16, 16, "f16",  "f16.f16",           "f16", f16,  f16,  f16, 8, 8, 4},
  {"m32n8k16",  32, 8,  16, "f16",  "f32.f32",           "f32", f16,  f16,  f32, 8, 8, 8},
  {"m32n8k16",  32, 8,  16, "f16",  "f16.f16",           "f16", f16,  f16,  f16, 8, 8, 4},
  {"m8n32k16",  8,  32, 16, "f16",  "f32.f32",           "f32", f16,  f16,  f32, 8, 8, 8},
  {"m8n32k16",  8,  32, 16, "f16",  "f16.f16",           "f16", f16,  f16,  f16, 8, 8, 4},
  {"m16n16k16", 16, 16, 16, "bf16", "f32.bf16.bf16.f32", "f32", bf16, bf16, f32, 4, 4, 8},
  {"m32n8k16",  32, 8,  16, "bf16", "f32.bf16.bf16.f32", "f32", bf16, bf16, f32, 8, 2, 8},
  {"m8n32k16",  8,  32, 16, "bf16", "f32.bf16.bf16.f32", "f32", bf16, bf16, f32, 2, 8, 8},
  {"m16n16k8",  16, 16, 8,  "tf32", "f32.tf32.tf32.f32", "f32", tf32, tf32, f32, 4, 4, 8},
  {"m16n16k16", 16, 16, 16, "s8",   "s32.s8.s8.s32",     "s32", s8,   s8,   s32, 2, 2, 8},
  {"m32n8k16",  32, 8,  16, "s8",   "s32.s8.s8.s32",     "s32", s8,   s8,   s32, 4, 1, 8},
  {"m8n32k16",  8,  32, 16, "s8",   "s32.s8.s8.s32",     "s32", s8,   s8,   s32, 1, 4, 8},
  {"m16n16k16", 16, 16, 16, "u8",   "s32.u8.u8.s32",     "s32", u8,   u8,   s32, 2, 2, 8},
};
// clang-format on

std::string registers(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}%w{}", i == 0 ? "" : ", ", first + i);
  return list + "}";
}

// A matrix as it lies in memory.
struct Stored {
  int rows, columns, bytes;
  bool by_columns;
  int leading;  // elements between rows, or columns

  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(by_columns ? column * leading + row : row * leading + column) *
           static_cast<std::size_t>(bytes);
  }

  std::size_t size() const {
    return static_cast<std::size_t>((by_columns ? columns : rows) * leading * bytes);
  }
};

Stored stored(int rows, int columns, const Format& format, bool by_columns, int padding) {
  // Rows begin at multiples of 16 bytes.
  const int of_16_bytes = 16 / format.storage_bytes();
  const int least = (by_columns ? rows : columns) + padding;
  return {rows, columns, format.storage_bytes(), by_columns,
          (least + of_16_bytes - 1) / of_16_bytes * of_16_bytes};
}

// One product through memory `in` (A, B, C at multiples of 4096 bytes) to `out`.
std::string product(const Form& form, const Stored& a, const Stored& b, const Stored& c,
                    bool shared) {
  const auto layout = [](const Stored& matrix) { return matrix.by_columns ? "col" : "row"; };
  std::string code = ".reg .b32 %w<64>;\n";
  std::string space = ".global", base = "%in";
  if (shared) {
    code +=
        ".shared .align 32 .b8 tile[12288]; mov.u32 %r3, %laneid; mov.u32 %r1, 0;\n"
        "NEXT: mad.lo.u32 %r2, %r3, 16, %r1; cvt.u64.u32 %d1, %r2; add.s64 %d1, %in, %d1;"
        " ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1]; mov.u32 %r8, tile; add.u32 %r8, %r8, %r2;"
        " st.shared.v4.u32 [%r8], {%r4, %r5, %r6, %r7}; add.u32 %r1, %r1, 512;"
        " setp.lt.u32 %p0, %r1, 12288; @%p0 bra NEXT; bar.warp.sync -1; mov.u32 %r8, tile;\n";
    space = ".shared";
    base = "%r8";
  }
  const auto load = [&](char matrix, const Stored& one, const char* type, int first, int count,
                        int offset) {
    code +=
        fmt::format("wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [{}+{}], {};\n", matrix, layout(one),
                    form.shape, space, type, registers(first, count), base, offset, one.leading);
  };
  load('a', a, form.type, 0, form.a_registers, 0);
  load('b', b, form.type, 8, form.b_registers, 4096);
  load('c', c, form.accumulator, 16, form.c_registers, 8192);
  code += fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", layout(a), layout(b),
                      form.shape, form.types, registers(24, form.c_registers),
                      registers(0, form.a_registers), registers(8, form.b_registers),
                      registers(16, form.c_registers));
  code += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%out], {}, {};\n", layout(c),
                      form.shape, form.accumulator, registers(24, form.c_registers), c.leading);
  return code;
}

u64 element(const std::vector<std::byte>& memory, std::size_t at, int bytes) {
  u64 bits = 0;
  std::memcpy(&bits, memory.data() + at, static_cast<std::size_t>(bytes));
  return bits;
}

TEST(Wmma, EveryFormAndLayoutIsTheProductOnItsGeneration) {
  Random random(21);
  for (const Form& form : kForms) {
    for (int variant = 0; variant < 8; ++variant) {
      const int sm = variant % 2 == 0 ? 80 : 90;
      const Format &fa = format(form.a), &fb = format(form.b), &fc = format(form.c);
      const int padding = variant < 4 ? 0 : 16;
      const Stored a = stored(form.m, form.k, fa, (variant & 1) != 0, padding);
      const Stored b = stored(form.k, form.n, fb, (variant & 2) != 0, padding);
      const Stored c = stored(form.m, form.n, fc, (variant & 4) != 0, padding);
      std::vector<std::byte> in(3 * 4096);
      const auto fill = [&](const Stored& matrix, const Format& f, std::size_t begin) {
        for (int row = 0; row < matrix.rows; ++row) {
          for (int column = 0; column < matrix.columns; ++column) {
            u64 code = random.next();
            if (!f.is_integer)
              code = encode(
                  f, std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-3, 3))));
            if (f.id == s32) code = static_cast<u64>(random.between(-100000, 100000));
            std::memcpy(in.data() + begin + matrix.at(row, column), &code,
                        static_cast<std::size_t>(matrix.bytes));
          }
        }
      };
      fill(a, fa, 0);
      fill(b, fb, 4096);
      fill(c, fc, 8192);
      KernelOptions options;
      options.emulator.sm = sm;
      const std::string code = product(form, a, b, c, variant == 3);
      const KernelRun run = run_kernel(kernel_text(code, sm), in, c.size(), options);
      ASSERT_TRUE(run.outcome.findings.empty()) << code << findings_text(run.outcome);
      const auto model = dot_model(sm, Instruction::mma_sync, form.a, form.b, form.c);
      for (int row = 0; row < form.m; ++row) {
        for (int column = 0; column < form.n; ++column) {
          std::vector<u32> x, y;
          auto sum = static_cast<u64>(  // modulo 2^64, where the form is none of integers
              static_cast<std::int32_t>(element(in, 8192 + c.at(row, column), c.bytes)));
          for (int k = 0; k < form.k; ++k) {
            x.push_back(static_cast<u32>(element(in, a.at(row, k), a.bytes)));
            y.push_back(static_cast<u32>(element(in, 4096 + b.at(k, column), b.bytes)));
            const auto value = [&](u32 bits, FormatId id) {
              return static_cast<u64>(id == s8 ? static_cast<std::int8_t>(bits)
                                               : static_cast<std::int64_t>(bits));
            };
            sum += value(x.back(), form.a) * value(y.back(), form.b);
          }
          const u64 want =
              form.c == s32 ? static_cast<u32>(sum)
                            : dot(*model, fa, fb, x, y,
                                  static_cast<u32>(element(in, 8192 + c.at(row, column), c.bytes)));
          ASSERT_EQ(element(run.out, c.at(row, column), c.bytes), want)
              << form.shape << "." << form.types << " variant " << variant << " at " << row << ", "
              << column;
        }
      }
    }
  }
}

TEST(Wmma, DoublesAreAChainOfFma) {
  Random random(4);
  std::vector<double> in(3 * 512);
  for (double& value : in)
    value = (random.unit() - 0.5) * std::ldexp(1.0, static_cast<int>(random.between(-20, 20)));
  const KernelRun run =
      run_kernel(kernel_text("wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%d1}, [%in], 4;"
                             " wmma.load.b.sync.aligned.col.m8n8k4.f64 {%d2}, [%in+4096];"
                             " wmma.load.c.sync.aligned.row.m8n8k4.f64 {%d3, %d4}, [%in+8192], 10;"
                             " wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64 {%d3, %d4}, "
                             "{%d1}, {%d2}, {%d3, %d4};"
                             " wmma.store.d.sync.aligned.col.m8n8k4.f64 [%out], {%d3, %d4}, 8;"),
                 bytes_of(in), 512);
  ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  const std::vector<double> out = run.values<double>();
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      double sum = in[1024 + row * 10 + column];
      for (std::size_t k = 0; k < 4; ++k)
        sum = std::fma(in[row * 4 + k], in[512 + column * 4 + k], sum);
      EXPECT_EQ(out[column * 8 + row], sum) << row << ", " << column;
    }
  }
}

TEST(Wmma, ElementsOfAFragmentMayBeChangedEachByItself) {
  // As epilogues do: D times 2, register by register, then stored.
  const Form& form = kForms[0];
  std::vector<std::byte> in(3 * 4096);
  const Stored a = stored(16, 16, format(f16), false, 0), b = stored(16, 16, format(f16), true, 0),
               c = stored(16, 16, format(f32), false, 0);
  for (int i = 0; i < 16; ++i) {
    const u64 one = encode(format(f16), 1.0 + i);
    std::memcpy(in.data() + a.at(i, i), &one, 2);
    for (int j = 0; j < 16; ++j) {
      const u64 value = encode(format(f16), 16.0 * i + j);
      std::memcpy(in.data() + 4096 + b.at(i, j), &value, 2);
    }
  }
  std::string code = product(form, a, b, c, false);
  std::string doubled;
  for (int r = 24; r < 32; ++r) doubled += fmt::format("add.f32 %w{}, %w{}, %w{};\n", r, r, r);
  code.insert(code.find("wmma.store"), doubled);
  const std::vector<float> out = run_kernel(kernel_text(code), in, c.size()).values<float>();
  ASSERT_EQ(out.size(), 256u);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j)
      EXPECT_EQ(out[16 * i + j], static_cast<float>(2 * (i + 1) * (16 * i + j)));
  }
}

TEST(Wmma, RowsThatAreNotAlignedOrLieOutsideAreFindings) {
  const auto kinds = [](const std::string& code) {
    const KernelRun run = run_kernel(kernel_text(code), std::vector<std::byte>(512), 1024);
    return run.outcome.findings.empty() ? "none" : run.outcome.findings[0].text();
  };
  const std::string load =
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, "
      "%r7}, ";
  EXPECT_EQ(kinds(load + "[%in], 16;"), "none");
  EXPECT_THAT(kinds(load + "[%in], 20;"), HasSubstr("misaligned"));
  EXPECT_THAT(kinds(load + "[%in+8], 16;"), HasSubstr("misaligned"));
  EXPECT_THAT(kinds(load + "[%in], 24;"), HasSubstr("out of bounds"));
}

TEST(Wmma, RefusesWhatTheIsaHasNot) {
  const auto error = [](const std::string& code, int sm) {
    const auto module = make_emulator({.sm = 90})->load(kernel_text(code, sm), "k.ptx");
    return module.ok() ? "loaded" : module.error().text();
  };
  EXPECT_EQ(error("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%r0, %r1, %r2, %r3}, [%in];", 80),
            "loaded");
  EXPECT_THAT(error("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%r0, %r1, %r2, %r3}, [%in];", 75),
              HasSubstr("sm_80"));
  EXPECT_THAT(error("wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%r0, %r1}, [%in];", 80),
              HasSubstr("a fragment has 2 registers, not 4"));
  EXPECT_THAT(error("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r0, %r1}, [%in];", 80),
              HasSubstr("no such combination"));
  EXPECT_THAT(error("wmma.load.c.sync.aligned.row.m16n16k8.f16 {%r0, %r1}, [%in];", 80),
              HasSubstr("no such combination"));
}

}  // namespace
}  // namespace plumbline::emulator
