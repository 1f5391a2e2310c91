// SPDX-License-Identifier: MIT
// The stages of every shipped kernel's operation that has any, held to its oracle: nothing low is
// the mathematics, everything low is a kernel that keeps the contract, and each fault that a stage
// knows is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "fuzz/unquantized.h"
#include "harness/propagation/propagate.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/text_operation.h"
#include "kernels/registry.h"
#include "oracles/formats/encode.h"
#include "oracles/stages/output_vectors.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

const Registry& shipped() {
  static const Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
  EXPECT_TRUE(registry);
  return *registry;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Manifest& kernel : shipped().all()) {
    if (!kernel.operation->quantized().empty()) names.push_back(kernel.name);
  }
  return names;
}

// Smaller than what people look at.
const std::map<std::string_view, std::string_view> kProblems = {
    {"gemm", "m=6 n=5 k=300"},
    {"grouped_gemm", "groups=3 m=9 n=5 k=300"},
    {"linear_backward", "m=24 n=16 k=16"},
    {"attention", "queries=5 keys=200 d=16 scale=0.3"},
    {"attention_backward", "queries=20 keys=40 d=16 scale=0.3"},
    {"softmax", "m=5 n=300 scale=0.3"},
    {"softmax_backward", "m=5 n=300"},
    {"rmsnorm", "m=5 n=300"},
    {"rmsnorm_backward", "m=40 n=70"},
    {"layernorm", "m=5 n=300"},
    {"layernorm_backward", "m=40 n=70"},
    {"quantize", "m=3 n=300"},
    {"swiglu_mlp", "tokens=4 d=24 hidden=32 d_out=16"},
};

class StagedKernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Manifest& kernel = *shipped().find(GetParam());
    Case test_case;
    test_case.kernel = &kernel;
    const std::string problem_text = problem_of(kernel);
    ASSERT_NE(problem_text, "") << "no problem for this operation";
    const Result<Problem> problem =
        parse_problem(kernel.schema(), problem_text + features_of(kernel));
    ASSERT_TRUE(problem) << problem.error().text();
    test_case.problem = *problem;
    test_case.recipe = {"normal", 5};
    Result<UnquantizedCase> begun = unquantized(test_case);
    ASSERT_TRUE(begun) << begun.error().text();
    begun_ = *std::move(begun);
    Result<CaseTensors> tensors = materialize(begun_.stored);
    ASSERT_TRUE(tensors) << tensors.error().text();
    tensors_ = *std::move(tensors);
    sm_ = kernel.targets.back();
    staged_ = kernel.operation->staged(*problem, kernel, sm_, tensors_, begun_.sources);
    ASSERT_NE(staged_, nullptr) << "an operation without stages";
  }

  // Of a text, what propagate begins with.
  static std::string problem_of(const Manifest& kernel) {
    const auto known = kProblems.find(kernel.operation->name());
    if (known != kProblems.end()) return std::string(known->second);
    const PropagationCases cases = propagation_cases(kernel, 5);
    if (cases.cases.empty()) return "";
    Problem problem = cases.cases.front().problem;
    if (problem.has("out")) problem.reset("out");
    return problem.text();
  }

  // f32 outputs, which hide nothing, scales of their own for rows, columns and heads, or better for
  // blocks of rows, and a B whose elements do not lie in their logical order.
  static std::string features_of(const Manifest& kernel) {
    constexpr std::pair<std::string_view, std::string_view> kWanted[] = {
        {"out", "f32"},      {"scale_a", "row"}, {"scale_b", "column"},
        {"scales", "block"}, {"scales", "head"}, {"layout", "nt"}};
    std::string text;
    for (const Field& field : kernel.schema()) {
      for (const auto& [name, value] : kWanted) {
        if (field.name != name ||
            std::find(field.choices.begin(), field.choices.end(), value) == field.choices.end())
          continue;
        text += fmt::format(" {}={}", name, value);
        break;
      }
    }
    return text;
  }

  bool is_text() const { return as_text(*shipped().find(GetParam())->operation) != nullptr; }

  // As a kernel would have stored them.
  void store(const StagedValues& values) {
    const std::vector<std::string> names = staged_->outputs();
    for (std::size_t output = 0; output < names.size(); ++output) {
      Tensor& tensor = *tensors_.find(names[output]);
      ASSERT_EQ(values[output].size(), static_cast<std::size_t>(tensor.layout.count()));
      for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
        const double value = values[output][static_cast<std::size_t>(i)];
        const std::uint64_t bits = encode(format(tensor.layout.format), value);
        ASSERT_EQ(to_double(format(tensor.layout.format), bits), value)
            << names[output] << " is no number of its format";
        tensor.set_bits(i, bits);
      }
    }
  }

  // What belongs to the function under every reference: inputs as stored, and scales as the
  // contract rounds them (but where they are the output).
  StageSet given(std::string_view output) const {
    StageSet set = staged_->stages_of(StageKind::quantization);
    for (std::size_t i = 0; i < staged_->stages().size(); ++i) {
      const std::string& name = staged_->stages()[i].name;
      if (is_text()) continue;  // its mathematics have none of its roundings
      if (name == "scale products" || (name == "scale" && output == "q")) set |= StageSet{1} << i;
    }
    return set;
  }

  std::unique_ptr<CaseOracle> oracle() const {
    const Manifest& kernel = *shipped().find(GetParam());
    return kernel.operation->oracle(begun_.stored.problem, kernel, sm_, tensors_);
  }

  UnquantizedCase begun_;
  CaseTensors tensors_;
  int sm_ = 0;
  std::unique_ptr<StagedComputation> staged_;
};

TEST_P(StagedKernels, AllLowIsAConformingKernel) {
  store(staged_->evaluate(staged_->all_stages()));
  const auto judge = oracle();
  const std::vector<std::string> names = staged_->outputs();
  for (int output = 0; output < judge->outputs(); ++output) {
    ASSERT_EQ(judge->output_name(output), names[static_cast<std::size_t>(output)]);
    const Tensor& got = *tensors_.find(judge->output_name(output));
    const OutputVerdict verdict = judge->judge(output, got, {});
    EXPECT_EQ(verdict.failed, 0) << judge->output_name(output);
    EXPECT_EQ(verdict.compared, got.layout.count());
  }
}

TEST_P(StagedKernels, StoredInputsAndAllElseExactIsTheMathematics) {
  store(staged_->evaluate(staged_->all_stages()));  // some outputs are judged by others
  const auto judge = oracle();
  for (int output = 0; output < judge->outputs(); ++output) {
    const std::vector<double> due = judge->reference_values(output, Reference::mathematics, 1);
    const StagedValues exact = staged_->evaluate(given(judge->output_name(output)));
    ASSERT_EQ(due.size(), exact[static_cast<std::size_t>(output)].size());
    // FP64 either way, of sums of up to 300 terms.
    EXPECT_LE(distance(exact[static_cast<std::size_t>(output)], due), 1e-11 * norm(due))
        << judge->output_name(output);
  }
}

TEST_P(StagedKernels, TheKernelGetsTheSourcesAsTheyAreQuantized) {
  const Operation& operation = *shipped().find(GetParam())->operation;
  CaseTensors again = tensors_;
  for (const Operation::Quantized& input : operation.quantized()) {
    Tensor* tensor = again.find(input.tensor);
    for (std::int64_t i = 0; tensor && i < tensor->layout.count(); ++i) tensor->set_bits(i, 0);
  }
  operation.quantize(begun_.stored.problem, begun_.sources, again);
  for (const Operation::Quantized& input : operation.quantized()) {
    if (!again.find(input.tensor)) continue;  // the kernel has no such input
    const Tensor &due = *again.find(input.tensor), &got = *tensors_.find(input.tensor);
    std::int64_t differ = 0;
    for (std::int64_t i = 0; i < due.layout.count(); ++i) differ += due.bits(i) != got.bits(i);
    EXPECT_EQ(differ, 0) << input.tensor;
  }
}

TEST_P(StagedKernels, EveryFaultChangesItsStageAndNoOther) {
  const StageSet all = staged_->all_stages();
  const StagedValues right = staged_->evaluate(all);
  int changes = 0;
  for (std::size_t f = 0; f < staged_->faults().size(); ++f) {
    const StageFault& fault = staged_->faults()[f];
    const auto number = static_cast<int>(f);
    const bool changed = staged_->evaluate(all, number) != right;
    changes += changed;
    // A step of a text may have nothing that bf16 does not have, or be read by nothing.
    EXPECT_TRUE(changed || is_text()) << fault.words;
    const StageSet others = all & ~(StageSet{1} << fault.stage);
    EXPECT_TRUE(staged_->evaluate(others, number) == staged_->evaluate(others)) << fault.words;
  }
  const bool rounds = staged_->evaluate(staged_->stages_of(StageKind::quantization)) != right;
  EXPECT_TRUE(changes > 0 || !rounds);
}

INSTANTIATE_TEST_SUITE_P(Shipped, StagedKernels, testing::ValuesIn(kernel_names()),
                         [](const auto& kernel) { return kernel.param; });

}  // namespace
}  // namespace plumbline
