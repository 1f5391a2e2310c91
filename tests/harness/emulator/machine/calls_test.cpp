// SPDX-License-Identifier: MIT
// Calls of device functions, expanded before decoding; assertions; initialisers that hold
// addresses.
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

constexpr std::string_view kFunctions = R"(.func (.param .b32 result) square(.param .b32 x)
{ .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.b32 %r1, [x]; setp.gt.u32 %p1, %r1, 9; @%p1 bra BIG; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;
BIG: mov.u32 %r2, 1000; st.param.b32 [result+0], %r2; ret; }
.func (.param .b32 result) twice(.param .b32 x)
{ .reg .b32 %r<4>; ld.param.b32 %r1, [x]; { .param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call.uni (b), square, (a); ld.param.b32 %r2, [b]; }
add.u32 %r3, %r2, %r2; st.param.b32 [result], %r3; ret; }
.func (.reg .b32 sum) added(.reg .b32 x, .reg .b32 y) { add.u32 sum, x, y; ret; }
)";

constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0;\n";

TEST(Calls, AreExpandedWithTheirParametersAndBranches) {
  const std::string body = std::string(kThread) +
                           "{ .param .b32 p; st.param.b32 [p], %r0; .param .b32 q; call.uni (q), "
                           "twice, (p); ld.param.b32 %r1, [q]; }\n"
                           "call (%r2), added, (%r1, %r0); setp.lt.u32 %p1, %r0, 4; @%p1 call "
                           "(%r2), added, (%r2, 5); st.global.u32 [%d1], %r2;";
  const KernelRun run = run_kernel(kernel_text(body, 90, kFunctions), {}, 128);
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  const auto out = run.values<u32>();
  for (u32 i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 2 * (i > 9 ? 1000 : i * i) + i + (i < 4 ? 5 : 0)) << i;
}

std::string load_error(const std::string& text) {
  const auto device = make_emulator({});
  const auto module = device->load(text, "k.ptx");
  return module.ok() ? "loaded" : module.error().text();
}

TEST(Calls, RecursionAndUnknownFunctionsAreRefused) {
  const std::string loop =
      ".func again(.param .b32 x) { .param .b32 a; call.uni again, (a); ret; }\n";
  EXPECT_NE(load_error(kernel_text("{ .param .b32 a; call.uni again, (a); }", 90, loop))
                .find("recursion is not emulated"),
            std::string::npos);
  const std::string prototype = ".extern .func (.param .b32 r) mystery(.param .b32 x);\n";
  EXPECT_NE(load_error(kernel_text("{ .param .b32 a; .param .b32 b; call.uni (b), mystery, (a); }",
                                   90, prototype))
                .find("mystery has no body here"),
            std::string::npos);
}

// Functions f0, f1, ..., each of which calls the one before it so many times.
std::string chain(int functions, int calls) {
  std::string text = ".func f0() { ret; }\n";
  for (int i = 1; i < functions; ++i) {
    text += fmt::format(".func f{}() {{", i);
    for (int call = 0; call < calls; ++call) text += fmt::format(" call.uni f{};", i - 1);
    text += " ret; }\n";
  }
  return text;
}

TEST(Calls, WhatExpandsToTooMuchIsRefused) {
  EXPECT_EQ(load_error(kernel_text("call.uni f199;", 90, chain(200, 1))), "loaded");
  EXPECT_NE(
      load_error(kernel_text("call.uni f29;", 90, chain(30, 2))).find("too large to be emulated"),
      std::string::npos);
  EXPECT_NE(load_error(kernel_text("call.uni f2999;", 90, chain(3000, 1)))
                .find("calls more than 256 deep are not emulated"),
            std::string::npos);
}

TEST(Calls, AFailedAssertionIsATrapWithItsText) {
  const std::string scope =
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
      ".param .b64 e);\n"
      ".global .align 1 .b8 text[6] = {120, 32, 62, 32, 48}; .global .align 1 .b8 file[5] = {107, "
      "46, 99, 117}; .global .align 1 .b8 name[3] = {102, 40};\n";
  const std::string body =
      "mov.u32 %r0, %tid.x; setp.ne.u32 %p1, %r0, 3; @%p1 bra END;\n"
      "{ .param .b64 a; mov.u64 %d1, text; cvta.global.u64 %d1, %d1; st.param.b64 [a], %d1; .param "
      ".b64 b; mov.u64 %d2, file; cvta.global.u64 %d2, %d2; st.param.b64 [b], %d2;"
      " .param .b32 c; mov.u32 %r1, 77; st.param.b32 [c], %r1; .param .b64 d; mov.u64 %d3, name; "
      "cvta.global.u64 %d3, %d3; st.param.b64 [d], %d3;"
      " .param .b64 e; mov.u64 %d4, 1; st.param.b64 [e], %d4; call.uni __assertfail, (a, b, c, d, "
      "e); }\nEND: mov.u32 %r1, 0;";
  const KernelRun run = run_kernel(kernel_text(body, 90, scope), {}, 4);
  ASSERT_EQ(run.outcome.findings.size(), 1u) << findings_text(run.outcome);
  EXPECT_EQ(run.outcome.findings[0].kind, FindingKind::trap);
  EXPECT_EQ(run.outcome.findings[0].lane, 3);
  EXPECT_EQ(run.outcome.findings[0].message, "assertion `x > 0` failed in f( (k.cu:77)");
  EXPECT_FALSE(run.outcome.completed);
}

TEST(Module, InitialisersMayHoldAddresses) {
  const std::string scope =
      ".global .align 4 .b32 values[4] = {1, 2, 3, 44};\n.const .align 8 .u64 pointer = "
      "generic(values);\n";
  const KernelRun run = run_kernel(
      kernel_text(
          std::string(kThread) +
              "ld.const.u64 %d2, [pointer]; ld.u32 %r1, [%d2+12]; st.global.u32 [%d1], %r1;",
          90, scope),
      {}, 128);
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  EXPECT_EQ(run.values<u32>()[7], 44u);
}

TEST(Module, UsedBytesMaskSilencesPaddingBytes) {
  constexpr std::string_view kBody =
      "st.global.u32 [%out], 5;\n{}ld.global.v2.u32 {{%r1, %r2}}, [%out];";
  KernelOptions one;
  one.block = {1, 1, 1};
  EXPECT_EQ(run_kernel(kernel_text(fmt::format(kBody, "")), {}, 8, one).outcome.findings.size(),
            1u);
  EXPECT_EQ(
      run_kernel(kernel_text(fmt::format(kBody, ".pragma \"used_bytes_mask 15\";\n")), {}, 8, one)
          .outcome.findings.size(),
      0u);
  EXPECT_EQ(
      run_kernel(kernel_text(fmt::format(kBody, ".pragma \"used_bytes_mask 31\";\n")), {}, 8, one)
          .outcome.findings.size(),
      1u);
}

}  // namespace
}  // namespace plumbline::emulator
