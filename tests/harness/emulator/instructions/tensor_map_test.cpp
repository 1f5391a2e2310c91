// SPDX-License-Identifier: MIT
// Tensor maps that a kernel changes or makes, and loads through: every field reaches the copy, and
// what cannot be done is refused or found.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/tensor_map_code.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The input: a map of 4 rows of 8 f32, boxes of 4 by 1, and behind it the tensor, whose elements
// are 1, 2, ...
constexpr std::size_t kTensor = 256;  // bytes before the tensor

std::vector<std::byte> input() {
  TensorMap map;
  map.format = FormatId::f32;
  map.address = kGlobalBase + kTensor;
  map.rank = 2;
  map.dims = {8, 4};
  map.strides = {4, 32};
  map.box = {4, 1};
  std::vector<std::byte> in(kTensor + 4 * 32);
  const EncodedTensorMap encoded = encode_tensor_map(map);
  std::copy(encoded.begin(), encoded.end(), in.begin());
  for (u32 i = 0; i < 32; ++i) {
    const u32 element = i + 1;
    std::memcpy(&in[kTensor + 4 * i], &element, 4);
  }
  return in;
}

constexpr std::string_view kScope =
    ".shared .align 128 .b8 map[128]; .shared .align 256 .b8 tile[256]; .shared .align 8 .b64 bar;";

// One warp. Lane l holds word l of the map in %r3 and its place in shared memory in %r2; %p0 is
// lane 0. The tile is stored behind the first 256 bytes of the output, whose first 128 are for the
// map.
constexpr std::string_view kStart = R"(
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %in, %d0;
    add.s64 %d2, %out, %d0; ld.global.u32 %r3, [%d1]; mov.u32 %r1, map; mad.lo.u32 %r2, %r0, 4, %r1;
    mov.u32 %r5, tile; mad.lo.u32 %r6, %r0, 4, %r5; @%p0 mbarrier.init.shared.b64 [bar], 1;
    add.s64 %d5, %in, 256; mov.u32 %r7, -1; st.shared.u32 [%r6], %r7; bar.sync 0;
)";
constexpr std::string_view kShared = "st.shared.u32 [%r2], %r3; bar.warp.sync -1;\n";
constexpr std::string_view kPublish = R"(
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%out], [map], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%out], 128;
)";

// 32 words of the tile from byte `first` on are stored.
std::string load(int x, int y, int bytes, int first = 0) {
  return fmt::format(R"(
    fence.proxy.async; bar.sync 0;
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};
    @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%out, {{{}, {}}}], [bar];
  W: mbarrier.try_wait.parity.shared.b64 %p7, [bar], 0; @!%p7 bra W;
    ld.shared.u32 %r4, [%r6+{}]; st.global.u32 [%d2+256], %r4;
)",
                     bytes, x, y, first);
}

KernelRun run(const std::string& body) {
  return run_kernel(kernel_text(std::string(kStart) + body, 90, kScope), input(), 384);
}

// The first words of the tile.
std::vector<u32> tile(const std::string& body, std::size_t words) {
  const KernelRun done = run(body);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  const std::vector<u32> out = done.values<u32>();
  return {out.begin() + 64, out.begin() + 64 + static_cast<std::ptrdiff_t>(words)};
}

std::string wrong(const std::string& body) {
  const KernelRun done = run(body);
  EXPECT_EQ(done.outcome.findings.size(), 1u) << findings_text(done.outcome);
  return findings_text(done.outcome);
}

std::string refusal(const std::string& code) {
  const auto device = make_emulator({.sm = 90, .threads = 1});
  const auto module = device->load(kernel_text(code, 90, kScope), "test.ptx");
  return module ? "loaded" : module.error().text();
}

std::string edit(std::string_view what, std::string_view space = "shared::cta",
                 std::string_view where = "map") {
  const std::size_t name = what.find(' ');
  const std::string_view field = what.substr(0, name);
  const bool wide = field == "global_address" || field == "global_stride";
  return fmt::format("@%p0 tensormap.replace.tile.{}{}{}.b1024.{} [{}], {};\n", field,
                     space.empty() ? "" : ".", space, wide ? "b64" : "b32", where,
                     what.substr(name + 1));
}

TEST(TensorMapReplace, ChangesWhereTheTensorIsAndHowMuchIsCopied) {
  const std::string published = std::string(kPublish) + load(0, 0, 16);
  EXPECT_EQ(tile(std::string(kShared) + published, 5), (std::vector<u32>{1, 2, 3, 4, ~u32{0}}));
  // From the second row on, and boxes of 8 by 2.
  const std::string edits = std::string("add.s64 %d6, %d5, 32;\n") + edit("global_address %d6") +
                            edit("box_dim 0, 8") + edit("box_dim 1, 2");
  EXPECT_EQ(
      tile(std::string(kShared) + edits + std::string(kPublish) + load(0, 0, 64), 17),
      (std::vector<u32>{9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, ~u32{0}}));
}

TEST(TensorMapReplace, ChangesSizesStridesAndWhatIsOutside) {
  // Rows of 2, 64 bytes apart.
  const std::string edits =
      edit("global_dim 0, 2") + edit("global_stride 0, 64") + edit("box_dim 1, 2");
  EXPECT_EQ(tile(std::string(kShared) + edits + std::string(kPublish) + load(0, 0, 32), 8),
            (std::vector<u32>{1, 2, 0, 0, 17, 18, 0, 0}));
  EXPECT_EQ(tile(std::string(kShared) + edits + edit("fill_mode 1") + std::string(kPublish) +
                     load(0, 0, 32),
                 4),
            (std::vector<u32>{1, 2, 0x7ff77ff7, 0x7ff77ff7}));
  // Under a swizzle of 32 bytes, the halves of rows change places in every second 128 bytes. Here
  // the first four rows lie outside.
  const std::string swizzled = edit("box_dim 0, 8") + edit("box_dim 1, 8") + edit("swizzle_mode 1");
  EXPECT_EQ(
      tile(std::string(kShared) + swizzled + std::string(kPublish) + load(0, -4, 256, 128), 9),
      (std::vector<u32>{5, 6, 7, 8, 1, 2, 3, 4, 13}));
}

TEST(TensorMapReplace, MakesAMapOfZeros) {
  const std::string zeros = "mov.u32 %r3, 0; st.shared.u32 [%r2], %r3; bar.warp.sync -1;\n";
  const std::string edits =
      edit("global_address %d5") + edit("rank 1") + edit("box_dim 0, 4") + edit("box_dim 1, 2") +
      edit("global_dim 0, 8") + edit("global_dim 1, 4") + edit("global_stride 0, 32") +
      edit("element_stride 0, 1") + edit("element_stride 1, 1") + edit("elemtype 7") +
      edit("interleave_layout 0") + edit("swizzle_mode 0") + edit("fill_mode 0");
  EXPECT_EQ(tile(zeros + edits + std::string(kPublish) + load(4, 1, 32), 8),
            (std::vector<u32>{13, 14, 15, 16, 21, 22, 23, 24}));
  // One that is not finished is none.
  EXPECT_THAT(wrong(zeros + edit("global_address %d5") + edit("rank 1") + std::string(kPublish) +
                    load(4, 1, 32)),
              AllOf(HasSubstr("bad operand: the tensor map at"),
                    HasSubstr("size of dimension 0 is 0; it has to be from 1 to 2^32")));
}

TEST(TensorMapReplace, WorksInGlobalMemoryToo) {
  const std::string copied = "st.global.u32 [%d2], %r3; bar.sync 0;\n";
  for (const char* space : {"global", ""}) {
    const std::string edits = edit("box_dim 0, 8", space, "%out") +
                              "fence.proxy.tensormap::generic.acquire.gpu [%out], 128;";
    EXPECT_EQ(tile(copied + edits + load(0, 3, 32), 8),
              (std::vector<u32>{25, 26, 27, 28, 29, 30, 31, 32}));
  }
}

TEST(TensorMapReplace, FindsWhatCannotBeDone) {
  const std::string shared(kShared);
  EXPECT_THAT(wrong("st.shared.u32 [%r2], %r0; bar.warp.sync -1;" + edit("rank 0")),
              HasSubstr("there is no tensor map"));
  EXPECT_THAT(wrong(shared + "mov.u32 %r9, 2;" + edit("element_stride 0, %r9")),
              HasSubstr("element strides other than 1 are not emulated"));
  EXPECT_THAT(wrong(shared + "mov.u32 %r9, 5;" + edit("rank %r9")),
              HasSubstr("a rank of 6 less 1; 5 dimensions are the most"));
  EXPECT_THAT(wrong(shared + "mov.u32 %r9, 257;" + edit("box_dim 0, %r9")),
              HasSubstr("a box of 257 elements"));
  EXPECT_THAT(wrong(shared + edit("box_dim 0, 8", "shared::cta", "map+64")),
              HasSubstr("misaligned: a tensor map at"));
  EXPECT_THAT(wrong(shared + edit("box_dim 0, 5") + std::string(kPublish) + load(0, 0, 20)),
              HasSubstr("a row of the box is 20 bytes; it has to be a multiple of 16"));
  // The map is copied to shared memory by all lanes and changed by one.
  EXPECT_THAT(wrong("st.shared.u32 [%r2], %r3;\n" + edit("box_dim 0, 8")),
              HasSubstr("a race between lanes of a warp"));
}

TEST(TensorMapReplace, RefusesWhatNoMapHasHere) {
  EXPECT_EQ(refusal(edit("rank 1")), "loaded");
  EXPECT_THAT(refusal("tensormap.replace.tile.color.shared::cta.b1024.b32 [map], 1;"),
              HasSubstr("a tensor map has no such field"));
  EXPECT_THAT(refusal("tensormap.replace.im2col.rank.shared::cta.b1024.b32 [map], 1;"),
              HasSubstr("only .tile is emulated"));
  EXPECT_THAT(refusal(edit("elemtype 4")), HasSubstr("the element type 4 is not emulated"));
  EXPECT_THAT(refusal(edit("interleave_layout 1")), HasSubstr("interleaved layouts"));
  EXPECT_THAT(refusal(edit("swizzle_mode 4")), HasSubstr("the swizzle mode 4 is not emulated"));
  EXPECT_THAT(refusal(edit("swizzle_atomicity 1")), HasSubstr("other pieces than 16 bytes"));
  EXPECT_THAT(refusal(edit("global_stride 4, 16")),
              HasSubstr("the field has no ordinal 4; 3 is the last"));
}

}  // namespace
}  // namespace plumbline::emulator
