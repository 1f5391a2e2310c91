// SPDX-License-Identifier: MIT
// The shipped GEMM end to end on the emulator: every output bit equal to the chain of nodes that
// its contract promises, no finding, the same for any number of threads. Skipped where the build
// has no compiled kernel.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "oracles/base/random.h"
#include "oracles/formats/format.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/folders.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string kernel_path(int target) {
  return fmt::format("{}/kernels/shipped/gemm_bf16/gemm_bf16.sm_{}.ptx", PLUMBLINE_BINARY_DIR,
                     target);
}

template <typename T>
void append(std::vector<std::byte>& block, T value) {
  const std::size_t at = (block.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  block.resize(at + sizeof(T));
  std::memcpy(block.data() + at, &value, sizeof value);
}

struct Shape {
  int m, n, k;
};

struct Gemm {
  std::vector<u16> a, b;
  std::vector<u32> d;
  LaunchOutcome outcome;
};

Gemm run_gemm(Device& device, const Module& module, const Shape& shape) {
  Gemm gemm;
  Random random(static_cast<std::uint64_t>(shape.m * 1000 + shape.n * 10 + shape.k));
  const auto element = [&] {
    return static_cast<u16>(std::bit_cast<u32>(static_cast<float>(random.unit() - 0.5)) >> 16);
  };
  gemm.a.resize(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.k));
  gemm.b.resize(static_cast<std::size_t>(shape.k) * static_cast<std::size_t>(shape.n));
  std::generate(gemm.a.begin(), gemm.a.end(), element);
  std::generate(gemm.b.begin(), gemm.b.end(), element);
  gemm.d.resize(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n), 0xffffffff);
  device.release_all();
  const DeviceAddress a = *device.allocate(static_cast<std::int64_t>(gemm.a.size() * 2), "a");
  const DeviceAddress b = *device.allocate(static_cast<std::int64_t>(gemm.b.size() * 2), "b");
  const DeviceAddress d = *device.allocate(static_cast<std::int64_t>(gemm.d.size() * 4), "d");
  EXPECT_TRUE(device.write(a, std::as_bytes(std::span(gemm.a))).ok());
  EXPECT_TRUE(device.write(b, std::as_bytes(std::span(gemm.b))).ok());
  EXPECT_TRUE(device.poison(d, std::as_bytes(std::span(gemm.d))).ok());
  LaunchRequest request;
  request.entry = "gemm_bf16_nn_f32";
  request.grid = {(shape.m + 127) / 128 * ((shape.n + 127) / 128), 1, 1};
  request.block = {256, 1, 1};
  request.dynamic_shared_bytes = 3 * 16384;
  std::vector<std::byte>& p = request.parameters;
  for (const DeviceAddress pointer : {a, b, DeviceAddress{0}, DeviceAddress{0}, d})
    append(p, pointer);
  for (const int size : {shape.m, shape.n, shape.k, 1}) append(p, size);
  for (const std::int64_t leading : {shape.k, shape.n, shape.n, shape.n}) append(p, leading);
  for (int i = 0; i < 4; ++i) append(p, std::int64_t{0});
  append(p, 1.0f);
  append(p, 0.0f);
  append(p, 0);
  append(p, 0);
  auto outcome = device.launch(module, request);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().text();
    return gemm;
  }
  gemm.outcome = std::move(*outcome);
  EXPECT_TRUE(device.read(d, std::as_writable_bytes(std::span(gemm.d))).ok());
  return gemm;
}

TEST(Gemm, EveryBitIsTheChainOfNodesOnBothGenerations) {
  for (const int sm : {80, 90}) {
    const std::string text = read_file(kernel_path(sm));
    if (text.empty()) GTEST_SKIP() << "no compiled kernel at " << kernel_path(sm);
    const auto device = make_emulator({.sm = sm, .threads = 2});
    const auto module = device->load(text, "gemm_bf16.ptx");
    ASSERT_TRUE(module.ok()) << module.error().text();
    const DotModel model =
        *dot_model(sm, Instruction::mma_sync, FormatId::bf16, FormatId::bf16, FormatId::f32);
    const Format& bf16 = format(FormatId::bf16);
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{16, 8, 16}, Shape{129, 131, 67},
                               Shape{37, 200, 96}, Shape{128, 128, 0}}) {
      const Gemm gemm = run_gemm(*device, **module, shape);
      EXPECT_TRUE(gemm.outcome.completed);
      EXPECT_TRUE(gemm.outcome.findings.empty()) << findings_text(gemm.outcome);
      const auto padded = static_cast<std::size_t>((shape.k + 31) / 32 * 32);
      for (std::size_t e = 0; e < gemm.d.size(); e += 1 + gemm.d.size() / 500) {
        const std::size_t row = e / static_cast<std::size_t>(shape.n),
                          column = e % static_cast<std::size_t>(shape.n);
        std::vector<u32> x(padded), y(padded);
        for (std::size_t k = 0; k < static_cast<std::size_t>(shape.k); ++k) {
          x[k] = gemm.a[row * static_cast<std::size_t>(shape.k) + k];
          y[k] = gemm.b[k * static_cast<std::size_t>(shape.n) + column];
        }
        ASSERT_EQ(gemm.d[e], padded == 0 ? 0 : dot(model, bf16, bf16, x, y, 0))
            << "sm_" << sm << " " << row << "," << column;
      }
    }
  }
}

TEST(Gemm, ThreadsAndChecksDoNotChangeTheResult) {
  const std::string text = read_file(kernel_path(80));
  if (text.empty()) GTEST_SKIP() << "no compiled kernel at " << kernel_path(80);
  std::vector<u32> first;
  std::uint64_t instructions = 0;
  for (const EmulatorOptions& options :
       {EmulatorOptions{.sm = 80, .threads = 1}, EmulatorOptions{.sm = 80, .threads = 3},
        EmulatorOptions{.sm = 80, .threads = 1, .check_shadow = false}}) {
    const auto device = make_emulator(options);
    const auto module = device->load(text, "gemm_bf16.ptx");
    ASSERT_TRUE(module.ok()) << module.error().text();
    const Gemm gemm = run_gemm(*device, **module, {300, 270, 70});
    EXPECT_TRUE(gemm.outcome.findings.empty()) << findings_text(gemm.outcome);
    if (first.empty()) {
      first = gemm.d;
      instructions = gemm.outcome.instructions;
    }
    EXPECT_EQ(gemm.d, first);
    EXPECT_EQ(gemm.outcome.instructions, instructions);
  }
}

}  // namespace
}  // namespace plumbline::emulator
