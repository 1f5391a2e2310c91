// SPDX-License-Identifier: MIT
#include "kernels/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/attention_fields.h"
#include "kernels/ops/attention_quantize.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/reference/attention/oracle.h"
#include "oracles/stages/staged_attention.h"

namespace plumbline {
namespace {

using tensor_formats::kAttentionFactor;
using tensor_formats::kF32;
using tensor_formats::kIndices;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kTensors = {
    TensorName{"q",            TensorRole::input,  "[batch, heads, queries, d]; [1, heads, all queries, d] where lengths vary", "", kAttentionFactor},
    TensorName{"k",            TensorRole::input,  "[batch, kv_heads, keys, d]", "", kAttentionFactor},
    TensorName{"v",            TensorRole::input,  "[batch, kv_heads, keys, dv]", "", kAttentionFactor},
    TensorName{"bias",         TensorRole::input,  "[heads, queries, keys]", "f32", kStored},
    TensorName{"sink",         TensorRole::input,  "[heads]", "f32", kStored},
    TensorName{"q_scale",      TensorRole::input,  "[batch, heads]: what the elements of Q stand for, times themselves; [batch, heads, ceil(queries / 64)] per block of rows, and [1, heads, ceil(all queries / 64)] where lengths vary", "f32", kF32},
    TensorName{"k_scale",      TensorRole::input,  "[batch, kv_heads]: the same for K; [batch, kv_heads, ceil(keys / 64)] per block", "f32", kF32},
    TensorName{"v_scale",      TensorRole::input,  "[batch, kv_heads]: the same for V; [batch, kv_heads, ceil(keys / 64)] per block, where V has 8 bits", "f32", kF32},
    TensorName{"query_starts", TensorRole::input,  "[batch + 1]: where each sequence's queries start", "s32", kIndices},
    TensorName{"key_starts",   TensorRole::input,  "[batch + 1]: where each sequence's keys start", "s32", kIndices},
    TensorName{"o",            TensorRole::output, "[batch, heads, queries, dv]", "{out}", kStored, "out"},
    TensorName{"lse",          TensorRole::output, "[batch, heads, queries]: logarithm of the sum of exponentials; but with lse=none", "f32", kF32},
};
// clang-format on

constexpr std::string_view kAbout =
    R"~(O = softmax(S) · V with S = scale · Q · Kᵀ, softcapped and biased where the problem says so, over the keys that causal mask, window and
sequence lengths leave visible; LSE is the natural logarithm of each row's sum of exponentials, or with `lse=base_2` the one in base 2; kernels of inference often store none (`lse=none`). A row that sees no key has O = 0, and so have the rows after
the last sequence; where there is a sink, it alone is their LSE. With `scales=head` Q, K and V are their elements times the scale of their sequence and head: scale · q_scale · k_scale takes the place of scale, and
v_scale multiplies O; scales are numbers from 2^-30 to 2^30. With `scales=block` every 64 rows of Q, of K and, if its elements have 8 bits,
of V have a scale, as they lie in the tensor: where sequences are packed, a block may hold the end of one and the beginning of the next, and a sequence's tile may lie in two.
O then is the sum over blocks of V of their scale times the sum of their rows by probability. docs/bounds/attention.md says what a contract's terms mean for the bits.
)~";

constexpr std::array kQuantized = {Operation::Quantized{"q", "q_scale"},
                                   Operation::Quantized{"k", "k_scale"},
                                   Operation::Quantized{"v", "v_scale"}};

constexpr std::array<std::string_view, 4> kUsualNames = {"attention", "attn", "flash", "fmha"};
constexpr std::array<std::string_view, 2> kUsualTensors = {"q k v o", "q k v o lse"};
constexpr std::array<std::string_view, 3> kDeepProblems = {
    "queries=64 keys=256 d=64 scale=0.125", "queries=64 keys=1024 d=64 scale=0.125",
    "queries=128 keys=128 d=64 scale=0.125 causal=bottom_right"};

class Attention final : public Operation {
 public:
  std::string_view name() const override { return "attention"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return attention_schema(); }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Derived> derived() const override { return attention_derived(); }

  std::span<const Field> terms() const override { return attention_terms(); }

  Status check_terms(const Problem& terms, const Manifest& manifest) const override {
    const Problem any(manifest.schema());
    const AttentionContract contract = attention_contract(terms, any);
    for (const Field& field : manifest.schema()) {
      const bool adds = field.name == "bias" || field.name == "sink";
      if (contract.tanh != Tanh::approx || !adds || field.choices.size() == 1) continue;
      return bad_input(
          fmt::format("tanh = \"approx\" says nothing of a kernel with a {}", field.name),
          "write tanh = \"ex2\", or take it out of [problem]");
    }
    const Field& splits = *std::ranges::find(manifest.schema(), "splits", &Field::name);
    const bool may_have_parts = !splits.fixed || contract.parts > 1;
    if (contract.begins_with_sink() && (may_have_parts || contract.rescale_threshold > 0)) {
      return bad_input(
          fmt::format("sink_step = \"{}\" says nothing of a kernel with {}",
                      terms.word("sink_step"), may_have_parts ? "splits" : "a rescale_threshold"),
          may_have_parts ? "write splits = 1 in [problem], or sink_step = \"last\""
                         : "write sink_step = \"last\"");
    }
    const std::array products = {
        AttentionProduct{contract.score_product(), manifest.tensor_format("q", any),
                         manifest.tensor_format("k", any)},
        AttentionProduct{contract.value_product(), contract.p, manifest.tensor_format("v", any)}};
    return check_attention_products(products, manifest);
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    if (const float scale = problem.real("scale"); !(scale >= 0)) {
      return bad_input(fmt::format("scale is {}: the running maximum is one of the scores", scale),
                       "a scale is not negative; negate q instead");
    }
    return attention_tensors(kTensors, problem, manifest);
  }

  Status check_values(const Problem& problem, const CaseTensors& tensors) const override {
    if (const Status good = check_attention_starts(problem, tensors); !good) return good;
    return check_attention_scales(problem, tensors);
  }

  bool sums_weighted_values(std::string_view output) const override { return output == "o"; }

  double work(const Problem& problem) const override { return attention_work(problem); }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    AttentionProblem attention = attention_problem(problem, tensors);
    attention.output = tensors.find("o")->layout.format;
    return std::make_unique<AttentionOracle>(attention, attention_contract(manifest.terms, problem),
                                             sm);
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  Usual usual() const override { return {kUsualNames, kUsualTensors, kDeepProblems}; }

  void quantize(const Problem& problem, const CaseTensors& sources,
                CaseTensors& tensors) const override {
    quantize_attention(problem, sources, tensors);
  }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    AttentionProblem attention = attention_problem(problem, tensors);
    attention.output = tensors.find("o")->layout.format;
    // Smoothing keys is no error of what follows.
    const bool integers = format(attention.k->layout.format).is_integer;
    const Tensor keys =
        integers ? smoothed_keys(attention, *sources.find("k")) : *sources.find("k");
    return staged_attention(attention, attention_contract(manifest.terms, problem), sm,
                            {sources.find("q"), &keys, sources.find("v")});
  }
};

}  // namespace

const Operation& attention_operation() {
  static const Attention operation;
  return operation;
}

}  // namespace plumbline
