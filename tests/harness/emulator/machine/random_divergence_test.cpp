// SPDX-License-Identifier: MIT
// Random programs whose lanes part, wait for each other in the middle of things, and hold values of
// 16, 32 and 64 bits meanwhile. 32 threads give the same as one warp and as a warp each.
#include <array>
#include <string>

#include "oracles/base/random.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

// %r1 is a thread's state, %r2 to %r4 are scratch. Temporaries live for a statement, or around one.
class DivergentProgram {
 public:
  explicit DivergentProgram(std::uint64_t seed) : random_(seed) { block(0); }

  std::string text() const {
    return fmt::format(
        ".reg .b16 %x<{0}>; .reg .b32 %y<{0}>; .reg .b64 %z<{0}>; .reg .pred %q<{0}>;\n"
        "mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
        "mad.lo.u32 %r0, %r2, %r3, %r0; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %in, %d0;\n"
        "add.s64 %d2, %out, %d0; ld.global.u32 %r1, [%d1];\n{1}st.global.u32 [%d2], %r1;",
        names_ + 1, body_);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  template <std::size_t N>
  const char* one_of(const std::array<const char*, N>& words) {
    return words[below(N)];
  }

  template <typename... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    body_ += fmt::format(format, std::forward<Parts>(parts)...) + "\n";
  }

  void block(int depth) {
    for (std::uint64_t i = 0, count = 2 + below(3); i < count; ++i) {
      if (below(3) == 0) add("bar.warp.sync 0xffffffff;");
      around(depth);
    }
  }

  void inner(int depth) {
    const std::uint64_t choice = depth < 4 ? below(4) : 3;
    if (choice == 0) return choose(depth);
    if (choice == 1) return repeat(depth);
    if (choice == 2) add("bar.warp.sync 0xffffffff;");
  }

  void choose(int depth) {
    const int n = ++names_;
    add("bfe.u32 %r2, %r1, {}, 1; setp.eq.u32 %q{}, %r2, 0;", below(32), n);
    add("@%q{0} bra ELSE{0};", n);
    block(depth + 1);
    add("bra END{0};\nELSE{0}:", n);
    block(depth + 1);
    add("END{}:", n);
  }

  void repeat(int depth) {
    const int n = ++names_;
    add("and.b32 %y{}, %r1, 3;\nAGAIN{}:", n, n);
    block(depth + 2);
    add("setp.ne.u32 %q{0}, %y{0}, 0; sub.u32 %y{0}, %y{0}, 1; @%q{0} bra AGAIN{0};", n);
  }

  // A temporary is made from the state, something else happens, and the state takes it in.
  void around(int depth) {
    const int n = names_ + 1;
    names_ += 2;
    const auto constant = below(65536);
    switch (below(5)) {
      case 0:
        add("cvt.u16.u32 %x{0}, %r1; {1} %x{0}, %x{0}, {2};", n,
            one_of(std::array{"add.u16", "sub.u16", "mul.lo.u16", "xor.b16", "max.s16", "min.u16"}),
            constant);
        inner(depth);
        add("cvt.u32.u16 %r2, %x{};", n);
        break;
      case 1:
        add("mov.b32 {{%x{}, %x{}}}, %r1;", n, n + 1);
        inner(depth);
        add("mad.lo.u16 %x{0}, %x{0}, %x{1}, %x{1}; cvt.u32.u16 %r2, %x{0};", n, n + 1);
        break;
      case 2:
        add("{1} %y{0}, %r1, {2};", n,
            one_of(std::array{"add.u32", "mul.lo.u32", "xor.b32", "max.s32", "min.u32"}),
            constant << 15);
        inner(depth);
        add("mov.u32 %r2, %y{};", n);
        break;
      case 3:
        add("mul.wide.u32 %z{0}, %r1, {1};", n, 2 * constant + 1);
        inner(depth);
        add("shr.u64 %z{0}, %z{0}, {1}; cvt.u32.u64 %r2, %z{0};", n, below(32));
        break;
      default:
        add("setp.{1}.u32 %q{0}, %r1, {2};", n, one_of(std::array{"lt", "ge"}), constant << 16);
        inner(depth);
        add("selp.u32 %r2, {1}, {2}, %q{0};", n, constant, below(65536));
        break;
    }
    add("xor.b32 %r1, %r1, %r2; mad.lo.u32 %r1, %r1, 1664525, {};", below(65536));
  }

  Random random_;
  std::string body_;
  int names_ = 0;
};

TEST(RandomDivergence, LanesDoNotDisturbEachOther) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    std::vector<u32> in(32);
    for (u32& value : in) value = static_cast<u32>(random.next());
    const std::string text = kernel_text(DivergentProgram(seed).text(), 90);
    KernelOptions together, alone;
    together.block = {32, 1, 1};
    alone.block = {1, 1, 1};
    alone.grid = {32, 1, 1};
    const KernelRun one = run_kernel(text, bytes_of(in), 128, together);
    const KernelRun many = run_kernel(text, bytes_of(in), 128, alone);
    ASSERT_TRUE(one.outcome.findings.empty()) << text << findings_text(one.outcome);
    ASSERT_EQ(one.values<u32>(), many.values<u32>()) << "seed " << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace plumbline::emulator
