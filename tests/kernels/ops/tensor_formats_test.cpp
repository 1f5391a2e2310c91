// SPDX-License-Identifier: MIT
// Which formats tensors can have: what operations say of them, what manifests may ask for, and that
// every manifest of this repository still reads.
#include <gmock/gmock.h>

#include "kernels/manifest/manifest.h"
#include "kernels/manifest/operation.h"
#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(TensorFormats, AreSaidOfEveryTensor) {
  for (const Operation* operation : all_operations()) {
    for (const TensorName& tensor : operation->tensor_names()) {
      SCOPED_TRACE(std::string(operation->name()) + " " + std::string(tensor.name));
      EXPECT_FALSE(tensor.formats.empty());
      for (const std::string_view name : tensor.formats) EXPECT_TRUE(format_by_name(name)) << name;
      if (!tensor.format.empty() && tensor.field.empty()) {
        EXPECT_THAT(tensor.formats, Contains(tensor.format));
      }
      if (tensor.field.empty()) continue;
      if (!tensor.format.empty()) {
        EXPECT_EQ(tensor.format, "{" + std::string(tensor.field) + "}");
      }
      int fields = 0;
      for (const Field& field : operation->schema()) {
        if (field.name != tensor.field) continue;
        ++fields;
        for (const std::string_view word : field.choices)
          EXPECT_THAT(tensor.formats, Contains(word));
      }
      EXPECT_EQ(fields, 1);
    }
  }
}

// The error of a shipped manifest with a line more, or another one.
std::string error_of(const std::string& kernel, const std::string& from, const std::string& to) {
  const std::string path =
      std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/" + kernel + "/" + kernel;
  const Result<Manifest> manifest =
      parse_manifest(replaced(read_file(path + ".toml"), from, to), "k.toml");
  return manifest.ok() ? "" : manifest.error().text();
}

TEST(TensorFormats, ThatNoOracleKnowsAreRefused) {
  EXPECT_THAT(error_of("attention_bf16_forward", "[formats]\n", "[formats]\nlse = \"bf16\"\n"),
              EndsWith(R"(: "lse" of attention cannot be bf16 (it can be f32))"));
  EXPECT_THAT(
      error_of("attention_bf16_forward", "[formats]\n", "[formats]\nquery_starts = \"f32\"\n"),
      HasSubstr(R"("query_starts" of attention cannot be f32 (it can be s32))"));
  for (const std::string format : {"s8", "s32", "ue8m0", "f64"}) {
    EXPECT_THAT(error_of("rmsnorm_bf16", "gamma = \"bf16\"", "gamma = \"" + format + "\""),
                HasSubstr("\"gamma\" of rmsnorm cannot be " + format))
        << format;
    EXPECT_THAT(error_of("rmsnorm_bf16", "x     = \"bf16\"", "x = \"" + format + "\""),
                HasSubstr("\"x\" of rmsnorm cannot be " + format))
        << format;
    EXPECT_THAT(error_of("rmsnorm_bf16", "y     = \"{out}\"", "y = \"" + format + "\""),
                HasSubstr("\"y\" of rmsnorm cannot be " + format))
        << format;
  }
  for (const std::string format : {"f16", "f32", "e4m3"}) {
    EXPECT_EQ(error_of("rmsnorm_bf16", "gamma = \"bf16\"", "gamma = \"" + format + "\""), "");
  }
}

TEST(TensorFormats, OfAFieldMustAllBePossible) {
  EXPECT_THAT(error_of("quantize_fp8", "[formats]\n", "[formats]\nx = \"{out}\"\n"),
              HasSubstr(R"("x" of quantize cannot be e4m3, as "{out}" can (it can be)"));
}

TEST(TensorFormats, OfOutputsAgreeWithTheProblem) {
  EXPECT_THAT(
      error_of("attention_bf16_forward", "o = \"{out}\"", "o = \"f32\""),
      HasSubstr(R"("o" is "f32", but [problem] has out = ["bf16", "f32"] (write o = "{out}")"));
  EXPECT_THAT(error_of("gemm_fp8", "a = \"{a}\"", "a = \"e4m3\""),
              HasSubstr(R"("a" is "e4m3", but [problem] has a = ["e4m3", "e5m2"])"));
  EXPECT_EQ(error_of("quantize_s8", "q = \"s8\"", "q = \"{out}\""), "") << "which is s8 alone";
}

TEST(TensorFormats, OfAllManifestsHereAreAccepted) {
  std::vector<std::string> read;
  for (const std::string folder : {"kernels", "tests/third_party", "tests/triton"}) {
    const std::filesystem::path root = std::filesystem::path(PLUMBLINE_SOURCE_DIR) / folder;
    for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
      if (file.path().extension() != ".toml") continue;
      const Result<Manifest> manifest = read_manifest(file.path());
      EXPECT_TRUE(manifest.ok()) << manifest.error().text();
      read.push_back(file.path());
    }
  }
  EXPECT_THAT(read, SizeIs(::testing::Gt(60u)));
}

}  // namespace
}  // namespace plumbline
