// SPDX-License-Identifier: MIT
// Which problems propagation looks at by itself, and which output it blames for a case that fails.
#include "harness/propagation/propagate.h"
#include "tests/folders.h"

#include <gmock/gmock.h>

#include "tests/kernels/manifest/manifest_files.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Manifest attention(const std::string& from, const std::string& to) {
  const std::string path = std::string(PLUMBLINE_SOURCE_DIR) +
                           "/kernels/shipped/attention_bf16_forward/attention_bf16_forward.toml";
  const std::string text = replaced(
      read_file(path), R"(s32 causal == "none" ? 0 : causal == "bottom_right" ? 1 : 2)", "s32 0");
  Result<Manifest> manifest = parse_manifest(replaced(text, from, to), "k.toml");
  EXPECT_TRUE(manifest.ok()) << manifest.error().text();
  return *std::move(manifest);
}

TEST(PropagationCases, PassOverProblemsThatAKernelDoesNotAccept) {
  const Manifest whole = attention("[formats]", "[formats]");
  const Manifest uncausal = attention("\ncausal ", "\n#");
  const PropagationCases all = propagation_cases(whole, 1),
                         without = propagation_cases(uncausal, 1);
  EXPECT_EQ(all.refusal, "");
  EXPECT_EQ(without.cases.size() * 3, all.cases.size() * 2) << "one of three problems is causal";
  EXPECT_THAT(without.refusal, HasSubstr("causal=bottom_right is not what this kernel has"));
}

TEST(PropagationCases, SayWhyThereAreNone) {
  const Manifest wide = attention(
      "[contract]", "[[domain]]\nrequire = \"d == 128\"\nreason = \"d is 128\"\n[contract]");
  const PropagationCases none = propagation_cases(wide, 1);
  EXPECT_THAT(none.cases, IsEmpty());
  EXPECT_EQ(none.refusal, "queries=64 keys=256 d=64 scale=0.125 out=bf16: d is 128");
}

CaseRecord judged(std::int64_t wrong_o, std::int64_t wrong_lse) {
  CaseRecord record;
  record.verdict = wrong_o + wrong_lse > 0 ? Verdict::fail : Verdict::pass;
  record.reason = wrong_o > 0 ? "3 of 64 outputs of o are outside" : "4 of 16 outputs of lse are";
  record.outputs = {{"o", "bf16", {}}, {"lse", "f32", {}}};
  record.outputs[0].verdict.elements = 64;
  record.outputs[0].verdict.failed = wrong_o;
  record.outputs[1].verdict.elements = 16;
  record.outputs[1].verdict.failed = wrong_lse;
  return record;
}

TEST(PropagationFailure, IsOfTheOutputThatFails) {
  EXPECT_EQ(failure_of("o", judged(0, 0)), "");
  EXPECT_EQ(failure_of("o", judged(3, 0)), "The case fails: 3 of 64 outputs of o are outside");
  EXPECT_EQ(failure_of("lse", judged(3, 0)), "");
  EXPECT_EQ(failure_of("o", judged(0, 4)), "");
  EXPECT_EQ(failure_of("lse", judged(0, 4)), "The case fails: 4 of 16 outputs of lse are");
  EXPECT_EQ(failure_of("lse", judged(3, 1)),
            "The case fails: 1 of 16 outputs of lse is outside what the contract allows");
}

TEST(PropagationFailure, IsOfAllOutputsWhereNoneIsWrong) {
  CaseRecord record = judged(0, 0);
  record.verdict = Verdict::fail;
  record.reason = "a race";
  EXPECT_EQ(failure_of("o", record), "The case fails: a race");
  EXPECT_EQ(failure_of("lse", record), "The case fails: a race");
}

}  // namespace
}  // namespace plumbline
