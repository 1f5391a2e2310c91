// SPDX-License-Identifier: MIT
// Relations: that each is asked of some planned case, that conforming kernels keep them, and that
// faults which no bound shows break them.
#include "harness/relations/relations.h"
#include "tests/folders.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "fuzz/plan/plan.h"
#include "harness/judge/case_runner.h"
#include "harness/relations/related_problem.h"
#include "kernels/registry.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Few of the planned cases bind some relations; materializing the large ones takes long.
constexpr double kMostWork = 1e6;

std::string name(const Relation& relation, const Operation& operation) {
  return fmt::format("{} {}", operation.name(), relation.id);
}

// A relation that no planned case is ever asked about checks nothing.
TEST(Relations, EachBindsAPlannedQuickCase) {
  const Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
  ASSERT_TRUE(registry) << registry.error().text();
  std::map<std::string, Relation> unbound;
  for (const Operation* operation : all_operations())
    for (const Relation& relation : relations_of(*operation))
      EXPECT_TRUE(unbound.emplace(name(relation, *operation), relation).second)
          << "two relations are called " << name(relation, *operation);
  for (const Manifest& kernel : registry->all()) {
    if (!kernel.deterministic()) continue;
    for (const Case& test_case : plan_cases(kernel, {.profile = Profile::quick, .seed = 1})) {
      if (kernel.operation->work(test_case.problem) > kMostWork) continue;
      std::optional<CaseTensors> tensors;
      for (const Relation& relation : relations_of(*kernel.operation)) {
        const auto found = unbound.find(name(relation, *kernel.operation));
        if (found == unbound.end()) continue;
        if (!tensors) {
          Result<CaseTensors> inputs = materialize(test_case);
          ASSERT_TRUE(inputs) << inputs.error().text();
          tensors = *std::move(inputs);
        }
        const std::optional<RelatedRun> run = relation.make(test_case, *tensors);
        if (run && !run->outputs.empty()) unbound.erase(found);
      }
    }
  }
  std::vector<std::string> dead;
  for (const auto& [id, relation] : unbound) dead.push_back(id);
  EXPECT_THAT(dead, IsEmpty());
}

TEST(Relations, AskNothingOfAnLseThatIsNotStored) {
  const Result<Manifest> kernel =
      read_manifest(PLUMBLINE_SOURCE_DIR "/tests/cli/inference/decode.toml");
  ASSERT_TRUE(kernel) << kernel.error().text();
  std::set<std::string_view> asked;
  for (const Case& test_case : plan_cases(*kernel, {.profile = Profile::quick, .seed = 1})) {
    if (kernel->operation->work(test_case.problem) > kMostWork) continue;
    if (test_case.problem.word("lse") != "none") continue;
    const Result<CaseTensors> tensors = materialize(test_case);
    ASSERT_TRUE(tensors) << tensors.error().text();
    for (const Relation& relation : relations_of(*kernel->operation)) {
      const std::optional<RelatedRun> run = relation.make(test_case, *tensors);
      if (!run) continue;
      asked.insert(relation.id);
      for (const Follow& follow : run->outputs)
        EXPECT_NE(tensors->find(follow.output), nullptr) << relation.id;
    }
  }
  EXPECT_THAT(asked, IsSupersetOf({"A14b", "A14c", "A14d", "A14e", "A17", "A21"}));
}

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string manifest_text(std::string_view kernel) {
  std::ifstream in(fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_SOURCE_DIR, kernel));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The relations of all quick cases that a manifest of this text is asked.
std::set<std::string> asked_of(const std::string& text) {
  std::set<std::string> asked;
  const Result<Manifest> kernel = parse_manifest(text, "relations_test.toml");
  EXPECT_TRUE(kernel) << kernel.error().text();
  if (!kernel) return asked;
  for (const Case& test_case : plan_cases(*kernel, {.profile = Profile::quick, .seed = 1})) {
    if (kernel->operation->work(test_case.problem) > kMostWork) continue;
    const Result<CaseTensors> tensors = materialize(test_case);
    EXPECT_TRUE(tensors) << tensors.error().text();
    for (const Relation& relation : relations_of(*kernel->operation))
      if (relation.make(test_case, *tensors)) asked.insert(std::string(relation.id));
  }
  return asked;
}

// A kernel of an unknown schedule may take another one for another problem, a library by its
// heuristics say.
TEST(Relations, CompareTwoProblemsOnlyWhereBothHaveOneOrder) {
  const std::string gemm = manifest_text("gemm_bf16");
  EXPECT_THAT(asked_of(gemm), IsSupersetOf({"G1", "G2", "G3", "G4", "G7", "G9"}));
  EXPECT_THAT(asked_of(changed(gemm, "schedule = \"sequential\"", "schedule = \"any\"")),
              ElementsAre("G1", "G2", "G3"));
  const std::string grouped = manifest_text("gemm_grouped_bf16");
  EXPECT_THAT(asked_of(grouped), IsSupersetOf({"G1", "G2", "G3", "G9", "G11"}));
  EXPECT_THAT(asked_of(changed(grouped, "schedule = \"sequential\"", "schedule = \"any\"")),
              ElementsAre("G1", "G2", "G3"));
  const std::string split = manifest_text("gemm_bf16_splitk");
  EXPECT_THAT(asked_of(split), IsSupersetOf({"G1", "G2", "G3", "G7"}));
  EXPECT_THAT(asked_of(changed(split, "f32 ordered", "f32 any order")),
              ElementsAre("G1", "G2", "G3"));
}

// A factor of 1 is an operation, and may take a subnormal sum for 0.
TEST(Relations, NeverTakeScalesOfOneForNothingWhereSubnormalsAreFlushed) {
  const std::string gemm = manifest_text("gemm_fp8");
  EXPECT_THAT(asked_of(gemm), Contains("G8"));
  EXPECT_THAT(asked_of(changed(gemm, "[contract]\n", "[contract]\nsubnormals = \"flushed\"\n")),
              Not(Contains("G8")));
}

// Rounding to a subnormal f16 is no power of two from rounding twice the number.
TEST(Relations, DoublingUpDoublesYOnlyWhereNoHIsNearAnEndOfItsFormat) {
  std::string text = manifest_text("swiglu_mlp_bf16");
  for (const std::string_view tensor : {"x     ", "w_down", "w_gate", "w_up  ", "h     "})
    text = changed(text, fmt::format("{} = \"bf16\"", tensor), fmt::format("{} = \"f16\"", tensor));
  const Result<Manifest> kernel = parse_manifest(text, "h.toml");
  ASSERT_TRUE(kernel) << kernel.error().text();
  const Result<Problem> problem =
      parse_problem(kernel->schema(), "tokens=2 d=16 hidden=16 d_out=4");
  ASSERT_TRUE(problem) << problem.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = *problem;
  CaseTensors tensors = *materialize(test_case);
  const std::vector<Relation> relations = relations_of(*kernel->operation);
  const auto m4 = std::find_if(relations.begin(), relations.end(),
                               [](const Relation& relation) { return relation.id == "M4"; });
  ASSERT_NE(m4, relations.end());
  const auto follow = [&](double h) {
    for (const std::string_view input : {"x", "w_up", "w_down"}) fill(*tensors.find(input), 1);
    fill(*tensors.find("h"), h);
    const std::optional<RelatedRun> run = m4->make(test_case, tensors);
    std::vector<std::string> outputs;
    for (const Follow& output : run->outputs) outputs.emplace_back(output.output);
    return outputs;
  };
  EXPECT_THAT(follow(1.5), ElementsAre("h", "y"));
  EXPECT_THAT(follow(0x1.5p-14), ElementsAre("h"));  // f16's normal numbers begin here
  EXPECT_THAT(follow(0x1.5p-17), ElementsAre("h"));
  EXPECT_THAT(follow(40000), ElementsAre("h"));
}

// A fault that no bound shows: where a bit of a special register is set, one instruction rounds
// toward zero or up instead of to nearest.
struct Fault {
  std::string_view kernel, problem;
  std::string_view instruction, instead;
  std::string_view where;  // the special register, or empty: everywhere
  int bit = 0;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.kernel << " " << fault.problem << ": " << fault.instead;
}

// clang-format off
constexpr Fault kFaults[] = {
    {"attention_bf16_forward", "heads=2 queries=3 keys=40 d=16 out=f32 scale=0.25", "rcp.rn.f32", "rcp.rz.f32", "%ctaid.y", 0},
    {"attention_bf16_forward", "batch=2 queries=3 keys=40 d=16 out=f32 scale=0.25", "rcp.rn.f32", "rcp.rz.f32", "%ctaid.x", 0},
    {"attention_bf16_forward", "queries=64 keys=40 d=16 out=f32 scale=0.25", "rcp.rn.f32", "rcp.rz.f32", "%tid.x", 5},
    {"attention_bf16_forward", "queries=3 keys=40 d=16 out=f32 scale=0.25", "mul.rn.f32", "mul.rp.f32", "", 0},
    {"attention_bf16_splitkv", "splits=2 queries=3 keys=130 d=16 out=f32 scale=0.25", "rcp.rn.f32", "rcp.rz.f32", "%tid.x", 0},
    {"attention_fp8_forward", "heads=2 queries=3 keys=40 d=16 out=f32 scale=0.25", "rcp.rn.f32", "rcp.rz.f32", "%ctaid.y", 0},
    {"attention_s8_forward", "queries=3 keys=40 d=16 out=f32 scale=0.0001", "mul.rn.f32", "mul.rp.f32", "", 0},
    {"attention_bf16_backward", "heads=2 queries=64 keys=300 d=8 out=f32 scale=0.25", "sub.rn.f32", "sub.rz.f32", "%ctaid.y", 0},
    {"attention_bf16_backward", "heads=2 queries=64 keys=300 d=8 out=f32 scale=0.25", "sub.rn.f32", "sub.rp.f32", "", 0},
    {"rmsnorm_bf16", "m=2 n=72 out=f32", "mul.rn.f32", "mul.rz.f32", "%ctaid.x", 0},
    {"layernorm_bf16", "m=2 n=72 out=f32", "mul.rn.f32", "mul.rp.f32", "", 0},
    {"softmax_bf16", "m=2 n=64 out=f32", "rcp.rn.f32", "rcp.rz.f32", "%ctaid.x", 0},
    {"softmax_bf16_backward", "m=2 n=64 out=f32", "mul.rn.f32", "mul.rp.f32", "", 0},
    {"layernorm_bf16_backward", "m=2 n=64 out=f32", "mul.rn.f32", "mul.rp.f32", "", 0},
    {"gemm_bf16_splitk", "m=20 n=20 k=2000 splits=4 out=f32", "add.rn.f32", "add.rp.f32", "", 0},
    {"gemm_bf16_splitk", "m=20 n=20 k=2000 splits=4 out=f32", "add.rn.f32", "add.rz.f32", "%tid.x", 0},
    {"linear_bf16_backward", "m=600 n=32 k=8 out=f32", "add.rn.f32", "add.rp.f32", "", 0},
    {"linear_bf16_backward", "m=600 n=32 k=8 out=f32", "add.rn.f32", "add.rz.f32", "%tid.x", 0},
    {"swiglu_mlp_bf16", "tokens=128 d=16 hidden=1024 d_out=8 out=f32", "div.rn.f32", "div.rz.f32", "%tid.x", 4},
};

// clang-format on

// PTX with the fault.
std::string planted(const std::string& ptx, const Fault& fault) {
  std::istringstream lines(ptx);
  std::string text, line;
  while (std::getline(lines, line)) {
    const std::size_t at = line.find(fault.instruction);
    if (at == std::string::npos) {
      text += line + "\n";
      continue;
    }
    const std::string operands = line.substr(at + fault.instruction.size());
    if (fault.where.empty()) {
      text += fmt::format("{}{}\n", fault.instead, operands);
      continue;
    }
    text += fmt::format(
        "{{\n.reg .pred %there;\n.reg .b32 %bit;\nmov.u32 %bit, {};\nshr.u32 %bit, %bit, {};\n"
        "and.b32 %bit, %bit, 1;\nsetp.ne.u32 %there, %bit, 0;\n@!%there {}{}\n@%there {}{}\n}}\n",
        fault.where, fault.bit, fault.instruction, operands, fault.instead, operands);
  }
  return text;
}

class InsideTheBound : public testing::TestWithParam<Fault> {};

TEST_P(InsideTheBound, FaultsBreakARelation) {
  const Fault& fault = GetParam();
  const std::string path =
      fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_BINARY_DIR, fault.kernel);
  Result<Manifest> kernel = read_manifest(path);
  if (!kernel || !read_image(*kernel, kernel->targets.back())) GTEST_SKIP() << "no compiled kernel";
  kernel->promised.contract.bits = false;  // the bound alone: these faults are within it
  for (auto& [output, promised] : kernel->promised_for) promised.contract.bits = false;
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = *parse_problem(kernel->schema(), fault.problem);
  const Target target{.sm = kernel->targets.back(), .gpu_name = ""};
  RunnerOptions options;
  options.all_relations = true;
  // Errors of ex2 may hide a fault of a single rounding that is no larger.
  options.approximation = {.direction = ApproximationErrors::Direction::nearest};
  EXPECT_EQ(CaseRunner(options).run(test_case, target)->verdict, Verdict::pass);
  options.image = [&](const Manifest& manifest, int sm) -> Result<std::string> {
    return planted(*read_image(manifest, sm), fault);
  };
  const CaseRecord record = *CaseRunner(options).run(test_case, target);
  EXPECT_EQ(record.verdict, Verdict::fail) << record.reason;
  EXPECT_EQ(record.claims.at(Claim::bound), Verdict::pass) << record.reason;
  EXPECT_EQ(record.claims.at(Claim::related), Verdict::fail) << record.reason;
}

// A kernel that leaves its memory, but only in a changed problem: where it has more rows than
// columns.
TEST(RelatedProblem, WhatTheDeviceFindsThereCounts) {
  const std::string path =
      fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_BINARY_DIR, "gemm_bf16");
  const Result<Manifest> kernel = read_manifest(path);
  if (!kernel || !read_image(*kernel, 80)) GTEST_SKIP() << "no compiled kernel";
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = *parse_problem(kernel->schema(), "m=8 n=200 k=16 out=f32");
  RunnerOptions options;
  options.all_relations = true;
  EXPECT_EQ(CaseRunner(options).run(test_case, {.sm = 80})->verdict, Verdict::pass);
  options.image = [&](const Manifest& manifest, int sm) -> Result<std::string> {
    std::string text = *read_image(manifest, sm);
    for (std::size_t at = 0; (at = text.find("\tret;", at)) != std::string::npos;) {
      const std::size_t name = text.rfind(".entry ", at) + 7;
      const std::string stray = fmt::format(
          "\t{{\n.reg .pred %stray;\n.reg .b32 %rows, %columns;\n.reg .b64 %nowhere;\n"
          "ld.param.u32 %rows, [{0}_param_5];\nld.param.u32 %columns, [{0}_param_6];\n"
          "setp.gt.s32 %stray, %rows, %columns;\nmov.u64 %nowhere, 64;\n"
          "@%stray st.global.u32 [%nowhere], %rows;\n}}\n",
          text.substr(name, text.find('(', name) - name));
      text.insert(at, stray);
      at += stray.size() + 5;
    }
    return text;
  };
  const CaseRecord record = *CaseRunner(options).run(test_case, {.sm = 80});
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::in_bounds), Verdict::fail) << record.reason;
  EXPECT_TRUE(record.reason.starts_with("with a changed problem (")) << record.reason;
}

INSTANTIATE_TEST_SUITE_P(Relations, InsideTheBound, testing::ValuesIn(kFaults));

}  // namespace
}  // namespace plumbline
