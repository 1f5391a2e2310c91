// SPDX-License-Identifier: MIT
// What the device refuses, and how it says so; allocations, poison, launch limits.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using testing::HasSubstr;

std::string load_error(const std::string& text, int sm = 90) {
  const auto device = make_emulator({.sm = sm});
  const auto module = device->load(text, "k.ptx");
  return module.ok() ? "loaded" : module.error().text();
}

TEST(Refusal, VariablesLargerThanTheMachineNameTheirLine) {
  EXPECT_THAT(
      load_error(kernel_text("mov.u64 %d0, g;", 90, ".global .b8 g[1099511627776];")),
      ::testing::StartsWith("k.ptx:4:1: the .global variables up to g need 3072.0 GiB to emulate"));
}

TEST(Refusal, UnknownInstructionsNameTheirPlace) {
  EXPECT_EQ(load_error(kernel_text("frobnicate.u32 %r1, %r2;")),
            "k.ptx:10:1: unsupported instruction `frobnicate.u32 %r1, %r2`");
  EXPECT_EQ(
      load_error(kernel_text("\n  add.u33 %r1, %r2, %r3;")),
      "k.ptx:11:3: unsupported instruction `add.u33 %r1, %r2, %r3`: the emulator has no such form");
  EXPECT_NE(load_error(kernel_text("ld.global.v3.u32 {%r1, %r2, %r3}, [%in];"))
                .find("another number of elements"),
            std::string::npos);
  EXPECT_NE(load_error(kernel_text("add.u32 %r1, %r2;")).find("it has 2 operands, not 3"),
            std::string::npos);
  EXPECT_NE(load_error(kernel_text("add.u64 %d1, %d2, %r3;"))
                .find("register %r3 has 32 bits, the instruction needs 64"),
            std::string::npos);
  EXPECT_NE(load_error(kernel_text("mov.u32 %r1, %pm0;")).find("%pm0"), std::string::npos);
  EXPECT_EQ(load_error(kernel_text("mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;")), "loaded");
  EXPECT_NE(load_error(kernel_text("mov.u32 %r1, %envreg3;"))
                .find("the value of %envreg3 is the driver's own"),
            std::string::npos);
  EXPECT_NE(
      load_error(kernel_text("mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%f1, %f2, %f3, "
                             "%f4}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f2, %f3, %f4};"))
          .find("no such combination"),
      std::string::npos);
}

TEST(Refusal, InstructionsOfALaterTarget) {
  const std::string text = kernel_text("cp.async.commit_group;", 75);
  EXPECT_EQ(load_error(text),
            "k.ptx:10:1: unsupported instruction `cp.async.commit_group`: it needs .target sm_80 "
            "or higher, the module says .target sm_75");
  EXPECT_EQ(load_error(kernel_text("cp.async.commit_group;", 80)), "loaded");
  EXPECT_NE(load_error(kernel_text("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", 80))
                .find("sm_90"),
            std::string::npos);
  EXPECT_NE(load_error(kernel_text("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", 80)).find("sm_89"),
            std::string::npos);
}

TEST(Refusal, MoreLocalOrConstantMemoryThanAChipHas) {
  EXPECT_EQ(load_error(kernel_text(".local .align 16 .b8 x[524288];")), "loaded");
  EXPECT_EQ(load_error(kernel_text(".local .align 16 .b8 x[524288]; .local .b8 y;")),
            "k.ptx:5:1: kernel k needs 524304 bytes of local memory for each thread; 524288 are "
            "the most");
  EXPECT_NE(load_error(kernel_text(".local .align 4 .b8 x[100000000];"))
                .find("local memory for each thread"),
            std::string::npos);
  EXPECT_EQ(load_error(kernel_text("mov.u64 %d0, a; mov.u64 %d1, b;", 90,
                                   ".const .b8 a[1000]; .const .align 8 .b8 b[64536];")),
            "loaded");
  EXPECT_EQ(load_error(kernel_text("mov.u64 %d0, a; mov.u64 %d1, b;", 90,
                                   ".const .b8 a[1000]; .const .align 8 .b8 b[64537];")),
            "k.ptx:4:1: 65537 bytes of .const variables up to b; 65536 are the most");
  EXPECT_NE(load_error(kernel_text("mov.u64 %d0, c;", 90, ".const .b8 c[1000000000000];"))
                .find("65536 are the most"),
            std::string::npos);
}

TEST(Refusal, MovesPackTwoOrFourParts) {
  EXPECT_NE(load_error(
                kernel_text(
                    "mov.b64 %d1, {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8, %h9, %h10, %h11};"))
                .find("it has 12 parts, not 2 or 4"),
            std::string::npos);
  EXPECT_NE(
      load_error(kernel_text("mov.b32 {%h0, %h1, %h2}, %r1;")).find("it has 3 parts, not 2 or 4"),
      std::string::npos);
}

TEST(Refusal, AtomicsOfVectorsAreForFloatsInGlobalMemory) {
  EXPECT_EQ(load_error(kernel_text("red.global.add.v2.f32 [%out], {%f1, %f2};")), "loaded");
  EXPECT_NE(load_error(kernel_text("red.global.add.v2.f32 [%out], {%f1, %f2};", 80)).find("sm_90"),
            std::string::npos);
  EXPECT_NE(load_error(kernel_text("red.global.add.v2.f32 [%out], {%f1};"))
                .find("another number of elements"),
            std::string::npos);
  for (const char* code :
       {"red.shared.add.v2.f32 [%r1], {%f1, %f2};", "red.global.add.v2.u32 [%out], {%r1, %r2};",
        "red.global.add.v8.f32 [%out], {%f1, %f2};"}) {
    EXPECT_NE(load_error(kernel_text(code)).find("no such atomic operation"), std::string::npos)
        << code;
  }
}

TEST(Refusal, VersionsAndTargets) {
  EXPECT_NE(load_error(".version 12.0\n.target sm_90\n.address_size 64\n")
                .find("PTX version 12.0 is not supported"),
            std::string::npos);
  EXPECT_NE(load_error(header(90), 80).find("PTX for .target sm_90 does not run on sm_80"),
            std::string::npos);
  EXPECT_NE(load_error(".version 5.0\n.target sm_60\n.address_size 64\n")
                .find("PTX .version 5.0 is not emulated"),
            std::string::npos);
  EXPECT_EQ(load_error(header(80), 90), "loaded");
  EXPECT_NE(load_error(".version 8.0\n.target sm_90a\n.address_size 64\n", 100).find("sm_90a"),
            std::string::npos);
  EXPECT_NE(load_error(".version 8.0\n.target sm_90\n.address_size 32\n")
                .find("only 64-bit addresses are supported"),
            std::string::npos);
}

TEST(Refusal, SymbolsThatAreDefinedNowhere) {
  const std::string text =
      kernel_text("mov.u64 %d1, elsewhere;", 90, ".extern .global .align 4 .b8 elsewhere[16];");
  EXPECT_NE(load_error(text).find("elsewhere is declared .extern and defined nowhere"),
            std::string::npos);
}

TEST(Launch, LimitsAreThoseOfTheTarget) {
  const auto device = make_emulator({.sm = 80});
  const auto module = device->load(kernel_text("mov.u32 %r0, %tid.x;", 80), "k.ptx");
  ASSERT_TRUE(module.ok());
  const auto error = [&](auto&& change) {
    LaunchRequest request;
    request.entry = "k";
    request.parameters.resize(16);
    change(request);
    const auto outcome = device->launch(**module, request);
    return outcome.ok() ? "launched" : outcome.error().text();
  };
  EXPECT_EQ(error([](LaunchRequest&) {}), "launched");
  EXPECT_NE(error([](LaunchRequest& r) { r.entry = "q"; }).find("there is no entry \"q\""),
            std::string::npos);
  EXPECT_NE(error([](LaunchRequest& r) { r.block = {1025, 1, 1}; }).find("a block of 1025 x 1 x 1"),
            std::string::npos);
  EXPECT_NE(error([](LaunchRequest& r) { r.block = {32, 64, 1}; }).find("2048 threads"),
            std::string::npos);
  EXPECT_NE(error([](LaunchRequest& r) { r.grid = {0, 1, 1}; }).find("grid 0 x 1 x 1"),
            std::string::npos);
  EXPECT_NE(error([](LaunchRequest& r) {
              r.grid = {0x7fffffff, 65535, 65535};
            }).find("blocks; the emulator runs 16777216 at most"),
            std::string::npos);
  EXPECT_NE(
      error([](LaunchRequest& r) { r.dynamic_shared_bytes = 170000; }).find("sm_80 has 166912"),
      std::string::npos);
  EXPECT_NE(error([](LaunchRequest& r) {
              r.parameters.resize(8);
            }).find("8 bytes of parameters; the kernel declares 16"),
            std::string::npos);
  EXPECT_EQ(error([](LaunchRequest& r) { r.dynamic_shared_bytes = 166912; }), "launched");
}

TEST(Launch, ParametersAreLaidOutByAlignment) {
  const auto device = make_emulator({});
  const auto module = device->load(header(90) +
                                       ".visible .entry k(.param .u32 a, .param .u64 b, .param .u8 "
                                       "c, .param .align 16 .b8 d[20], .param .f32 e) { ret; }",
                                   "k.ptx");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const auto slots = (*module)->parameters("k");
  ASSERT_TRUE(slots.ok());
  const std::vector<std::pair<std::int64_t, std::int64_t>> want = {
      {0, 4}, {8, 8}, {16, 1}, {32, 20}, {52, 4}};
  ASSERT_EQ(slots->size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ((*slots)[i].offset, want[i].first);
    EXPECT_EQ((*slots)[i].bytes, want[i].second);
  }
}

// Whether the 1 that a kernel stores behind a loop of a second or two arrives when its launch is
// given up 20 ms after it began.
bool arrives_when_given_up(std::string_view before_the_loop) {
  std::atomic<bool> give_up = false;
  const auto device = make_emulator(
      {.sm = 90, .threads = 2, .instruction_budget = std::uint64_t{1} << 40, .give_up = &give_up});
  const auto module = device->load(
      kernel_text(std::string(before_the_loop) +
                  " mov.u32 %r0, 60000000; $again: sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0;"
                  " @%p0 bra $again; mov.u32 %r1, 1; st.global.u32 [%out], %r1;"),
      "k.ptx");
  EXPECT_TRUE(module.ok()) << module.error().text();
  const DeviceAddress in = *device->allocate(4, "in"), out = *device->allocate(4, "out");
  std::vector<std::byte> bytes(4);
  EXPECT_TRUE(device->write(in, bytes).ok() && device->write(out, bytes).ok());
  LaunchRequest request;
  request.entry = "k";
  request.grid = {4, 1, 1};
  request.parameters.resize(16);
  std::memcpy(request.parameters.data(), &in, 8);
  std::memcpy(request.parameters.data() + 8, &out, 8);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    give_up = true;
  });
  const auto outcome = device->launch(**module, request);
  other.join();
  EXPECT_FALSE(outcome.ok());
  if (!outcome.ok()) {
    EXPECT_EQ(outcome.error().text(), "the launch was interrupted");
  }
  EXPECT_FALSE(device->launch(**module, request).ok());
  EXPECT_TRUE(device->read(out, bytes).ok());
  return bytes[0] != std::byte{0};
}

TEST(Launch, CanBeGivenUpInTheMiddle) {
  EXPECT_FALSE(arrives_when_given_up(""));
  EXPECT_FALSE(arrives_when_given_up("red.global.add.u32 [%in], 1;"));  // CTAs that take turns
}

TEST(Allocations, AreExactApartAndRemembered) {
  const auto device = make_emulator({});
  const DeviceAddress a = *device->allocate(100, "a"), b = *device->allocate(1, "b");
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 256, 0u);
  EXPECT_GT(b, a + 1000000);
  std::vector<std::byte> data(100, std::byte{5});
  EXPECT_TRUE(device->write(a, data).ok());
  EXPECT_TRUE(device->write(a + 40, std::span(data).subspan(0, 60)).ok());
  const Status beyond = device->write(a + 41, std::span(data).subspan(0, 60));
  ASSERT_FALSE(beyond.ok());
  EXPECT_NE(beyond.error().message.find("byte 41 of the 100 bytes of \"a\""), std::string::npos);
  std::vector<std::byte> back(100);
  EXPECT_TRUE(device->read(a, back).ok());
  EXPECT_EQ(back, data);
  device->release_all();
  EXPECT_FALSE(device->read(a, back).ok());
  EXPECT_EQ(*device->allocate(100, "again"), a);
}

TEST(Allocations, PiecesHaveNothingBetweenThem) {
  constexpr std::int64_t kApart = std::int64_t{1} << 32;
  const auto device = make_emulator({});
  const DeviceAddress first = *device->allocate_pieces(300, 128, kApart, "a");
  EXPECT_GT(*device->allocate(1, "b"), first + 3 * kApart);
  const std::vector<std::byte> data(128, std::byte{5});
  EXPECT_TRUE(device->write(first + kApart, data).ok());
  std::vector<std::byte> back(128);
  EXPECT_TRUE(device->read(first + kApart, back).ok());
  EXPECT_EQ(back, data);
  EXPECT_TRUE(device->read(first + 2 * kApart, std::span(back).subspan(0, 44)).ok());
  EXPECT_FALSE(device->read(first + 2 * kApart, std::span(back).subspan(0, 45)).ok());
  const Status between = device->write(first + kApart + 1, data);
  ASSERT_FALSE(between.ok());
  EXPECT_NE(
      between.error().message.find("byte 1 of the 128 bytes of \"a from its byte 4294967296 on\""),
      std::string::npos)
      << between.error().message;
}

TEST(Load, EntriesThatAreNotWantedMayHoldAnything) {
  // The other entry has an instruction that there is not, a function that has none, a table of
  // functions whose addresses are not known, and more memory than any machine has.
  const std::string wanted =
      kernel_text("mov.u32 %r0, 7; st.global.u32 [%out], %r0;", 90,
                  ".func f() { frobnicate.b32; ret; } .global .u64 table[1] = {f};"
                  " .global .b8 huge[1099511627776];");
  const std::string other =
      ".visible .entry other() {\n.reg .b64 %d<2>;\nadd.u33 %d0, %d1, %d1;\n"
      "mov.u64 %d0, table; mov.u64 %d1, huge; ret; }\n.visible .entry broken() { [ ( }\n";
  const auto device = make_emulator({.sm = 90});
  const auto load = [&](const std::string& entry) {
    return device->load(wanted + other, "k.ptx",
                        [&](const std::string& one) { return one == entry; });
  };
  const auto module = load("k");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const DeviceAddress out = *device->allocate(4, "out");
  LaunchRequest request;
  request.entry = "k";
  request.parameters.resize(16);
  std::memcpy(request.parameters.data() + 8, &out, 8);
  const auto outcome = device->launch(**module, request);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  std::uint32_t got = 0;
  EXPECT_TRUE(device->read(out, std::as_writable_bytes(std::span(&got, 1))).ok());
  EXPECT_EQ(got, 7u);
  EXPECT_THAT((*module)->parameters("other").error().text(),
              HasSubstr("entry other was not among those to load"));

  const auto refused = load("other");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("the .global variables up to huge need"));
}

TEST(Load, AnEntryThatIsWantedIsRefusedWithLineAndInstruction) {
  const std::string text = kernel_text("ret;") +
                           ".visible .entry other() {\n.reg .b64 %d<2>;\n"
                           "add.u33 %d0, %d1, %d1;\nret; }\n";
  const auto refused = make_emulator({.sm = 90})->load(text, "k.ptx", [](const std::string& one) {
    return one == "other";
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("k.ptx:15:1"));
  EXPECT_THAT(refused.error().text(), HasSubstr("unsupported instruction `add.u33 %d0, %d1, %d1`"));
}

TEST(Allocations, VariablesOfAModuleBeginAnewWhenAllIsReleased) {
  // Two variables, one without an initial value. The kernel hands out what they hold and adds 1;
  // then it may trap.
  const auto device = make_emulator({.sm = 90});
  const auto module = device->load(
      kernel_text("ld.global.u32 %r1, [begun+4]; ld.global.u32 %r2, [done]; st.global.v2.u32 "
                  "[%out], {%r1, %r2};"
                  " add.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1; st.global.u32 [begun+4], %r1; "
                  "st.global.u32 [done], %r2;"
                  " ld.global.u32 %r3, [%in]; setp.ne.u32 %p0, %r3, 0; @%p0 trap;",
                  90, ".global .align 4 .u32 begun[4] = {4, 40}; .global .align 4 .u32 done;"),
      "k.ptx");
  ASSERT_TRUE(module.ok()) << module.error().text();
  using Pair = std::array<std::uint32_t, 2>;
  const auto launch = [&](std::uint32_t traps) {
    const DeviceAddress in = *device->allocate(4, "in"), out = *device->allocate(8, "out");
    Pair got{};
    EXPECT_TRUE(device->write(in, std::as_bytes(std::span(&traps, 1))).ok());
    LaunchRequest request;
    request.entry = "k";
    request.parameters.resize(16);
    std::memcpy(request.parameters.data(), &in, 8);
    std::memcpy(request.parameters.data() + 8, &out, 8);
    const auto outcome = device->launch(**module, request);
    EXPECT_TRUE(outcome.ok() && outcome->completed == (traps == 0));
    EXPECT_TRUE(device->read(out, std::as_writable_bytes(std::span(got))).ok());
    return got;
  };
  EXPECT_EQ(launch(0), (Pair{40, 0}));
  EXPECT_EQ(launch(1), (Pair{41, 1}));  // launches of one case see what those before them left
  device->release_all();
  EXPECT_EQ(launch(0), (Pair{40, 0}));
}

TEST(Allocations, PoisonCountsAsUnwrittenUntilWritten) {
  const auto device = make_emulator({});
  const auto module = device->load(kernel_text("ld.global.u64 %d0, [%in];"), "k.ptx");
  ASSERT_TRUE(module.ok());
  const DeviceAddress a = *device->allocate(8, "a");
  LaunchRequest request;
  request.entry = "k";
  request.parameters.resize(16);
  std::memcpy(request.parameters.data(), &a, 8);
  const auto findings = [&] { return device->launch(**module, request)->findings.size(); };
  const std::vector<std::byte> data(8, std::byte{1});
  EXPECT_EQ(findings(), 1u);
  EXPECT_TRUE(device->write(a, data).ok());
  EXPECT_EQ(findings(), 0u);
  EXPECT_TRUE(device->poison(a + 4, std::span(data).subspan(0, 1)).ok());
  EXPECT_EQ(findings(), 1u);
  EXPECT_TRUE(device->write(a + 4, std::span(data).subspan(0, 1)).ok());
  EXPECT_EQ(findings(), 0u);
  EXPECT_TRUE(device->poison(a, data).ok());
  EXPECT_EQ(findings(), 1u);
}

}  // namespace
}  // namespace plumbline::emulator
