// SPDX-License-Identifier: MIT
// Bulk copies through PTX, element by element against where the manual puts each: boxes of tensors
// of every rank, width and swizzle, in and partly or wholly outside the tensor. Then what happens
// between issue and wait.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/tensor_map_code.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr i64 kThreads = 64;
constexpr u64 kHeader = 256;  // of the input: a tensor map, then the tensor
constexpr i64 kSharedBytes = 32768;

// The tensor behind the map, of bytes that tell where they are.
std::vector<std::byte> input(TensorMap& map) {
  map.strides[0] = format(map.format).storage_bytes();
  map.address = kGlobalBase + kHeader;
  const std::size_t last = map.rank - 1;
  const i64 bytes = last == 0 ? map.dims[0] * map.strides[0] : map.dims[last] * map.strides[last];
  std::vector<std::byte> in(kHeader + static_cast<std::size_t>(bytes));
  Random random(static_cast<u64>(bytes));
  for (std::byte& b : in) b = static_cast<std::byte>(random.next());
  const EncodedTensorMap encoded = encode_tensor_map(map);
  std::copy(encoded.begin(), encoded.end(), in.begin());
  return in;
}

using Coordinates = std::array<i64, TensorMap::kMaxRank>;

i64 box_elements(const TensorMap& map) {
  i64 count = 1;
  for (std::size_t d = 0; d < map.rank; ++d) count *= map.box[d];
  return count;
}

// Where element number `i` of the box lies: in shared memory, swizzled, from its first byte; and in
// the tensor, or -1.
struct Places {
  std::size_t shared = 0;
  i64 tensor = 0;
};

Places places(const TensorMap& map, const Coordinates& corner, i64 i) {
  Places out;
  const u64 plain = static_cast<u64>(i * map.strides[0]);
  const u64 chunks = static_cast<u64>(map.swizzle) / 16;  // of a pattern's row
  const u64 row = plain / 128;
  u64 chunk = plain / 16;
  if (chunks > 1) chunk ^= row % chunks;
  out.shared = static_cast<std::size_t>(chunk * 16 + plain % 16);
  bool inside = true;
  for (std::size_t d = 0; d < map.rank; ++d) {
    const i64 at = corner[d] + i % map.box[d];
    i /= map.box[d];
    inside = inside && at >= 0 && at < map.dims[d];
    out.tensor += at * map.strides[d];
  }
  if (!inside) out.tensor = -1;
  return out;
}

std::string coordinates(const TensorMap& map, const Coordinates& corner) {
  std::string list;
  for (std::size_t d = 0; d < map.rank; ++d)
    list += fmt::format("{}{}", d == 0 ? "" : ", ", static_cast<int>(corner[d]));
  return list;
}

// Two warps, of which the second goes first. Thread 32 has made an mbarrier for one arrival at %r2;
// %r1 is the tile, %r0 the thread. WAIT waits for the barrier; OUT copies `bytes` from the tile to
// the output.
KernelRun run(std::string body, const std::vector<std::byte>& in, i64 bytes) {
  const auto replace = [&](std::string_view what, const std::string& by) {
    for (std::size_t at; (at = body.find(what)) != std::string::npos;)
      body.replace(at, what.size(), by);
  };
  const std::string each = fmt::format("setp.lt.u32 %p1, %r4, {};", bytes);
  replace("WAIT", "W: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0; @!%p7 bra W;");
  replace(
      "OUT",
      "mul.lo.u32 %r4, %r0, 4; mov.u32 %r5, %r4; bra T; L: add.u32 %r6, %r1, %r4; cvt.u64.u32 %d1, "
      "%r4; add.s64 %d1, "
      "%out, %d1; ld.shared.u32 %r7, [%r6]; st.global.u32 [%d1], %r7; add.u32 %r4, %r4, 256; T: " +
          each + "@%p1 bra L;");
  const std::string start = R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 32; mov.u32 %r1, tile; mov.u32 %r2, bar;
    @%p0 mbarrier.init.shared.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster; bar.sync 0;
)";
  KernelOptions options;
  options.block = {kThreads, 1, 1};
  options.dynamic_shared_bytes = kSharedBytes;
  return run_kernel(kernel_text(start + body, 90, ".extern .shared .align 1024 .b8 tile[];"), in,
                    static_cast<std::size_t>(bytes), options);
}

std::string load(const TensorMap& map, const Coordinates& corner) {
  return fmt::format(
      "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], {}; @%p0 "
      "cp.async.bulk.tensor.{}d.shared::cluster."
      "global.tile.mbarrier::complete_tx::bytes [%r1], [%in, {{{}}}], [%r2];\n",
      map.bytes(box_elements(map)), map.rank, coordinates(map, corner));
}

void check_load(TensorMap map, const Coordinates& corner) {
  const std::vector<std::byte> in = input(map);
  SCOPED_TRACE(fmt::format("rank {} {} swizzle {} at {}", map.rank, format(map.format).name,
                           static_cast<int>(map.swizzle), coordinates(map, corner)));
  const i64 elements = box_elements(map), width = map.strides[0];
  const KernelRun done = run(load(map, corner) + "WAIT OUT", in, elements * width);
  ASSERT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  const u32 fill = !map.fill_nan ? 0 : width == 4 ? 0x7ff77ff7 : 0x7ff7;
  for (i64 i = 0; i < elements; ++i) {
    const Places at = places(map, corner, i);
    u32 want = fill, got = 0;
    if (at.tensor >= 0)
      std::memcpy(&want, &in[kHeader + static_cast<std::size_t>(at.tensor)],
                  static_cast<std::size_t>(width));
    if (at.tensor >= 0 && width < 4) want &= (1u << 8 * width) - 1;
    std::memcpy(&got, &done.out[at.shared], static_cast<std::size_t>(width));
    ASSERT_EQ(got, want) << "element " << i;
  }
}

using enum TensorSwizzle;

const TensorMap kMatrix = {.format = FormatId::bf16,
                           .rank = 2,
                           .dims = {72, 20},
                           .strides = {2, 160},
                           .box = {64, 16},
                           .swizzle = bytes_128};

TEST(BulkCopy, LoadsBoxesOfEverySwizzle) {
  for (const TensorSwizzle swizzle : {none, bytes_32, bytes_64, bytes_128}) {
    for (const FormatId id : {FormatId::e4m3, FormatId::bf16, FormatId::f32}) {
      const i64 width = format(id).storage_bytes();
      const i64 columns = (swizzle == none ? 256 : static_cast<i64>(swizzle)) / width;
      TensorMap map = {.format = id,
                       .rank = 2,
                       .dims = {columns + 5, 40},
                       .strides = {width, (columns + 16) * width},
                       .box = {std::min<i64>(columns, 256), 32},
                       .swizzle = swizzle};
      check_load(map, {0, 0});
      check_load(map, {3, 5});
      map.box[1] = 3;  // not all rows of the pattern
      check_load(map, {1, 2});
    }
  }
}

// What a copy brings, of bytes that are the same for maps of as many bytes.
KernelRun loaded(TensorMap map, const Coordinates& corner) {
  const std::vector<std::byte> in = input(map);
  return run(load(map, corner) + "WAIT OUT", in, map.bytes(box_elements(map)));
}

TEST(BulkCopy, CountsPackedElementsAndIntegers) {
  const TensorMap bytes = {
      .format = FormatId::u8, .rank = 2, .dims = {64, 8}, .strides = {0, 64}, .box = {32, 8}};
  TensorMap packed = bytes, integers = bytes;
  packed.format = FormatId::e2m1;
  packed.dims[0] = 128;
  packed.box[0] = 64;
  integers.format = FormatId::e4m3;
  integers.integers = 16;
  integers.dims[0] = 32;
  integers.box[0] = 16;
  for (const i64 byte : {-16, 0, 16, 48}) {
    const KernelRun want = loaded(bytes, {byte, 2});
    EXPECT_TRUE(want.outcome.findings.empty()) << findings_text(want.outcome);
    EXPECT_EQ(loaded(packed, {2 * byte, 2}).out, want.out);
    EXPECT_EQ(loaded(integers, {byte / 2, 2}).out, want.out);
  }
  EXPECT_THAT(findings_text(loaded(packed, {3, 0}).outcome),
              HasSubstr("begins at element 3, in the middle of a byte"));
}

TEST(BulkCopy, FillsWhatLiesOutsideTheTensor) {
  for (const bool nan : {false, true}) {
    for (const FormatId id : {FormatId::bf16, FormatId::f32}) {
      TensorMap map = {.format = id,
                       .rank = 2,
                       .dims = {13, 9},
                       .strides = {0, 64},
                       .box = {16, 16},
                       .fill_nan = nan};
      for (const Coordinates& corner :
           {Coordinates{-3, -2}, {5, 4}, {-15, 0}, {0, -16}, {13, 0}, {100, 100}, {-2147483647, 3}})
        check_load(map, corner);
    }
  }
}

TEST(BulkCopy, LoadsTensorsOfEveryRank) {
  TensorMap map = {.format = FormatId::bf16,
                   .dims = {24, 5, 4, 3, 2},
                   .strides = {2, 64, 320, 1280, 3840},
                   .box = {16, 3, 2, 2, 2}};
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    map.rank = rank;
    check_load(map, {8, 1, 2, 1, 0});
    check_load(map, {-4, 3, -1, 2, 1});
  }
}

// A row that ends within a chunk of 16 bytes is stored to the end of the chunk.
TEST(BulkCopy, StoresTheChunksThatBeginInsideTheTensor) {
  // The tile is the numbers of its 16-bit elements.
  struct Store {
    i64 columns;
    Coordinates corner;
  };

  for (const auto& [columns, corner] : {Store{kMatrix.dims[0], {0, 0}},
                                        {kMatrix.dims[0], {40, 7}},
                                        {kMatrix.dims[0], {-8, -3}},
                                        {45, {40, 0}},
                                        {41, {24, 7}},
                                        {1, {0, 0}},
                                        {3, {-8, 2}}}) {
    TensorMap map = kMatrix;
    map.dims[0] = columns;
    const std::vector<std::byte> in = input(map);
    std::vector<std::byte> header(in.begin(), in.begin() + kHeader);
    // The map's address is that of the output, the second allocation.
    const auto device = make_emulator({.sm = 90, .threads = 1});
    ASSERT_TRUE(device->allocate(static_cast<i64>(kHeader), "in").ok());
    map.address = *device->allocate(1, "out");
    const EncodedTensorMap encoded = encode_tensor_map(map);
    std::copy(encoded.begin(), encoded.end(), header.begin());
    const i64 bytes = map.dims[1] * map.strides[1];
    const KernelRun done =
        run(fmt::format(
                "mul.lo.u32 %r4, %r0, 32; add.u32 %r4, %r4, %r1; mul.lo.u32 %r5, %r0, 0x100010; "
                "add.u32 %r5, %r5, 0x10000; "
                "mov.u32 %r6, 0; S: st.shared.u32 [%r4], %r5; add.u32 %r5, %r5, 0x20002; add.u32 "
                "%r4, %r4, 4; add.u32 %r6, %r6, 1; "
                "setp.lt.u32 %p1, %r6, 8; @%p1 bra S; fence.proxy.async.shared::cta; bar.sync 0; "
                "@!%p0 ret;"
                "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%in, {{{}}}], [%r1];"
                "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
                coordinates(map, corner)),
            header, bytes);
    ASSERT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
    std::vector<std::uint16_t> want(static_cast<std::size_t>(bytes / 2));
    TensorMap stored = map;
    stored.dims[0] = (columns + 7) / 8 * 8;
    for (i64 i = 0; i < box_elements(map); ++i) {
      const Places at = places(stored, corner, i);
      if (at.tensor >= 0)
        want[static_cast<std::size_t>(at.tensor / 2)] = static_cast<std::uint16_t>(at.shared / 2);
    }
    EXPECT_EQ(done.values<std::uint16_t>(), want);
  }
}

TEST(BulkCopy, MovesPlainBytes) {
  std::vector<std::byte> in(4096);
  Random random(3);
  for (std::byte& b : in) b = static_cast<std::byte>(random.next());
  const KernelRun done = run(R"(
    add.s64 %d5, %in, 32;
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 2048;
    @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%d5], 2048, [%r2]; WAIT
    @!%p0 ret; cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1+16], 2048;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
)",
                             in, 2048);
  ASSERT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  EXPECT_TRUE(std::equal(done.out.begin(), done.out.end(), in.begin() + 32));
}

// Bytes are stored, then added to themselves twice: plain bytes of a format, or a tensor of it.
TEST(BulkCopy, AddsToWhatGlobalMemoryHolds) {
  const auto sums = [](FormatId id, bool tensor) {
    constexpr i64 kBytes = 256;
    const i64 bytes = format(id).storage_bits / 8, columns = kBytes / 4 / bytes;
    TensorMap map = {.format = id,
                     .rank = 2,
                     .dims = {columns, 4},
                     .strides = {bytes, kBytes / 4},
                     .box = {columns, 4}};
    const auto device = make_emulator({.sm = 90, .threads = 1});
    EXPECT_TRUE(device->allocate(static_cast<i64>(kHeader) + kBytes, "in").ok());
    map.address = *device->allocate(1, "out");
    std::vector<std::byte> in(kHeader + kBytes);
    const EncodedTensorMap encoded = encode_tensor_map(map);
    std::copy(encoded.begin(), encoded.end(), in.begin());
    Random random(9);
    for (i64 i = 0; i < kBytes / bytes; ++i) {  // from 1 to 2, and small integers
      const u64 code =
          format(id).is_integer ? random.below(1000) : encode(format(id), 1 + random.unit());
      std::memcpy(&in[kHeader + static_cast<std::size_t>(i * bytes)], &code,
                  static_cast<std::size_t>(bytes));
    }
    const std::string type = id == FormatId::s32 ? "s32" : std::string(format(id).name);
    const std::string add =
        tensor ? "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%in, "
                 "{0, 0}], [%r1]; "
               : fmt::format(
                     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{}{} [%out], "
                     "[%r1], {}; ",
                     bytes == 2 ? "noftz." : "", type, kBytes);
    const KernelRun done = run(
        fmt::format("add.s64 %d5, %in, {}; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], "
                    "{}; @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                    "[%r1], [%d5], {}, [%r2]; WAIT @!%p0 ret; "
                    "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], {}; "
                    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; {}{}"
                    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
                    kHeader, kBytes, kBytes, kBytes, add, add),
        in, kBytes);
    EXPECT_EQ(findings_text(done.outcome), "") << type;
    for (i64 i = 0; i < kBytes / bytes; ++i) {
      const auto code = [&](const std::vector<std::byte>& from, std::size_t first) {
        u64 bits = 0;
        std::memcpy(&bits, &from[first + static_cast<std::size_t>(i * bytes)],
                    static_cast<std::size_t>(bytes));
        return to_double(format(id), bits);
      };
      const double x = code(in, kHeader);
      const auto rounded = [&](double y) {
        return format(id).is_integer ? y : to_double(format(id), encode(format(id), y));
      };
      EXPECT_EQ(code(done.out, 0), rounded(rounded(x + x) + x)) << type << " " << i;
    }
  };
  for (const FormatId id : {FormatId::f32, FormatId::bf16, FormatId::f16, FormatId::s32}) {
    sums(id, false);
    if (id != FormatId::s32) sums(id, true);
  }
}

// --- between issue and wait ---

std::string wrong(const std::string& body) {
  TensorMap map = kMatrix;
  const std::vector<std::byte> in = input(map);
  const KernelRun done = run(body, in, 2048);
  EXPECT_EQ(done.outcome.findings.size(), 1u) << findings_text(done.outcome);
  return findings_text(done.outcome);
}

const std::string kLoad = load({.rank = 2, .strides = {2}, .box = {64, 16}}, {0, 0});
const std::string kStore =
    "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%in, {0, 0}], [%r1]; ";
const std::string kFinish = "@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0; ";

TEST(BulkCopy, WhatIsStoredMayNotBeWrittenBeforeTheWait) {
  const std::string fill =
      "mad.lo.u32 %r5, %r0, 32, %r1; mov.u32 %r6, 0; S: st.shared.u32 [%r5], %r0; add.u32 %r5, "
      "%r5, "
      "4; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 8; @%p1 bra S; fence.proxy.async; bar.sync "
      "0;\n";
  const std::string store =
      "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 2048;\n"
      "@%p0 cp.async.bulk.commit_group;\n";
  const std::string wait = "@%p0 cp.async.bulk.wait_group.read 0;\n";
  const auto found = [&](const std::string& body) {
    return findings_text(run(body, std::vector<std::byte>(4096), 2048).outcome);
  };
  EXPECT_EQ(found(fill + store + wait + "@!%p0 ret; " + "st.shared.u32 [%r1+64], %r0;"), "");
  EXPECT_THAT(found(fill + store +
                    "@!%p0 bra T; bra U; T: bar.sync 0; ret; U: bar.sync 0; "
                    "st.shared.u32 [%r1+64], %r0; fence.proxy.async;\n" +
                    wait),
              HasSubstr("race: copies shared memory at 0x840, which warp 1 lane 0 writes again "
                        "before cp.async.bulk.wait_group"));
}

TEST(BulkCopy, IsNotThereBeforeTheWait) {
  EXPECT_THAT(wrong(kLoad + "@%p0 ld.shared.u32 %r5, [%r1]; WAIT"),
              AllOf(HasSubstr("missing wait: reads shared memory at 0x800 that a bulk copy of warp "
                              "1 lane 0 is still filling"),
                    HasSubstr("ld.shared.u32")));
  EXPECT_THAT(wrong(kLoad + "@%p0 st.shared.u32 [%r1], %r0; WAIT"),
              HasSubstr("race: writes shared memory at 0x800 that a bulk copy of warp 1 lane 0 is "
                        "still filling"));
  EXPECT_THAT(
      wrong(kLoad),
      HasSubstr("missing wait: its mbarrier is gone, or the CTA, and no thread has waited there"));
  EXPECT_THAT(wrong(kLoad + "@%p0 mbarrier.inval.shared.b64 [%r2];"),
              HasSubstr("missing wait: its mbarrier is gone"));
}

TEST(BulkCopy, IsThereOnlyForThoseWhoWait) {
  EXPECT_THAT(
      wrong(kLoad +
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra READ; WAIT READ: ld.shared.u32 %r5, [%r1];"),
      HasSubstr(
          "race: reads shared memory at 0x800 that warp 1 lane 0 wrote with no barrier between"));
}

TEST(BulkCopy, NeedsItsDestinationForItself) {
  EXPECT_THAT(wrong("@%p0 mbarrier.init.shared.b64 [%r1+8], 1; @%p0 "
                    "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16; @%p0 "
                    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%in], "
                    "16, [%r2]; WAIT"),
              HasSubstr("bad operand: writes shared memory at 0x808, where an mbarrier is"));
  EXPECT_THAT(wrong("setp.eq.u32 %p1, %r0, 33; @%p1 st.shared.u32 [%r1+4], %r0; " + kLoad + "WAIT"),
              HasSubstr("race: writes shared memory at 0x804 that lane 1 of the same warp wrote"));
}

TEST(BulkCopy, MissesBytesThatNoThreadExpected) {
  std::string more = kLoad;
  more.replace(more.find("2048"), 4, "2064");
  EXPECT_THAT(wrong(more + "WAIT"), HasSubstr("lacks 0 of 1 arrivals and 16 bytes"));
  more.replace(more.find("2064"), 4, "2032");
  EXPECT_THAT(wrong(more + "WAIT"), HasSubstr("lacks 0 of 1 arrivals and -16 bytes"));
}

TEST(BulkCopy, ReadsOnlyWhatWasFenced) {
  const std::string write =
      "mul.lo.u32 %r4, %r0, 32; add.u32 %r4, %r4, %r1; st.shared.v4.u32 [%r4], {%r0, %r0, %r0, "
      "%r0}; "
      "st.shared.v4.u32 [%r4+16], {%r0, %r0, %r0, %r0}; ";
  EXPECT_THAT(wrong(write + "bar.sync 0; " + kStore + kFinish),
              HasSubstr("missing fence: reads shared memory at 0x800, which warp 0 lane 0 wrote, "
                        "as an asynchronous unit does; no "
                        "fence.proxy.async lies between"));
  // A fence of the other warp, before the barrier, is not one of this warp.
  EXPECT_THAT(wrong(write + "setp.ge.u32 %p2, %r0, 32; @%p2 fence.proxy.async; bar.sync 0; " +
                    kStore + kFinish),
              HasSubstr("missing fence"));
  TensorMap map = kMatrix;
  const std::vector<std::byte> in = input(map);
  for (const char* fenced :
       {"fence.proxy.async; bar.sync 0; ", "bar.sync 0; @%p0 fence.proxy.async.shared::cta; "}) {
    const KernelRun done = run(write + fenced + kStore + kFinish, in, 2048);
    EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  }
  // The load of another tile is none, although what it brings needs none. Here all is done by the
  // warp that loads.
  std::string own =
      "setp.ge.u32 %p2, %r0, 32; sub.u32 %r4, %r0, 32; mad.lo.u32 %r4, %r4, 64, %r1; ";
  for (int at = 0; at < 64; at += 16)
    own += fmt::format("@%p2 st.shared.v4.u32 [%r4+{}], {{%r0, %r0, %r0, %r0}}; ", at);
  const std::string other =
      "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128; add.u32 %r9, %r1, 8192; "
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%in], 128, "
      "[%r2]; WAIT ";
  EXPECT_THAT(wrong(own + other + "bar.sync 0; " + kStore + kFinish), HasSubstr("missing fence"));
  EXPECT_THAT(wrong(other + own + "bar.sync 0; " + kStore + kFinish), HasSubstr("missing fence"));
  // What a load has brought needs no fence.
  const KernelRun done = run(kLoad + "WAIT " + kStore + kFinish, in, 2048);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
}

TEST(BulkCopy, OfAStoreIsWaitedFor) {
  EXPECT_THAT(wrong(kLoad + "WAIT " + kStore + "@%p0 cp.async.bulk.commit_group;"),
              HasSubstr("missing wait: the thread exits without cp.async.bulk.wait_group"));
  EXPECT_THAT(wrong(kLoad + "WAIT " + kStore + "@%p0 cp.async.bulk.wait_group 0;"),
              HasSubstr("missing wait: the thread exits"));
  EXPECT_THAT(wrong(kLoad + "WAIT " + kStore +
                    "@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group.read 1;"),
              HasSubstr("missing wait: the thread exits"));
  // It is made all the same, so that a kernel which relies on that can be judged.
  TensorMap map = kMatrix;
  const std::vector<std::byte> in = input(map);
  const KernelRun done = run(
      kLoad + "WAIT @%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 128;", in, 128);
  EXPECT_TRUE(std::equal(done.out.begin(), done.out.end(), in.begin() + kHeader));
}

TEST(BulkCopy, RefusesWhatDoesNotFit) {
  const auto changed = [](std::string_view what, std::string_view by) {
    std::string body = kLoad + "WAIT";
    return wrong(body.replace(body.find(what), what.size(), by));
  };
  EXPECT_THAT(
      changed("[%r1]", "[%r1+64]"),
      HasSubstr(
          "misaligned: a bulk copy at 0x840 of shared memory, which is not a multiple of 128"));
  EXPECT_THAT(changed("[%r1]", "[%r1+31744]"),
              HasSubstr("out of bounds: a bulk copy of 2048 bytes"));
  EXPECT_THAT(changed("[%in, ", "[%in+16, "), HasSubstr("bad operand: there is no tensor map at"));
  EXPECT_THAT(
      changed(
          "2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%in, {0, 0}]",
          "3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%in, {0, 0, 0}]"),
      HasSubstr("a tensor map of 2 dimensions, and 3 coordinates"));
  EXPECT_THAT(changed("bytes [%r1], [%in, {0, 0}], [%r2]",
                      "bytes.multicast::cluster [%r1], [%in, {0, 0}], [%r2], 3"),
              HasSubstr("a copy to the CTAs 0x3 of a cluster of 1"));
  EXPECT_THAT(changed("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                      "bytes [%r1], [%in, {0, 0}], [%r2]",
                      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
                      "[%in], 24, [%r2]"),
              HasSubstr("a bulk copy of 24 bytes"));
  EXPECT_THAT(changed("shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%in, {0, "
                      "0}], [%r2]",
                      "global.shared::cta.bulk_group [%in, {-1, 0}], [%r1]"),
              HasSubstr("misaligned: a bulk copy to a tensor whose box begins at byte -2 of the "
                        "innermost dimension"));
}

TEST(BulkCopy, RefusesBoxesOfAnySize) {
  TensorMap map = {.format = FormatId::bf16,
                   .rank = 5,
                   .dims = {16, 1, 1, 1, 1},
                   .strides = {2, 32, 32, 32, 32}};
  map.box = {16, 256, 256, 256, 256};
  const std::vector<std::byte> in = input(map);
  EXPECT_THAT(
      findings_text(
          run("@%p0 cp.async.bulk.tensor.5d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], "
              "[%in, {0, 0, 0, "
              "0, 0}], [%r2];",
              in, 64)
              .outcome),
      HasSubstr("out of bounds: a bulk copy of 137438953472 bytes"));
  EXPECT_THAT(
      findings_text(run("@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], "
                        "[%in], 0xfffffff0, [%r2];",
                        in, 64)
                        .outcome),
      HasSubstr("out of bounds: a bulk copy of 4294967280 bytes"));
}

TEST(BulkCopy, StaysInsideTheAllocationForEveryMap) {
  TensorMap row = {.format = FormatId::bf16, .rank = 1, .dims = {5}, .strides = {2}, .box = {64}};
  EXPECT_THAT(
      findings_text(run("@%p0 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%in, {0}], "
                        "[%r1];",
                        input(row), 64)
                        .outcome),
      HasSubstr("out of bounds: writes 6 bytes of global memory behind the end of a tensor's row"));
  TensorMap map = kMatrix;
  const std::vector<std::byte> in = input(map);
  map.dims[1] = 21;
  std::vector<std::byte> lying = in;
  const EncodedTensorMap encoded = encode_tensor_map(map);
  std::copy(encoded.begin(), encoded.end(), lying.begin());
  const KernelRun done = run(load(map, {0, 5}) + "WAIT", lying, 2048);
  EXPECT_THAT(findings_text(done.outcome),
              HasSubstr("out of bounds: reads 128 bytes of global memory"));
}

}  // namespace
}  // namespace plumbline::emulator
