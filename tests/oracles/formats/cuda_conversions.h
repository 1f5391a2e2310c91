// SPDX-License-Identifier: MIT
// The conversions of the CUDA headers, which were written by others and run on the host: for each,
// the format and the options that should give the same code for every float.
// PLUMBLINE_HAVE_CUDA_HEADERS says whether they were found.
#pragma once

#if __has_include(<cuda_fp8.h>) && __has_include(<cuda_fp4.h>)
#define PLUMBLINE_HAVE_CUDA_HEADERS 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#else
#define PLUMBLINE_HAVE_CUDA_HEADERS 0
#endif

#include <bit>
#include <cstdint>

#include "oracles/formats/encode.h"

namespace plumbline::test {

inline constexpr const char* kNoCudaHeaders =
    "cuda_fp8.h was not found; install a CUDA Toolkit or set CUDA_HOME, then configure again";

struct IndependentConversion {
  const char* name;
  FormatId id;
  Rounding rounding;
  Overflow overflow;
  std::uint64_t (*convert)(float);
};

// The same code, or NaN both: the sign and payload of a NaN are not part of the contract.
inline bool same_result(const Format& f, std::uint64_t ours, std::uint64_t theirs) {
  return ours == theirs ||
         (decode(f, ours).cls == ValueClass::nan && decode(f, theirs).cls == ValueClass::nan);
}

#if PLUMBLINE_HAVE_CUDA_HEADERS

inline std::uint64_t half_bits(__half value) { return static_cast<__half_raw>(value).x; }

inline std::uint64_t bfloat_bits(__nv_bfloat16 value) {
  return static_cast<__nv_bfloat16_raw>(value).x;
}

// clang-format off
inline constexpr IndependentConversion kIndependentConversions[] = {
    {"f16_rn", FormatId::f16, Rounding::nearest_even, Overflow::to_special,
     [](float x) { return half_bits(__float2half_rn(x)); }},
    {"f16_rz", FormatId::f16, Rounding::toward_zero, Overflow::to_special,
     [](float x) { return half_bits(__float2half_rz(x)); }},
    {"f16_rd", FormatId::f16, Rounding::down, Overflow::to_special,
     [](float x) { return half_bits(__float2half_rd(x)); }},
    {"f16_ru", FormatId::f16, Rounding::up, Overflow::to_special,
     [](float x) { return half_bits(__float2half_ru(x)); }},
    {"bf16_rn", FormatId::bf16, Rounding::nearest_even, Overflow::to_special,
     [](float x) { return bfloat_bits(__float2bfloat16_rn(x)); }},
    {"bf16_rz", FormatId::bf16, Rounding::toward_zero, Overflow::to_special,
     [](float x) { return bfloat_bits(__float2bfloat16_rz(x)); }},
    {"bf16_rd", FormatId::bf16, Rounding::down, Overflow::to_special,
     [](float x) { return bfloat_bits(__float2bfloat16_rd(x)); }},
    {"bf16_ru", FormatId::bf16, Rounding::up, Overflow::to_special,
     [](float x) { return bfloat_bits(__float2bfloat16_ru(x)); }},
    {"e4m3_satfinite", FormatId::e4m3, Rounding::nearest_even, Overflow::saturate,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)}; }},
    {"e4m3_nosat", FormatId::e4m3, Rounding::nearest_even, Overflow::to_special,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3)}; }},
    {"e5m2_satfinite", FormatId::e5m2, Rounding::nearest_even, Overflow::saturate,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2)}; }},
    {"e5m2_nosat", FormatId::e5m2, Rounding::nearest_even, Overflow::to_special,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2)}; }},
    {"e2m1_rn", FormatId::e2m1, Rounding::nearest_even, Overflow::saturate,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)}; }},
    {"ue8m0_rz", FormatId::ue8m0, Rounding::toward_zero, Overflow::saturate,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero)}; }},
    {"ue8m0_rp_satfinite", FormatId::ue8m0, Rounding::up, Overflow::saturate,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)}; }},
    {"ue8m0_rp_nosat", FormatId::ue8m0, Rounding::up, Overflow::to_special,
     [](float x) { return std::uint64_t{__nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundPosInf)}; }},
};
// clang-format on

#endif  // PLUMBLINE_HAVE_CUDA_HEADERS

}  // namespace plumbline::test
