// SPDX-License-Identifier: MIT
// tcgen05 with one CTA, through PTX: products of tiles in shared memory against dot(), element by
// element, and what is found where a wait, a commit or an allocation is wrong.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using enum FormatId;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr u64 kShared = 1024;             // the address of the first byte
constexpr int kColumns = 16;              // of D
constexpr int kRows = 49152;              // where the image has the rows of an A in tensor memory
constexpr u64 kScales = kShared + 57344;  // the address of scales that are copied

struct Case {
  std::string_view kind = "f16";
  FormatId a = bf16, b = bf16, d = f32;
  u32 types = 1u << 4 | 1u << 7 | 1u << 10;  // of the instruction descriptor
  int rows = 128;
  int pattern = 16;  // of the swizzle
  bool a_along_k = true, b_along_k = true, a_in_tensor_memory = false;
  std::string_view start = "0";   // what D holds, where the first product adds to it
  std::array<u32, 4> disabled{};  // lanes of D that keep it
  bool constants = false;         // enable-input-d is 0 or 1, and A's address has an offset
};

// Where an element lies in a tile whose rows lie along k, or along m or n, and the tile's
// descriptor (PTX ISA 9.0 section 9.7.16.5, canonical layouts): chunks of 16 bytes, of which eight
// are one below another.
struct Tile {
  int pattern, rows, element, depth;  // of the swizzle; an element's bytes; elements of k
  bool along_k;

  u64 span() const { return static_cast<u64>(pattern); }

  // From one span of bytes to the next.
  u64 across() const { return span() * static_cast<u64>(along_k ? rows : depth); }

  u64 address(u64 start, int row, int k) const {
    const auto below = static_cast<u64>(along_k ? row : k),
               byte = static_cast<u64>((along_k ? k : row) * element);
    const u64 plain = start + below * span() + byte % span() + byte / span() * across();
    return plain ^ (plain >> 3 & (span() - 16));
  }

  u64 descriptor(u64 start) const {
    const u64 mode = pattern == 128 ? 2 : pattern == 64 ? 4 : pattern == 32 ? 6 : 0;
    u64 leading = across(), stride = 8 * span();
    if (!along_k && pattern == 16) std::swap(leading, stride);
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | u64{1} << 46 | mode << 61;
  }
};

// One block of 128 threads: the image in `in` becomes shared memory from 1024 on, 64 KiB of it;
// behind it are an mbarrier and the word for the address of tensor memory. Words of the body are
// replaced: ALLOC, MMA (by thread 0), COMMIT, WAIT, LOAD (16 columns into l0 to l15), FREE; ROWS
// stores 32 bytes of the image to columns 16 to 23 of each thread's lane. `a` is A's descriptor, or
// 0: A is in those columns.
KernelRun run(std::string body, u64 a, u64 b, u32 descriptor, std::string_view kind,
              const std::vector<std::byte>& image, std::string_view disabled = "") {
  const auto replace = [&](std::string_view what, const std::string& by) {
    for (std::size_t at; (at = body.find(what)) != std::string::npos;)
      body.replace(at, what.size(), by);
  };
  std::string list;
  for (int i = 0; i < kColumns; ++i) list += fmt::format("{}l{}", i == 0 ? "" : ", ", i);
  std::string stores;
  for (int i = 0; i < kColumns; ++i)
    stores += fmt::format("st.global.u32 [%d4+{}], l{};\n", 4 * i, i);
  replace("ALLOC",
          "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32; bar.sync 0; "
          "ld.shared.u32 %r7, [%r6]; shr.u32 %r9, %r0, 5; shl.b32 %r9, %r9, 21; add.u32 %r8, %r7, "
          "%r9;");
  const bool scaled = kind.find("block_scale") != kind.npos;
  const auto product = [&](std::string_view in_tensor_memory, std::string_view adds) {
    return fmt::format("@%p2 tcgen05.mma.cta_group::1.kind::{} [%r7], {}, %d6, %r10, {}{};", kind,
                       a == 0 ? in_tensor_memory : "%d5", scaled ? "[%r15], [%r16], " : disabled,
                       adds);
  };
  replace("FIRST_MMA", product("[%r7+16]", "0"));
  replace("SECOND_MMA", product("[%r7+16]", "1"));
  replace("MMA", product("[%r15]", "%p3"));
  replace("COMMIT",
          "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r5];");
  replace("WAIT", "W: mbarrier.try_wait.parity.shared.b64 %p4, [%r5], 0; @!%p4 bra W;");
  replace("LOAD", fmt::format("tcgen05.ld.sync.aligned.32x32b.x16.b32 {{{}}}, [%r8];", list));
  replace("FILL", fmt::format("tcgen05.st.sync.aligned.32x32b.x16.b32 [%r8], {{{}}};", list));
  replace("ROWS", fmt::format("mul.wide.u32 %d1, %r0, 32; add.s64 %d1, %in, %d1; "
                              "ld.global.v4.u32 {{l0, l1, l2, l3}}, [%d1+{}]; "
                              "ld.global.v4.u32 {{l4, l5, l6, l7}}, [%d1+{}]; "
                              "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8+16], {{l0, l1, l2, l3, "
                              "l4, l5, l6, l7}}; add.u32 %r15, %r7, 16; add.u32 %r16, %r7, 20;",
                              kRows, kRows + 16));
  replace("COPY_SCALES",
          fmt::format("add.u32 %r15, %r7, 16; add.u32 %r16, %r7, 20; mov.u64 %d7, {}; mov.u64 "
                      "%d8, {}; @%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r15], %d7; @%p2 "
                      "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r16], %d8;",
                      Tile{16, 32, 1, 16, true}.descriptor(kScales),
                      Tile{16, 32, 1, 16, true}.descriptor(kScales + 512)));
  // Columns 0 to 15 once more, threads 16 to 31 eight further on: rows 0 to 15 of 16 columns.
  replace("LOW",
          "tcgen05.ld.sync.aligned.16x32bx2.x8.b32 {l0, l1, l2, l3, l4, l5, l6, l7}, [%r8], 8;");
  replace("HIGH",
          "add.u32 %r14, %r8, 0x100000; tcgen05.st.sync.aligned.16x32bx2.x8.b32 [%r14], 8, "
          "{l0, l1, l2, l3, l4, l5, l6, l7};");
  replace("READY", "tcgen05.wait::ld.sync.aligned;");
  replace("STORED", "tcgen05.wait::st.sync.aligned;");
  replace("OUT", stores);
  replace("FREE", "bar.sync 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 32;");
  const std::string start = fmt::format(R"(
    .reg .b32 l<16>; mov.u32 %r0, %tid.x; mov.u32 %r1, tiles; mov.u32 %r2, 0;
    setp.lt.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 0; setp.ne.u32 %p3, %r2, 0;
    COPY: mad.lo.u32 %r3, %r0, 512, %r1; add.u32 %r3, %r3, %r2; mul.wide.u32 %d1, %r0, 512;
    cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2; add.s64 %d1, %in, %d1;
    ld.global.v4.u32 {{%r11, %r12, %r13, %r14}}, [%d1];
    st.shared.v4.u32 [%r3], {{%r11, %r12, %r13, %r14}};
    add.u32 %r2, %r2, 16; setp.lt.u32 %p5, %r2, 512; @%p5 bra COPY;
    add.u32 %r5, %r1, 65536; add.u32 %r6, %r1, 65544; @%p2 mbarrier.init.shared.b64 [%r5], 1;
    fence.proxy.async; bar.sync 0; mov.u64 %d5, {}; mov.u64 %d6, {}; mov.u32 %r10, {};
    mul.wide.u32 %d4, %r0, 64; add.s64 %d4, %out, %d4;
)",
                                        a, b, descriptor);
  std::string values;
  for (int i = 0; i < kColumns; ++i) values += fmt::format("mov.u32 l{}, 0;\n", i);
  KernelOptions options;
  options.emulator.sm = 100;
  options.block = {128, 1, 1};
  options.dynamic_shared_bytes = 65536 + 16;
  return run_kernel(
      kernel_text(start + values + body, 100, ".extern .shared .align 1024 .b8 tiles[];"), image,
      128 * 64, options);
}

void check(const Case& one, u64 seed) {
  SCOPED_TRACE(fmt::format("{} {} rows, pattern {}", one.kind, one.rows, one.pattern));
  Random random(seed);
  const Format &fa = format(one.a), &fb = format(one.b);
  const int bytes = fa.storage_bits / 8, k = 32 / bytes;
  const auto matrix = [&](int rows, const Format& f) {
    std::vector<u32> m(static_cast<std::size_t>(rows * k));
    for (u32& x : m) {
      if (f.is_integer) {
        x = static_cast<u32>(random.next()) & 0xff;
        continue;
      }
      const auto exponent = static_cast<u32>(f.bias + random.between(-3, 2));
      x = (static_cast<u32>(random.next()) & 1) << (f.exponent_bits + f.mantissa_bits) |
          exponent << f.mantissa_bits |
          (static_cast<u32>(random.next()) & ((1u << f.mantissa_bits) - 1));
      if (f.id == tf32) x <<= 13;
    }
    return m;
  };
  const std::vector<u32> a = matrix(one.rows, fa), b = matrix(kColumns, fb);
  std::vector<std::byte> image(65536);
  const Tile left{one.pattern, one.rows, bytes, k, one.a_along_k},
      right{one.pattern, kColumns, bytes, k, one.b_along_k};
  constexpr u64 kB = kShared + 32768;
  const auto put = [&](const Tile& tile, u64 start, const std::vector<u32>& m, int rows,
                       const Format& f) {
    const int bits = 1 + f.exponent_bits + f.mantissa_bits;
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < k; ++i) {
        if (bits < 8 && !f.is_integer) {  // 16 of them at the beginning of 16 bytes
          std::byte* const chunk = &image[tile.address(start, r, i / 16 * 16) - kShared];
          for (int bit = 0; bit < bits; ++bit) {
            const int to = bits * (i % 16) + bit;
            const u32 one_bit = m[static_cast<std::size_t>(r * k + i)] >> bit & 1;
            chunk[to / 8] |= static_cast<std::byte>(one_bit << to % 8);
          }
          continue;
        }
        std::memcpy(&image[tile.address(start, r, i) - kShared],
                    &m[static_cast<std::size_t>(r * k + i)], static_cast<std::size_t>(bytes));
      }
    }
  };
  put(left, kShared, a, one.rows, fa);
  put(right, kB, b, kColumns, fb);
  for (int r = 0; r < one.rows; ++r) {
    for (int i = 0; i < k; ++i) {
      std::memcpy(&image[static_cast<std::size_t>(kRows + 32 * r + bytes * i)],
                  &a[static_cast<std::size_t>(r * k + i)], static_cast<std::size_t>(bytes));
    }
  }
  const u32 descriptor = one.types | (one.a_along_k ? 0 : 1u << 15) |
                         (one.b_along_k ? 0 : 1u << 16) | static_cast<u32>(kColumns / 8) << 17 |
                         static_cast<u32>(one.rows / 16) << 24;
  std::string start;
  if (one.start != "0") {
    for (int i = 0; i < kColumns; ++i) start += fmt::format("mov.u32 l{}, {}; ", i, one.start);
    start += "setp.eq.u32 %p3, %r2, %r2;";
  }
  const bool disables = one.disabled != std::array<u32, 4>{};
  if (disables) {
    start += ".reg .b32 off<4>; ";
    for (std::size_t i = 0; i < 4; ++i)
      start += fmt::format("mov.u32 off{}, {};", i, one.disabled[i]);
  }
  // Two products: the second adds to the first. Of 64 rows half the lanes stay as they were.
  const KernelRun done =
      run("ALLOC " + start + " FILL ROWS STORED bar.sync 0; " +
              (one.constants ? "FIRST_MMA SECOND_MMA" : "MMA setp.eq.u32 %p3, %r2, %r2; MMA") +
              " COMMIT WAIT LOAD READY OUT FREE",
          one.a_in_tensor_memory ? 0 : left.descriptor(kShared), right.descriptor(kB), descriptor,
          one.kind, image, disables ? "{off0, off1, off2, off3}, " : "");
  ASSERT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  const auto sum = [&](std::vector<u32> x, std::vector<u32> y, u32 c) {
    if (fa.is_integer) {
      double products = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        products += to_double(fa, x[i]) * to_double(fb, y[i]);
      const double exact = products + static_cast<std::int32_t>(c);
      const bool saturates = (one.types >> 3 & 1) != 0;
      return saturates ? static_cast<u32>(
                             static_cast<std::int32_t>(std::clamp(exact, -0x1p31, 0x1p31 - 1)))
                       : static_cast<u32>(static_cast<std::int64_t>(exact));
    }
    const auto negate = [](std::vector<u32>& codes, const Format& f) {
      for (u32& code : codes) code ^= 1u << (f.exponent_bits + f.mantissa_bits);
    };
    if ((one.types >> 13 & 1) != 0) negate(x, fa);
    if ((one.types >> 14 & 1) != 0) negate(y, fb);
    return dot(*dot_model(100, Instruction::tcgen05, one.a, one.b, one.d), fa, fb, x, y, c);
  };
  const std::vector<u32> out = done.values<u32>();
  for (int r = 0; r < one.rows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      const auto vector = [&](const std::vector<u32>& m, int number) {
        return std::vector<u32>(m.begin() + number * k, m.begin() + (number + 1) * k);
      };
      const std::vector<u32> x = vector(a, r), y = vector(b, c);
      const auto held = static_cast<u32>(std::stoul(std::string(one.start), nullptr, 0));
      const int lane = one.rows == 64 ? r / 16 * 32 + r % 16 : r;
      const bool keeps = (one.disabled[static_cast<std::size_t>(lane / 32)] >> lane % 32 & 1) != 0;
      const u32 want = keeps ? held : sum(x, y, sum(x, y, held));
      ASSERT_EQ(out[static_cast<std::size_t>(lane * kColumns + c)], want) << r << ", " << c;
    }
  }
}

TEST(TensorCore, GivesTheSumsOfItsNodes) {
  u64 seed = 1;
  const u32 f32_sums = 1u << 4;
  for (const int pattern : {16, 32, 64, 128}) {
    check({.pattern = pattern}, seed++);
    check(
        {.kind = "f8f6f4", .a = e4m3, .b = e5m2, .types = f32_sums | 1u << 10, .pattern = pattern},
        seed++);
  }
  check({.a = f16, .b = f16, .types = f32_sums}, seed++);
  check({.a = f16, .b = f16, .d = f16, .types = 0}, seed++);
  check({.kind = "tf32", .a = tf32, .b = tf32, .types = f32_sums | 2u << 7 | 2u << 10}, seed++);
  check({.rows = 64}, seed++);
  const u32 integers = 2u << 4;
  check({.kind = "i8", .a = u8, .b = s8, .d = s32, .types = integers | 1u << 10}, seed++);
  check({.kind = "i8", .a = s8, .b = s8, .d = s32, .types = integers | 9u << 7}, seed++);
  for (const u32 saturates : {0u, 1u << 3}) {
    for (const std::string_view start : {"0x7fffff00", "0x80000100"}) {
      check({.kind = "i8",
             .a = u8,
             .b = s8,
             .d = s32,
             .types = integers | 1u << 10 | saturates,
             .start = start},
            seed++);
    }
  }
  check({.types = Case().types | 1u << 13}, seed++);  // -A, then -B
  check({.kind = "f8f6f4", .a = e4m3, .b = e4m3, .types = f32_sums | 1u << 14}, seed++);
}

// Sixteen of them lie packed at the beginning of 16 bytes; behind them is what nothing wrote, or
// anything.
TEST(TensorCore, TakesFp4AndFp6AmongBytes) {
  u64 seed = 500;
  const u32 f32_sums = 1u << 4;
  for (const int pattern : {16, 128}) {
    check(
        {.kind = "f8f6f4", .a = e4m3, .b = e2m1, .types = f32_sums | 5u << 10, .pattern = pattern},
        seed++);
    check({.kind = "f8f6f4",
           .a = e2m3,
           .b = e3m2,
           .types = f32_sums | 3u << 7 | 4u << 10,
           .pattern = pattern},
          seed++);
  }
  check({.kind = "f8f6f4", .a = e2m1, .b = e5m2, .types = f32_sums | 5u << 7 | 1u << 10 | 1u << 13},
        seed++);
}

TEST(TensorCore, LanesThatAreDisabledKeepWhatTheyHold) {
  const std::array<u32, 4> some = {0x80000001, 0, 0xffffffff, 0x0000fff0};
  check({.start = "0x40490fdb", .disabled = some}, 300);
  check({.rows = 64, .start = "0x40490fdb", .disabled = some}, 301);
  check({.a = FormatId::f16,
         .b = FormatId::f16,
         .d = FormatId::f16,
         .types = 0,
         .start = "0x3c00",
         .disabled = some},
        302);
}

TEST(TensorCore, ReadsTilesAlongMAndN) {
  u64 seed = 100;
  for (const int pattern : {16, 32, 64, 128}) {
    check({.pattern = pattern, .a_along_k = false, .b_along_k = true}, seed++);
    check({.pattern = pattern, .a_along_k = true, .b_along_k = false}, seed++);
    check({.kind = "f8f6f4",
           .a = e4m3,
           .b = e4m3,
           .types = 1u << 4,
           .pattern = pattern,
           .a_along_k = false,
           .b_along_k = false},
          seed++);
  }
}

TEST(TensorCore, TakesConstantsForEnableInputDAndOffsetsOfAddresses) {
  check({.constants = true}, 350);
  check({.a_in_tensor_memory = true, .constants = true}, 351);
  check({.disabled = {1, 0, 0, 0}, .constants = true}, 352);
}

TEST(TensorCore, TakesAFromTensorMemory) {
  const u32 f32_sums = 1u << 4, tf32_both = 2u << 7 | 2u << 10;
  check({.pattern = 128, .a_in_tensor_memory = true}, 200);
  check({.kind = "f8f6f4",
         .a = e5m2,
         .b = e4m3,
         .types = f32_sums | 1u << 7,
         .a_in_tensor_memory = true},
        201);
  check({.kind = "tf32",
         .a = tf32,
         .b = tf32,
         .types = f32_sums | tf32_both,
         .a_in_tensor_memory = true},
        202);
}

// Products with block scales, which the rows of the image bring to columns 16 to 23: those of A to
// the first four, of B to the fifth.
struct ScaledCase {
  std::string_view kind;
  FormatId a, b, scale;
  int k, blocks;               // of a step of k
  u32 types;                   // of the instruction descriptor
  int a_byte = 0, b_byte = 0;  // where the scales begin in their words
  bool copied = false;         // by tcgen05.cp
};

void check_scaled(const ScaledCase& one, u64 seed) {
  SCOPED_TRACE(fmt::format("{}, bytes {} and {}", one.kind, one.a_byte, one.b_byte));
  constexpr int kRowsOfA = 128, kBytes = 32;  // of a row
  constexpr u64 kB = kShared + 32768;
  Random random(seed);
  const auto byte = [&] { return static_cast<std::byte>(random.next() & 0xff); };
  // Elements in any codes but NaN and infinity, scales around 1.
  const auto element = [&](FormatId id) {
    for (;;) {
      const std::byte x = byte();
      const bool finite = decode(format(id), static_cast<u32>(x) & 0xff).cls == ValueClass::finite;
      if (one.k == 64 || finite) return x;
    }
  };
  std::vector<std::byte> image(65536);
  const Tile left{128, kRowsOfA, 1, kBytes, true}, right{128, kColumns, 1, kBytes, true};
  for (int i = 0; i < kBytes; ++i) {
    for (int row = 0; row < kRowsOfA; ++row)
      image[left.address(kShared, row, i) - kShared] = element(one.a);
    for (int row = 0; row < kColumns; ++row)
      image[right.address(kB, row, i) - kShared] = element(one.b);
  }
  // The word of a row's scales lies in every quarter of its column.
  const auto word_at = [](int lane, int column) {
    return static_cast<std::size_t>(kRows + 32 * lane + 4 * column);
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int column = 0; column < 5; ++column) {
      u32 word = 0;
      for (int i = 0; i < 4; ++i)
        word |= static_cast<u32>(one.scale == ue8m0 ? random.between(120, 134)
                                                    : random.between(0, 0x7e))
                << (8 * i);
      for (int quarter = 0; quarter < 4; ++quarter)
        std::memcpy(&image[word_at(32 * quarter + lane, column)], &word, 4);
      const u64 copied = kScales - kShared + static_cast<u64>(16 * lane + 4 * (column % 4)) +
                         (column < 4 ? 0 : 512);
      std::memcpy(&image[copied], &word, 4);
    }
  }
  const u32 descriptor = one.types | static_cast<u32>(one.b_byte) << 4 |
                         static_cast<u32>(kColumns / 8) << 17 | 8u << 24 |
                         static_cast<u32>(one.a_byte) << 29;
  const KernelRun done =
      run(std::string(one.copied ? "ALLOC FILL STORED bar.sync 0; COPY_SCALES"
                                 : "ALLOC FILL ROWS STORED bar.sync 0;") +
              " MMA setp.eq.u32 %p3, %r2, %r2; MMA COMMIT WAIT LOAD READY OUT FREE",
          left.descriptor(kShared), right.descriptor(kB), descriptor, one.kind, image);
  ASSERT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  const NodeModel node = *scaled_node_model(100, Instruction::tcgen05, one.k);
  const auto decoded = [&](const Tile& tile, u64 start, int row, FormatId id) {
    std::vector<Decoded> values;
    for (int i = 0; i < one.k; ++i) {
      const bool packed = one.k == 64;
      const u64 at = tile.address(start, row, packed ? i / 2 : i) - kShared;
      const u32 code = static_cast<u32>(image[at]) & 0xff;
      values.push_back(decode(format(id), packed ? code >> (i % 2 * 4) & 0xf : code));
    }
    return values;
  };
  const auto scales = [&](int lane, int column, int first) {
    std::vector<Decoded> values;
    for (int block = 0; block < one.blocks; ++block)
      values.push_back(decode(
          format(one.scale),
          static_cast<u32>(image[word_at(lane, column) + static_cast<std::size_t>(first + block)]) &
              (one.scale == e4m3 ? 0x7f : 0xff)));
    return values;
  };
  const std::vector<u32> out = done.values<u32>();
  for (int row = 0; row < kRowsOfA; ++row) {
    const std::vector<Decoded> x = decoded(left, kShared, row, one.a),
                               x_scales = scales(row % 32, row / 32, one.a_byte);
    for (int column = 0; column < kColumns; ++column) {
      const std::vector<Decoded> y = decoded(right, kB, column, one.b),
                                 y_scales = scales(column, 4, one.b_byte);
      u32 want = 0;
      for (int product = 0; product < 2; ++product)
        want = scaled_node(node, format(one.a), format(one.b), x, y,
                           {one.scale, x_scales, y_scales}, want);
      ASSERT_EQ(out[static_cast<std::size_t>(row * kColumns + column)], want)
          << row << ", " << column;
    }
  }
}

TEST(TensorCore, AppliesBlockScales) {
  u64 seed = 300;
  const u32 powers = 1u << 23, fp4 = 1u << 7 | 1u << 10;
  const std::string_view mxf8 = "mxf8f6f4.block_scale.block32";
  check_scaled({mxf8, e4m3, e4m3, ue8m0, 32, 1, powers}, seed++);
  check_scaled({mxf8, e5m2, e4m3, ue8m0, 32, 1, powers | 1u << 7, 1, 3}, seed++);
  check_scaled(
      {"mxf8f6f4.block_scale.scale_vec::1X", e4m3, e5m2, ue8m0, 32, 1, powers | 1u << 10, 2, 0},
      seed++);
  check_scaled({"mxf4.block_scale.block32", e2m1, e2m1, ue8m0, 64, 2, powers | fp4}, seed++);
  check_scaled({"mxf4.block_scale", e2m1, e2m1, ue8m0, 64, 2, powers | fp4, 2, 0}, seed++);
  check_scaled({"mxf4nvf4.block_scale.block16", e2m1, e2m1, e4m3, 64, 4, fp4}, seed++);
  check_scaled({"mxf4nvf4.block_scale.scale_vec::4X", e2m1, e2m1, ue8m0, 64, 4, powers | fp4},
               seed++);
  check_scaled({"mxf4nvf4.block_scale.scale_vec::2X", e2m1, e2m1, ue8m0, 64, 2, powers | fp4, 0, 2},
               seed++);
}

TEST(TensorCore, CopiesScalesToEveryQuarter) {
  const u32 powers = 1u << 23, fp4 = 1u << 7 | 1u << 10;
  check_scaled({.kind = "mxf8f6f4.block_scale.block32",
                .a = e4m3,
                .b = e4m3,
                .scale = ue8m0,
                .k = 32,
                .blocks = 1,
                .types = powers,
                .a_byte = 1,
                .b_byte = 3,
                .copied = true},
               400);
  check_scaled({.kind = "mxf4nvf4.block_scale.block16",
                .a = e2m1,
                .b = e2m1,
                .scale = e4m3,
                .k = 64,
                .blocks = 4,
                .types = fp4,
                .copied = true},
               401);
}

// A register of thread t, number i, holds 16 t + i: one of a half of a warp is a row of 16.
TEST(TensorCore, HalvesOfAWarpReachTheSameRows) {
  std::string numbers;
  for (int i = 0; i < kColumns; ++i) numbers += fmt::format("mad.lo.u32 l{}, %r0, 16, {};\n", i, i);
  const auto values = [&](const std::string& body) {
    const KernelRun done = run("ALLOC " + numbers + "FILL STORED " + body + " OUT FREE", kShared, 0,
                               0, "f16", std::vector<std::byte>(65536));
    EXPECT_EQ(findings_text(done.outcome), "");
    return done.values<u32>();
  };
  const std::vector<u32> loaded = values("LOW READY"), stored = values("HIGH STORED LOAD READY");
  for (u32 thread = 0; thread < 128; ++thread) {
    const bool upper = thread % 32 >= 16;
    for (u32 i = 0; i < kColumns; ++i) {
      const u32 own = 16 * thread + i, at = thread * kColumns + i;
      const u32 low = !upper || i >= 8 ? own : own - 16 * 16 + 8;
      const u32 high = !upper ? own : i < 8 ? own - 16 * 16 : own - 8;
      ASSERT_EQ(loaded[at], low) << thread << ", " << i;
      ASSERT_EQ(stored[at], high) << thread << ", " << i;
    }
  }
}

// Without inputs that matter: tiles of zeros.
std::string found(std::string body) {
  const Tile left{16, 128, 2, 16, true}, right{16, kColumns, 2, 16, true};
  const u32 descriptor = 1u << 4 | 1u << 7 | 1u << 10 | 2u << 17 | 8u << 24;
  return findings_text(run(std::move(body), left.descriptor(kShared),
                           right.descriptor(kShared + 32768), descriptor, "f16",
                           std::vector<std::byte>(65536))
                           .outcome);
}

// The same of the shapes in which four threads share a row: eight registers have 16 columns.
TEST(TensorCore, FourThreadsShareARow) {
  struct Shape {
    std::string_view name;
    int (*row)(int thread, int i);
    int (*column)(int thread, int i);
  };

  const Shape shapes[] = {
      {"16x64b.x8", [](int t, int) { return t / 4 + 8 * (t % 2); },
       [](int t, int i) { return 2 * i + t / 2 % 2; }},
      {"16x128b.x4", [](int t, int i) { return t / 4 + 8 * (i % 2); },
       [](int t, int i) { return 4 * (i / 2) + t % 4; }},
      {"16x256b.x2", [](int t, int i) { return t / 4 + 8 * (i / 2 % 2); },
       [](int t, int i) { return 8 * (i / 4) + 2 * (t % 4) + i % 2; }},
  };
  std::string numbers;
  for (int i = 0; i < kColumns; ++i) numbers += fmt::format("mad.lo.u32 l{}, %r0, 16, {};\n", i, i);
  const std::string list = "{l0, l1, l2, l3, l4, l5, l6, l7}";
  for (const Shape& shape : shapes) {
    for (const int upper : {0, 16}) {
      const auto values = [&](const std::string& body) {
        const KernelRun done =
            run("ALLOC " + numbers + fmt::format("add.u32 %r14, %r8, {}; ", upper << 16) +
                    "FILL STORED " + body + " READY OUT FREE",
                kShared, 0, 0, "f16", std::vector<std::byte>(65536));
        EXPECT_EQ(findings_text(done.outcome), "") << shape.name;
        return done.values<u32>();
      };
      const std::vector<u32> loaded =
          values(fmt::format("tcgen05.ld.sync.aligned.{}.b32 {}, [%r14];", shape.name, list));
      const std::vector<u32> stored = values(
          fmt::format("tcgen05.st.sync.aligned.{}.b32 [%r14], {}; STORED LOAD", shape.name, list));
      for (int thread = 0; thread < 128; ++thread) {
        for (int i = 0; i < 8; ++i) {
          const int row = thread / 32 * 32 + upper + shape.row(thread % 32, i),
                    column = shape.column(thread % 32, i);
          ASSERT_EQ(loaded[static_cast<std::size_t>(thread * kColumns + i)],
                    static_cast<u32>(16 * row + column))
              << shape.name << " " << thread << ", " << i;
          ASSERT_EQ(stored[static_cast<std::size_t>(row * kColumns + column)],
                    static_cast<u32>(16 * thread + i))
              << shape.name << " " << thread << ", " << i;
        }
      }
    }
  }
}

TEST(TensorCore, FindsWhatIsMissing) {
  EXPECT_EQ(found("ALLOC MMA COMMIT WAIT LOAD READY OUT FREE"), "");
  EXPECT_THAT(found("ALLOC MMA LOAD READY OUT"),
              HasSubstr("a product of warp 0 lane 0 is still to write"));
  EXPECT_THAT(found("ALLOC MMA COMMIT"),
              HasSubstr("no thread has waited at an mbarrier for this product"));
  EXPECT_THAT(found("ALLOC MMA FREE"),
              HasSubstr("frees tensor memory that a product is still to write"));
  EXPECT_THAT(found("ALLOC FILL LOAD READY OUT STORED FREE"),
              HasSubstr("tcgen05.wait::st is missing"));
  EXPECT_THAT(found("ALLOC FILL bar.sync 0; MMA COMMIT WAIT STORED FREE"),
              HasSubstr("tcgen05.wait::st is missing"));
  EXPECT_THAT(found("ALLOC LOAD READY OUT FREE"),
              HasSubstr("of tensor memory, which nothing wrote"));
  EXPECT_THAT(found("ALLOC mov.u64 %d6, 0; MMA"),
              HasSubstr("the matrix descriptor 0x0 is none of"));
  EXPECT_THAT(found("ALLOC mov.u32 %r10, 0; MMA"), HasSubstr("the instruction descriptor 0x0 has"));
  const auto with_scales = [](std::string body, u32 descriptor) {
    const Tile left{128, 128, 1, 32, true}, right{128, kColumns, 1, 32, true};
    return findings_text(run("ALLOC " + std::move(body), left.descriptor(kShared),
                             right.descriptor(kShared + 32768), descriptor | 2u << 17 | 8u << 24,
                             "mxf4.block_scale", std::vector<std::byte>(65536))
                             .outcome);
  };
  const u32 fp4 = 1u << 7 | 1u << 10 | 1u << 23;
  EXPECT_EQ(with_scales("ROWS STORED bar.sync 0; MMA COMMIT WAIT LOAD READY OUT FREE", fp4), "");
  EXPECT_THAT(with_scales("ROWS bar.sync 0; MMA COMMIT WAIT STORED FREE", fp4),
              HasSubstr("tcgen05.wait::st is missing"));
  EXPECT_THAT(with_scales("add.u32 %r15, %r7, 8; add.u32 %r16, %r7, 12; MMA COMMIT WAIT FREE", fp4),
              HasSubstr("of tensor memory, which nothing wrote"));
  EXPECT_THAT(with_scales("add.u32 %r15, %r7, 30; add.u32 %r16, %r7, 12; MMA", fp4),
              HasSubstr("columns 30 to 33 of tensor memory, for the scales of A, are not"));
  EXPECT_THAT(with_scales("add.u32 %r15, %r7, 16; add.u32 %r16, %r7, 20; MMA", fp4 | 3u << 29),
              HasSubstr("leave the word of a step of k"));
  EXPECT_THAT(with_scales("add.u32 %r15, %r7, 16; add.u32 %r16, %r7, 20; MMA", fp4 | 1u << 15),
              HasSubstr("FP4 along m or n"));
  EXPECT_THAT(with_scales("add.u32 %r15, %r7, 16; add.u32 %r16, %r7, 20; MMA", fp4 & ~(1u << 23)),
              HasSubstr("has types or a shape"));
  EXPECT_THAT(found("ALLOC COPY_SCALES FREE"),
              HasSubstr("frees tensor memory that a copy is still to write"));
  EXPECT_THAT(found("ALLOC COPY_SCALES"), HasSubstr("waited at an mbarrier for this copy"));
  EXPECT_THAT(found("ALLOC FILL add.u32 %r7, %r7, 224; COPY_SCALES"),
              HasSubstr("for a copy, are not all allocated"));
  EXPECT_THAT(found("ALLOC add.u32 %r7, %r7, 0x200000; COPY_SCALES"),
              HasSubstr("does not begin in lane 0"));
  EXPECT_THAT(found("ALLOC add.u32 %r7, %r7, 24; MMA"),
              HasSubstr("columns 24 to 39 of tensor memory, for D, are not all allocated"));
  EXPECT_THAT(found("ALLOC"), HasSubstr("ends with 32 columns of tensor memory allocated"));
  EXPECT_THAT(found("ALLOC FREE FREE"), HasSubstr("where no such allocation is"));
  EXPECT_THAT(found("ALLOC add.u32 %r8, %r8, 32; LOAD FREE"), HasSubstr("not all allocated"));
  EXPECT_THAT(found("ALLOC xor.b32 %r8, %r8, 0x200000; LOAD FREE"),
              HasSubstr("warp 2 reaches lanes 64 to 95"));
  EXPECT_THAT(found("@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ALLOC FREE"),
              HasSubstr("behind tcgen05.relinquish_alloc_permit"));
  EXPECT_THAT(
      found("ALLOC @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 512;"),
      HasSubstr("waits for 512 columns of tensor memory"));
  EXPECT_THAT(found("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32; "
                    "ld.shared.u32 %r7, [%r6]; FREE"),
              HasSubstr("race"));
}

// Thread 0 issues products on columns that all four warps read or write.
TEST(TensorCore, ProductsComeBehindWhatOtherWarpsDidWithTheirColumns) {
  EXPECT_EQ(found("ALLOC FILL STORED LOAD READY OUT bar.sync 0; MMA COMMIT WAIT FREE"), "");
  EXPECT_THAT(found("ALLOC FILL STORED bar.sync 0; LOAD READY OUT MMA COMMIT WAIT FREE"),
              AllOf(HasSubstr("race: issues a product that writes column 0 of tensor memory, which "
                              "warp 1 has read, and nothing orders that"),
                    Not(HasSubstr("warp 0 has"))));
  EXPECT_THAT(found("ALLOC FILL STORED MMA COMMIT WAIT FREE"), HasSubstr(" has written"));
  EXPECT_THAT(found("ALLOC FILL STORED COPY_SCALES COMMIT WAIT FREE"), Not(HasSubstr("race")));
  EXPECT_THAT(
      found("ALLOC add.u32 %r8, %r8, 16; FILL STORED bar.sync 0; LOAD READY OUT COPY_SCALES FREE"),
      HasSubstr("issues a copy that writes column 16 of tensor memory, which warp 1 has read"));
  // A wait of one warp is no wait of others.
  EXPECT_EQ(
      found("ALLOC MMA COMMIT @%p1 bra W; bra PAST; WAIT PAST: bar.sync 0; LOAD READY OUT FREE"),
      "");
  EXPECT_THAT(
      found("ALLOC bar.sync 0; MMA COMMIT @%p1 bra W; bra PAST; WAIT PAST: LOAD READY FREE"),
      HasSubstr("race: "));
}

// A commit is of the products that its own thread has issued.
TEST(TensorCore, ACommitByAnotherThreadCoversNothing) {
  const std::string commit =
      "setp.eq.u32 %p6, %r0, {}; @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one"
      ".shared::cluster.b64 [%r5];";
  const auto committed_by = [&](int thread) {
    return found("ALLOC MMA bar.sync 0; " + fmt::format(fmt::runtime(commit), thread) +
                 " WAIT LOAD READY OUT FREE");
  };
  EXPECT_EQ(committed_by(0), "");
  for (const int thread : {1, 32})
    EXPECT_THAT(committed_by(thread), HasSubstr("a product of warp 0 lane 0 is still to write"));
}

TEST(TensorCore, ProductsOfTwoLanesNeedAnOrder) {
  const std::string second =
      " setp.eq.u32 %p6, %r0, 1; @%p6 tcgen05.mma.cta_group::1.kind::f16 [%r7], %d5, %d6, %r10, "
      "%p3; @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r5]; "
      "WAIT LOAD READY OUT FREE";
  EXPECT_EQ(found("ALLOC MMA bar.warp.sync -1;" + second), "");
  EXPECT_THAT(found("ALLOC MMA" + second), HasSubstr("which warp 0 lane 0 has written"));
}

TEST(TensorCore, ArrivalsBeyondAPhaseAreFindingsOfCommitsToo) {
  EXPECT_THAT(found("ALLOC MMA @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 16; COMMIT"),
              HasSubstr("whose phase 0 wants 0 more of 1 and 16 bytes"));
  EXPECT_THAT(found("ALLOC MMA COMMIT @%p2 mbarrier.arrive.shared.b64 _, [%r5];"),
              HasSubstr("whose phase 0 wants 1 more of 1, 1 of them by tcgen05.commit"));
}

// Columns may be written again only once loads have been waited for, also by the same warp.
TEST(TensorCore, ALoadHasToBeWaitedForBeforeItsColumnsAreWrittenAgain) {
  EXPECT_EQ(found("ALLOC FILL STORED LOAD READY FILL STORED FREE"), "");
  EXPECT_THAT(found("ALLOC FILL STORED LOAD FILL READY STORED FREE"),
              HasSubstr("writes column 0 of tensor memory, which a tcgen05.ld of warp"));
  EXPECT_THAT(found("ALLOC FILL STORED LOAD bar.sync 0; MMA COMMIT WAIT READY FREE"),
              AllOf(HasSubstr("issues a product that writes column 0 of tensor memory, which a "
                              "tcgen05.ld of warp 0 may still read"),
                    HasSubstr("tcgen05.wait::ld is missing"),
                    HasSubstr("the other access: read by warp 0")));
  EXPECT_EQ(found("ALLOC FILL STORED LOAD READY bar.sync 0; MMA COMMIT WAIT FREE"), "");
}

TEST(TensorCore, AllocationsMayNotGrow) {
  const std::string second =
      " bar.sync 0; @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], {0}; "
      "bar.sync 0; "
      "ld.shared.u32 %r9, [%r6]; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, {0}; FREE";
  EXPECT_EQ(found("ALLOC" + fmt::format(fmt::runtime(second), 32)), "");
  EXPECT_THAT(
      found("ALLOC" + fmt::format(fmt::runtime(second), 64)),
      HasSubstr("allocates 64 columns of tensor memory, more than an allocation before it"));
}

TEST(TensorCore, RefusesByNameWhatItLacks) {
  const auto refusal = [](std::string_view code, int sm = 100) {
    const auto device = make_emulator({.sm = sm, .threads = 1});
    const auto module = device->load(kernel_text(code, sm), "test.ptx");
    return module ? "loaded" : module.error().text();
  };
  EXPECT_EQ(refusal("tcgen05.cp.cta_group::2.32x128b.warpx4 [%r1], %d1;"), "loaded");
  EXPECT_THAT(refusal("tcgen05.cp.cta_group::2.32x128b.warpx4 [%r1], %d1; "
                      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"),
              HasSubstr("have .cta_group::1 or .cta_group::2, not both"));
  EXPECT_THAT(refusal("tcgen05.mma.cta_group::2.kind::f16 [%r1], %d1, %d2, %r2, {%r3, %r4, %r5, "
                      "%r6}, %p1;"),
              HasSubstr("disable-output-lane has 4 registers, not 8"));
  EXPECT_THAT(refusal("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r1}, [%r2];"),
              HasSubstr("1 registers, not 4"));
  EXPECT_THAT(refusal("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r2];"),
              HasSubstr("at most 128 registers"));
  EXPECT_THAT(refusal("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r2];"),
              HasSubstr("1 registers, not 2"));
  const auto scaled = [&](std::string_view kind) {
    return refusal(fmt::format(
        "tcgen05.mma.cta_group::1.kind::{} [%r1], %d1, %d2, %r2, [%r3], [%r4], %p1;", kind));
  };
  EXPECT_EQ(scaled("mxf4.block_scale.block32"), "loaded");
  for (const std::string_view kind :
       {"mxf4.block_scale.block16", "mxf8f6f4.block_scale.scale_vec::2X", "mxf4nvf4.block_scale",
        "mxf8f6f4.block_scale.block16"})
    EXPECT_THAT(scaled(kind), HasSubstr("there are no such scales of this kind")) << kind;
  EXPECT_THAT(scaled("mxf4"), HasSubstr("unsupported"));
  EXPECT_THAT(refusal("tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, "
                      "{%r3, %r4}, %p1;"),
              HasSubstr("disable-output-lane has 2 registers, not 4"));
  EXPECT_THAT(refusal("tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1, 3;"),
              HasSubstr("scale-input-d"));
  EXPECT_THAT(refusal("tcgen05.cp.cta_group::1.128x256b [%r1], %d1;"),
              HasSubstr("only the copy 32x128b.warpx4"));
  EXPECT_THAT(refusal("tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %d1, %d2, [%r3], %r2, %p1;"),
              HasSubstr("unsupported"));
  EXPECT_THAT(refusal("tcgen05.fence::after_thread_sync;", 120),
              HasSubstr("sm_120 has no tcgen05"));
}

}  // namespace
}  // namespace plumbline::emulator
