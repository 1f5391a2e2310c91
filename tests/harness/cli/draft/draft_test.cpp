// SPDX-License-Identifier: MIT
#include "harness/cli/draft/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/manifest/manifest.h"

namespace plumbline {
namespace {

using emulator::EntrySurvey;
using ::testing::HasSubstr;
using ::testing::Not;

EntrySurvey entry_named(const std::string& name) {
  EntrySurvey entry;
  entry.name = name;
  for (int i = 0; i < 4; ++i) entry.parameters.push_back({8, "u64", true});
  for (int i = 0; i < 6; ++i) entry.parameters.push_back({4, "u32", false});
  entry.parameters.push_back({4, "f32", false});
  entry.threads = {128, 1, 1};
  entry.exact_threads = true;
  return entry;
}

std::string draft_of(const EntrySurvey& entry) {
  return draft_manifest(entry, guess_operation(entry), {"mine.ptx", "8.6", "sm_80"});
}

TEST(Draft, GuessesTheOperationAndSaysWhy) {
  const auto guessed = [](const std::string& name) {
    const OperationGuess guess = guess_operation(entry_named(name));
    return guess.operation ? std::string(guess.operation->name()) : "";
  };
  EXPECT_EQ(guessed("_Z20fused_softmax_kernelPfS_"), "softmax");
  EXPECT_EQ(guessed("softmax_backward"), "softmax_backward");
  EXPECT_EQ(guessed("flash_fwd_kernel"), "attention");
  EXPECT_EQ(guessed("flash_bwd_dkdv"), "attention_backward");
  EXPECT_EQ(guessed("rms_norm_kernel"), "rmsnorm");
  EXPECT_EQ(guessed("dynamic_scaled_int8_quant"), "quantize");
  EXPECT_EQ(guessed("triton_poi_fused_7"), "");
  EntrySurvey entry = entry_named("kernel7");
  entry.units["mma m16n8k32 f32.e4m3.e4m3.f32"] = 4;
  EXPECT_EQ(guess_operation(entry).operation->name(), "gemm");
  EXPECT_THAT(guess_operation(entry).reason, HasSubstr("m16n8k32"));
}

// For every guess the draft is a manifest that loads: what is left is to correct it.
TEST(Draft, CanBeReadForEveryOperation) {
  for (const Operation* operation : all_operations()) {
    const EntrySurvey entry = entry_named("k");
    const std::string text =
        draft_manifest(entry, {operation, "a test", ""}, {"mine.ptx", "8.6", "sm_90a"});
    const Result<Manifest> manifest = parse_manifest(text, "folder/mine.toml");
    ASSERT_TRUE(manifest) << manifest.error().text() << "\n" << text;
    EXPECT_EQ(manifest->operation, operation);
    EXPECT_EQ(manifest->launches.front().parameters.size(), entry.parameters.size());
    EXPECT_EQ(manifest->architecture(90), "90a");
    EXPECT_THAT(text, HasSubstr("TODO"));
  }
}

TEST(Draft, TakesWhatThePtxSays) {
  EntrySurvey entry = entry_named("matmul");
  entry.units["mma m16n8k32 f32.e4m3.e5m2.f32"] = 4;
  entry.dynamic_shared = true;
  const std::string text = draft_of(entry);
  EXPECT_THAT(text, HasSubstr("unit = \"mma.sync\""));
  EXPECT_THAT(text, HasSubstr("b = \"e5m2\""));
  EXPECT_THAT(text, HasSubstr("block = [128, 1, 1]"));
  EXPECT_THAT(text, HasSubstr("shared = "));
  EXPECT_THAT(text, HasSubstr("\"ptr a\","));
  EXPECT_THAT(text, HasSubstr("\"f32 alpha\","));
  EXPECT_THAT(text, Not(HasSubstr("schedule")));
  for (const std::string unit : {"wgmma", "tcgen05"}) {
    entry.units = {{unit + " kind::f16", 8}};
    EXPECT_THAT(draft_of(entry), HasSubstr("unit = \"" + unit + "\""));
  }
  entry.units = {{"tcgen05 kind::mxf4nvf4", 8}};
  EXPECT_THAT(draft_of(entry), HasSubstr("unit = \"tcgen05.block_scale\""));
  entry.units = {{"mma m16n8k64 kind::mxf4nvf4.f32.e2m1.e2m1.f32.ue4m3", 8}};
  EXPECT_THAT(draft_of(entry), HasSubstr("unit = \"mma.sync.block_scale\""));
  EXPECT_THAT(draft_of(entry), HasSubstr("a = \"e2m1\""));
}

// Compilers before PTX 8 mark no addresses: the leading words of 64 bits are taken for them.
TEST(Draft, TakesLeadingWordsForAddressesWhereNoneIsMarked) {
  EntrySurvey entry = entry_named("softmax");
  entry.parameters = {{8, "u64", false}, {8, "u64", false}, {4, "u32", false}, {8, "u64", false}};
  const std::string text = draft_of(entry);
  EXPECT_THAT(text, HasSubstr("\"ptr x\","));
  EXPECT_THAT(text, HasSubstr("\"ptr y\","));
  EXPECT_THAT(text, HasSubstr("\"s32 m\","));
  EXPECT_THAT(text, HasSubstr("\"s64 n\","));
}

TEST(Draft, TakesTheNamesOfTheSource) {
  EntrySurvey entry;
  entry.name = "gemm";
  for (int i = 0; i < 3; ++i) entry.parameters.push_back({8, "u64", true});
  for (int i = 0; i < 2; ++i) entry.parameters.push_back({4, "u32", false});
  const std::string draft =
      draft_manifest(entry, guess_operation(entry),
                     {"mine.cu", "8.6", "sm_80", {"scale_a", "b", "rows", "n", "depth"}});
  EXPECT_THAT(draft,
              HasSubstr("\"ptr scale_a\",  # 1: 8 bytes, scale_a in the source, an address\n"));
  EXPECT_THAT(draft, HasSubstr("\"ptr b\",        # 2: 8 bytes, b in the source, an address\n"));
  EXPECT_THAT(draft,
              HasSubstr("\"ptr a\",        # 3: 8 bytes, rows in the source, an address; TODO"));
  EXPECT_THAT(draft, HasSubstr("\"s32 n\",        # 4: 4 bytes, n in the source, an integer\n"));
  EXPECT_THAT(draft,
              HasSubstr("\"s32 m\",        # 5: 4 bytes, depth in the source, an integer; TODO"));
}

// A usual name means what it mostly means, if no other parameter says so itself.
// A kernel that takes scales and a bias is asked for problems that have them.
TEST(Draft, TakesFormatsOfTypesAndTensorsThatMayBeMissing) {
  EntrySurvey entry;
  entry.name = "gemm";
  for (int i = 0; i < 5; ++i) entry.parameters.push_back({8, "u64", true});
  const std::string text =
      draft_manifest(entry, guess_operation(entry),
                     {"mine.cu",
                      "8.6",
                      "sm_89",
                      {"a", "b", "d", "scale_a", "bias"},
                      {"const __nv_fp8_e4m3* a", "const __nv_fp8_e5m2* b", "float* d",
                       "const float* scale_a", "const __nv_bfloat16* bias"}});
  for (const char* line : {"out = [\"f32\"]", "a = \"e4m3\"", "b = \"e5m2\"", "bias = \"bf16\"",
                           "scale_a = [\"tensor\"]", "bias = [\"column\"]"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("scale_b = [")));
  EXPECT_THAT(text, Not(HasSubstr("\nc = ")));
  EXPECT_THAT(text, HasSubstr("a = \"e4m3\"       # by the type of the parameter\n"));
  EXPECT_TRUE(parse_manifest(text, "folder/mine.toml"));
}

TEST(Draft, KnowsUsualNames) {
  EntrySurvey entry;
  entry.name = "rmsnorm";
  for (int i = 0; i < 3; ++i) entry.parameters.push_back({8, "u64", true});
  for (int i = 0; i < 2; ++i) entry.parameters.push_back({4, "u32", false});
  const std::string draft =
      draft_manifest(entry, guess_operation(entry),
                     {"mine.cu", "8.6", "sm_80", {"out", "inp", "Weight", "rows", "hidden"}});
  for (const char* line :
       {"\"ptr y\",", "\"ptr x\",", "\"ptr gamma\",", "\"s32 m\",", "\"s32 n\","})
    EXPECT_THAT(draft, HasSubstr(line));
  EXPECT_THAT(draft, HasSubstr("out in the source, an address; TODO"));
}

TEST(Draft, SaysWhatItCannotWrite) {
  EntrySurvey entry = entry_named("gemm");
  entry.parameters.push_back({128, "b8", false});
  entry.missing.push_back({"tcgen05.mma", "", 3, 40});
  const std::string text = draft_of(entry);
  EXPECT_THAT(text, HasSubstr("\"struct params\","));
  EXPECT_THAT(text, HasSubstr("128 bytes: a struct (below) or a tensor map by value"));
  EXPECT_THAT(text, HasSubstr("[struct.params]\nsize   = 128\n"));
  EXPECT_THAT(text, HasSubstr("The emulator lacks 1 of its instructions"));
}

TEST(Draft, StructsHaveNamesOfTheirOwn) {
  EntrySurvey entry = entry_named("gemm");
  entry.parameters.push_back({12, "b8", false});
  entry.parameters.push_back({16, "b8", false});
  const std::string text = draft_of(entry);
  for (const char* part : {"\"struct params12\",", "\"struct params13\",",
                           "[struct.params12]\nsize   = 12\n", "[struct.params13]\nsize   = 16\n"})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace plumbline
