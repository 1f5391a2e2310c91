// SPDX-License-Identifier: MIT
// Operation "attention": which tensors a problem has and how they lie in memory, which problems and
// sequence starts are refused, and how tensors are cut into heads.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <regex>

#include "kernels/ops/attention_fields.h"
#include "kernels/ops/attention_quantize.h"
#include "oracles/reference/attention/attention.h"
#include "oracles/reference/attention/oracle.h"
#include "oracles/reference/attention_backward/attention_backward.h"
#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Attention {
  Manifest kernel = shipped_kernel("attention_bf16_forward");

  Result<std::vector<TensorSpec>> tensors(std::string_view fields) const {
    return kernel.tensors(*parse_problem(kernel.schema(), fields));
  }

  TensorLayout layout(std::string_view fields, std::string_view name) const {
    const auto specs = tensors(fields);
    for (const TensorSpec& spec : *specs) {
      if (spec.name == name) return spec.layout;
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }

  std::string refusal(std::string_view fields) const {
    const auto specs = tensors(fields);
    return specs.ok() ? "" : specs.error().text();
  }

  // check_values() of starts, in sequences of 2 queries and 3 keys on average.
  std::string starts_refusal(const std::vector<int>& queries, const std::vector<int>& keys) const {
    const Problem problem =
        *parse_problem(kernel.schema(), "batch=2 queries=2 keys=3 d=8 lengths=random");
    CaseTensors made;
    made.specs = *kernel.tensors(problem);
    for (const TensorSpec& spec : made.specs) made.tensors.emplace_back(spec.layout);
    for (const auto& [name, values] : {std::pair{"query_starts", queries}, {"key_starts", keys}}) {
      for (std::size_t i = 0; i < values.size(); ++i)
        made.find(name)->set_bits(static_cast<std::int64_t>(i),
                                  static_cast<std::uint32_t>(values[i]));
    }
    const Status good = kernel.operation->check_values(problem, made);
    return good ? "" : good.error().text();
  }
};

TEST(AttentionOperation, TanhApproxIsForKernelsWithoutBiasAndSink) {
  const std::string path = std::string(PLUMBLINE_SOURCE_DIR) +
                           "/kernels/shipped/attention_bf16_forward/attention_bf16_forward.toml";
  const std::string approx =
      replaced(read_file(path), "[contract]\n", "[contract]\ntanh = \"approx\"\n");
  const Result<Manifest> refused = parse_manifest(approx, "k.toml");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(),
              HasSubstr("tanh = \"approx\" says nothing of a kernel with a bias (write tanh = "
                        "\"ex2\", or take it out of [problem])"));
  const std::string without =
      std::regex_replace(approx, std::regex("\n(bias|sink) [^\n]*\\[[^\n]*"), "");
  const Result<Manifest> accepted = parse_manifest(without, "k.toml");
  EXPECT_TRUE(accepted.ok()) << accepted.error().text();
}

TEST(AttentionOperation, ASinkThatComesFirstIsForKernelsWithoutPartsAndThresholds) {
  const auto parsed = [](const std::string& kernel, const std::string& terms) {
    const std::string path =
        std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/" + kernel + "/" + kernel + ".toml";
    const Result<Manifest> manifest =
        parse_manifest(replaced(read_file(path), "[contract]\n", "[contract]\n" + terms), "k.toml");
    return manifest ? "" : manifest.error().text();
  };
  const std::string first = "sink_step = \"first\"\n";
  EXPECT_EQ(parsed("attention_bf16_forward", first), "");
  EXPECT_THAT(parsed("attention_bf16_splitkv", first),
              HasSubstr("sink_step = \"first\" says nothing of a kernel with splits (write splits "
                        "= 1 in [problem], or sink_step = \"last\")"));
  EXPECT_THAT(parsed("attention_bf16_forward", first + "rescale_threshold = 8\n"),
              HasSubstr("sink_step = \"first\" says nothing of a kernel with a rescale_threshold"));
}

// The shipped kernel, as one that has these words of the field `lse`.
Result<Manifest> with_lse(const std::string& words) {
  const std::string path = std::string(PLUMBLINE_SOURCE_DIR) +
                           "/kernels/shipped/attention_bf16_forward/attention_bf16_forward.toml";
  return parse_manifest(
      replaced(read_file(path), "[problem]\n", "[problem]\nlse = [" + words + "]\n"), "k.toml");
}

// Inputs and outputs of zeros.
CaseTensors zeros(const Manifest& kernel, const Problem& problem) {
  CaseTensors tensors{*kernel.tensors(problem), {}};
  for (const TensorSpec& spec : tensors.specs) tensors.tensors.emplace_back(spec.layout);
  return tensors;
}

// As kernels of inference are.
TEST(AttentionOperation, MayStoreNoLse) {
  const Result<Manifest> kernel = with_lse(R"("none", "natural")");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  for (const auto& [fields, outputs] : {std::pair{"", 1}, {" lse=natural", 2}}) {
    const Problem problem =
        *parse_problem(kernel->schema(), std::string("queries=2 keys=3 d=8") + fields);
    const CaseTensors tensors = zeros(*kernel, problem);
    EXPECT_EQ(tensors.find("lse") != nullptr, outputs == 2);
    const auto oracle = kernel->operation->oracle(problem, *kernel, 80, tensors);
    EXPECT_EQ(oracle->outputs(), outputs);
    EXPECT_EQ(oracle->judge(0, *tensors.find("o"), JudgeOptions{}).failed, 0) << "V is 0";
    const auto staged = kernel->operation->staged(problem, *kernel, 80, tensors, tensors);
    EXPECT_EQ(staged->outputs().size(), static_cast<std::size_t>(outputs));
    EXPECT_EQ(staged->evaluate(0, -1).size(), static_cast<std::size_t>(outputs));
    EXPECT_EQ(staged->condition(0).size(), 16u);
  }
  EXPECT_THAT(with_lse(R"("non")").error().text(), HasSubstr("did you mean \"none\""));
}

TEST(AttentionOperation, LayoutsPermuteBatchHeadsAndLength) {
  const Attention attention;
  const std::string sizes = "batch=2 heads=6 kv_heads=3 queries=5 keys=7 d=16 dv=8";
  EXPECT_THAT(attention.layout(sizes, "q").shape, ElementsAre(2, 6, 5, 16));
  EXPECT_THAT(attention.layout(sizes, "q").strides, ElementsAre(480, 80, 16, 1));
  EXPECT_THAT(attention.layout(sizes, "v").shape, ElementsAre(2, 3, 7, 8));
  EXPECT_THAT(attention.layout(sizes + " layout=bsh", "k").strides, ElementsAre(336, 16, 48, 1));
  EXPECT_THAT(attention.layout(sizes + " layout=sbh pad=4", "o").strides,
              ElementsAre(72, 12, 144, 1));
  EXPECT_THAT(attention.layout(sizes + " kv=shared", "k").strides, ElementsAre(0, 112, 16, 1));
}

TEST(AttentionOperation, PackedSequencesShareOneBatchElement) {
  const Attention attention;
  const std::string fields = "batch=3 heads=2 queries=5 keys=7 d=8 lengths=gaps";
  EXPECT_THAT(attention.layout(fields, "q").shape, ElementsAre(1, 2, 15, 8));
  EXPECT_THAT(attention.layout(fields, "k").shape, ElementsAre(1, 2, 21, 8));
  EXPECT_THAT(attention.layout(fields, "lse").shape, ElementsAre(1, 2, 15));
  EXPECT_THAT(attention.layout(fields, "query_starts").shape, ElementsAre(4));
}

TEST(AttentionOperation, RefusesProblemsThatContradictThemselves) {
  const Attention attention;
  const std::string sizes = "queries=4 keys=4 d=8 ";
  EXPECT_EQ(attention.refusal(sizes + "heads=6 kv_heads=2"), "");
  EXPECT_THAT(attention.refusal(sizes + "heads=6 kv_heads=4"), HasSubstr("6 query heads"));
  EXPECT_EQ(attention.refusal(sizes + "causal=bottom_right window_left=3 window_right=0"), "");
  EXPECT_THAT(attention.refusal(sizes + "causal=bottom_right window_right=1"),
              HasSubstr("window_right=1"));
  EXPECT_THAT(attention.refusal(sizes + "lengths=random bias=f32"), HasSubstr("one length"));
  EXPECT_THAT(attention.refusal(sizes + "lengths=random kv=shared"), HasSubstr("kv=own"));
  EXPECT_EQ(attention.refusal(sizes + "scale=0"), "");
  EXPECT_THAT(attention.refusal(sizes + "scale=-0.5"), HasSubstr("scale is -0.5"));
}

TEST(AttentionOperation, RefusesStartsThatAreNone) {
  const Attention attention;
  EXPECT_EQ(attention.starts_refusal({0, 1, 4}, {0, 0, 5}), "");
  EXPECT_THAT(attention.starts_refusal({1, 1, 4}, {0, 3, 6}), HasSubstr("query_starts[0] is 1"));
  EXPECT_THAT(attention.starts_refusal({0, 3, 2}, {0, 3, 6}), HasSubstr("query_starts[2] is 2"));
  EXPECT_THAT(attention.starts_refusal({0, 2, 4}, {0, 3, 7}), HasSubstr("has 6 rows"));
}

TEST(AttentionOperation, EverySequenceAndHeadHasItsScales) {
  OperationCase made("attention_fp8_forward",
                     "batch=2 heads=4 kv_heads=2 queries=2 keys=3 d=8 scales=head", 90, {},
                     [](CaseTensors& tensors) {
                       for (const std::string_view name : {"q_scale", "k_scale", "v_scale"}) {
                         Tensor& scales = *tensors.find(name);
                         for (std::int64_t i = 0; i < scales.layout.count(); ++i)
                           scales.set_bits(i, 0x3f800000u + static_cast<std::uint32_t>(i));
                       }
                     });
  EXPECT_THAT(made.tensor("q_scale").layout.shape, ElementsAre(2, 4));
  EXPECT_THAT(made.tensor("k_scale").layout.shape, ElementsAre(2, 2));
  EXPECT_THAT(made.tensor("v_scale").layout.shape, ElementsAre(2, 2));
  const AttentionProblem problem = attention_problem(made.problem, made.tensors);
  const HeadPlace place{.batch = 1, .sequence = 1, .head = 3, .kv_head = 1};
  const HeadScales scales = head_scales(problem, place);
  EXPECT_EQ(scales.q, made.value("q_scale", 7));
  EXPECT_EQ(scales.k, made.value("k_scale", 3));
  EXPECT_EQ(scales.v, made.value("v_scale", 3));
  // Rows after the last sequence belong to none.
  EXPECT_EQ(head_scales(problem, {.sequence = 2}).v, 1);
}

TEST(AttentionOperation, EveryBlockOfRowsHasItsScale) {
  const Attention integers{shipped_kernel("attention_s8_forward")};
  const std::string sizes = "batch=2 heads=4 kv_heads=2 queries=70 keys=129 d=8 scales=block";
  EXPECT_THAT(integers.layout(sizes, "q_scale").shape, ElementsAre(2, 4, 2));
  EXPECT_THAT(integers.layout(sizes, "k_scale").shape, ElementsAre(2, 2, 3));
  const auto specs = integers.tensors(sizes);
  for (const TensorSpec& spec : *specs) EXPECT_NE(spec.name, "v_scale");
  const std::string packed = "batch=3 heads=2 queries=30 keys=50 d=8 scales=block lengths=random";
  EXPECT_THAT(integers.layout(packed, "q_scale").shape, ElementsAre(1, 2, 2));
  EXPECT_THAT(integers.layout(packed, "k_scale").shape, ElementsAre(1, 2, 3));
}

// V has some where its elements need them.
TEST(AttentionOperation, EveryBlockOfAnEightBitVHasItsScale) {
  const Attention fp8{shipped_kernel("attention_fp8_forward")};
  const std::string sizes = "batch=2 heads=4 kv_heads=2 queries=70 keys=129 d=8 scales=block";
  EXPECT_THAT(fp8.layout(sizes, "k_scale").shape, ElementsAre(2, 2, 3));
  EXPECT_THAT(fp8.layout(sizes, "v_scale").shape, ElementsAre(2, 2, 3));
  const std::string packed = "batch=3 heads=2 queries=30 keys=50 d=8 scales=block lengths=random";
  EXPECT_THAT(fp8.layout(packed, "v_scale").shape, ElementsAre(1, 2, 3));
}

TEST(AttentionOperation, ScalesOfBlocksOfVArePositiveAndFarFromTheEnds) {
  OperationCase made("attention_fp8_forward", "queries=2 keys=130 d=8 scales=block", 90, {},
                     [](CaseTensors& tensors) {
                       for (const std::string_view name : {"q_scale", "k_scale", "v_scale"}) {
                         Tensor& scales = *tensors.find(name);
                         for (std::int64_t i = 0; i < scales.layout.count(); ++i)
                           scales.set_bits(i, 0x3f800000u);
                       }
                     });
  const auto refusal = [&](std::uint32_t bits) {
    made.tensors.find("v_scale")->set_bits(2, bits);
    const Status good = check_attention_scales(made.problem, made.tensors);
    return good ? std::string() : good.error().text();
  };
  EXPECT_EQ(refusal(0x4e800000u), "");  // 2^30
  for (const std::uint32_t bits : {0x00000000u, 0xbf800000u, 0x7fc00000u, 0x7f800000u, 0x4e800001u})
    EXPECT_THAT(refusal(bits), HasSubstr("v_scale[2] is"));
}

// Two packed sequences of keys, each far from 0 by a vector of its own.
TEST(AttentionOperation, IntegerKeysAreQuantizedWithoutTheirMean) {
  OperationCase made(
      "attention_s8_forward", "batch=2 queries=2 keys=40 d=8 scales=block lengths=random", 80, {},
      [](CaseTensors& tensors) {
        for (const auto& [name, starts] : {std::pair{"query_starts", std::array{0, 2, 4}},
                                           std::pair{"key_starts", std::array{0, 30, 80}}}) {
          for (std::int64_t i = 0; i < 3; ++i) {
            tensors.find(name)->set_bits(
                i, static_cast<std::uint32_t>(starts[static_cast<std::size_t>(i)]));
          }
        }
        for (const std::string_view name : {"q_scale", "k_scale"}) {
          Tensor& scales = *tensors.find(name);
          for (std::int64_t i = 0; i < scales.layout.count(); ++i) scales.set_bits(i, 0x3f800000u);
        }
      });
  CaseTensors sources = made.tensors;
  for (const std::string_view name : {"q", "k", "v"}) {
    Tensor& source = *sources.find(name);
    source = Tensor(dense_layout(FormatId::f32, source.layout.shape));
    Random random(3);
    for (std::int64_t i = 0; i < source.layout.count(); ++i) {
      const double offset = name == "k" ? (i / 8 < 30 ? 100 : -50) + static_cast<double>(i % 8) : 0;
      source.set_bits(i, encode(format(FormatId::f32), offset + random.unit() - 0.5));
    }
  }
  quantize_attention(made.problem, sources, made.tensors);
  const Tensor& k = *sources.find("k");
  const auto of_source = [&](std::int64_t key, std::int64_t x) {
    return to_double(format(FormatId::f32), k.bits(key * 8 + x));
  };
  for (std::int64_t key = 0; key < 80; ++key) {
    const std::int64_t first = key < 30 ? 0 : 30, end = key < 30 ? 30 : 80;
    const double scale = made.value("k_scale", key / 64);
    EXPECT_LT(scale, 0.7 / 127);  // not of numbers near 100
    for (std::int64_t x = 0; x < 8; ++x) {
      double mean = 0;
      for (std::int64_t other = first; other < end; ++other)
        mean += of_source(other, x) / static_cast<double>(end - first);
      EXPECT_NEAR(made.value("k", key * 8 + x) * scale, of_source(key, x) - mean, 0.51 * scale);
    }
  }
}

TEST(AttentionOperation, OfTheBackwardPassEveryMatrixHasOneScaleAndSoHasDs) {
  constexpr std::array kScales = {"q_scale", "k_scale", "v_scale", "do_scale", "ds_scale"};
  const auto set = [&](CaseTensors& tensors) {
    std::uint32_t bits = 0x3f800000u;
    for (const char* name : kScales) tensors.find(name)->set_bits(0, bits += 0x10000u);
  };
  const OperationCase made(
      "attention_fp8_backward",
      "batch=2 heads=4 kv_heads=2 queries=2 keys=3 d=8 scale=0.25 scales=tensor", 90, {}, set);
  for (const char* name : kScales) EXPECT_THAT(made.tensor(name).layout.shape, ElementsAre(1));
  EXPECT_EQ(made.tensor("do").layout.format, FormatId::e5m2);
  AttentionBackwardProblem problem;
  problem.attention = attention_problem(made.problem, made.tensors);
  problem.do_scale = &made.tensor("do_scale");
  problem.ds_scale = &made.tensor("ds_scale");
  const GradientScales scales = gradient_scales(problem);
  const auto value = [&](std::string_view name) { return static_cast<float>(made.value(name, 0)); };
  EXPECT_EQ(scales.dp(), value("do_scale") * value("v_scale"));
  EXPECT_EQ(scales.dq(), 0.25f * value("k_scale") / value("ds_scale"));
  EXPECT_EQ(scales.dk(), 0.25f * value("q_scale") / value("ds_scale"));
  // Of every sequence and head.
  EXPECT_EQ(head_scales(problem.attention, {.sequence = 1, .head = 3, .kv_head = 1}).v,
            value("v_scale"));
}

TEST(AttentionOperation, RefusesScalesThatAreNone) {
  const auto refusal = [&](float scale, std::string_view fields, std::string_view name,
                           std::int64_t index, std::string_view kernel_name) {
    const Manifest kernel = shipped_kernel(std::string(kernel_name));
    const Problem problem = *parse_problem(kernel.schema(), fields);
    CaseTensors made;
    made.specs = *kernel.tensors(problem);
    for (const TensorSpec& spec : made.specs) {
      Tensor& tensor = made.tensors.emplace_back(spec.layout);
      if (!spec.name.ends_with("_scale")) continue;
      for (std::int64_t i = 0; i < tensor.layout.count(); ++i) tensor.set_bits(i, 0x3f800000u);
    }
    made.find(name)->set_bits(index, std::bit_cast<std::uint32_t>(scale));
    const Status good = kernel.operation->check_values(problem, made);
    return good ? "" : good.error().text();
  };
  const auto forward = [&](float scale, std::string_view more = "") {
    const std::string fields = "heads=2 queries=1 keys=1 d=8 scales=head";
    return refusal(scale, fields + std::string(more), "k_scale", 1, "attention_fp8_forward");
  };
  const auto backward = [&](float scale) {
    return refusal(scale, "queries=1 keys=1 d=8 scales=tensor", "ds_scale", 0,
                   "attention_fp8_backward");
  };
  EXPECT_EQ(forward(1.5f), "");
  EXPECT_EQ(backward(1.5f), "");
  for (const float scale : {0.0f, -1.0f, 1e-20f, 1e20f, INFINITY, NAN}) {
    EXPECT_THAT(forward(scale), HasSubstr("k_scale[1] is"));
    EXPECT_THAT(backward(scale), HasSubstr("ds_scale[0] is"));
  }
  EXPECT_THAT(forward(1, " scale=2e9"), HasSubstr("scale is 2e+09"));
}

// dK and dV add over the heads that share a key: these would need a sum for each scale.
TEST(AttentionOperation, ScalesOfHeadsHaveNoBackwardPass) {
  const std::string path = std::string(PLUMBLINE_SOURCE_DIR) +
                           "/kernels/shipped/attention_fp8_backward/attention_fp8_backward.toml";
  const std::string text = replaced(read_file(path), "\"tensor\"]", "\"head\"]");
  const Result<Manifest> manifest = parse_manifest(text, "k.toml");
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().text(), HasSubstr("no backward pass"));
}

TEST(AttentionOperation, MasksLeaveOneRangeOfKeys) {
  const auto range = [](const AttentionMask& mask, std::int64_t query, std::int64_t queries,
                        std::int64_t keys) {
    const KeyRange visible = mask.visible(query, queries, keys);
    return std::pair(visible.first, visible.end);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(range({}, 0, 2, 5), Pair(0, 5));
  EXPECT_EQ(range({Causal::bottom_right}, 0, 2, 5), Pair(0, 4));
  EXPECT_EQ(range({Causal::top_left}, 0, 2, 5), Pair(0, 1));
  EXPECT_TRUE(AttentionMask{Causal::bottom_right}.visible(0, 5, 2).empty());
  EXPECT_EQ(range({Causal::bottom_right, 1}, 1, 2, 5), Pair(3, 5));
  EXPECT_EQ(range({Causal::none, 0, 1}, 0, 2, 5), Pair(3, 5));
  EXPECT_EQ(range({Causal::none, 0, 1}, 1, 2, 5), Pair(4, 5));
}

TEST(AttentionOperation, CutsTensorsIntoHeads) {
  OperationCase made("attention_bf16_forward",
                     "batch=2 heads=4 kv_heads=2 queries=2 keys=3 d=8 dv=16 layout=bsh", 90);
  AttentionProblem problem;
  problem.q = &made.tensor("q");
  problem.k = &made.tensor("k");
  problem.v = &made.tensor("v");
  const std::vector<HeadPlace> places = head_places(problem);
  ASSERT_EQ(places.size(), 8u);
  EXPECT_EQ(places[7].batch, 1);
  EXPECT_EQ(places[7].kv_head, 1);
  const AttentionHead head = attention_head(problem, places[7]);
  ASSERT_EQ(head.v.size(), 3u * 16u);
  // Element (1, 1, 2, 5) of V by its logical index.
  EXPECT_EQ(head.v[2 * 16 + 5], made.value("v", ((1 * 2 + 1) * 3 + 2) * 16 + 5));
  EXPECT_EQ(head.q[1 * 8 + 3], made.value("q", ((1 * 4 + 3) * 2 + 1) * 8 + 3));
}

TEST(AttentionOperation, RowsAfterTheLastSequenceSeeNoKey) {
  const Attention attention;
  const Problem problem =
      *parse_problem(attention.kernel.schema(), "batch=2 queries=3 keys=3 d=8 lengths=slack");
  CaseTensors made;
  made.specs = *attention.kernel.tensors(problem);
  for (const TensorSpec& spec : made.specs) made.tensors.emplace_back(spec.layout);
  const std::vector<std::uint64_t> starts = {0, 2, 4};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    made.find("query_starts")->set_bits(static_cast<std::int64_t>(i), starts[i]);
    made.find("key_starts")->set_bits(static_cast<std::int64_t>(i), starts[i]);
  }
  AttentionProblem cut;
  cut.q = made.find("q");
  cut.k = made.find("k");
  cut.v = made.find("v");
  cut.query_starts = made.find("query_starts");
  cut.key_starts = made.find("key_starts");
  const std::vector<HeadPlace> places = head_places(cut);
  ASSERT_EQ(places.size(), 4u);  // two sequences, then two rows without keys, and keys without rows
  EXPECT_EQ(places[2].first_query, 4);
  EXPECT_EQ(places[2].queries, 2);
  EXPECT_EQ(places[2].keys, 0);
  EXPECT_EQ(places[3].queries, 0);
  EXPECT_EQ(places[3].first_key, 4);
}

}  // namespace
}  // namespace plumbline
