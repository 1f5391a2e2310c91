// SPDX-License-Identifier: MIT
// Any bytes as a PTX kernel: instructions that are valid one by one, in the order and with the
// operands that the bytes choose. What the emulator's decoder and handlers meet behind the parser,
// where text that is random would hardly ever come. Most addresses lie in the buffers, so that a
// program gets beyond its first access.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plumbline::emulator::test {

// $w $x $h $q: registers of 32, 64, 16 and 128 bits; $p a predicate; $i a small and $I any integer;
// $F a float; $g $s $l: addresses of global, shared and local memory; $m a shared address of an
// mbarrier; $u one of unaligned global or shared memory; $b a label; $M a mask of lanes.
inline constexpr auto kForms = std::to_array<std::string_view>({
    // Integers.
    "add.s32 $w, $w, $w",
    "add.s64 $x, $x, $x",
    "add.u16 $h, $h, $h",
    "add.s32 $w, $w, $I",
    "add.sat.s32 $w, $w, $w",
    "sub.u32 $w, $w, $w",
    "sub.s64 $x, $x, $x",
    "add.cc.u32 $w, $w, $w",
    "addc.cc.u32 $w, $w, $w",
    "addc.u32 $w, $w, $w",
    "sub.cc.u32 $w, $w, $w",
    "subc.u32 $w, $w, $w",
    "mul.lo.s32 $w, $w, $w",
    "mul.hi.u32 $w, $w, $w",
    "mul.wide.s32 $x, $w, $w",
    "mul.wide.u16 $w, $h, $h",
    "mul.hi.s64 $x, $x, $x",
    "mul.lo.u64 $x, $x, $x",
    "mad.lo.s32 $w, $w, $w, $w",
    "mad.hi.s32 $w, $w, $w, $w",
    "mad.wide.u32 $x, $w, $w, $x",
    "mad.lo.u64 $x, $x, $x, $x",
    "mul24.lo.s32 $w, $w, $w",
    "div.s32 $w, $w, $w",
    "div.u32 $w, $w, $w",
    "div.s64 $x, $x, $x",
    "rem.s32 $w, $w, $w",
    "rem.u64 $x, $x, $x",
    "abs.s32 $w, $w",
    "neg.s32 $w, $w",
    "neg.s64 $x, $x",
    "min.s32 $w, $w, $w",
    "max.u32 $w, $w, $w",
    "min.s64 $x, $x, $x",
    "sad.u32 $w, $w, $w, $w",
    "popc.b32 $w, $w",
    "popc.b64 $w, $x",
    "clz.b32 $w, $w",
    "clz.b64 $w, $x",
    "brev.b32 $w, $w",
    "brev.b64 $x, $x",
    "bfind.u32 $w, $w",
    "bfind.s64 $w, $x",
    "bfind.shiftamt.u32 $w, $w",
    "bfe.u32 $w, $w, $w, $w",
    "bfe.s32 $w, $w, $w, $w",
    "bfe.u64 $x, $x, $w, $w",
    "bfi.b32 $w, $w, $w, $w, $w",
    "bfi.b64 $x, $x, $x, $w, $w",
    "dp4a.s32.s32 $w, $w, $w, $w",
    "dp4a.u32.s32 $w, $w, $w, $w",
    "dp2a.lo.s32.s32 $w, $w, $w, $w",
    "and.b32 $w, $w, $w",
    "or.b64 $x, $x, $x",
    "xor.b32 $w, $w, $w",
    "not.b32 $w, $w",
    "and.pred $p, $p, $p",
    "xor.pred $p, $p, $p",
    "not.pred $p, $p",
    "cnot.b32 $w, $w",
    "lop3.b32 $w, $w, $w, $w, $B",
    "shl.b32 $w, $w, $w",
    "shr.u32 $w, $w, $w",
    "shr.s32 $w, $w, $w",
    "shl.b64 $x, $x, $w",
    "shr.s64 $x, $x, $w",
    "shf.l.wrap.b32 $w, $w, $w, $w",
    "shf.r.clamp.b32 $w, $w, $w, $w",
    "prmt.b32 $w, $w, $w, $w",
    "prmt.b32.f4e $w, $w, $w, $w",
    "bmsk.wrap.b32 $w, $w, $w",
    // Floats.
    "add.f32 $w, $w, $w",
    "add.rz.ftz.f32 $w, $w, $w",
    "sub.rm.f32 $w, $w, $w",
    "mul.rp.sat.f32 $w, $w, $w",
    "fma.rn.f32 $w, $w, $w, $w",
    "fma.rz.ftz.sat.f32 $w, $w, $w, $w",
    "add.f64 $x, $x, $x",
    "fma.rn.f64 $x, $x, $x, $x",
    "div.rn.f32 $w, $w, $w",
    "div.full.f32 $w, $w, $w",
    "div.approx.ftz.f32 $w, $w, $w",
    "div.rn.f64 $x, $x, $x",
    "rcp.rn.f32 $w, $w",
    "rcp.approx.f32 $w, $w",
    "sqrt.rn.f32 $w, $w",
    "sqrt.approx.f32 $w, $w",
    "rsqrt.approx.f32 $w, $w",
    "sqrt.rn.f64 $x, $x",
    "ex2.approx.f32 $w, $w",
    "ex2.approx.ftz.f32 $w, $w",
    "lg2.approx.f32 $w, $w",
    "sin.approx.f32 $w, $w",
    "cos.approx.f32 $w, $w",
    "tanh.approx.f32 $w, $w",
    "abs.f32 $w, $w",
    "neg.ftz.f32 $w, $w",
    "min.f32 $w, $w, $w",
    "max.NaN.f32 $w, $w, $w",
    "min.f64 $x, $x, $x",
    "copysign.f32 $w, $w, $w",
    "add.f16 $h, $h, $h",
    "add.f16x2 $w, $w, $w",
    "fma.rn.f16x2 $w, $w, $w, $w",
    "fma.rn.bf16x2 $w, $w, $w, $w",
    "fma.rn.relu.bf16 $h, $h, $h, $h",
    "mul.f16x2 $w, $w, $w",
    "max.f16x2 $w, $w, $w",
    "min.NaN.bf16x2 $w, $w, $w",
    "neg.bf16x2 $w, $w",
    "abs.f16 $h, $h",
    "add.f32 $w, $w, $F",
    // Conversions, comparisons and moves.
    "cvt.rni.s32.f32 $w, $w",
    "cvt.rzi.u64.f32 $x, $w",
    "cvt.rn.f32.s32 $w, $w",
    "cvt.rz.f32.u64 $w, $x",
    "cvt.f64.f32 $x, $w",
    "cvt.rn.f32.f64 $w, $x",
    "cvt.rn.f16.f32 $h, $w",
    "cvt.rn.bf16.f32 $h, $w",
    "cvt.f32.f16 $w, $h",
    "cvt.f32.bf16 $w, $h",
    "cvt.rn.bf16x2.f32 $w, $w, $w",
    "cvt.rn.relu.f16x2.f32 $w, $w, $w",
    "cvt.rn.satfinite.e4m3x2.f32 $h, $w, $w",
    "cvt.rn.satfinite.e5m2x2.f32 $h, $w, $w",
    "cvt.rn.f16x2.e4m3x2 $w, $h",
    "cvt.rn.f16x2.e5m2x2 $w, $h",
    "cvt.rna.tf32.f32 $w, $w",
    "cvt.s64.s32 $x, $w",
    "cvt.u32.u64 $w, $x",
    "cvt.s32.s8 $w, $w",
    "cvt.sat.u8.s32 $w, $w",
    "cvt.u16.u32 $h, $w",
    "cvt.rmi.f32.f32 $w, $w",
    "setp.lt.s32 $p, $w, $w",
    "setp.ne.u64 $p, $x, $x",
    "setp.gtu.f32 $p, $w, $w",
    "setp.eq.and.s32 $p, $w, $w, $p",
    "setp.lt.u32 $p|$p, $w, $w",
    "setp.nan.f64 $p, $x, $x",
    "setp.lt.f16 $p, $h, $h",
    "set.lt.u32.s32 $w, $w, $w",
    "set.ge.f32.f32 $w, $w, $w",
    "selp.b32 $w, $w, $w, $p",
    "selp.f64 $x, $x, $x, $p",
    "slct.s32.s32 $w, $w, $w, $w",
    "mov.b32 $w, $w",
    "mov.u64 $x, $x",
    "mov.b64 $x, {$w, $w}",
    "mov.b64 {$w, $w}, $x",
    "mov.b32 {$h, $h}, $w",
    "mov.u32 $w, $I",
    "mov.f32 $w, $F",
    "mov.u32 $w, %tid.x",
    "mov.u32 $w, %laneid",
    "mov.u32 $w, %ctaid.x",
    "mov.u32 $w, %lanemask_lt",
    "mov.u32 $w, %clock",
    "mov.u64 $x, %clock64",
    "mov.u32 $w, shared_bytes",
    "mov.u64 $x, %globaltimer",
    // Memory.
    "ld.global.u32 $w, [$g]",
    "ld.global.v4.u32 {$w, $w, $w, $w}, [$g]",
    "ld.global.nc.b64 $x, [$g]",
    "ld.global.u8 $w, [$u]",
    "ld.global.s16 $w, [$u]",
    "ld.global.v2.b16 {$h, $h}, [$g]",
    "ld.volatile.global.u32 $w, [$g]",
    "ld.acquire.gpu.global.u32 $w, [$g]",
    "ld.u32 $w, [$g]",
    "st.global.u32 [$g], $w",
    "st.global.v2.b64 [$g], {$x, $x}",
    "st.global.u8 [$u], $w",
    "st.release.gpu.global.u32 [$g], $w",
    "st.u16 [$g], $h",
    "ld.shared.u32 $w, [$s]",
    "ld.shared.v4.f32 {$w, $w, $w, $w}, [$s]",
    "ld.shared.s8 $w, [$u]",
    "st.shared.u32 [$s], $w",
    "st.shared.v4.b32 [$s], {$w, $w, $w, $w}",
    "st.shared.b64 [$s], $x",
    "ld.local.u32 $w, [$l]",
    "st.local.u64 [$l], $x",
    "ld.param.u64 $x, [p_out]",
    "ld.const.u32 $w, [constants+4]",
    "atom.global.add.u32 $w, [$g], $w",
    "atom.global.cas.b32 $w, [$g], $w, $w",
    "atom.shared.max.s32 $w, [$s], $w",
    "atom.global.add.f32 $w, [$g], $w",
    "atom.global.exch.b64 $x, [$g], $x",
    "atom.shared.and.b32 $w, [$s], $w",
    "red.global.add.u32 [$g], $w",
    "red.shared.min.u32 [$s], $w",
    "red.global.add.f64 [$g], $x",
    "atom.global.add.noftz.f16x2 $w, [$g], $w",
    "prefetch.global.L2 [$g]",
    "cvta.to.global.u64 $x, $x",
    "cvta.shared.u64 $x, $x",
    "isspacep.shared $p, $x",
    // Warps and blocks.
    "bar.sync 0",
    "barrier.sync $n",
    "bar.arrive 1, 64",
    "bar.red.popc.u32 $w, 0, $p",
    "bar.warp.sync $M",
    "shfl.sync.idx.b32 $w, $w, $w, 31, $M",
    "shfl.sync.bfly.b32 $w|$p, $w, $i, 31, $M",
    "shfl.sync.up.b32 $w, $w, $w, 0, $M",
    "shfl.sync.down.b32 $w|$p, $w, $w, $w, $M",
    "vote.sync.ballot.b32 $w, $p, $M",
    "vote.sync.all.pred $p, $p, $M",
    "match.any.sync.b32 $w, $w, $M",
    "match.all.sync.b32 $w|$p, $w, $M",
    "activemask.b32 $w",
    "redux.sync.add.u32 $w, $w, $M",
    "redux.sync.max.s32 $w, $w, $M",
    "elect.sync $w|$p, $M",
    "membar.gl",
    "fence.acq_rel.gpu",
    "fence.proxy.async",
    "nanosleep.u32 $i",
    // Tensor cores and what feeds them.
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$w, $w, $w, $w}, [$s]",
    "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {$w}, [$s]",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$s], {$w, $w}",
    "movmatrix.sync.aligned.m8n8.trans.b16 $w, $w",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
    "{$w, $w, $w, $w}, {$w, $w, $w, $w}, {$w, $w}, {$w, $w, $w, $w}",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
    "{$w, $w, $w, $w}, {$w, $w, $w, $w}, {$w, $w}, {$w, $w, $w, $w}",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$w, $w}, {$w, $w, $w, $w}, {$w, $w}, {$w, "
    "$w}",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
    "{$w, $w, $w, $w}, {$w, $w, $w, $w}, {$w, $w}, {$w, $w, $w, $w}",
    "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 "
    "{$w, $w, $w, $w}, {$w, $w, $w, $w}, {$w, $w}, {$w, $w, $w, $w}",
    // Asynchronous copies.
    "cp.async.ca.shared.global [$s], [$g], 4",
    "cp.async.cg.shared.global [$s], [$g], 16",
    "cp.async.cg.shared.global [$s], [$g], 16, $w",
    "cp.async.commit_group",
    "cp.async.wait_group $n",
    "cp.async.wait_all",
    "mbarrier.init.shared.b64 [$m], 32",
    "mbarrier.inval.shared.b64 [$m]",
    "mbarrier.arrive.shared.b64 $x, [$m]",
    "mbarrier.arrive.expect_tx.shared.b64 $x, [$m], 64",
    "mbarrier.try_wait.parity.shared.b64 $p, [$m], $w",
    "mbarrier.test_wait.shared.b64 $p, [$m], $x",
    "cp.async.mbarrier.arrive.shared.b64 [$m]",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$s], [$g], 64, [$m]",
    "cp.async.bulk.global.shared::cta.bulk_group [$g], [$s], 64",
    "cp.async.bulk.wait_group $n",
    "mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [$m], 16",
    // Control.
    "bra $b",
    "bra.uni $b",
    "exit",
    "trap",
    "ret",
    "brkpt",
});

// Takes choices from the bytes; zeros when they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }

  unsigned below(unsigned count) {
    std::uint8_t byte = 0;
    if (!bytes_.empty()) {
      byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return byte % count;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

struct PtxProgram {
  std::string text;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{32, 1, 1};
};

inline constexpr int kBufferBytes = 1024, kSharedBytes = 2048, kLabels = 8;

inline std::string reg(const char* prefix, unsigned index) {
  return prefix + std::to_string(index);
}

// One operand of a form; the letter behind the $.
inline std::string operand(char kind, Choices& choices) {
  constexpr unsigned kFew = 6;
  static constexpr std::array kIntegers = {"0",          "1",          "31",         "32",
                                           "-1",         "0x80000000", "0x7fffffff", "0xffffffff",
                                           "0x3f800000", "0x7fc00000", "0xff800000", "0x00400000"};
  static constexpr std::array kFloats = {"0f00000000", "0f80000000", "0f3F800000", "0f7F800000",
                                         "0f7FC00001", "0f00000001", "0f7F7FFFFF", "0fC2FE0000"};
  static constexpr std::array kMasks = {"0xffffffff", "0xffffffff", "0xffffffff",
                                        "0x0000ffff", "0x00000001", "0"};
  const auto offset = [&](int bytes, int step) {
    return "+" + std::to_string(static_cast<int>(choices.below(256)) * step % bytes);
  };
  switch (kind) {
    case 'w':
      return reg("%r", choices.below(kFew));
    case 'x':
      return reg("%d", choices.below(kFew));
    case 'h':
      return reg("%h", choices.below(kFew));
    case 'p':
      return reg("%p", choices.below(4));
    case 'i':
      return std::to_string(choices.below(34));
    case 'n':
      return std::to_string(choices.below(4));
    case 'B':
      return std::to_string(choices.below(256));
    case 'I':
      return kIntegers[choices.below(kIntegers.size())];
    case 'F':
      return kFloats[choices.below(kFloats.size())];
    case 'M':
      return kMasks[choices.below(kMasks.size())];
    case 'b':
      return reg("L", choices.below(kLabels));
    case 'l':
      return "own" + offset(64, 8);
    case 'm':
      return "barriers" + offset(64, 8);
    case 'u':
      return choices.below(2) == 0 ? "%in" + offset(kBufferBytes, 1) : "%to+3";
    case 's': {
      const unsigned which = choices.below(8);
      if (which == 0) return reg("%r", choices.below(kFew));
      return (which < 5 ? "shared_bytes" : "%at") + offset(kSharedBytes, 16);
    }
    case 'g': {
      const unsigned which = choices.below(16);
      if (which == 0) return reg("%d", choices.below(kFew)) + offset(64, 4);
      return (which < 8 ? "%in" : which < 12 ? "%to" : "%out") + offset(kBufferBytes / 2, 16);
    }
  }
  return "?";
}

inline std::string instruction(std::string_view form, Choices& choices) {
  std::string text;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '$') {
      text += operand(form[++i], choices);
    } else {
      text += form[i];
    }
  }
  return text + ";\n";
}

// %in and %out point to two buffers of kBufferBytes, %to to a word of the second for each thread,
// %at to shared memory at 16 bytes for each lane.
inline std::string kernel_around(std::string_view body) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n"
         ".const .align 16 .b8 constants[64] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
         ".visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{\n"
         ".reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .b16 %h<8>;\n.reg .pred %p<4>;\n"
         ".reg .b64 %in, %out, %to;\n.reg .b32 %at;\n.local .align 16 .b8 own[128];\n"
         ".shared .align 128 .b8 shared_bytes[2304];\n.shared .align 16 .b8 barriers[128];\n"
         "ld.param.u64 %in, [p_in];\nld.param.u64 %out, [p_out];\nmov.u32 %r0, %tid.x;\n"
         "mov.u32 %r1, %laneid;\nmul.wide.u32 %to, %r0, 4;\nadd.u64 %to, %to, %out;\n"
         "shl.b32 %at, %r1, 4;\nmov.u32 %r2, shared_bytes;\nadd.u32 %at, %at, %r2;\n"
         "setp.lt.u32 %p0, %r0, 16;\nsetp.eq.u32 %p1, %r0, 0;\n" +
         std::string(body) + "ret;\n}\n";
}

// Bytes as a program of at most 64 instructions; guards, labels and the launch are theirs too.
inline PtxProgram ptx_program(std::span<const std::uint8_t> bytes) {
  constexpr int kMost = 64;
  constexpr std::array<std::int64_t, 4> kThreads = {32, 64, 33, 128};
  Choices choices(bytes);
  PtxProgram program;
  program.grid[0] = 1 + choices.below(3);
  program.block[0] = kThreads[choices.below(kThreads.size())];
  std::string body;
  int label = 0;
  for (int i = 0; i < kMost && !choices.empty(); ++i) {
    if (i % (kMost / kLabels) == 0) body += reg("L", static_cast<unsigned>(label++)) + ":\n";
    const unsigned guard = choices.below(16);
    if (guard < 4)
      body += "@" + std::string(guard % 2 == 0 ? "" : "!") + reg("%p", guard / 2) + " ";
    const unsigned high = choices.below(256), low = choices.below(256);
    body += instruction(kForms[(high * 256 + low) % kForms.size()], choices);
  }
  while (label < kLabels) body += reg("L", static_cast<unsigned>(label++)) + ":\n";
  program.text = kernel_around(body);
  return program;
}

}  // namespace plumbline::emulator::test
