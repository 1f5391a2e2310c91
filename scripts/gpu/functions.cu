// SPDX-License-Identifier: MIT
// What a GPU's approximate instructions give, over every f32 input (f16 and bf16: every input; div:
// 2^32 random pairs), against double precision, whose own error of 2^-52 is neglected. Prints one
// line per function; writes the distances from the correctly rounded result over one period of each
// function into FOLDER/<function>.i8, a signed byte per mantissa in increasing order.
// Usage: functions FOLDER
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "check.cuh"

namespace {

using U64 = unsigned long long;

// Device memory, zero at first, and a copy of it on the host.
template <typename T>
class Array {
 public:
  explicit Array(std::size_t count) : host_(count) {
    CHECK(cudaMalloc(&device_, count * sizeof(T)));
    CHECK(cudaMemset(device_, 0, count * sizeof(T)));
  }

  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  ~Array() { CHECK(cudaFree(device_)); }

  T* device() { return device_; }

  const std::vector<T>& host() {
    CHECK(cudaMemcpy(host_.data(), device_, host_.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return host_;
  }

 private:
  std::vector<T> host_;
  T* device_ = nullptr;
};

// Maxima hold the error as f32 in their upper half and the input in their lower half.
struct Counts {
  U64 ulp, relative, absolute, absolute_near;  // near: inside (0.5, 2) for lg2, [-2pi, 2pi] else
  U64 inputs, inexact, wrong_sign, wrong_binade, not_odd, not_scaled, decreasing, inexact_exact;
  U64 low_bits;                                    // of normal results, all of them or'ed
  U64 relative_far;                                // where not near
  U64 binade_at, not_scaled_at, inexact_exact_at;  // an input of each, and 2^32; 0: there is none
};

#define FUNCTION(name, instruction, exact_value, increasing_sign)    \
  struct name {                                                      \
    static constexpr const char* kName = instruction;                \
    static constexpr int kIncreasing = increasing_sign;              \
    static __device__ float run(float x) {                           \
      float y;                                                       \
      asm(instruction " %0, %1;" : "=f"(y) : "f"(x));                \
      return y;                                                      \
    }                                                                \
    static __device__ double exact(double x) { return exact_value; } \
  }

FUNCTION(Ex2, "ex2.approx.f32", exp2(x), 1);
FUNCTION(Ex2Ftz, "ex2.approx.ftz.f32", exp2(x), 1);
FUNCTION(Lg2, "lg2.approx.f32", log2(x), 1);
FUNCTION(Lg2Ftz, "lg2.approx.ftz.f32", log2(x), 1);
FUNCTION(Rcp, "rcp.approx.f32", 1 / x, -1);
FUNCTION(RcpFtz, "rcp.approx.ftz.f32", 1 / x, -1);
FUNCTION(Rsqrt, "rsqrt.approx.f32", 1 / sqrt(x), -1);
FUNCTION(RsqrtFtz, "rsqrt.approx.ftz.f32", 1 / sqrt(x), -1);
FUNCTION(Sqrt, "sqrt.approx.f32", sqrt(x), 1);
FUNCTION(SqrtFtz, "sqrt.approx.ftz.f32", sqrt(x), 1);
FUNCTION(Sin, "sin.approx.f32", sin(x), 0);
FUNCTION(Cos, "cos.approx.f32", cos(x), 0);
FUNCTION(Tanh, "tanh.approx.f32", tanh(x), 1);

__device__ U64 packed(double error, std::uint32_t input) {
  return static_cast<U64>(__float_as_uint(static_cast<float>(error))) << 32 | input;
}

__device__ bool normal(float x) { return fabsf(x) >= 0x1p-126f && fabsf(x) <= 0x1.fffffep127f; }

// An f32 with the exponent of x taken out, and that exponent, made even where `even`.
__device__ float mantissa(float x, bool even, int& exponent) {
  exponent = ilogbf(x);
  if (even && (exponent & 1) != 0) --exponent;
  return scalbnf(x, -exponent);
}

// By which power of two a result follows from f of x in [1, 2) (in [0, 1) for ex2, in [1, 4) for
// roots).
enum class Scaling { none, power, inverse, inverse_root, root };

template <typename F>
constexpr Scaling kScaling = Scaling::none;
template <>
constexpr Scaling kScaling<Ex2> = Scaling::power;
template <>
constexpr Scaling kScaling<Ex2Ftz> = Scaling::power;
template <>
constexpr Scaling kScaling<Rcp> = Scaling::inverse;
template <>
constexpr Scaling kScaling<RcpFtz> = Scaling::inverse;
template <>
constexpr Scaling kScaling<Rsqrt> = Scaling::inverse_root;
template <>
constexpr Scaling kScaling<RsqrtFtz> = Scaling::inverse_root;
template <>
constexpr Scaling kScaling<Sqrt> = Scaling::root;
template <>
constexpr Scaling kScaling<SqrtFtz> = Scaling::root;

// Whether it does; true where operands or results are subnormal.
template <typename F>
__device__ bool scaled(float x, float y) {
  constexpr Scaling scaling = kScaling<F>;
  if constexpr (scaling == Scaling::power) {
    const float whole = floorf(x), rest = x - whole;
    if (fabsf(x) > 125 || static_cast<double>(whole) + rest != x) return true;
    return y == scalbnf(F::run(rest), static_cast<int>(whole));
  } else if constexpr (scaling != Scaling::none) {
    if (!normal(x) || !normal(y)) return true;
    int e = 0;
    const float m = mantissa(x, scaling != Scaling::inverse, e);
    const int by = scaling == Scaling::inverse ? -e : scaling == Scaling::root ? e / 2 : -e / 2;
    return y == scalbnf(F::run(m), by);
  }
  return true;
}

// One block column per sign and exponent, 2^23 inputs each.
template <typename F>
__global__ void measure(Counts* all) {
  Counts c{};
  const std::uint32_t high = blockIdx.y << 23;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < 1u << 23;
       i += gridDim.x * blockDim.x) {
    const float x = __uint_as_float(high | i), y = F::run(x);
    const double exact = F::exact(x);
    if (isnan(x) || isnan(exact) || isinf(exact) || isnan(y)) continue;
    const float rounded = static_cast<float>(exact);
    ++c.inputs;
    c.inexact += y != rounded;
    if (rounded == exact && y != rounded && fabs(exact) >= 0x1p-126) {
      ++c.inexact_exact;
      c.inexact_exact_at = max(c.inexact_exact_at, 1ull << 32 | high | i);
    }
    c.wrong_sign += y != 0 && exact != 0 && signbit(y) != signbit(exact);
    if (F::kIncreasing != 0 && i + 1 < 1u << 23) {
      const float next = F::run(__uint_as_float(high | (i + 1)));
      const bool grows = (F::kIncreasing > 0) == (x > 0);
      c.decreasing += grows ? next < y : next > y;
    }
    c.not_odd += F::run(-x) != -y && F::exact(-x) == -exact;
    if (!scaled<F>(x, y)) {
      ++c.not_scaled;
      c.not_scaled_at = max(c.not_scaled_at, 1ull << 32 | high | i);
    }
    if (isinf(y) || isinf(rounded)) continue;  // overflow is judged by `inexact` alone
    const double error = fabs(y - exact);
    if (fabs(exact) >= 0x1p-126) {
      const int e = ilogb(exact);
      c.ulp = max(c.ulp, packed(error * exp2(23.0 - e), high | i));
      c.relative = max(c.relative, packed(error / fabs(exact), high | i));
      const double magnitude = fabs(static_cast<double>(y));
      if (magnitude < exp2(1.0 * e) || magnitude > exp2(1.0 + e)) {
        ++c.wrong_binade;
        c.binade_at = max(c.binade_at, 1ull << 32 | high | i);
      }
      if (normal(y)) c.low_bits |= __float_as_uint(y) & 0x7fffff;
    }
    c.absolute = max(c.absolute, packed(error, high | i));
    const bool near = F::kIncreasing == 0 ? fabsf(x) <= 6.2831855f : x > 0.5f && x < 2;
    if (near) {
      c.absolute_near = max(c.absolute_near, packed(error, high | i));
    } else if (fabs(exact) >= 0x1p-126) {
      c.relative_far = max(c.relative_far, packed(error / fabs(exact), high | i));
    }
  }
  Counts& total = all[blockIdx.y];
  atomicMax(&total.ulp, c.ulp);
  atomicMax(&total.relative, c.relative);
  atomicMax(&total.absolute, c.absolute);
  atomicMax(&total.absolute_near, c.absolute_near);
  atomicAdd(&total.inputs, c.inputs);
  atomicAdd(&total.inexact, c.inexact);
  atomicAdd(&total.wrong_sign, c.wrong_sign);
  atomicAdd(&total.wrong_binade, c.wrong_binade);
  atomicAdd(&total.not_odd, c.not_odd);
  atomicAdd(&total.not_scaled, c.not_scaled);
  atomicAdd(&total.decreasing, c.decreasing);
  atomicAdd(&total.inexact_exact, c.inexact_exact);
  atomicOr(&total.low_bits, c.low_bits);
  atomicMax(&total.relative_far, c.relative_far);
  atomicMax(&total.binade_at, c.binade_at);
  atomicMax(&total.not_scaled_at, c.not_scaled_at);
  atomicMax(&total.inexact_exact_at, c.inexact_exact_at);
}

template <typename F>
__global__ void distances(std::uint32_t first, std::uint32_t count, signed char* table) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    const float x = __uint_as_float(first + i);
    const int distance = static_cast<int>(__float_as_uint(F::run(x))) -
                         static_cast<int>(__float_as_uint(static_cast<float>(F::exact(x))));
    table[i] = static_cast<signed char>(max(-127, min(127, distance)));
  }
}

template <typename F>
__global__ void at(const float* x, float* y, int count) {
  if (static_cast<int>(threadIdx.x) < count) y[threadIdx.x] = F::run(x[threadIdx.x]);
}

float error_of(U64 value) {
  const auto bits = static_cast<std::uint32_t>(value >> 32);
  float error = 0;
  std::memcpy(&error, &bits, sizeof error);
  return error;
}

void merge(Counts& sum, const Counts& c) {
  sum.ulp = std::max(sum.ulp, c.ulp);
  sum.relative = std::max(sum.relative, c.relative);
  sum.absolute = std::max(sum.absolute, c.absolute);
  sum.absolute_near = std::max(sum.absolute_near, c.absolute_near);
  sum.inputs += c.inputs;
  sum.inexact += c.inexact;
  sum.wrong_sign += c.wrong_sign;
  sum.wrong_binade += c.wrong_binade;
  sum.not_odd += c.not_odd;
  sum.not_scaled += c.not_scaled;
  sum.decreasing += c.decreasing;
  sum.inexact_exact += c.inexact_exact;
  sum.low_bits |= c.low_bits;
  sum.relative_far = std::max(sum.relative_far, c.relative_far);
  sum.binade_at = std::max(sum.binade_at, c.binade_at);
  sum.not_scaled_at = std::max(sum.not_scaled_at, c.not_scaled_at);
  sum.inexact_exact_at = std::max(sum.inexact_exact_at, c.inexact_exact_at);
}

void print(const char* what, U64 value) {
  if (value == 0) return;
  std::printf(" %s=%.6g@0x%08x", what, error_of(value), static_cast<std::uint32_t>(value));
}

void print(const char* name, const Counts& c) {
  std::printf("%s inputs=%llu", name, c.inputs);
  print("ulp", c.ulp);
  print("relative", c.relative);
  print("absolute", c.absolute);
  print("absolute_near", c.absolute_near);
  print("relative_far", c.relative_far);
  std::printf(
      " not_rounded_correctly=%llu inexact_where_exact_result_is_f32=%llu wrong_sign=%llu "
      "wrong_binade=%llu",
      c.inexact, c.inexact_exact, c.wrong_sign, c.wrong_binade);
  for (const auto& [what, at] :
       {std::pair{"wrong_binade", c.binade_at}, std::pair{"not_scaled", c.not_scaled_at},
        std::pair{"inexact", c.inexact_exact_at}})
    if (at != 0) std::printf(" %s@0x%08x", what, static_cast<std::uint32_t>(at));
}

constexpr float kSpecial[] = {
    0.0f,      -0.0f,           INFINITY,         -INFINITY,  NAN,
    1.0f,      -1.0f,           0x1p-149f,        -0x1p-149f, 0x1.fffffcp-127f,
    0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 128.0f,     -126.0f,
    -127.5f,   -149.0f,         -150.0f};

template <typename F>
void whole_range() {
  constexpr int kExponents = 512, kSpecials = sizeof kSpecial / sizeof *kSpecial;
  Array<Counts> counts(kExponents);
  Array<float> special(2 * kSpecials);
  CHECK(cudaMemcpy(special.device(), kSpecial, sizeof kSpecial, cudaMemcpyHostToDevice));
  measure<F><<<dim3(16, kExponents), 256>>>(counts.device());
  at<F><<<1, 32>>>(special.device(), special.device() + kSpecials, kSpecials);
  Counts sum{};
  for (const Counts& c : counts.host()) merge(sum, c);
  print(F::kName, sum);
  std::printf(" not_odd=%llu mantissa_bits_used=0x%06llx", sum.not_odd, sum.low_bits);
  if (F::kIncreasing != 0) std::printf(" decreases=%llu", sum.decreasing);
  if (kScaling<F> != Scaling::none) std::printf(" not_scaled=%llu", sum.not_scaled);
  std::printf(" at");
  for (int i = 0; i < kSpecials; ++i) {
    std::uint32_t x = 0, y = 0;
    std::memcpy(&x, &special.host()[i], sizeof x);
    std::memcpy(&y, &special.host()[kSpecials + i], sizeof y);
    std::printf(" %08x:%08x", x, y);
  }
  std::printf("\n");
}

template <typename T>
void write(const std::string& path, const std::vector<T>& values) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(values.data(), sizeof(T), values.size(), file) != values.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "%s cannot be written\n", path.c_str());
    std::exit(1);
  }
}

template <typename F>
void table(const std::string& folder, const char* name, float from, std::uint32_t count) {
  std::uint32_t first = 0;
  std::memcpy(&first, &from, sizeof first);
  Array<signed char> values(count);
  distances<F><<<1024, 256>>>(first, count, values.device());
  write(folder + "/" + name + ".i8", values.host());
}

// Quotients of random pairs. kFull: div.full, else div.approx.
template <bool kFull>
__global__ void quotients(std::uint64_t seed, Counts* all) {
  Counts c{};
  std::uint64_t state = seed + (blockIdx.x * blockDim.x + threadIdx.x) * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 1 << 14; ++i) {
    state += 0x9e3779b97f4a7c15u * (1u << 20);
    std::uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    const auto bits = static_cast<std::uint32_t>(z >> 32);
    const float a = __uint_as_float(bits), b = __uint_as_float(static_cast<std::uint32_t>(z));
    if (!normal(a) || !normal(b) || fabsf(b) > 0x1p126f) continue;
    float y;
    if constexpr (kFull) {
      asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    } else {
      asm("div.approx.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    }
    const double exact = static_cast<double>(a) / b;
    if (fabs(exact) < 0x1p-126 || fabs(exact) > 0x1.fffffep127) continue;
    ++c.inputs;
    const float rounded = static_cast<float>(exact);
    c.inexact += y != rounded;
    c.inexact_exact += rounded == exact && y != rounded;
    c.wrong_sign += signbit(y) != signbit(exact);
    const double error = fabs(y - exact);
    const int e = ilogb(exact);
    c.ulp = max(c.ulp, packed(error * exp2(23.0 - e), bits));
    c.relative = max(c.relative, packed(error / fabs(exact), bits));
    const double magnitude = fabs(static_cast<double>(y));
    c.wrong_binade += !(magnitude >= exp2(1.0 * e) && magnitude <= exp2(1.0 + e));
  }
  atomicMax(&all->ulp, c.ulp);
  atomicMax(&all->relative, c.relative);
  atomicAdd(&all->inputs, c.inputs);
  atomicAdd(&all->inexact, c.inexact);
  atomicAdd(&all->inexact_exact, c.inexact_exact);
  atomicAdd(&all->wrong_sign, c.wrong_sign);
  atomicAdd(&all->wrong_binade, c.wrong_binade);
}

template <bool kFull>
void pairs() {
  Array<Counts> counts(1);
  quotients<kFull><<<1024, 256>>>(1, counts.device());
  print(kFull ? "div.full.f32" : "div.approx.f32", counts.host()[0]);
  std::printf("\n");
}

enum class Half { ex2_f16, ex2_bf16, tanh_f16, tanh_bf16 };

template <Half kFunction>
__global__ void halves(std::uint16_t* table, Counts* all) {
  constexpr bool bf16 = kFunction == Half::ex2_bf16 || kFunction == Half::tanh_bf16;
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  auto x = static_cast<unsigned short>(i);
  unsigned short y = 0;
  if constexpr (kFunction == Half::ex2_f16) asm("ex2.approx.f16 %0, %1;" : "=h"(y) : "h"(x));
  if constexpr (kFunction == Half::ex2_bf16) asm("ex2.approx.ftz.bf16 %0, %1;" : "=h"(y) : "h"(x));
  if constexpr (kFunction == Half::tanh_f16) asm("tanh.approx.f16 %0, %1;" : "=h"(y) : "h"(x));
  if constexpr (kFunction == Half::tanh_bf16) asm("tanh.approx.bf16 %0, %1;" : "=h"(y) : "h"(x));
  table[i] = y;
  const auto value = [](unsigned short bits) -> double {
    if constexpr (bf16) return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
    return __half2float(__ushort_as_half(bits));
  };
  const double in = value(x), out = value(y);
  const bool exponential = kFunction == Half::ex2_f16 || kFunction == Half::ex2_bf16;
  const double exact = exponential ? exp2(in) : tanh(in);
  if (isnan(in) || isinf(exact) || isnan(out) || isinf(out)) return;
  const double least = bf16 ? 0x1p-126 : 0x1p-14;
  const double error = fabs(out - exact);
  atomicAdd(&all->inputs, 1ull);
  atomicMax(&all->absolute, packed(error, i));
  if (fabs(exact) >= least) atomicMax(&all->relative, packed(error / fabs(exact), i));
  if (fabs(exact) >= least)
    atomicMax(&all->ulp, packed(error * exp2((bf16 ? 7.0 : 10.0) - ilogb(exact)), i));
}

template <Half kFunction>
void all_halves(const std::string& folder, const char* instruction, const char* name) {
  Array<Counts> counts(1);
  Array<std::uint16_t> table(65536);
  halves<kFunction><<<256, 256>>>(table.device(), counts.device());
  const Counts sum = counts.host()[0];
  std::printf("%s inputs=%llu", instruction, sum.inputs);
  print("ulp", sum.ulp);
  print("relative", sum.relative);
  print("absolute", sum.absolute);
  std::printf("\n");
  write(folder + "/" + name + ".u16", table.host());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: functions FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  whole_range<Ex2>();
  whole_range<Ex2Ftz>();
  whole_range<Lg2>();
  whole_range<Lg2Ftz>();
  whole_range<Rcp>();
  whole_range<RcpFtz>();
  whole_range<Rsqrt>();
  whole_range<RsqrtFtz>();
  whole_range<Sqrt>();
  whole_range<SqrtFtz>();
  whole_range<Sin>();
  whole_range<Cos>();
  whole_range<Tanh>();
  pairs<false>();
  pairs<true>();
  all_halves<Half::ex2_f16>(folder, "ex2.approx.f16", "ex2_f16");
  all_halves<Half::ex2_bf16>(folder, "ex2.approx.ftz.bf16", "ex2_bf16");
  all_halves<Half::tanh_f16>(folder, "tanh.approx.f16", "tanh_f16");
  all_halves<Half::tanh_bf16>(folder, "tanh.approx.bf16", "tanh_bf16");
  constexpr std::uint32_t kBinade = 1u << 23;
  table<Ex2>(folder, "ex2", 1.0f, kBinade);
  table<Lg2>(folder, "lg2", 0.5f, 2 * kBinade);
  table<Rcp>(folder, "rcp", 1.0f, kBinade);
  table<Rsqrt>(folder, "rsqrt", 1.0f, 2 * kBinade);
  table<Sqrt>(folder, "sqrt", 1.0f, 2 * kBinade);
  table<Tanh>(folder, "tanh", 0.25f, 4 * kBinade);
  return 0;
}
