// SPDX-License-Identifier: MIT
// Runs small PTX kernels on the emulator: one instruction over a table of operands, or a whole
// body.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/emulator_device.h"

namespace plumbline::emulator {

inline std::string header(int sm) {
  return fmt::format(".version 8.7\n.target sm_{}\n.address_size 64\n", sm);
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto view = std::as_bytes(std::span(values));
  return {view.begin(), view.end()};
}

// A kernel `k` with two pointer parameters, `in` and `out`; the body finds their values in %in and
// %out, and may use %r0..%r31, %d0..%d31 (64 bits), %f0..%f31, %h0..%h15 (16 bits), %p0..%p7. Line
// 10 is the first line of the body.
inline std::string kernel_text(std::string_view body, int sm = 90,
                               std::string_view module_scope = "") {
  return header(sm) + std::string(module_scope) + "\n" +
         ".visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{\n" +
         ".reg .b32 %r<32>; .reg .b64 %d<32>; .reg .f32 %f<32>; .reg .b16 %h<16>; .reg .pred "
         "%p<8>; .reg .b64 %in, %out;\n" +
         "ld.param.u64 %in, [p_in];\n" + "ld.param.u64 %out, [p_out];\n" + std::string(body) +
         "\nret;\n}\n";
}

struct KernelRun {
  LaunchOutcome outcome;
  std::vector<std::byte> out;

  template <typename T>
  std::vector<T> values() const {
    std::vector<T> result(out.size() / sizeof(T));
    std::memcpy(result.data(), out.data(), result.size() * sizeof(T));
    return result;
  }
};

struct KernelOptions {
  EmulatorOptions emulator{.sm = 90, .threads = 1};
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{32, 1, 1};
  std::array<std::int64_t, 3> cluster{};
  std::uint64_t cta_order = 0;
  std::int64_t dynamic_shared_bytes = 0;
  std::uint64_t rounding_seed = 0;
  ApproximationErrors approximation = {};
  bool out_is_written = false;  // zeros that count as written, instead of poison
  bool watch_out = false;       // LaunchOutcome::writers of the output
  std::vector<SharedByte> traced = {};
  bool one_worker = false;
  bool older_values = false;
  std::uint8_t register_garbage = 0;
  bool count_traffic = false;
  bool count_representatives = false;
};

// Loads `text`, gives it `in` and an output buffer of `out_bytes`, and launches `k`.
inline KernelRun run_kernel(const std::string& text, const std::vector<std::byte>& in,
                            std::size_t out_bytes, const KernelOptions& options = {}) {
  KernelRun run;
  const auto device = make_emulator(options.emulator);
  auto module = device->load(text, "test.ptx");
  if (!module) {
    ADD_FAILURE() << module.error().text() << "\n" << text;
    return run;
  }
  const DeviceAddress in_address = *device->allocate(static_cast<std::int64_t>(in.size()), "in");
  const DeviceAddress out_address = *device->allocate(static_cast<std::int64_t>(out_bytes), "out");
  EXPECT_TRUE(device->write(in_address, in).ok());
  const std::vector<std::byte> zeros(out_bytes);
  EXPECT_TRUE((options.out_is_written ? device->write(out_address, zeros)
                                      : device->poison(out_address, zeros))
                  .ok());
  LaunchRequest request;
  request.entry = "k";
  request.grid = options.grid;
  request.block = options.block;
  request.cluster = options.cluster;
  request.cta_order = options.cta_order;
  request.dynamic_shared_bytes = options.dynamic_shared_bytes;
  request.rounding_seed = options.rounding_seed;
  request.approximation = options.approximation;
  if (options.watch_out) request.watched = {{out_address, static_cast<std::int64_t>(out_bytes)}};
  request.traced = options.traced;
  request.one_worker = options.one_worker;
  request.older_values = options.older_values;
  request.register_garbage = options.register_garbage;
  request.count_traffic = options.count_traffic;
  request.count_representatives = options.count_representatives;
  request.parameters.resize(16);
  std::memcpy(request.parameters.data(), &in_address, 8);
  std::memcpy(request.parameters.data() + 8, &out_address, 8);
  auto outcome = device->launch(**module, request);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().text();
    return run;
  }
  run.outcome = std::move(*outcome);
  run.out.resize(out_bytes);
  EXPECT_TRUE(device->read(out_address, run.out).ok());
  return run;
}

inline std::string findings_text(const LaunchOutcome& outcome) {
  std::string text;
  for (const Finding& finding : outcome.findings) text += finding.text() + "\n";
  return text;
}

// The operands of one application of an instruction.
using Operands = std::array<std::uint64_t, 4>;

// Applies `code` to every row. It reads registers a, b, c, e and leaves its result in d; `shape`
// gives their widths as in harness/emulator/decode/rows.h ("w=ww": 32-bit d, a, b). Predicates p
// and q are there too. One thread per row.
inline std::vector<std::uint64_t> apply(std::string_view code, std::string_view shape,
                                        const std::vector<Operands>& rows, int sm = 90,
                                        const ApproximationErrors& approximation = {}) {
  const auto width = [](char letter) { return letter == 'x' ? 64 : (letter == 'w' ? 32 : 16); };
  const std::size_t equals = shape.find('=');
  const std::string_view sources = shape.substr(equals + 1);
  constexpr std::string_view kNames = "abce";
  std::string body = fmt::format(".reg .b{} d; .reg .pred p, q;\n", width(shape[0]));
  for (std::size_t i = 0; i < sources.size(); ++i)
    body += fmt::format(".reg .b{} {};\n", width(sources[i]), kNames[i]);
  body += "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 64, %r0;\n";
  body += "mad.wide.u32 %in, %r0, 32, %in; mad.wide.u32 %out, %r0, 8, %out;\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    body += fmt::format("ld.global.b{} {}, [%in+{}];\n", width(sources[i]), kNames[i], 8 * i);
  }
  body += std::string(code) + "\n";
  body += fmt::format("st.global.b{} [%out], d;\n", width(shape[0]));
  KernelOptions options;
  options.emulator.sm = sm;
  options.approximation = approximation;
  options.block = {64, 1, 1};
  options.grid = {static_cast<std::int64_t>((rows.size() + 63) / 64), 1, 1};
  std::vector<Operands> padded = rows;
  padded.resize(static_cast<std::size_t>(options.grid[0]) * 64);
  const KernelRun run =
      run_kernel(kernel_text(body, sm), bytes_of(padded), padded.size() * 8, options);
  // Quotients by 0 are compared like all others.
  const bool sound = std::ranges::all_of(run.outcome.findings, [](const Finding& finding) {
    return finding.kind == FindingKind::division_by_zero;
  });
  EXPECT_TRUE(sound) << code << "\n" << findings_text(run.outcome);
  std::vector<std::uint64_t> out = run.values<std::uint64_t>();
  out.resize(rows.size());
  return out;
}

}  // namespace plumbline::emulator
