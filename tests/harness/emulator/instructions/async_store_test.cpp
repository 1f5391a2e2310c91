// SPDX-License-Identifier: MIT
// st.async to the own CTA: the values are there for threads that wait for the mbarrier that counts
// them, and for no others.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::HasSubstr;

// One warp. %r0: lane; %r1: 16 bytes of the lane in shared memory; %r2: those of lane l ^ 1; %p0:
// lane 0, which has made an mbarrier at [bar] and expects `bytes` there. WAIT waits for it. What is
// left in %r8 to %r11 is stored.
KernelRun run(std::string body, int bytes) {
  const std::string wait = "W: mbarrier.try_wait.parity.shared.b64 %p7, [bar], 0; @!%p7 bra W;";
  if (const std::size_t at = body.find("WAIT"); at != std::string::npos) body.replace(at, 4, wait);
  const std::string start = fmt::format(R"(
    .shared .align 8 .b64 bar; .shared .align 16 .b8 data[512];
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, data; xor.b32 %r2, %r0, 1; mad.lo.u32 %r2, %r2, 16, %r1; mad.lo.u32 %r1, %r0, 16, %r1;
    mov.u32 %r8, 0; mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; add.u32 %r4, %r0, 100; add.u32 %r5, %r0, 200; add.u32 %r6, %r0, 300; add.u32 %r7, %r0, 400;
    mov.b64 %d4, {{%r4, %r5}}; mov.b64 %d5, {{%r6, %r7}}; mov.u32 %r3, bar;
    mul.wide.u32 %d0, %r0, 16; add.s64 %d1, %out, %d0; @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};
)",
                                        bytes);
  const std::string end = "st.global.v4.u32 [%d1], {%r8, %r9, %r10, %r11};";
  return run_kernel(kernel_text(start + body + end), {}, 512);
}

std::string wrong(const KernelRun& done) {
  EXPECT_EQ(done.outcome.findings.size(), 1u) << findings_text(done.outcome);
  return findings_text(done.outcome);
}

constexpr std::string_view kStore = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes";

TEST(AsyncStore, IsThereForThoseWhoWaitForTheMbarrier) {
  struct Form {
    const char* type;
    const char* values;
    int words;
  };

  for (const Form& form : {Form{"b32", "%r4", 1},
                           {"u32", "%r4", 1},
                           {"s32", "%r4", 1},
                           {"f32", "%r4", 1},
                           {"b64", "%d4", 2},
                           {"u64", "%d4", 2},
                           {"v2.b32", "{%r4, %r5}", 2},
                           {"v4.b32", "{%r4, %r5, %r6, %r7}", 4},
                           {"v2.b64", "{%d4, %d5}", 4},
                           {"v2.f64", "{%d4, %d5}", 4}}) {
    const char* const load = form.words == 1   ? "ld.shared.u32 %r8, [%r2];"
                             : form.words == 2 ? "ld.shared.v2.u32 {%r8, %r9}, [%r2];"
                                               : "ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r2];";
    const KernelRun done =
        run(fmt::format("{}.{} [%r1], {}, [%r3]; WAIT {}", kStore, form.type, form.values, load),
            32 * 4 * form.words);
    EXPECT_TRUE(done.outcome.findings.empty()) << form.type << findings_text(done.outcome);
    const std::vector<u32> out = done.values<u32>();
    for (u32 lane = 0; lane < 32; ++lane) {
      for (u32 i = 0; i < 4; ++i) {
        EXPECT_EQ(out[4 * lane + i],
                  i < static_cast<u32>(form.words) ? (lane ^ 1) + 100 * (i + 1) : 0)
            << form.type << " lane " << lane;
      }
    }
  }
}

TEST(AsyncStore, TakesGenericAddressesAndThoseOfMapa) {
  const KernelRun generic = run(
      "cvt.u64.u32 %d6, %r1; cvta.shared.u64 %d6, %d6; cvt.u64.u32 %d7, %r3; cvta.shared.u64 "
      "%d7, %d7; st.async.mbarrier::complete_tx::bytes.u32 [%d6], %r4, [%d7]; WAIT ld.shared.u32 "
      "%r8, [%r2];",
      128);
  EXPECT_TRUE(generic.outcome.findings.empty()) << findings_text(generic.outcome);
  EXPECT_EQ(generic.values<u32>()[0], 101u);
  const KernelRun mapped =
      run(fmt::format("mapa.shared::cluster.u32 %r12, %r1, 0; mapa.shared::cluster.u32 %r13, %r3, "
                      "0; {}.u32 [%r12], %r4, [%r13]; WAIT ld.shared.u32 %r8, [%r2];",
                      kStore),
          128);
  EXPECT_TRUE(mapped.outcome.findings.empty()) << findings_text(mapped.outcome);
  EXPECT_EQ(mapped.values<u32>()[0], 101u);
}

TEST(AsyncStore, IsNotThereBeforeTheWait) {
  const std::string store = fmt::format("{}.u32 [%r1], %r4, [%r3]; ", kStore);
  EXPECT_THAT(wrong(run(store + "ld.shared.u32 %r8, [%r2]; WAIT", 128)),
              HasSubstr("missing wait: reads shared memory at 0x410 that a st.async of warp 0 lane "
                        "1 is still filling; the copy is complete when the phase of its mbarrier"));
  EXPECT_THAT(wrong(run(store + "st.shared.u32 [%r1], %r0; WAIT", 128)),
              HasSubstr("that a st.async of warp 0 lane 0 is still filling"));
  EXPECT_THAT(wrong(run("st.shared.u32 [%r2], %r0; " + store + "WAIT", 128)),
              HasSubstr("that lane 1 of the same warp wrote"));
  EXPECT_THAT(wrong(run(store, 128)), HasSubstr("missing wait: its mbarrier is gone, or the CTA"));
}

TEST(AsyncStore, IsCountedByItsBytes) {
  EXPECT_THAT(wrong(run(fmt::format("{}.u32 [%r1], %r4, [%r3]; WAIT", kStore), 132)),
              HasSubstr("lacks 0 of 1 arrivals and 4 bytes"));
  EXPECT_THAT(wrong(run(fmt::format("{}.u32 [%r1], %r4, [%r1]; WAIT", kStore), 128)),
              HasSubstr("there is no mbarrier at"));
  EXPECT_THAT(wrong(run(fmt::format("{}.v2.u32 [%r1+4], {{%r4, %r5}}, [%r3]; WAIT", kStore), 256)),
              HasSubstr("which is not a multiple of 8"));
  EXPECT_THAT(wrong(run(fmt::format("{}.u32 [%r1+512], %r4, [%r3]; WAIT", kStore), 128)),
              HasSubstr("out of bounds"));
}

TEST(AsyncStore, SaysWhatItLacks) {
  const auto refusal = [](std::string_view code) {
    const auto device = make_emulator({.sm = 90, .threads = 1});
    const auto module = device->load(kernel_text(code), "test.ptx");
    return module ? "loaded" : module.error().text();
  };
  EXPECT_THAT(refusal("st.async.mmio.release.sys.global.u32 [%out], %r1;"),
              HasSubstr("only weak stores that an mbarrier counts are emulated"));
  EXPECT_THAT(refusal("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r1], "
                      "{%d1, %d2, %d3, %d4}, [%r2];"),
              HasSubstr("16 bytes at most"));
}

}  // namespace
}  // namespace plumbline::emulator
