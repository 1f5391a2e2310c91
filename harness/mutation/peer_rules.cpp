// SPDX-License-Identifier: MIT
#include "harness/mutation/peer_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/mutation/unfused_attention.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// --- which outputs a rule is for ---

bool is_gemm(const PeerInput& in) { return in.operation == "gemm"; }

bool is_attention(const PeerInput& in) { return in.operation.starts_with("attention"); }

bool floating(const PeerInput& in) {
  return in.output == FormatId::bf16 || in.output == FormatId::f16 || in.output == FormatId::f32;
}

bool floating_but_attention(const PeerInput& in) { return floating(in) && !is_attention(in); }

// Integers, and bytes, are to be equal in all projects.
bool floating_gemm(const PeerInput& in) { return is_gemm(in) && floating(in); }

bool fp8_gemm(const PeerInput& in) { return floating_gemm(in) && is_fp8(in.operand); }

bool bf16_gemm(const PeerInput& in) { return floating_gemm(in) && in.operand == FormatId::bf16; }

bool bf16_attention(const PeerInput& in) {
  return is_attention(in) && in.operand == FormatId::bf16;
}

bool fp8_attention(const PeerInput& in) { return is_attention(in) && is_fp8(in.operand); }

bool is_gradient(const PeerInput& in) {
  return in.name == "dq" || in.name == "dk" || in.name == "dv";
}

// --- the shapes of rules ---

// Every element within a limit of its own. NaN is never within.
template <typename Limit>
bool all_within(const PeerInput& in, const Limit& limit) {
  for (std::size_t i = 0; i < in.got.size(); ++i) {
    const double error = std::abs(in.got[i] - in.expected[i]);
    if (!(error <= limit(in.got[i], in.expected[i]))) return false;
  }
  return true;
}

// e <= absolute + relative * |r|
bool all_close(const PeerInput& in, double absolute, double relative) {
  return all_within(in, [&](double, double r) { return absolute + relative * std::abs(r); });
}

struct Sums {
  double squares_got = 0, squares_expected = 0, product = 0, squares_error = 0;
  double error = 0, size = 0;  // sums of |e| and |r|
  double largest = 0, most_error = 0, lowest = 0, highest = 0;
  double count = 0;
};

Sums sums(const PeerInput& in) {
  Sums s;
  s.count = static_cast<double>(in.got.size());
  for (std::size_t i = 0; i < in.got.size(); ++i) {
    const double o = in.got[i], r = in.expected[i], e = std::abs(o - r);
    s.squares_got += o * o;
    s.squares_expected += r * r;
    s.product += o * r;
    s.squares_error += e * e;
    s.error += e;
    s.size += std::abs(r);
    s.largest = std::max(s.largest, std::abs(r));
    s.most_error = std::isnan(e) ? e : std::max(s.most_error, e);
    s.lowest = std::min({s.lowest, o, r});
    s.highest = std::max({s.highest, o, r});
  }
  return s;
}

// --- the rules ---

bool torch_close(const PeerInput& in) {
  const double relative = in.output == FormatId::bf16  ? 1.6e-2
                          : in.output == FormatId::f16 ? 1e-3
                                                       : 1.3e-6;
  return all_close(in, 1e-5, relative);
}

bool kernel_bench(const PeerInput& in) {
  const double tolerance = in.output == FormatId::f32 ? 1e-4 : 1e-2;
  return all_close(in, tolerance, tolerance);
}

bool composable_kernel(const PeerInput& in) {
  return in.output == FormatId::f32 ? all_close(in, 3e-6, 1e-5) : all_close(in, 1e-3, 1e-3);
}

bool composable_kernel_attention(const PeerInput& in) {
  const bool wide =
      is_gradient(in) && in.tensors && in.tensors->find("q")->layout.shape.back() > 128;
  const double tolerance = wide ? 3.2e-2 : 1e-2;
  return all_close(in, tolerance, tolerance);
}

// e < eps * (|o| + |r|), by which a pair near zero is always unequal: CUTLASS has a floor for
// those.
bool cutlass(const PeerInput& in, double epsilon, double floor) {
  return all_within(in, [&](double o, double r) {
    if (o == r) return 0.0;
    return epsilon * std::max(std::abs(o) + std::abs(r), floor);
  });
}

bool cutlass_unit(const PeerInput& in) { return cutlass(in, 0.1, 0x1p-126); }

bool cutlass_profiler(const PeerInput& in) { return cutlass(in, 0.05, 1.0 / 256); }

bool deep_gemm(const PeerInput& in) {
  const Sums s = sums(in);
  const double sum = s.squares_got + s.squares_expected;
  if (sum == 0) return true;
  return 1 - 2 * s.product / sum < (is_fp8(in.operand) ? 1e-3 : 1e-5);
}

bool flash_infer(const PeerInput& in) {
  const bool fp8 = is_fp8(in.operand);
  const double largest = sums(in).largest;
  return all_within(in, [&](double, double r) {
    return (fp8 ? 0.04 : 0.015) * largest + 1e-3 + (fp8 ? 0.05 : 0.01) * std::abs(r);
  });
}

bool vllm_fp8(const PeerInput& in) { return all_close(in, 0.15, 0.5); }

bool transformer_engine_fp8(const PeerInput& in) {
  return in.operand == FormatId::e5m2 ? all_close(in, 0.125, 0.25) : all_close(in, 0.0675, 0.125);
}

bool cudnn_matmul(const PeerInput& in) { return all_close(in, 2e-2, 1e-2); }

// Of its GEMMs with bf16 operands.
bool xnnpack(const PeerInput& in) {
  return all_within(in, [](double, double r) { return std::max(1e-4, 3e-2 * std::abs(r)); });
}

bool rocblas_bf16(const PeerInput& in) { return all_close(in, 0.1 * static_cast<double>(in.k), 0); }

bool triton_kernels(const PeerInput& in) {
  const Sums s = sums(in);
  const double rms = std::sqrt(s.squares_expected / std::max(s.count, 1.0));
  double most = 0, squares = 0;
  for (std::size_t i = 0; i < in.got.size(); ++i) {
    const double scale = std::max(rms, std::abs(in.expected[i]));
    const double error = std::abs(in.got[i] - in.expected[i]);
    if (error == 0) continue;
    const double relative = error / scale;
    if (!std::isfinite(relative)) return false;
    most = std::max(most, relative);
    squares += relative * relative;
  }
  return most <= 2e-2 && std::sqrt(squares / std::max(s.count, 1.0)) <= 4e-3;
}

bool ggml(const PeerInput& in) {
  const Sums s = sums(in);
  return s.squares_error == 0 || s.squares_error / s.squares_expected <= 5e-4;
}

bool marlin(const PeerInput& in) {
  const Sums s = sums(in);
  return s.error == 0 || s.error / s.size < 1e-3;
}

bool cudnn_attention(const PeerInput& in) {
  return all_close(in, in.name == "dk" || in.name == "dv" ? 7e-2 : 2e-2, 2e-2);
}

bool transformer_engine_attention(const PeerInput& in) { return all_close(in, 1.5e-2, 1.5e-2); }

// Its close comparison is only logged when it fails; this is what decides.
bool transformer_engine_fp8_attention(const PeerInput& in) {
  const Sums s = sums(in);
  if (s.squares_error == 0) return true;
  return std::sqrt(s.squares_error / s.count) < 0.11 * (s.highest - s.lowest);
}

bool cutlass_fmha(const PeerInput& in) {
  const Sums s = sums(in);
  return s.count == 0 || (s.most_error < 1e-2 && s.error / s.count < 1e-3);
}

// --- rules that compare errors: the kernel's against those of a framework without it ---

bool has_unfused(const PeerInput& in) { return !in.unfused.empty(); }

// FlashAttention's outputs have the format of its inputs.
bool has_unfused_of_one_format(const PeerInput& in) {
  return has_unfused(in) && in.output == in.operand;
}

double most_error(std::span<const double> got, std::span<const double> expected) {
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    if (std::isnan(error)) return error;
    most = std::max(most, error);
  }
  return most;
}

bool multiple_of_unfused(const PeerInput& in, double factor, double more) {
  return most_error(in.got, in.expected) <= factor * most_error(in.unfused, in.expected) + more;
}

// Its reference is computed in f32 and stored in the format of the output.
std::vector<double> stored(const PeerInput& in) {
  const Format& f = format(in.output);
  std::vector<double> values;
  values.reserve(in.expected.size());
  for (const double exact : in.expected) values.push_back(to_double(f, encode(f, exact)));
  return values;
}

bool multiple_of_unfused_beside_stored(PeerInput in, double factor, double more) {
  const std::vector<double> expected = stored(in);
  in.expected = expected;
  return multiple_of_unfused(in, factor, more);
}

bool flash_attention_2(const PeerInput& in) {
  return multiple_of_unfused_beside_stored(in, in.name == "o" ? 2 : 3, 0);
}

// 2 max |((r + 0.3) - 0.3) - r|, in the format of the output.
double noise_of_addition(const PeerInput& in) {
  const Format& f = format(in.output);
  const auto rounded = [&](double x) { return to_double(f, encode(f, x)); };
  double most = 0;
  for (const double r : stored(in)) {
    most = std::max(most, std::abs(rounded(rounded(rounded(r + 0.3) - 0.3) - r)));
  }
  return 2 * most;
}

bool flash_attention_3(const PeerInput& in) {
  const bool capped = in.problem && in.problem->real("softcap") != 0;
  const double more = noise_of_addition(in) + (capped && in.name != "o" ? 3e-4 : 0);
  return multiple_of_unfused_beside_stored(in, capped ? 3 : 2, more);
}

// With its factors for memory-efficient attention with a mask.
bool torch_attention(const PeerInput& in) {
  const double factor = in.name == "dq" ? 160 : in.name == "dk" ? 25 : in.name == "dv" ? 8 : 4;
  return most_error(in.got, in.expected) <=
         std::max(1e-5, factor * most_error(in.unfused, in.expected));
}

// --- rules that compute their tolerance from norms of the inputs ---

bool bf16_gemm_with_inputs(const PeerInput& in) { return bf16_gemm(in) && in.tensors != nullptr; }

bool hip_dnn_attention_forward(const PeerInput& in) {
  return bf16_attention(in) && in.name == "o" && in.tensors != nullptr;
}

// Growth of the rounding errors of n additions in f32: the worst case, or its statistical form
// where that is large.
double hip_dnn_gamma(double n) {
  const double u = 0x1p-24, worst = 2 * n * u / (1 - 2 * n * u);
  return worst <= 0.01 ? worst : 6 * std::sqrt(2 * n) * u;
}

double epsilon(FormatId f) { return std::ldexp(1.0, -format(f).mantissa_bits); }

double element(const Tensor& tensor, std::int64_t i) {
  return to_double(format(tensor.layout.format), tensor.bits(i));
}

double largest_element(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
    largest = std::max(largest, std::abs(element(tensor, i)));
  return largest;
}

// The largest sum of |x| over a row.
double row_norm(const Tensor& tensor) {
  const std::int64_t width = tensor.layout.shape.back();
  double largest = 0, sum = 0;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    sum = i % width == 0 ? 0 : sum;
    sum += std::abs(element(tensor, i));
    largest = std::max(largest, sum);
  }
  return largest;
}

bool hip_dnn_matmul(const PeerInput& in) {
  const double norms = row_norm(*in.tensors->find("a")) * row_norm(*in.tensors->find("b"));
  const double tolerance = (hip_dnn_gamma(static_cast<double>(in.k)) + epsilon(in.output)) * norms;
  return all_close(in, tolerance, tolerance);
}

bool hip_dnn_attention(const PeerInput& in) {
  const Tensor& q = *in.tensors->find("q");
  const Tensor& k = *in.tensors->find("k");
  const auto d = static_cast<double>(q.layout.shape[3]), s = static_cast<double>(k.layout.shape[2]);
  const double u = 0x1p-24, scale = std::abs(static_cast<double>(in.problem->real("scale")));
  const double scores =
      scale * d * largest_element(q) * largest_element(k) * (hip_dnn_gamma(d) + u);
  const double tolerance = largest_element(*in.tensors->find("v")) *
                           (scores + 2 * hip_dnn_gamma(s) + (s + 1) * u + epsilon(in.output));
  return all_close(in, tolerance, tolerance);
}

// clang-format off
constexpr std::array<PeerRule, 25> kRules = {{
    {"torch assert_close",        "e <= 1e-5 + c|r|, c = 1.6e-2 (bf16), 1e-3 (f16), 1.3e-6 (f32)", floating, torch_close},
    {"KernelBench",               "e <= c + c|r|, c = 1e-2 (bf16, f16), 1e-4 (f32)",               floating, kernel_bench},
    {"Composable Kernel",         "e <= 1e-3 + 1e-3|r|; f32: 3e-6 + 1e-5|r|",                      floating_but_attention, composable_kernel},
    {"ggml",                      "sum e^2 <= 5e-4 sum r^2",                                       floating, ggml},
    {"CUTLASS unit tests",        "e < 0.1 (|o| + |r|)",                                           floating_gemm, cutlass_unit},
    {"CUTLASS profiler",          "e < 0.05 max(|o| + |r|, 1/256)",                                floating_gemm, cutlass_profiler},
    {"DeepGEMM",                  "1 - 2<o,r>/(<o,o> + <r,r>) < 1e-3 (fp8), 1e-5 (bf16)",          floating_gemm, deep_gemm},
    {"FlashInfer GEMM fuzz",      "e <= f max|r| + 1e-3 + g|r|, (f,g) = (.015,.01), fp8 (.04,.05)", floating_gemm, flash_infer},
    {"cuDNN-frontend matmul",     "e <= 2e-2 + 1e-2|r|",                                           floating_gemm, cudnn_matmul},
    {"triton_kernels",            "max e/max(rms(r),|r|) <= 2e-2, its rms <= 4e-3",                floating_gemm, triton_kernels},
    {"Marlin",                    "mean e < 1e-3 mean|r|",                                         floating_gemm, marlin},
    {"rocBLAS gfx11 bf16",        "e <= 0.1 k",                                                    bf16_gemm, rocblas_bf16},
    {"XNNPACK",                   "e <= max(1e-4, 3e-2|r|)",                                       bf16_gemm, xnnpack},
    {"vLLM fp8",                  "e <= 0.15 + 0.5|r|",                                            fp8_gemm, vllm_fp8},
    {"TransformerEngine fp8",     "e <= .0675 + .125|r|; e5m2: .125 + .25|r|",                     fp8_gemm, transformer_engine_fp8},
    {"Composable Kernel attention", "e <= c + c|r|, c = 1e-2, gradients of d > 128: 3.2e-2",       bf16_attention, composable_kernel_attention},
    {"cuDNN-frontend attention",  "e <= 2e-2 + 2e-2|r|; dK, dV: 7e-2 + 2e-2|r|",                   bf16_attention, cudnn_attention},
    {"TransformerEngine attention", "e <= 1.5e-2 + 1.5e-2|r|",                                     bf16_attention, transformer_engine_attention},
    {"TransformerEngine fp8 attention", "rms e < 0.11 (max - min)",                                fp8_attention, transformer_engine_fp8_attention},
    {"CUTLASS FMHA",              "max e < 1e-2, mean e < 1e-3",                                   bf16_attention, cutlass_fmha},
    {"FlashAttention 2",          "max e <= 2 max e' (gradients 3), e' of unfused bf16",           has_unfused_of_one_format, flash_attention_2},
    {"FlashAttention 3",          "max e <= 2 max e' (softcap 3) + 2 max|r + .3 - .3 - r|",        has_unfused_of_one_format, flash_attention_3},
    {"PyTorch SDPA",              "max e <= max(1e-5, c max e'), c = 4; dQ 160, dK 25, dV 8",      has_unfused, torch_attention},
    {"hipDNN matmul",             "e <= t + t|r|, t = (gamma_k + eps) |A|_inf |B|_inf",            bf16_gemm_with_inputs, hip_dnn_matmul},
    {"hipDNN SDPA",               "e <= t + t|r|, t of max|Q|, max|K|, max|V|",                    hip_dnn_attention_forward, hip_dnn_attention},
}};

// clang-format on

// What one output holds. False where the reference leaves the range of the output's format
// anywhere: a rule's project has finite references, and says nothing of others.
bool collect(const Tensor& tensor, const std::vector<double>& reference, std::vector<double>& got) {
  const Format& f = format(tensor.layout.format);
  const double largest = to_double(f, f.max_finite());
  got.clear();
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    if (!(std::abs(reference[static_cast<std::size_t>(i)]) <= largest)) return false;
    got.push_back(to_double(f, tensor.bits(i)));
  }
  return true;
}

}  // namespace

std::span<const PeerRule> peer_rules() { return kRules; }

std::vector<PeerVerdict> ask_peers(const Case& test_case, const CaseTensors& tensors,
                                   const CaseOracle& oracle, int threads) {
  std::vector<PeerVerdict> verdicts(kRules.size(), PeerVerdict::does_not_apply);
  const Operation& operation = *test_case.kernel->operation;
  const auto unfused = unfused_attention(test_case, tensors);
  std::vector<double> got;
  for (int output = 0; output < oracle.outputs(); ++output) {
    const std::string name = oracle.output_name(output);
    const Tensor& tensor = *tensors.find(name);
    PeerInput input;
    input.operation = operation.name();
    input.output = tensor.layout.format;
    const TensorSpec& first = tensors.specs.front();
    input.operand = first.layout.format;
    if (is_gemm(input)) input.k = test_case.problem.integer("k");
    const std::vector<double> expected =
        oracle.reference_values(output, Reference::mathematics, threads);
    if (!collect(tensor, expected, got)) continue;
    const bool finite =
        std::all_of(got.begin(), got.end(), [](double o) { return std::isfinite(o); });
    input.got = got;
    input.expected = expected;
    input.name = name;
    input.problem = &test_case.problem;
    input.tensors = &tensors;
    const auto own = unfused.find(name);
    if (own != unfused.end() && std::all_of(own->second.begin(), own->second.end(),
                                            [](double o) { return std::isfinite(o); }))
      input.unfused = own->second;
    for (std::size_t i = 0; i < kRules.size(); ++i) {
      if (!kRules[i].applies(input)) continue;
      const bool accepted = finite && kRules[i].accepts(input);
      if (verdicts[i] != PeerVerdict::rejects)
        verdicts[i] = accepted ? PeerVerdict::accepts : PeerVerdict::rejects;
    }
  }
  return verdicts;
}

}  // namespace plumbline
