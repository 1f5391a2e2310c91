// SPDX-License-Identifier: MIT
// Loads and launches what ptx_program.h makes of bytes. For every kernel the emulator gives an
// outcome or an error with a place, the same each time.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "harness/emulator/emulator_device.h"
#include "tests/harness/emulator/ptx_program.h"

namespace plumbline::emulator::test {

// What happened, in words: findings, or the error, and the output.
inline std::string run_program(const PtxProgram& program, bool& decoded) {
  EmulatorOptions options;
  options.sm = 90;
  options.threads = 1;
  options.instruction_budget = 300;
  const auto device = make_emulator(options);
  const auto module = device->load(program.text, "program.ptx");
  decoded = module.ok();
  if (!module) return "refused: " + module.error().text();
  const DeviceAddress in = *device->allocate(kBufferBytes, "in");
  const DeviceAddress out = *device->allocate(kBufferBytes, "out");
  std::vector<std::byte> bytes(kBufferBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 % 251);
  (void)device->write(in, bytes);
  (void)device->poison(out, bytes);
  LaunchRequest request;
  request.entry = "k";
  request.grid = program.grid;
  request.block = program.block;
  request.parameters.resize(16);
  std::memcpy(request.parameters.data(), &in, 8);
  std::memcpy(request.parameters.data() + 8, &out, 8);
  const auto outcome = device->launch(**module, request);
  if (!outcome) return "error: " + outcome.error().text();
  std::string text;
  for (const Finding& finding : outcome->findings) text += finding.text() + "\n";
  (void)device->read(out, bytes);
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

}  // namespace plumbline::emulator::test
