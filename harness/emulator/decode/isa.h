// SPDX-License-Identifier: MIT
// Handlers are compiled three times (baseline, AVX2, AVX-512) and chosen once, when a kernel is
// decoded. handlers_of<Body> names the three; Body is an always-inlined function, so each copy is
// compiled for its instruction set.
#pragma once

#include <cstdint>

// GCC vectorises the 32-lane loops only at -O3, and only when comparisons may be speculated. It
// does not inline what was compiled without these options (std::bit_cast stays a call, and its loop
// scalar): handlers use what is always_inline, and builtins.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

namespace plumbline::emulator {

class Warp;
struct Inst;

// Runs one instruction for the lanes in `mask` (never empty).
using Handler = void (*)(Warp& warp, const Inst& inst, std::uint32_t mask);

struct HandlerSet {
  Handler base = nullptr;
  Handler avx2 = nullptr;
  Handler avx512 = nullptr;

  explicit operator bool() const { return base != nullptr; }
};

// The best of the three on this machine.
Handler pick(const HandlerSet& set);

// For tests: pick() goes on as if the machine had these (HWY_AVX2 and the like; 0: what it has).
void pretend_to_have(std::int64_t targets);

// Few machines of x86 still run this one: -O1 takes a third off the time that compiling all three
// takes.
template <auto Body>
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
[[gnu::optimize("O1", "no-trapping-math")]]
#endif
void on_base(Warp& warp, const Inst& inst, std::uint32_t mask) {
  Body(warp, inst, mask);
}

#if defined(__x86_64__)
template <auto Body>
[[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt")]] void on_avx2(Warp& warp, const Inst& inst,
                                                                    std::uint32_t mask) {
  Body(warp, inst, mask);
}

template <auto Body>
[[gnu::target(
    "avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width="
    "512")]] void
on_avx512(Warp& warp, const Inst& inst, std::uint32_t mask) {
  Body(warp, inst, mask);
}

template <auto Body>
constexpr HandlerSet handlers_of = {&on_base<Body>, &on_avx2<Body>, &on_avx512<Body>};
#else
template <auto Body>
constexpr HandlerSet handlers_of = {&on_base<Body>, &on_base<Body>, &on_base<Body>};
#endif

// For handlers that gain nothing from vector code.
template <auto Body>
constexpr HandlerSet plain = {Body, Body, Body};

}  // namespace plumbline::emulator
