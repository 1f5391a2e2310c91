// SPDX-License-Identifier: MIT
#include "harness/scan/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

constexpr std::uint64_t kPairs = std::uint64_t{1} << 26;
constexpr std::int64_t kThreads = 128, kWordsPerThread = 32;
constexpr std::int64_t kWordsPerBlock = kThreads * kWordsPerThread;
constexpr std::int64_t kBlocks = 64;
constexpr std::uint64_t kWordsPerLaunch = kBlocks * kWordsPerBlock;

// --- inputs ---

struct Operands {
  std::uint32_t a = 0, b = 0;
};

class Inputs {
 public:
  Inputs(const ScanInstruction& instruction, std::uint64_t sample)
      : instruction_(instruction), all_(scan_inputs(instruction)) {
    count_ = sample > 0 && sample < all_ ? sample : all_;
    draws_ = instruction.function == ScanFunction::div;
  }

  std::uint64_t count() const { return count_; }

  bool exhaustive() const { return count_ == all_ && !draws_; }

  Operands operator[](std::uint64_t index) const {
    if (draws_) {
      const std::uint64_t drawn = mix(index);
      return {static_cast<std::uint32_t>(drawn), static_cast<std::uint32_t>(drawn >> 32)};
    }
    const std::uint64_t element = count_ == all_ ? index : sampled(index);
    // The other element of a pair is another input, so that the two cannot be taken for each other.
    const std::uint64_t other = all_ - 1 - element;
    const ScalarType& from = instruction_.from;
    if (from.elements == 2)
      return {static_cast<std::uint32_t>(other << from.element_bits() | element), 0};
    return {static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(other)};
  }

 private:
  // Both ends of every binade first, of each sign; the rest spread evenly.
  std::uint64_t sampled(std::uint64_t index) const {
    constexpr std::uint64_t kBinades = 512, kEnds = 2 * kBinades;
    const std::uint64_t binade = all_ / kBinades;
    if (index < kEnds) return (index / 2) * binade + (index % 2 == 0 ? 0 : binade - 1);
    return ((index * 0x9e3779b97f4a7c15) >> 32) & (all_ - 1);
  }

  const ScanInstruction& instruction_;
  std::uint64_t all_, count_ = 0;
  bool draws_ = false;
};

// --- the kernel ---

// Registers of PTX that hold a type; a 32-bit word is taken apart into them and put together again.
struct RegisterKind {
  int bits;

  std::string_view type() const { return bits == 32 ? "b32" : bits == 16 ? "b16" : "b8"; }

  // A word as a vector of them: `{%na, %rest1}`, the first one holding the value.
  std::string pieces(std::string_view value, std::string_view rest) const {
    std::string text = fmt::format("{{{}", value);
    for (int i = 1; i < 32 / bits; ++i) text += fmt::format(", {}{}", rest, i);
    return text + "}";
  }
};

// Integers of 8 bits lie in registers of 32.
RegisterKind register_of(const ScalarType& type) {
  return {type.bits() == 8 && type.is_integer() ? 32 : type.bits()};
}

std::string one_execution(const ScanInstruction& instruction, int index) {
  const RegisterKind from = register_of(instruction.from), to = register_of(instruction.to);
  std::string text;
  const auto operand = [&](char name) {
    if (from.bits == 32) return fmt::format("%{}{}", name, index);
    text += fmt::format("  mov.b32 {}, %{}{};\n", from.pieces(fmt::format("%n{}", name), "%rest"),
                        name, index);
    return fmt::format("%n{}", name);
  };
  const std::string a = operand('a');
  const std::string b = instruction.sources() == 2 ? ", " + operand('b') : "";
  const std::string d = to.bits == 32 ? fmt::format("%d{}", index) : "%nd";
  text += fmt::format("  {} {}, {}{};\n", instruction.spelling, d, a, b);
  if (to.bits != 32) text += fmt::format("  mov.b32 %d{}, {};\n", index, to.pieces("%nd", "%zero"));
  return text;
}

Error given_up() { return {ErrorKind::cannot_run, "the scan was interrupted", "", ""}; }

// --- running it ---

using Direction = ApproximationErrors::Direction;

// What one thread has: a device, the kernel on it, and memory for one launch.
class Worker {
 public:
  static Result<Worker> make(const ScanInstruction& instruction, const ScanOptions& options) {
    Worker out;
    Result<std::unique_ptr<Device>> device = open_device(options.target, 1, *options.give_up);
    if (!device) return device.error();
    out.device_ = *std::move(device);
    Result<std::unique_ptr<Module>> module =
        out.device_->load(scan_kernel(instruction, options.target.sm), instruction.spelling);
    if (!module) return module.error();
    out.module_ = *std::move(module);
    return out;
  }

  // The results of the operands; they are as many as fill whole blocks.
  Result<std::vector<std::uint32_t>> run(const std::vector<std::uint32_t>& a,
                                         const std::vector<std::uint32_t>& b, Direction direction) {
    const std::shared_ptr<void> turn = device_->turn();
    device_->release_all();
    std::vector<std::uint32_t> d(a.size());
    const auto bytes = static_cast<std::int64_t>(4 * a.size());
    LaunchRequest request;
    request.entry = "scan";
    request.grid = {static_cast<std::int64_t>(a.size()) / kWordsPerBlock, 1, 1};
    request.block = {kThreads, 1, 1};
    request.approximation.direction = direction;
    std::array<DeviceAddress, 3> arrays{};
    constexpr std::string_view kNames[] = {"a", "b", "d"};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Result<DeviceAddress> address = device_->allocate(bytes, kNames[i]);
      if (!address) return address.error();
      arrays[i] = *address;
    }
    if (Status status = device_->write(arrays[0], std::as_bytes(std::span(a))); !status)
      return status.error();
    if (Status status = device_->write(arrays[1], std::as_bytes(std::span(b))); !status)
      return status.error();
    const auto parameters = std::as_bytes(std::span(arrays));
    request.parameters.assign(parameters.begin(), parameters.end());
    const Result<LaunchOutcome> outcome = device_->launch(*module_, request);
    if (!outcome) return outcome.error();
    if (!outcome->findings.empty())
      return Error{ErrorKind::cannot_run, outcome->findings.front().text(), "", ""};
    if (Status status = device_->read(arrays[2], std::as_writable_bytes(std::span(d))); !status)
      return status.error();
    return d;
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
};

// The inputs of a launch, all run.
Status scan_part(Worker& worker, const Inputs& inputs, std::uint64_t first,
                 std::span<const Direction> directions, ScanTally& tally) {
  const std::uint64_t count = std::min(kWordsPerLaunch, inputs.count() - first);
  const auto words = static_cast<std::size_t>(
      ceil_div(static_cast<std::int64_t>(count), kWordsPerBlock) * kWordsPerBlock);
  std::vector<std::uint32_t> a(words), b(words);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Operands operands = inputs[first + i];
    a[i] = operands.a;
    b[i] = operands.b;
  }
  for (const Direction direction : directions) {
    const Result<std::vector<std::uint32_t>> d = worker.run(a, b, direction);
    if (!d) return d.error();
    for (std::uint64_t i = 0; i < count; ++i) tally.add(a[i], b[i], (*d)[i]);
  }
  return {};
}

}  // namespace

std::uint64_t scan_inputs(const ScanInstruction& instruction) {
  if (instruction.function == ScanFunction::div) return kPairs;
  return std::uint64_t{1} << instruction.from.element_bits();
}

std::string scan_kernel(const ScanInstruction& instruction, int sm) {
  const RegisterKind from = register_of(instruction.from), to = register_of(instruction.to);
  std::string text = fmt::format(
      ".version {}\n.target sm_{}{}\n.address_size 64\n"
      ".visible .entry scan(.param .u64 pa, .param .u64 pb, .param .u64 pd)\n{{\n"
      "  .reg .b64 %p<4>, %offset;\n  .reg .b32 %i<4>, %a<4>, %b<4>, %d<4>;\n",
      sm >= 100 ? "8.7" : "7.8", sm, sm >= 100 ? "a" : "");
  if (from.bits < 32) text += fmt::format("  .reg .{} %na, %nb, %rest<4>;\n", from.type());
  if (to.bits < 32) text += fmt::format("  .reg .{} %nd, %zero<4>;\n", to.type());
  text +=
      "  ld.param.u64 %p0, [pa];\n  ld.param.u64 %p1, [pb];\n  ld.param.u64 %p2, [pd];\n"
      "  mov.u32 %i0, %ctaid.x;\n  mov.u32 %i1, %ntid.x;\n  mov.u32 %i2, %tid.x;\n"
      "  mad.lo.u32 %i3, %i0, %i1, %i2;\n";
  text += fmt::format("  mul.wide.u32 %offset, %i3, {};\n", 4 * kWordsPerThread);
  for (int i = 0; i < 3; ++i) text += fmt::format("  add.u64 %p{0}, %p{0}, %offset;\n", i);
  if (to.bits < 32)
    text += fmt::format("  mov.b32 %i0, 0;\n  mov.b32 {}, %i0;\n", to.pieces("%zero0", "%zero"));
  for (std::int64_t group = 0; group < kWordsPerThread; group += 4) {
    text += fmt::format("  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p0 + {}];\n", 4 * group);
    if (instruction.sources() == 2)
      text += fmt::format("  ld.global.v4.b32 {{%b0, %b1, %b2, %b3}}, [%p1 + {}];\n", 4 * group);
    for (int i = 0; i < 4; ++i) text += one_execution(instruction, i);
    text += fmt::format("  st.global.v4.b32 [%p2 + {}], {{%d0, %d1, %d2, %d3}};\n", 4 * group);
  }
  return text + "  ret;\n}\n";
}

Result<ScanResult> scan(const ScanInstruction& instruction, const ScanOptions& options) {
  const Inputs inputs(instruction, options.sample);
  // The emulator errs as far as is documented, to either side.
  constexpr std::array kBoth = {Direction::largest, Direction::smallest};
  const bool both = instruction.approximate && !options.target.on_gpu;
  const std::span<const Direction> directions(kBoth.data(), both ? 2 : 1);
  const std::uint64_t launches = (inputs.count() + kWordsPerLaunch - 1) / kWordsPerLaunch;
  ScanResult out{instruction, inputs.count(), inputs.exhaustive(), ScanTally(instruction)};
  std::mutex together;
  std::optional<Error> error;
  std::atomic<std::uint64_t> next{0};
  std::uint64_t done = 0;
  on_threads(std::min<std::int64_t>(options.threads, static_cast<std::int64_t>(launches)), [&] {
    Result<Worker> worker = Worker::make(instruction, options);
    ScanTally tally(instruction);
    Status status;
    if (!worker) status = worker.error();
    for (std::uint64_t i; status && (i = next++) < launches;) {
      status = *options.give_up
                   ? Status(given_up())
                   : scan_part(*worker, inputs, i * kWordsPerLaunch, directions, tally);
      const std::lock_guard lock(together);
      ++done;
      if (options.progress)
        options.progress(static_cast<double>(done) / static_cast<double>(launches));
    }
    const std::lock_guard lock(together);
    out.tally += tally;
    if (!status) {
      next = launches;
      if (!error) error = status.error();
    }
  });
  if (*options.give_up) return given_up();
  if (error) return *error;
  out.tally.confirm();
  return out;
}

}  // namespace plumbline
