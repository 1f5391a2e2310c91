// SPDX-License-Identifier: MIT
#include "kernels/ops/attention_backward.h"

#include <algorithm>
#include <array>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/attention_fields.h"
#include "kernels/ops/gemm_quantize.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/reference/attention_backward/oracle.h"
#include "oracles/stages/staged_attention_backward.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 4> kUnits = {"mma.sync", "wgmma", "tcgen05", "fma.f32"};
constexpr std::array<std::string_view, 4> kFactorFormats = {"bf16", "f16", "e4m3", "e5m2"};
constexpr std::array<std::string_view, 2> kLogits = {"natural", "natural difference"};
constexpr std::array<std::string_view, 2> kJoins = {"ordered", "f32 atomic"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kAttentionFactor;
using tensor_formats::kF32;
using tensor_formats::kFloat;
using tensor_formats::kIndices;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kTerms = {
    Field{"unit", kWord, kNoDefault, 0, 0, kUnits,         "what adds products, as for GEMM"},
    Field{"p",    kWord, kNoDefault, 0, 0, kFactorFormats, "format of the probabilities that meet dO"},
    Field{"ds",   kWord, kNoDefault, 0, 0, kFactorFormats, "format of the score gradients that meet Q and K"},
    Field{"p_shift", kInteger, 0, 0, 16, {},               "probabilities are multiplied by 2 to this power before they are rounded"},
    Field{"logits", kWord, 0, 0, 0, kLogits,               "natural: the exponent is fma(z, log2 e, -LSE log2 e); natural difference: log2 e times the difference of the logit, in natural units, from LSE, which is 0 where they are equal however large they are"},
    Field{"dq",   kWord, 0, 0, 0, kJoins,                  "ordered: one accumulator over all keys; f32 atomic: one per tile of keys, added in memory"},
    Field{"tile", kInteger, 64, 1, 65536, {},              "keys per such tile"},
};

constexpr std::array kTensors = {
    TensorName{"q",            TensorRole::input,  "[batch, heads, queries, d]; [1, heads, all queries, d] where lengths vary", "", kAttentionFactor},
    TensorName{"k",            TensorRole::input,  "[batch, kv_heads, keys, d]", "", kAttentionFactor},
    TensorName{"v",            TensorRole::input,  "[batch, kv_heads, keys, dv]", "", kAttentionFactor},
    TensorName{"o",            TensorRole::input,  "[batch, heads, queries, dv]: as the forward pass stored it", "", kFloat},
    TensorName{"lse",          TensorRole::input,  "[batch, heads, queries]: the same", "f32", kF32},
    TensorName{"do",           TensorRole::input,  "[batch, heads, queries, dv]: the gradient of O", "", kFloat},
    TensorName{"bias",         TensorRole::input,  "[heads, queries, keys]", "f32", kStored},
    TensorName{"sink",         TensorRole::input,  "[heads]; it has done its work in LSE", "f32", kStored},
    TensorName{"q_scale",      TensorRole::input,  "[1]: what the elements of Q stand for, times themselves", "f32", kF32},
    TensorName{"k_scale",      TensorRole::input,  "[1]: the same for K", "f32", kF32},
    TensorName{"v_scale",      TensorRole::input,  "[1]: the same for V", "f32", kF32},
    TensorName{"do_scale",     TensorRole::input,  "[1]: the same for dO", "f32", kF32},
    TensorName{"ds_scale",     TensorRole::input,  "[1]: what dS is multiplied by before it is rounded", "f32", kF32},
    TensorName{"query_starts", TensorRole::input,  "[batch + 1]: where each sequence's queries start", "s32", kIndices},
    TensorName{"key_starts",   TensorRole::input,  "[batch + 1]: where each sequence's keys start", "s32", kIndices},
    TensorName{"dq",           TensorRole::output, "[batch, heads, queries, d]", "{out}", kStored, "out"},
    TensorName{"dk",           TensorRole::output, "[batch, kv_heads, keys, d]", "{out}", kStored, "out"},
    TensorName{"dv",           TensorRole::output, "[batch, kv_heads, keys, dv]", "{out}", kStored, "out"},
};
// clang-format on

constexpr std::string_view kAbout =
    R"~(The gradients of attention, given the gradient dO of its output and what the forward pass stored: P = exp(S - LSE) over the visible keys,
dV = Pᵀ · dO, dS = P ⊙ (dO · Vᵀ - delta) with delta the row sums of dO ⊙ O, dQ = scale · dS · K, dK = scale · dSᵀ · Q. Query heads that share a
head of K and V add up in dK and dV. Rows after the last sequence have gradients 0. O and LSE count as exact: an error of the forward pass is
no error of this kernel. With `scales=tensor` Q, K, V and dO are their elements times one number each, and dS is rounded in units of 1 / ds_scale; scales are numbers
from 2^-30 to 2^30.
)~";

constexpr std::array kQuantized = {
    Operation::Quantized{"q", "q_scale"}, Operation::Quantized{"k", "k_scale"},
    Operation::Quantized{"v", "v_scale"}, Operation::Quantized{"do", "do_scale"}};

constexpr std::array<std::string_view, 3> kUsualNames = {"attention backward", "attn bwd",
                                                         "flash bwd"};
constexpr std::array<std::string_view, 3> kDeepProblems = {
    "queries=64 keys=64 d=32 scale=0.1767767", "queries=64 keys=256 d=64 scale=0.125",
    "queries=128 keys=128 d=64 scale=0.125 causal=bottom_right"};

class AttentionBackward final : public Operation {
 public:
  std::string_view name() const override { return "attention_backward"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return attention_backward_schema(); }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Derived> derived() const override { return attention_derived(); }

  std::span<const Field> terms() const override { return kTerms; }

  Status check_terms(const Problem& terms, const Manifest& manifest) const override {
    for (const Field& field : manifest.schema()) {
      if (field.name != "scales" || std::ranges::find(field.choices, "head") == field.choices.end())
        continue;
      return bad_input("scales of single heads have no backward pass",
                       "scales are \"none\" or \"tensor\" here");
    }
    const AttentionBackwardContract contract = contract_of(terms);
    const Problem any(manifest.schema());
    const auto format_of = [&](std::string_view name) { return manifest.tensor_format(name, any); };
    const Contract sum = contract.sum();
    const std::array products = {AttentionProduct{sum, format_of("q"), format_of("k")},
                                 AttentionProduct{sum, format_of("do"), format_of("v")},
                                 AttentionProduct{sum, contract.p, format_of("do")},
                                 AttentionProduct{sum, contract.ds, format_of("q")},
                                 AttentionProduct{sum, contract.ds, format_of("k")}};
    return check_attention_products(products, manifest);
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    return attention_tensors(kTensors, problem, manifest);
  }

  Status check_values(const Problem& problem, const CaseTensors& tensors) const override {
    if (const Status good = check_attention_starts(problem, tensors); !good) return good;
    return check_attention_scales(problem, tensors);
  }

  // Five products where the forward pass has two.
  double work(const Problem& problem) const override { return 2.5 * attention_work(problem); }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    return std::make_unique<AttentionBackwardOracle>(gradient_problem(problem, tensors),
                                                     contract_of(manifest.terms), sm);
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  std::string_view sum_length(std::string_view output) const override {
    return output == "dq" ? "keys" : "queries";
  }

  Usual usual() const override { return {kUsualNames, {}, kDeepProblems}; }

  // One scale for each matrix, if any.
  void quantize(const Problem&, const CaseTensors& sources, CaseTensors& tensors) const override {
    for (const Quantized& input : kQuantized) {
      quantize_tensor(*sources.find(input.tensor), *tensors.find(input.tensor),
                      tensors.find(input.scale), [](std::int64_t) { return 0; });
    }
  }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    return staged_attention_backward(
        gradient_problem(problem, tensors), contract_of(manifest.terms), sm,
        {sources.find("q"), sources.find("k"), sources.find("v")}, *sources.find("do"));
  }

 private:
  static AttentionBackwardProblem gradient_problem(const Problem& problem,
                                                   const CaseTensors& tensors) {
    AttentionBackwardProblem gradient;
    gradient.attention = attention_problem(problem, tensors);
    gradient.attention.output = tensors.find("dq")->layout.format;
    gradient.o = tensors.find("o");
    gradient.lse = tensors.find("lse");
    gradient.d_o = tensors.find("do");
    gradient.do_scale = tensors.find("do_scale");
    gradient.ds_scale = tensors.find("ds_scale");
    return gradient;
  }

  static AttentionBackwardContract contract_of(const Problem& terms) {
    AttentionBackwardContract contract;
    const ContractUnit unit = *contract_unit(terms.word("unit"));
    contract.unit = unit.unit;
    contract.instruction = unit.instruction;
    contract.p = *format_by_name(terms.word("p"));
    contract.ds = *format_by_name(terms.word("ds"));
    contract.p_shift = static_cast<int>(terms.integer("p_shift"));
    contract.natural_difference = terms.word("logits") == "natural difference";
    contract.atomic_dq = terms.word("dq") == "f32 atomic";
    contract.tile = terms.integer("tile");
    return contract;
  }
};

}  // namespace

const Operation& attention_backward_operation() {
  static const AttentionBackward operation;
  return operation;
}

}  // namespace plumbline
