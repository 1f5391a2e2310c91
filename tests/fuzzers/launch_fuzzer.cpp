// SPDX-License-Identifier: MIT
// Valid instructions in any order, on a tiny grid: decoding and execution must end with findings,
// an error that has a place, or results, and the same ones when the kernel is launched again. Bytes
// choose instructions, registers and immediates; the text around them is always the same.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/emulator/emulator_device.h"

namespace {

using plumbline::Device;
using plumbline::LaunchOutcome;
using plumbline::LaunchRequest;
using plumbline::Result;

// P a predicate; H, R, L a register of 16, 32 and 64 bits; I a small immediate; G an address of
// global memory that is allocated, S one of shared memory; T a later line of the program.
constexpr std::array kInstructions = {
    "add.s32 R, R, R", "sub.u32 R, R, I", "mad.lo.s32 R, R, R, R", "mul.wide.s32 L, R, R",
    "mul.hi.u32 R, R, R", "mad.wide.u32 L, R, I, L", "div.s32 R, R, R", "rem.u32 R, R, R",
    "abs.s32 R, R", "min.s32 R, R, R", "max.u32 R, R, I", "neg.s32 R, R", "and.b32 R, R, R",
    "or.b32 R, R, I", "xor.b32 R, R, R", "not.b32 R, R", "shl.b32 R, R, R", "shr.u32 R, R, I",
    "shr.s32 R, R, R", "shf.l.wrap.b32 R, R, R, R", "shf.r.clamp.b32 R, R, R, I", "clz.b32 R, R",
    "popc.b32 R, R", "brev.b32 R, R", "bfe.u32 R, R, R, R", "bfi.b32 R, R, R, R, R",
    "prmt.b32 R, R, R, I", "lop3.b32 R, R, R, R, 150", "add.s64 L, L, L", "sub.s64 L, L, I",
    "mul.lo.s64 L, L, L", "shl.b64 L, L, R", "and.b64 L, L, L", "cvt.u64.u32 L, R",
    "cvt.s64.s32 L, R", "cvt.u32.u64 R, L", "add.f32 R, R, R", "sub.rn.f32 R, R, R",
    "mul.ftz.f32 R, R, R", "fma.rn.f32 R, R, R, R", "div.rn.f32 R, R, R", "div.full.f32 R, R, R",
    "rcp.approx.ftz.f32 R, R", "rsqrt.approx.f32 R, R", "sqrt.rn.f32 R, R", "ex2.approx.ftz.f32 R, R",
    "lg2.approx.f32 R, R", "sin.approx.f32 R, R", "tanh.approx.f32 R, R", "min.f32 R, R, R",
    "max.NaN.f32 R, R, R", "neg.f32 R, R", "abs.f32 R, R", "copysign.f32 R, R, R",
    "cvt.rn.bf16.f32 H, R", "cvt.rn.f16.f32 H, R", "cvt.f32.bf16 R, H", "cvt.f32.f16 R, H",
    "cvt.rn.bf16x2.f32 R, R, R", "cvt.rn.f16x2.f32 R, R, R", "cvt.rn.satfinite.e4m3x2.f32 H, R, R",
    "cvt.rn.satfinite.e5m2x2.f32 H, R, R", "cvt.rn.f16x2.e4m3x2 R, H", "cvt.rni.s32.f32 R, R",
    "cvt.rzi.u32.f32 R, R", "cvt.rn.f32.s32 R, R", "cvt.rn.f32.u32 R, R", "add.rn.bf16x2 R, R, R",
    "fma.rn.bf16x2 R, R, R, R", "fma.rn.f16 H, H, H, H", "mul.rn.f16x2 R, R, R", "add.f64 L, L, L",
    "fma.rn.f64 L, L, L, L", "cvt.rn.f32.f64 R, L", "cvt.f64.f32 L, R", "setp.lt.s32 P, R, R",
    "setp.ge.u32 P, R, I", "setp.eq.f32 P, R, R", "setp.nan.f32 P, R, R", "setp.lt.and.s32 P, R, R, P",
    "selp.b32 R, R, R, P", "selp.f32 R, R, R, P", "and.pred P, P, P", "xor.pred P, P, P",
    "not.pred P, P", "mov.b32 R, R", "mov.b64 L, {R, R}", "mov.b64 {R, R}, L", "mov.b32 R, {H, H}",
    "mov.b32 {H, H}, R", "mov.u32 R, %tid.x", "mov.u32 R, %ctaid.x", "mov.u32 R, %laneid",
    "ld.global.b32 R, G", "ld.global.nc.b64 L, G", "ld.global.v2.b32 {R, R}, G",
    "ld.global.v4.b32 {R, R, R, R}, G", "ld.global.b16 H, G", "st.global.b32 G, R",
    "st.global.v2.b32 G, {R, R}", "st.global.b16 G, H", "st.global.b64 G, L", "ld.global.b32 R, [L]",
    "st.global.b32 [L], R", "ld.shared.b32 R, S", "st.shared.b32 S, R", "ld.shared.v4.b32 {R, R, R, R}, S",
    "st.shared.v2.b32 S, {R, R}", "ld.shared.b32 R, [R]", "st.shared.b32 [R], R",
    "atom.global.add.u32 R, G, R", "atom.shared.add.u32 R, S, R", "atom.global.cas.b32 R, G, R, R",
    "red.global.add.f32 G, R", "red.shared.max.s32 S, R", "atom.global.exch.b64 L, G, L",
    "cp.async.ca.shared.global S, G, 16", "cp.async.cg.shared.global S, G, 16, R",
    "cp.async.commit_group", "cp.async.wait_group 0", "cp.async.wait_all",
    "bar.sync 0", "bar.warp.sync 0xffffffff", "bar.red.popc.u32 R, 0, P", "membar.gl",
    "fence.proxy.async", "shfl.sync.bfly.b32 R, R, I, 31, 0xffffffff",
    "shfl.sync.idx.b32 R|P, R, R, 31, 0xffffffff", "vote.sync.ballot.b32 R, P, 0xffffffff",
    "vote.sync.any.pred P, P, 0xffffffff", "match.any.sync.b32 R, R, 0xffffffff",
    "redux.sync.add.s32 R, R, 0xffffffff", "activemask.b32 R", "elect.sync R|P, 0xffffffff",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {R, R, R, R}, S",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 S, {R, R}",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {R, R, R, R}, {R, R, R, R}, {R, R}, {R, R, R, R}",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R, R}, {R, R, R, R}, {R, R}, {R, R}",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {R, R, R, R}, {R, R, R, R}, {R, R}, {R, R, R, R}",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {R, R, R, R}, {R, R, R, R}, {R, R}, {R, R, R, R}",
    "mbarrier.init.shared.b64 S, I", "mbarrier.arrive.shared.b64 L, S",
    "mbarrier.test_wait.shared.b64 P, S, L", "mbarrier.inval.shared.b64 S", "bra T", "bra.uni T",
    "ret", "exit", "trap", "dp4a.s32.s32 R, R, R, R", "testp.finite.f32 P, R", "isspacep.shared P, L"};

constexpr int kThreads = 64, kMost = 80;
constexpr std::int64_t kBytes = 4096;

// Bytes that choose; 0 where they have run out.
class Choices {
 public:
  explicit Choices(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  bool left() const { return next_ < bytes_.size(); }

  unsigned below(unsigned count) {
    const unsigned high = take();
    return (high << 8 | take()) % count;
  }

 private:
  unsigned take() { return left() ? bytes_[next_++] : 0u; }

  std::span<const unsigned char> bytes_;
  std::size_t next_ = 0;
};

// A letter that stands alone in a template is a hole.
std::string filled(std::string_view text, int line, int lines, Choices& choices) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_letter = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                  text[at] == '.' || text[at] == '%' || text[at] == '_');
    };
    const bool alone = (i == 0 || !is_letter(i - 1)) && !is_letter(i + 1);
    switch (alone ? text[i] : '\0') {
      case 'P': out += fmt::format("%p{}", choices.below(3)); break;
      case 'H': out += fmt::format("%h{}", choices.below(4)); break;
      case 'R': out += fmt::format("%r{}", choices.below(8)); break;
      case 'L': out += fmt::format("%l{}", choices.below(4)); break;
      case 'I': out += fmt::format("{}", choices.below(40)); break;
      case 'G': out += fmt::format("[%base+{}]", 4 * choices.below(kBytes / 4 + 2)); break;
      case 'S': out += fmt::format("[tile+{}]", 4 * choices.below(kBytes / 4 + 2)); break;
      case 'T': out += fmt::format("$L{}", choices.below(static_cast<unsigned>(lines) + 1)); break;
      default: out += text[i];
    }
  }
  (void)line;
  return out;
}

std::string program(Choices& choices) {
  const int lines = 1 + static_cast<int>(choices.below(kMost));
  std::string text = fmt::format(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{{\n"
      ".reg .pred %p<3>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %l<4>;\n.reg .b64 %base;\n"
      ".shared .align 128 .b8 tile[{}];\nld.param.u64 %base, [k_param_0];\n",
      kBytes);
  for (int line = 0; line < lines; ++line) {
    const unsigned guard = choices.below(6);
    text += fmt::format("$L{}:\n", line);
    if (guard < 2) text += fmt::format("@{}%p{} ", guard == 0 ? "" : "!", choices.below(3));
    const std::string_view one = kInstructions[choices.below(kInstructions.size())];
    text += filled(one, line, lines, choices) + ";\n";
  }
  return text + fmt::format("$L{}:\nret;\n}}\n", lines);
}

[[noreturn]] void stop(std::string_view what, const std::string& text) {
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(what.size()), what.data(), text.c_str());
  std::abort();
}

// Findings and the bytes that are left in memory; an error in words.
std::string launched(const std::string& text) {
  plumbline::EmulatorOptions options;
  options.sm = 90;
  options.threads = 1;
  const std::unique_ptr<Device> device = plumbline::make_emulator(options);
  const auto module = device->load(text, "k.ptx");
  if (!module) {
    if (!module.error().where.starts_with("k.ptx:")) stop(module.error().text(), text);
    return module.error().text();
  }
  const auto address = device->allocate(kBytes, "buffer");
  if (!address) stop(address.error().text(), text);
  std::vector<std::byte> bytes(kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 % 251);
  if (!device->write(*address, bytes)) stop("memory cannot be written", text);
  LaunchRequest request;
  request.entry = "k";
  request.grid = {2, 1, 1};
  request.block = {kThreads, 1, 1};
  request.instruction_budget = 2000;
  request.one_worker = true;
  request.parameters.resize(sizeof(std::uint64_t));
  std::memcpy(request.parameters.data(), &*address, sizeof(std::uint64_t));
  const Result<LaunchOutcome> outcome = device->launch(**module, request);
  if (!outcome) return outcome.error().text();
  std::string all;
  for (const plumbline::Finding& finding : outcome->findings) all += finding.text() + "\n";
  if (!outcome->completed) return all;
  if (!device->read(*address, bytes)) stop("memory cannot be read", text);
  return all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Choices choices({data, size});
  const std::string text = program(choices);
  const std::string first = launched(text);
  if (launched(text) != first) stop("a second launch differs: " + first.substr(0, 400), text);
  return 0;
}
