// SPDX-License-Identifier: MIT
#include "kernels/manifest/manifest.h"
#include "tests/folders.h"

#include "tests/kernels/manifest/manifest_files.h"
#include "tests/kernels/ops/gemm_problems.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <span>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

Manifest shipped() {
  Result<Manifest> manifest = read_manifest(shipped_manifest_path());
  EXPECT_TRUE(manifest.ok()) << manifest.error().text();
  return manifest.ok() ? *manifest : Manifest();
}

std::int64_t value(const Expression& expression, std::string_view problem) {
  const Result<std::int64_t> result = expression.evaluate(gemm(problem));
  EXPECT_TRUE(result.ok()) << result.error().text();
  return result.ok() ? *result : -1;
}

TEST(Manifest, TheShippedOneReads) {
  const Manifest manifest = shipped();
  EXPECT_EQ(manifest.name, "gemm_bf16");
  EXPECT_EQ(manifest.operation, find_operation("gemm"));
  EXPECT_EQ(manifest.source, "gemm_bf16.cu");
  EXPECT_EQ(manifest.ptx, "");
  EXPECT_EQ(manifest.targets, (std::vector<int>{80, 90}));
  ASSERT_EQ(manifest.launches.size(), 1u);
  EXPECT_EQ(manifest.launches[0].parameters.size(), 21u);
  EXPECT_EQ(manifest.tile,
            (std::map<std::string, std::int64_t>{{"m", 128}, {"n", 128}, {"k", 32}}));
}

TEST(Manifest, TargetsMayBeForOneChipOrOneFamily) {
  const std::string text =
      replaced(read_file(shipped_manifest_path()), "[80, 90]", "[80, \"90a\", \"100f\"]");
  const Result<Manifest> manifest = parse_manifest(text, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  EXPECT_EQ(manifest->targets, (std::vector<int>{80, 90, 100}));
  EXPECT_EQ(manifest->architecture(80), "80");
  EXPECT_EQ(manifest->architecture(90), "90a");
  EXPECT_EQ(manifest->architecture(100), "100f");
  EXPECT_EQ(manifest->ptx_path(90), "k.sm_90.ptx");
  const auto chips = [&](int target) {
    std::vector<int> runs;
    for (const int sm : {75, 80, 89, 90, 91, 100, 103, 110}) {
      if (manifest->runs_on(target, sm)) runs.push_back(sm);
    }
    return runs;
  };
  EXPECT_EQ(chips(80), (std::vector<int>{80, 89, 90, 91, 100, 103, 110}));
  EXPECT_EQ(chips(90), (std::vector<int>{90}));
  EXPECT_EQ(chips(100), (std::vector<int>{100, 103}));
}

TEST(Manifest, InPlacePairsHaveOneFormatAndTheOutputsLayout) {
  std::string text = read_file(shipped_manifest_path());
  text = replaced(text, "[tile]", "[in_place]\nd = \"c\"\n[tile]");
  const auto error = [](const std::string& changed) {
    const Result<Manifest> manifest = parse_manifest(changed, "k.toml");
    return manifest ? "" : manifest.error().text();
  };
  EXPECT_THAT(error(text),
              HasSubstr("c lies in the memory of d, whose layout it has, so ldc cannot "
                        "be free (remove it from free in [problem])"));
  text = replaced(text, "\"ldc\", \"ldd\"", "\"ldd\"");
  EXPECT_THAT(error(text), HasSubstr("stride_c cannot be free"));
  text = replaced(text, "\"stride_c\", ", "");
  EXPECT_THAT(error(text), HasSubstr("k.toml:12:32: there is no field \"ld_c\""));
  text = replaced(text, "s64 ld_c", "s64 ld_d");
  EXPECT_THAT(error(text), HasSubstr("there is no field \"batch_stride_c\""));
  text = replaced(text, "s64 batch_stride_c", "s64 batch_stride_d");
  EXPECT_EQ(error(text), "");
  EXPECT_THAT(error(replaced(text, "d    = \"{out}\"", "d = \"{out}\"\n")), "");
  EXPECT_THAT(error(replaced(text, "c    = \"{out}\"", "c = \"bf16\"")),
              HasSubstr("d is {out}, and c in whose memory it lies is bf16"));
  EXPECT_THAT(error(replaced(text, "d = \"c\"", "d = \"d\"")), HasSubstr("did you mean"));
  EXPECT_THAT(error(replaced(text, "d = \"c\"", "e = \"c\"")), HasSubstr("\"e\" is not known"));

  const Manifest manifest = *parse_manifest(text, "k.toml");
  const auto tensors =
      manifest.tensors(*parse_problem(manifest.schema(), "m=3 n=5 k=4 beta=1 ldd=9"));
  ASSERT_TRUE(tensors);
  const auto spec = [&](std::string_view name) {
    return *std::ranges::find(*tensors, name, &TensorSpec::name);
  };
  EXPECT_EQ(spec("d").in_place_of, "c");
  EXPECT_EQ(spec("c").layout.strides, spec("d").layout.strides);
}

TEST(Manifest, OutputsThatAreZeroedAreOutputs) {
  const auto zeroed = [](const std::string& names) {
    return parse_manifest(
        replaced(read_file(shipped_manifest_path()), "computes", names + "\ncomputes"), "k.toml");
  };
  const Result<Manifest> manifest = zeroed("zeroed = [\"d\"]");
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->zeroed, std::vector<std::string>{"d"});
  EXPECT_THAT(zeroed("zeroed = [\"c\"]").error().text(), HasSubstr("\"c\" is not known here"));
  EXPECT_THAT(zeroed("zeroed = \"d\"").error().text(), HasSubstr("must be an array"));
}

TEST(Manifest, TheShippedContractIsTheKernels) {
  const Contract contract = shipped().contract(gemm("m=1 n=1 k=1"), "d");
  EXPECT_EQ(contract.unit, Unit::tensor_core);
  EXPECT_EQ(contract.instruction, Instruction::mma_sync);
  EXPECT_EQ(contract.schedule, Schedule::sequential);
  EXPECT_EQ(contract.epilogue, (std::vector{EpilogueStep::alpha, EpilogueStep::beta_c_fma,
                                            EpilogueStep::bias, EpilogueStep::relu}));
  EXPECT_EQ(contract.output.rounding, Rounding::nearest_even);
  EXPECT_EQ(contract.output.overflow, Overflow::to_special);
  EXPECT_TRUE(contract.deterministic && contract.odd_symmetric && contract.position_independent);
}

// A kernel without C need not say what C would be.
TEST(Manifest, CHasTheFormatOfDUnlessItSaysOtherwise) {
  const std::string text = replaced(read_file(shipped_manifest_path()), "c    = \"{out}\"", "");
  const Result<Manifest> manifest = parse_manifest(text, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  EXPECT_EQ(manifest->formats.at("c"), manifest->formats.at("d"));
}

// PTX converts f32 to FP8 by .satfinite alone.
TEST(Manifest, Fp8OutputsSaturateUnlessItSaysOtherwise) {
  const auto overflow = [](const std::string& output, const std::string& format) {
    std::string text =
        replaced(read_file(shipped_manifest_path()),
                 "output   = { rounding = \"nearest even\", overflow = \"special\" }", output);
    text = replaced(text, "out    = [\"bf16\", \"f32\"]", "out = [\"" + format + "\"]");
    const Result<Manifest> manifest = parse_manifest(text, "k.toml");
    EXPECT_TRUE(manifest.ok()) << manifest.error().text();
    return manifest->contract(Problem(manifest->schema()), "d").output.overflow;
  };
  for (const char* silent : {"", "output = { rounding = \"toward zero\" }"}) {
    EXPECT_EQ(overflow(silent, "e4m3"), Overflow::saturate) << silent;
    EXPECT_EQ(overflow(silent, "bf16"), Overflow::to_special) << silent;
  }
  EXPECT_EQ(overflow("output = { overflow = \"special\" }", "e4m3"), Overflow::to_special);
}

TEST(Manifest, EntryIsPickedByTheProblem) {
  const Manifest manifest = shipped();
  const KernelLaunch& launch = manifest.launches[0];
  EXPECT_EQ(manifest.entry(launch, gemm("m=1 n=1 k=1")), "gemm_bf16_nn_bf16");
  EXPECT_EQ(manifest.entry(launch, gemm("m=1 n=1 k=1 layout=tn out=f32")), "gemm_bf16_tn_f32");
}

TEST(Manifest, EveryEntryIsInTheSource) {
  const Manifest manifest = shipped();
  const std::string source =
      read_file(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/gemm_bf16/gemm_bf16.cu");
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    for (const char* out : {"bf16", "f32"}) {
      EXPECT_NE(source.find("GEMM_BF16_ENTRY(" + std::string(layout) + "_" + out + ","),
                std::string::npos);
    }
  }
}

TEST(Manifest, FormatsMayFollowTheProblem) {
  const Manifest manifest = shipped();
  EXPECT_EQ(manifest.tensor_format("a", gemm("m=1 n=1 k=1 out=f32")), FormatId::bf16);
  EXPECT_EQ(manifest.tensor_format("d", gemm("m=1 n=1 k=1 out=f32")), FormatId::f32);
  EXPECT_EQ(manifest.tensor_format("c", gemm("m=1 n=1 k=1")), FormatId::bf16);
}

TEST(Manifest, LaunchCoversTheOutput) {
  const Manifest manifest = shipped();
  const KernelLaunch& launch = manifest.launches[0];
  EXPECT_EQ(value(launch.grid[0], "m=129 n=1 k=5"), 2);
  EXPECT_EQ(value(launch.grid[0], "m=129 n=257 k=5"), 6);
  EXPECT_EQ(value(launch.grid[0], "m=0 n=257 k=5"), 0);
  EXPECT_EQ(value(launch.grid[1], "m=129 n=257 k=5"), 1);
  EXPECT_EQ(value(launch.grid[2], "m=1 n=1 k=5 batch=300"), 256);
  EXPECT_EQ(value(launch.grid[2], "m=1 n=1 k=5 batch=0"), 0);
  EXPECT_EQ(value(launch.block[0], "m=1 n=1 k=5"), 256);
  EXPECT_EQ(value(launch.block[2], "m=1 n=1 k=5"), 1);
  EXPECT_EQ(value(launch.shared_bytes, "m=1 n=1 k=5"), 49152);
}

// The one value of a parameter that is no struct.
const KernelValue& only(const KernelParameter& parameter) {
  EXPECT_EQ(parameter.values.size(), 1u);
  EXPECT_EQ(parameter.bytes, parameter.values[0].type->bytes);
  return parameter.values[0];
}

TEST(Manifest, AGridOfOneDimensionNeedsNoArray) {
  std::string text = replaced(read_file(shipped_manifest_path()), "[256]", "256");
  const std::size_t begin = text.find("grid   = ["), end = text.find('\n', begin);
  text.replace(begin, end - begin, "grid   = 'm * n'");
  const Result<Manifest> manifest = parse_manifest(text, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  const Problem problem = *parse_problem(manifest->schema(), "m=5 n=3 k=1");
  const KernelLaunch& launch = manifest->launches[0];
  EXPECT_EQ(*launch.grid[0].evaluate(problem), 15);
  EXPECT_EQ(*launch.grid[1].evaluate(problem), 1);
  EXPECT_EQ(*launch.block[0].evaluate(problem), 256);
}

TEST(Manifest, ParametersSayTypeAndValue) {
  const Manifest manifest = shipped();
  const auto& parameters = manifest.launches[0].parameters;
  EXPECT_EQ(only(parameters[0]).type->word, "ptr");
  EXPECT_EQ(only(parameters[3]).name, "bias");
  EXPECT_EQ(only(parameters[5]).type->word, "s32");
  EXPECT_EQ(value(only(parameters[5]).expression, "m=7 n=8 k=9"), 7);
  EXPECT_EQ(only(parameters[9]).type->word, "s64");
  EXPECT_EQ(value(only(parameters[9]).expression, "m=7 n=8 k=9 layout=tn"), 7);
  EXPECT_EQ(only(parameters[17]).type->word, "f32");
  EXPECT_EQ(only(parameters[17]).expression.evaluate_real(gemm("m=1 n=1 k=1 alpha=0.5")).value(),
            0.5);
  EXPECT_EQ(value(only(parameters[19]).expression, "m=7 n=8 k=9 bias=column"), 2);
  EXPECT_EQ(value(only(parameters[20]).expression, "m=7 n=8 k=9 act=relu"), 1);
}

TEST(Manifest, DomainExcludesWithAReason) {
  const Manifest manifest = shipped();
  EXPECT_EQ(manifest.excluded(gemm("m=1 n=1 k=1")), std::nullopt);
  EXPECT_EQ(manifest.excluded(gemm("m=0 n=0 k=0 batch=0")), std::nullopt);
  EXPECT_EQ(manifest.excluded(gemm("m=1 n=1 k=2147483648")),
            "m, n, k and batch are 32-bit in this kernel");
  EXPECT_EQ(manifest.excluded(gemm("m=2147483647 n=2147483647 k=1")),
            "the grid would have more than 2^31 - 1 tiles of 128x128");
}

TEST(Manifest, KnownFindingsAreToldWithTheContract) {
  constexpr std::string_view kKnown = R"(
[[known]]
says   = "missing wait: the thread exits"
reason = "the last store is not waited for"
)";
  const Manifest plain = shipped();
  const std::string text = read_file(shipped_manifest_path());
  const Result<Manifest> manifest = parse_manifest(text + std::string(kKnown), "known.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  ASSERT_EQ(manifest->known.size(), 1u);
  EXPECT_EQ(manifest->known[0].says, "missing wait: the thread exits");
  const Problem problem = *parse_problem(plain.schema(), "m=1 n=1 k=1");
  EXPECT_EQ(manifest->describe_contract(problem, 80),
            plain.describe_contract(problem, 80) + "; known: the last store is not waited for");
  const auto mistake = [&](std::string_view known) {
    return parse_manifest(text + std::string(known), "known.toml").error().text();
  };
  const auto says = [&](std::string_view known, std::string_view words) {
    return mistake(known).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("[[known]]\nreason = \"x\"\n", "\"says\" is missing"));
  EXPECT_TRUE(says("[[known]]\nsays = \"x\"\n", "\"reason\" is missing"));
  EXPECT_TRUE(says("[[known]]\nsays = \"\"\nreason = \"x\"\n", "every finding would be known"));
  EXPECT_TRUE(says("[[known]]\nsay = \"x\"\nreason = \"x\"\n", "did you mean \"says\"?"));
}

TEST(Manifest, AKernelHasTheFieldsItLists) {
  const TemporaryFolder folder;
  std::string text = replaced(read_file(shipped_manifest_path()), R"(["none", "row", "column"])",
                              R"(["column", "row", "none"])");
  text = replaced(text, R"("alpha", "beta", "lda")", R"("beta", "lda")");
  const Result<Manifest> manifest = read_manifest(folder.write("k.toml", text));
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  const auto problem_error = [&](std::string_view fields) {
    const Result<Problem> problem = parse_problem(manifest->schema(), fields);
    return problem.ok() ? problem->text() : problem.error().message;
  };
  EXPECT_EQ(problem_error("m=1 n=2 k=3"), "m=1 n=2 k=3");
  EXPECT_EQ(parse_problem(manifest->schema(), "m=1 n=2 k=3")->word("bias"), "column")
      << "the first word listed";
  EXPECT_EQ(problem_error("m=1 n=2 k=3 bias=none alpha=1"), "m=1 n=2 k=3 bias=none");
  EXPECT_EQ(problem_error("m=1 n=2 k=3 bias=rows"), "bias=rows is none of column, row, none");
  EXPECT_EQ(problem_error("m=1 n=2 k=3 alpha=2"), "alpha=2 is not what this kernel has");
  EXPECT_EQ(problem_error("m=1 n=2 k=3 splits=2"), "splits=2 is not what this kernel has");
  EXPECT_EQ(problem_error("m=1 n=2 k=3 scale_a=row"),
            "scale_a=row is not what this kernel has: only scale_a=none");
}

// Several launches, scratch memory, parts of a split-K taken from the problem, and a contract of
// its own for an output.
constexpr std::string_view kTwoLaunches = R"(
computes = "linear_backward"
summary = "two launches"
ptx = "k.ptx"
targets = [80]
parameters = ["ptr dy", "ptr workspace", "s32 m"]
workspace = '2 * m'
[problem]
out = ["bf16", "f32"]
[[launch]]
entry = "first_{out}"
grid = ['m']
block = [32]
[[launch]]
entry = "second"
parameters = ["ptr db"]
grid = [1]
block = [64]
shared = 'n * 4'
when = 'out == "f32"'
[formats]
dy = "bf16"
x = "bf16"
w = "bf16"
[contract]
unit = "mma.sync"
schedule = "split_k"
parts = 'm > 4 ? 3 : 2'
interval = 16
epilogue = []
output = { saturates = ["f32"] }
[contract.db]
unit = "fma.f32"
schedule = "sequential"
epilogue = []
deterministic = false
)";

// kTwoLaunches with another schedule in its first contract.
Result<Manifest> with_schedule(std::string_view lines) {
  std::string text(kTwoLaunches);
  const std::size_t begin = text.find("schedule = \"split_k\""), end = text.find("epilogue", begin);
  return parse_manifest(text.replace(begin, end - begin, lines), "k.toml");
}

TEST(Manifest, AnUndeclaredScheduleMayLimitItsAccumulators) {
  const Result<Manifest> open = with_schedule("schedule = \"any\"\n");
  ASSERT_TRUE(open.ok()) << open.error().text();
  const Problem problem = *parse_problem(open->schema(), "m=5 n=1 k=1");
  EXPECT_EQ(open->contract(problem, "dx").schedule, Schedule::any);
  EXPECT_EQ(open->contract(problem, "dx").parts, 0);
  EXPECT_EQ(with_schedule("schedule = \"any\"\nparts = 8\n")->contract(problem, "dx").parts, 8);
  EXPECT_EQ(
      with_schedule("schedule = \"any\"\nparts = 'm > 4 ? 3 : 2'\n")->contract(problem, "dx").parts,
      3);
  EXPECT_FALSE(with_schedule("schedule = \"any\"\ninterval = 32\n"));
  EXPECT_FALSE(with_schedule("schedule = \"any\"\njoin = \"bf16\"\n"));
}

TEST(Manifest, LaunchesWorkspaceAndContractsPerOutput) {
  const Result<Manifest> manifest = parse_manifest(kTwoLaunches, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  const auto problem = [&](std::string_view text) {
    return *parse_problem(manifest->schema(), text);
  };
  ASSERT_EQ(manifest->launches.size(), 2u);
  EXPECT_EQ(manifest->entry(manifest->launches[0], problem("m=5 n=1 k=1 out=f32")), "first_f32");
  EXPECT_EQ(manifest->launches[0].parameters.size(), 3u);
  EXPECT_FALSE(manifest->launches[0].when.has_value());
  EXPECT_EQ(manifest->launches[1].parameters[0].values[0].name, "db");
  EXPECT_EQ(*manifest->launches[1].when->evaluate(problem("m=5 n=1 k=1 out=f32")), 1);
  EXPECT_EQ(*manifest->launches[1].when->evaluate(problem("m=5 n=1 k=1")), 0);
  const auto specs = manifest->tensors(problem("m=5 n=1 k=1"));
  ASSERT_TRUE(specs.ok());
  EXPECT_EQ(specs->back().name, "workspace");
  EXPECT_EQ(specs->back().role, TensorRole::workspace);
  EXPECT_EQ(specs->back().layout.count(), 10);
  EXPECT_EQ(manifest->contract(problem("m=5 n=1 k=1"), "dx").parts, 3);
  EXPECT_EQ(manifest->contract(problem("m=4 n=1 k=1"), "dw").parts, 2);
  EXPECT_EQ(manifest->contract(problem("m=4 n=1 k=1 out=f32"), "dx").output.overflow,
            Overflow::saturate);
  EXPECT_EQ(manifest->contract(problem("m=4 n=1 k=1"), "dx").output.overflow, Overflow::to_special);
  EXPECT_EQ(manifest->contract(problem("m=5 n=1 k=1"), "db").unit, Unit::fma_f32);
  EXPECT_FALSE(manifest->deterministic());
}

TEST(Manifest, APtxOrExpressionOfAnotherKernelsWordIsRefused) {
  const std::string text =
      replaced(std::string(kTwoLaunches), "when = 'out == \"f32\"'", "when = 'out == \"f16\"'");
  EXPECT_FALSE(parse_manifest(text, "k.toml").ok());
}

TEST(Manifest, PtxLiesBesideIt) {
  Manifest manifest = shipped();
  EXPECT_EQ(manifest.ptx_path(90),
            std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/gemm_bf16/gemm_bf16.sm_90.ptx");
  manifest.ptx = "other.ptx";
  EXPECT_EQ(manifest.ptx_path(90),
            std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/gemm_bf16/other.ptx");
}

// One mistake in a copy of the shipped manifest, and what the error must say after the file's name.
// Line and column are found from where the mistake is, so that editing the manifest does not break
// the test.
struct Mistake {
  const char* from;
  const char* to;
  const char* at;  // the text the error must point at, in the changed file
  const char* message;
};

std::string position_of(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t column = start == std::string::npos ? at + 1 : at - start;
  return std::to_string(line) + ":" + std::to_string(column);
}

// clang-format off
const Mistake kMistakes[] = {
    {"computes =", "computs =", "computs", R"(unknown key "computs" (did you mean "computes"?))"},
    {"\"gemm\"", "\"gem\"", "gem\"", R"("gem" is not known here (did you mean "gemm"? it is one of "attention", "attention_backward", "gemm", "grouped_gemm", "layernorm", "layernorm_backward", "linear_backward", "quantize", "rmsnorm", "rmsnorm_backward", "softmax", "softmax_backward", "swiglu_mlp"))"},
    {"summary  = \"", "summary = 3 #", "3 #", R"("summary" must be a string, not a whole number)"},
    {"summary  = \"", "summary = \"\\u001b[2J", "\\u001b", R"("summary" has a control character (write one plain line))"},
    {"source   = \"gemm_bf16.cu\"", "", "# The shipped", R"(neither "source" nor "ptx" is given (add source = "k.cu"))"},
    {"[80, 90]", "[80, true]", "true]", "a target must be a whole number, not true or false"},
    {"[80, 90]", "[80, \"90\"]", "90\"", R"("90" is not a target (write sm_80 as 80, and sm_90a as "90a"))"},
    {"[80, 90]", "[80, \"a\"]", "a\"]", R"("a" is not a target (write sm_80 as 80, and sm_90a as "90a"))"},
    {"[80, 90]", "[80, \"90b\"]", "90b", R"("90b" is not a target (write sm_80 as 80, and sm_90a as "90a"))"},
    {"[80, 90]", "[80, \"90aa\"]", "90aa", R"("90aa" is not a target (write sm_80 as 80, and sm_90a as "90a"))"},
    {"[80, 90]", "[80, \"9a\"]", "\"9a", "no chip has compute capability 9 (write sm_80 as 80)"},
    {"[80, 90]", "[90, \"90a\"]", "\"90a", "90 does not come after 90 (list targets once each, in increasing order)"},
    {"[80, 90]", "[90, 80]", "80]", "80 does not come after 90 (list targets once each, in increasing order)"},
    {"[80, 90]", "[80, 91]", "91", "no chip has compute capability 91 (write sm_80 as 80)"},
    {"[80, 90]", "[80, 107]", "107", "Rubin (sm_107) is not emulated: nothing public says how its tensor cores add (take another target)"},
    {"[80, 90]", "[8, 90]", "8, 90", "no chip has compute capability 8 (write sm_80 as 80)"},
    {"{layout}_{out}", "{layut}_{out}", "layut", R"(there is no field "layut" (did you mean "layout"?))"},
    {"{layout}_{out}", "{layout}_{out", "{out", "this brace is never closed (write {field})"},
    {"\"ptr bias\"", "\"ptr bia\"", "bia\"", R"(gemm has no tensor "bia" (did you mean "bias"?))"},
    {"\"s32 k\"", "\"i32 k\"", "i32", R"("i32" is not known here (did you mean "s32"? it is one of "struct", "ptr", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "tensor_map"))"},
    {"\"s32 k\"", "\"s32\"", "s32\"", R"(this parameter is only a type: "s32" (write a type and a value, as in "ptr a", "s32 m" or "f32 alpha"))"},
    {"\"s64 ld_b\"", "\"s64  ld_q\"", "ld_q", R"(there is no field "ld_q" (did you mean "ld_a"?))"},
    {"targets  = [80, 90]", "flags = [2]\ntargets  = [80, 90]", "2]", R"(a flag must be a string, not a whole number)"},
    {"source   = \"gemm_bf16.cu\"", "ptx = \"k.ptx\"\nflags = [\"-O1\"]", "[\"-O1", R"("flags" belong to a source (remove them))"},
    {"f32 alpha", "f32 alhpa", "alhpa", R"(there is no field "alhpa" (did you mean "alpha"?))"},
    {"[launch]", "[lanch]", "lanch", R"(unknown key "lanch" (did you mean "launch"?))"},
    {"grid   =", "gird =", "gird", R"(unknown key "gird" (did you mean "grid"?))"},
    {"ceil_div(m, 128) * ", "ceil_dv(m, 128) * ", "ceil_dv", R"(there is no function "ceil_dv" (did you mean "ceil_div"?))"},
    {"block  = [256]", "block = [256, 1, 1, 1]", "[256", R"("block" has 4 dimensions (give one, two or three))"},
    {"block  = [256]", "block = [0.5]", "0.5", R"("block" must be an expression in quotes or a whole number, not a real number)"},
    {"block  = [256]", "block = 0.5", "0.5", R"("block" must be an array, not a real number)"},
    {"block  = [256]", "", "[launch]", R"("block" is missing (add block = [256]))"},
    {"shared = '3", "shared = '3 +* ", "*  * (128", R"("*" is not expected here)"},
    {"a    = \"bf16\"", "a = \"bf61\"", "bf61", R"(there is no format "bf61" (did you mean "bf16"?))"},
    {"d    = \"{out}\"", "d = \"{oot}\"", "oot", R"(no field "oot" chooses a format (did you mean "out"?))"},
    {"bias = \"f32\"", "bias = \"s32\"", "s32\"\nd", R"("bias" of gemm cannot be s32 (it can be bf16, f16, f32))"},
    {"bias = \"f32\"", "bias = \"e4m3\"", "e4m3\"\nd", R"("bias" of gemm cannot be e4m3 (it can be bf16, f16, f32))"},
    {"a    = \"bf16\"", "a = \"f64\"", "f64\"\nb", R"("a" of gemm cannot be f64 (it can be bf16, f16, f32, tf32, e4m3, e5m2, e2m1, s8, u8))"},
    {"d    = \"{out}\"", "d = \"f32\"", "f32\"\n\n#", R"("d" is "f32", but [problem] has out = ["bf16", "f32"] (write d = "{out}", and in [problem] every format that the kernel has))"},
    {"bias = \"f32\"", "bais = \"f32\"", "bais", R"(unknown key "bais" (did you mean "bias"?))"},
    {"d    = \"{out}\"", "", "[formats]", R"("d" is missing (add d = "f32"))"},
    {"n = 128", "nn = 128", "nn =", R"(unknown key "nn" (did you mean "n"?))"},
    {"n = 128", "n = 0", "0\nk = 32", "0 is not a tile size (use at least 1)"},
    {"require = 'm", "requires = 'm", "requires", R"(unknown key "requires" (did you mean "require"?))"},
    {"require = 'm", "require = 'mm", "mm <=", R"(there is no field "mm" (did you mean "m"?))"},
    {"reason  = \"m", "# \"m", "[[domain]]", R"("reason" is missing (add reason = "k must be a multiple of 8"))"},
    {"free   = [\"batch\"", "free   = [\"zero_b\", \"batch\"", "[contract]", R"(the zero points zero_a and zero_b need unit int32 (leave them at 0))"},
    {"c      = [\"auto\"", "scale_a = [\"tensor\", \"1x128\"]\nc      = [\"auto\"", "[contract]", R"(scales along k need promotion "scaled fma" or "scaled" (or a unit with .block_scale, which applies them itself; or use tensor, row or column scales))"},
    {"mma.sync\"\n", "mma_sync\"\n", "mma_sync", R"("mma_sync" is not known here (did you mean "mma.sync"? it is one of "mma.sync", "wgmma", "tcgen05", "fma.f32", "int32", "mma.sync.block_scale", "tcgen05.block_scale"))"},
    {"mma.sync\"\n", "wgmma\"\n", "[contract]", "sm_80 has no wgmma for bf16 with an f32 accumulator (choose another target or another unit)"},
    {"\"sequential\"", "\"sequental\"", "sequental", R"("sequental" is not known here (did you mean "sequential"? it is one of "sequential", "promote", "split_k", "runs", "any"))"},
    {"\"sequential\"", "\"promote\"", "[contract]", R"("interval" is missing: schedule "promote" or "split_k" needs it (add interval = ...))"},
    {"\"sequential\"", "\"sequential\"\nparts = 4", "4\n", R"("parts" has no meaning without schedule "split_k", "runs" or "any" (remove it, or correct the schedule))"},
    {"\"beta_c fma\"", "\"beta_c_fma\"", "beta_c_fma", R"("beta_c_fma" is not known here (did you mean "beta_c fma"? it is one of "scale_a", "scale_b", "scale_ab", "alpha", "beta_c", "beta_c fma", "alpha beta_c fma", "bias", "bias fma", "relu", "relu max", "gelu erff", "gelu_tanh tanhf", "gelu_tanh tanh.approx", "gelu_tanh expf", "gelu_tanh ex2.approx", "silu expf", "silu ex2.approx", "silu tanh.approx", "scale_d", "zero_d"))"},
    {"\"beta_c fma\"", "\"alpha\"", "[contract]", R"(epilogue names "alpha" twice (name each step once))"},
    {"\"nearest even\"", "\"nearest\"", "nearest\"", R"("nearest" is not known here (it is one of "nearest even", "nearest away", "toward zero", "up", "down", "stochastic"))"},
    {"deterministic        = true", "deterministic = \"yes\"", "\"yes\"", R"("deterministic" must be true or false, not a string)"},
    {"act    = [", "acts = [", "acts", R"(unknown key "acts" (did you mean "act"?))"},
    {"\"relu\"]", "\"gelo\"]", "gelo\"]", R"("gelo" is not known here (did you mean "gelu"? it is one of "none", "relu", "gelu", "gelu_tanh", "silu"))"},
    {"\"relu\"]", "\"relu\", \"silu\"]", "[contract]", R"(the contract's epilogue does not say how silu is computed (name the step that the kernel does: "silu expf", "silu ex2.approx", "silu tanh.approx"))"},
    {"\"relu\"]", "\"none\"]", "\"none\"]\nc", R"("none" is listed twice (keep one))"},
    {"[\"none\", \"relu\"]", "[]", "[]", R"("act" must be a list of the words the kernel has (they are among none, relu, gelu, gelu_tanh, silu))"},
    {"\"alpha\", \"beta\", \"lda", "\"alhpa\", \"beta\", \"lda", "alhpa", R"("alhpa" is not known here (did you mean "alpha"? it is one of "m", "n", "k", "batch", "alpha", "beta", "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d", "zero_a", "zero_b", "zero_d", "splits", "offset"))"},
    {"[tile]", "[tile", "\nm = 128", ""},
};

// clang-format on

void expect_pointed_at(const std::string& text, std::span<const Mistake> mistakes) {
  const TemporaryFolder folder;
  for (const Mistake& mistake : mistakes) {
    const std::string changed = replaced(text, mistake.from, mistake.to);
    const std::string path = folder.write("k.toml", changed);
    const Result<Manifest> manifest = read_manifest(path);
    ASSERT_FALSE(manifest.ok()) << mistake.to;
    const std::string where = path + ":" + position_of(changed, mistake.at);
    if (*mistake.message == '\0') {  // toml++'s own words
      EXPECT_NE(manifest.error().text().find("not valid TOML"), std::string::npos);
      EXPECT_EQ(manifest.error().where, where);
      continue;
    }
    EXPECT_EQ(manifest.error().text(), where + ": " + mistake.message) << mistake.to;
  }
}

TEST(Manifest, EveryMistakeIsPointedAt) {
  expect_pointed_at(read_file(shipped_manifest_path()), kMistakes);
}

// What C would make of
//   struct Inner { char flag; double factor; short two[2]; };
//   struct Params { void *a, *b; int m; Inner inner; alignas(64) CUtensorMap map; float alpha; };
constexpr std::string_view kStructs = R"(
computes = "gemm"
summary = "structs"
ptx = "k.ptx"
targets = [90]
entry = "gemm"
parameters = ["struct params", "s32 n", "struct inner"]
[struct.params]
fields = ["ptr a", "ptr b", "s32 m", "struct inner", "tensor_map a", "f32 alpha * 0.5"]
[struct.inner]
fields = ["u8 1", "f64 alpha", "s16 m @ 16", "u16 2"]
[tensor_map.a]
dims = ["k", "m"]
strides = ["ld_a"]
box = [64, 64]
[problem]
layout = ["nn"]
free = ["alpha"]
[launch]
grid = [1]
block = [128]
[formats]
a = "bf16"
b = "bf16"
c = "bf16"
d = "bf16"
[contract]
unit = "mma.sync"
schedule = "sequential"
epilogue = ["alpha"]
)";

std::vector<std::int64_t> offsets(const KernelParameter& parameter) {
  std::vector<std::int64_t> all;
  for (const KernelValue& value : parameter.values) all.push_back(value.offset);
  return all;
}

TEST(Manifest, StructsLieAsInC) {
  struct Inner {
    char flag;
    double factor;
    short two[2];
  };

  struct Map {
    alignas(64) char bytes[128];
  };

  struct Params {
    void *a, *b;
    int m;
    Inner inner;
    Map map;
    float alpha;
  };

  const Result<Manifest> manifest = parse_manifest(kStructs, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  const auto& parameters = manifest->launches[0].parameters;
  EXPECT_EQ(parameters[0].bytes, static_cast<std::int64_t>(sizeof(Params)));
  EXPECT_EQ(parameters[2].bytes, static_cast<std::int64_t>(sizeof(Inner)));
  EXPECT_EQ(offsets(parameters[2]), (std::vector<std::int64_t>{0, 8, 16, 18}));
  const auto inner = static_cast<std::int64_t>(offsetof(Params, inner));
  EXPECT_EQ(offsets(parameters[0]),
            (std::vector<std::int64_t>{0, 8, 16, inner, inner + 8, inner + 16, inner + 18,
                                       offsetof(Params, map), offsetof(Params, alpha)}));
  const Result<Manifest> longer = parse_manifest(
      replaced(std::string(kStructs), "[struct.inner]", "[struct.inner]\nsize = 48"), "k.toml");
  ASSERT_TRUE(longer.ok()) << longer.error().text();
  EXPECT_EQ(longer->launches[0].parameters[2].bytes, 48);
}

// clang-format off
const Mistake kStructMistakes[] = {
    {"\"struct params\", \"s32", "\"struct prams\", \"s32", "prams", R"(there is no table [struct.prams] (did you mean "params"?))"},
    {"\"struct params\", \"s32", "\"strict params\", \"s32", "strict", R"("strict" is not known here (did you mean "struct"? it is one of "struct", "ptr", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "tensor_map"))"},
    {"\"struct params\", ", "", "params]", R"(no parameter is the struct "params" (add "struct params" to the parameters, or remove the table))"},
    {"\"s32 n\"", "\"s32 n @ 8\"", "8\", \"struct", R"(parameters have no offsets of their own (fields of a struct do: [struct.<name>]))"},
    {"\"f64 alpha\"", "\"f64 alfa\"", "alfa", R"(there is no field "alfa" (did you mean "alpha"?))"},
    {"\"f64 alpha\"", "\"struct inner\"", "inner\", \"s16", R"(struct inner contains itself)"},
    {"\"f64 alpha\"", "\"f64\"", "f64\"", R"(this parameter is only a type: "f64" (write a type and a value, as in "ptr a", "s32 m" or "f32 alpha"))"},
    {"\"f64 alpha\"", "\"f64 @ 8\"", "f64 @", R"(this parameter is only a type: "f64 @ 8" (write a type and a value, as in "ptr a", "s32 m" or "f32 alpha"))"},
    {"s16 m @ 16", "s16 m @ 14", "14", R"(byte 14 belongs to a field before this one (they end at 16))"},
    {"s16 m @ 16", "s16 m @ 17", "17", R"(byte 17 is not aligned for this field (its offset is a multiple of 2))"},
    {"s16 m @ 16", "s16 m @ ld_a", "ld_a\", \"u16", R"("ld_a" is not an offset (write bytes from where the struct begins, as offsetof gives them))"},
    {"s16 m @ 16", "s16 m @ 99999999999999999999", "999", R"("99999999999999999999" is not an offset (write bytes from where the struct begins, as offsetof gives them))"},
    {"s16 m @ 16", "s16 m @ 32764", "s16 m @", R"(this field ends at byte 32766 (kernels take 32764 at most))"},
    {"[struct.inner]", "[struct.inner]\nsize = 19", "19\nfields", R"(the struct cannot have 19 bytes (its fields take 20, and kernels take 32764 at most))"},
    {"[\"u8 1\", \"f64 alpha\", \"s16 m @ 16\", \"u16 2\"]", "[]", "[]\n", R"(the struct has no bytes (add its fields, or its size))"},
    {"[\"u8 1\", \"f64 alpha\", \"s16 m @ 16\", \"u16 2\"]", "[]\nsize = 0", "0\n[tensor", R"(the struct cannot have 0 bytes (its fields take 0, and kernels take 32764 at most))"},
    {"[struct.inner]", "[struct.inner]\npacked = true", "packed", R"(unknown key "packed" (the keys here are size, fields))"},
    {"fields = [\"u8 1\"", "felds = [\"u8 1\"", "felds", R"(unknown key "felds" (did you mean "fields"?))"},
    {"\"u8 1\"", "1", "1, \"f64", R"(a field must be a string, not a whole number)"},
    {"[struct.inner]", "[struct]\nb = 3\n[struct.inner]", "b = 3", R"(no parameter is the struct "b" (add "struct b" to the parameters, or remove the table))"},
};

// clang-format on

TEST(Manifest, EveryMistakeInStructsIsPointedAt) {
  expect_pointed_at(std::string(kStructs), kStructMistakes);
}

// Manifests that would end the stack or never end.
TEST(Manifest, NestingHasAnEnd) {
  std::string chain = replaced(std::string(kStructs), "[struct.inner]\n", "[struct.innermost]\n");
  chain = replaced(chain, "\"struct inner\", \"tensor", "\"struct s0\", \"tensor");
  chain = replaced(chain, ", \"struct inner\"]", "]");
  const auto nested = [&](int levels) {
    std::string text = chain;
    for (int i = 0; i < levels; ++i) {
      text += "[struct.s" + std::to_string(i) + "]\nfields = [\"struct " +
              (i + 1 < levels ? "s" + std::to_string(i + 1) : "innermost") + "\"]\n";
    }
    const Result<Manifest> manifest = parse_manifest(text, "k.toml");
    return manifest ? "" : manifest.error().message;
  };
  EXPECT_EQ(nested(62), "");
  EXPECT_EQ(nested(63), "structs are nested more than 64 deep");
  std::string key = "a";
  for (int i = 0; i < 50000; ++i) key += ".a";
  const Result<Manifest> dotted = parse_manifest(key + " = 1\n", "k.toml");
  ASSERT_FALSE(dotted.ok());
  EXPECT_EQ(
      dotted.error().text(),
      "k.toml: more than 4096 points: dotted keys could nest without end (shorten keys, texts "
      "and comments)");
}

TEST(Manifest, OtherThingsThanFilesAreNoManifests) {
  const TemporaryFolder folder;
  const Result<Manifest> of_folder = read_manifest(folder.path());
  ASSERT_FALSE(of_folder.ok());
  EXPECT_EQ(of_folder.error().text(),
            folder.path() + ": is a folder (name a manifest, a file <kernel>.toml)");
  const std::string path = folder.write("long.toml", std::string(1048577, '#'));
  const Result<Manifest> endless = read_manifest(path);
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().message, "is longer than 1048576 bytes");
}

TEST(Manifest, WorkspaceAndPartsThatCannotBeAreErrorsOfTheProblem) {
  const auto message = [](const std::string& from, const std::string& to) {
    const Result<Manifest> manifest =
        parse_manifest(replaced(read_file(shipped_manifest_path()), from, to), "k.toml");
    EXPECT_TRUE(manifest.ok()) << manifest.error().text();
    const Result<Problem> problem = parse_problem(manifest->schema(), "m=2 n=3 k=4", "case");
    EXPECT_TRUE(problem.ok());
    const auto tensors = manifest->tensors(*problem);
    return tensors.ok() ? "" : tensors.error().text();
  };
  EXPECT_EQ(message("[problem]", "workspace = 'm - n'\n[problem]"),
            "k.toml: the workspace would have -1 elements (correct `workspace`, or exclude the "
            "problem with a rule of the domain)");
  EXPECT_NE(message("\"sequential\"", "\"split_k\"\nparts = 'm / (n - 3)'")
                .find("2 is divided by zero, in \"m / (n - 3)\""),
            std::string::npos);
  EXPECT_EQ(message("\"sequential\"", "\"split_k\"\nparts = 'm / n'"), "");
}

// Tensor maps of an input, of an output, and of scratch memory.
constexpr std::string_view kTensorMaps = R"(
computes = "gemm"
summary = "tensor maps"
ptx = "k.ptx"
targets = [90]
entry = "gemm"
parameters = ["tensor_map a", "tensor_map out", "tensor_map flat", "s32 m"]
workspace = 'm * n'
[problem]
layout = ["nn", "tn"]
[launch]
grid = [1]
block = [128]
[tensor_map.a]
dims = ['layout == "tn" ? m : k', 'layout == "tn" ? k : m']
strides = ["ld_a"]
box = [64, 'min(m, 256)']
swizzle = "128B"
[tensor_map.out]
tensor = "d"
dims = ["n", "m", 1]
strides = ["ld_d", 'm * ld_d']
box = [8, 16, 1]
swizzle = "none"
fill = "nan"
[tensor_map.flat]
tensor = "workspace"
dims = ['m * n']
box = [256]
fill = "zero"
[formats]
a = "bf16"
b = "bf16"
c = "bf16"
d = "bf16"
[contract]
unit = "mma.sync"
schedule = "sequential"
epilogue = []
)";

std::vector<std::int64_t> values(const std::vector<Expression>& expressions,
                                 std::string_view problem) {
  std::vector<std::int64_t> all;
  for (const Expression& expression : expressions) all.push_back(value(expression, problem));
  return all;
}

TEST(Manifest, TensorMapsAreExpressionsByName) {
  const Result<Manifest> manifest = parse_manifest(kTensorMaps, "k.toml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  const KernelValue& parameter = only(manifest->launches[0].parameters[1]);
  EXPECT_EQ(parameter.type->kind, ValueType::Kind::tensor_map);
  EXPECT_EQ(parameter.name, "out");
  ASSERT_EQ(manifest->tensor_maps.size(), 3u);
  const KernelTensorMap& a = manifest->tensor_maps.at("a");
  EXPECT_EQ(a.tensor, "a") << "the table's name";
  EXPECT_EQ(values(a.dims, "m=7 n=8 k=9"), (std::vector<std::int64_t>{9, 7}));
  EXPECT_EQ(values(a.dims, "m=7 n=8 k=9 layout=tn"), (std::vector<std::int64_t>{7, 9}));
  EXPECT_EQ(values(a.strides, "m=7 n=8 k=9"), (std::vector<std::int64_t>{9}));
  EXPECT_EQ(values(a.box, "m=7 n=8 k=9"), (std::vector<std::int64_t>{64, 7}));
  EXPECT_EQ(a.swizzle, 128);
  EXPECT_FALSE(a.fill_nan);
  const KernelTensorMap& out = manifest->tensor_maps.at("out");
  EXPECT_EQ(out.tensor, "d");
  EXPECT_EQ(values(out.strides, "m=7 n=8 k=9"), (std::vector<std::int64_t>{8, 56}));
  EXPECT_EQ(out.swizzle, 0);
  EXPECT_TRUE(out.fill_nan);
  const KernelTensorMap& flat = manifest->tensor_maps.at("flat");
  EXPECT_EQ(flat.tensor, "workspace");
  EXPECT_TRUE(flat.strides.empty()) << "of one dimension there are none to give";
  EXPECT_EQ(flat.swizzle, 0);
  EXPECT_FALSE(flat.fill_nan);
}

TEST(Manifest, EverySwizzleHasItsWord) {
  for (const int bytes : {32, 64, 128}) {
    const std::string text = replaced(std::string(kTensorMaps), "swizzle = \"none\"",
                                      "swizzle = \"" + std::to_string(bytes) + "B\"");
    const Result<Manifest> manifest = parse_manifest(text, "k.toml");
    ASSERT_TRUE(manifest.ok()) << manifest.error().text();
    EXPECT_EQ(manifest->tensor_maps.at("out").swizzle, bytes);
  }
}

// clang-format off
const Mistake kTensorMapMistakes[] = {
    {"\"tensor_map a\"", "\"tensor_mop a\"", "tensor_mop", R"("tensor_mop" is not known here (did you mean "tensor_map"? it is one of "struct", "ptr", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "tensor_map"))"},
    {"\"tensor_map a\"", "\"tensor_map\"", "tensor_map\"", R"(this parameter is only a type: "tensor_map" (write a type and a value, as in "ptr a", "s32 m" or "f32 alpha"))"},
    {"\"tensor_map out\"", "\"tensor_map ouch\"", "ouch", R"(there is no table [tensor_map.ouch] (did you mean "out"?))"},
    {"\"tensor_map out\"", "\"tensor_map longer\"", "longer", R"(there is no table [tensor_map.longer] (add it, with dims, strides and box))"},
    {"\"tensor_map out\", ", "", "out]", R"(no parameter is the tensor map "out" (add "tensor_map out" to the parameters, or remove the table))"},
    {"[tensor_map.a]", "[tensor_map]\nb = 3\n[tensor_map.a]", "3\n", R"("tensor_map.b" must be a table, not a whole number)"},
    {"tensor = \"d\"\n", "", "out]", R"(gemm has no tensor "out" (its tensors are a, b, c, bias, scale_a, scale_b, scale_d, d, workspace))"},
    {"tensor = \"workspace\"", "tensor = \"workspce\"", "workspce", R"(gemm has no tensor "workspce" (did you mean "workspace"?))"},
    {"swizzle = \"128B\"", "swizle = \"128B\"", "swizle", R"(unknown key "swizle" (did you mean "swizzle"?))"},
    {"swizzle = \"128B\"", "swizzle = \"128\"", "128\"", R"("128" is not known here (did you mean "128B"? it is one of "none", "32B", "64B", "128B"))"},
    {"swizzle = \"128B\"", "swizzle = 128", "128\n[tensor_map.out]", R"("swizzle" must be a string, not a whole number)"},
    {"fill = \"nan\"", "fill = \"nam\"", "nam\"", R"("nam" is not known here (did you mean "nan"? it is one of "zero", "nan"))"},
    {"dims = ['m * n']", "", "[tensor_map.flat]", R"("dims" is missing (add dims = ["k", "m"]))"},
    {"dims = ['m * n']", "dims = []", "[]\nbox", R"("dims" has 0 entries (give one to five, the innermost first))"},
    {"dims = ['m * n']", "dims = [1, 2, 3, 4, 5, 6]", "[1, 2", R"("dims" has 6 entries (give one to five, the innermost first))"},
    {"dims = ['m * n']", "dims = ['m * q']", "q']", R"(there is no field "q" (did you mean "m"?))"},
    {"dims = ['m * n']", "dims = [true]", "true", R"(an entry of "dims" must be an expression in quotes or a whole number, not true or false)"},
    {"strides = [\"ld_a\"]", "", "[tensor_map.a]", R"("strides" is missing (add strides = ["ld_a"]))"},
    {"strides = [\"ld_a\"]", "strides = [1, \"ld_a\"]", "[1, \"ld_a", R"("strides" has 2 where 1 belong to "dims" (give one for every dimension but the innermost))"},
    {"strides = [\"ld_a\"]", "strides = [\"ld_q\"]", "ld_q", R"(there is no field "ld_q" (did you mean "ld_a"?))"},
    {"box = [256]", "", "[tensor_map.flat]", R"("box" is missing (add box = [64, 128]))"},
    {"box = [256]", "box = [256, 1]", "[256, 1", R"("box" has 2 where 1 belong to "dims" (give one for every dimension))"},
    {"box = [256]", "strides = [1]\nbox = [256]", "[1]\nbox", R"("strides" has 1 where 0 belong to "dims" (give one for every dimension but the innermost))"},
};

// clang-format on

TEST(Manifest, EveryMistakeInATensorMapIsPointedAt) {
  expect_pointed_at(std::string(kTensorMaps), kTensorMapMistakes);
}

TEST(Manifest, PtxMayStandInForASource) {
  const TemporaryFolder folder;
  const std::string text = replaced(read_file(shipped_manifest_path()),
                                    "source   = \"gemm_bf16.cu\"", "ptx = \"x.ptx\"");
  const Result<Manifest> manifest = read_manifest(folder.write("mine.toml", text));
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  EXPECT_EQ(manifest->name, "mine");
  EXPECT_EQ(manifest->ptx_path(80), folder.path() + "/x.ptx");
}

TEST(Manifest, NamesMustBePlainWords) {
  const TemporaryFolder folder;
  const Result<Manifest> manifest =
      read_manifest(folder.write("my kernel.toml", read_file(shipped_manifest_path())));
  ASSERT_FALSE(manifest.ok());
  EXPECT_NE(manifest.error().message.find("\"my kernel\" cannot name a kernel"), std::string::npos);
}

TEST(Manifest, AMissingFileIsNamed) {
  const Result<Manifest> manifest = read_manifest("/nowhere/k.toml");
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().text(),
            "/nowhere/k.toml: cannot be read: No such file or directory (name a manifest, a file "
            "<kernel>.toml)");
}

}  // namespace
}  // namespace plumbline
