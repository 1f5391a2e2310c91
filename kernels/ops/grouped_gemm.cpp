// SPDX-License-Identifier: MIT
#include "kernels/ops/grouped_gemm.h"

#include <fmt/format.h>

#include <array>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/gemm_quantize.h"
#include "kernels/ops/tensor_formats.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/gemm/joined_oracle.h"
#include "oracles/stages/staged_gemm.h"
#include "oracles/stages/staged_join.h"

namespace plumbline {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 2> kLayouts = {"nn", "nt"};
constexpr std::array<std::string_view, 2> kOutputs = {"bf16", "f32"};
constexpr std::array<std::string_view, 5> kRoutings = {"even", "random", "gaps", "ones", "single"};
constexpr std::array<std::string_view, 4> kOperands = {"bf16", "f16", "e4m3", "e5m2"};
constexpr std::array<std::string_view, 3> kScalesOfA = {"none", "tensor", "row"};
constexpr std::array<std::string_view, 2> kScalesOfB = {"none", "tensor"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kWord = FieldKind::word;

using tensor_formats::kF32;
using tensor_formats::kFactor;
using tensor_formats::kIndices;
using tensor_formats::kStored;

// clang-format off
constexpr std::array kSchema = {
    Field{"m",       kInteger, -1, 0, kLargestSize, {},  "rows of A and D, of all groups together"},
    Field{"n",       kInteger, -1, 0, kLargestSize, {},  "columns of every B and of D"},
    Field{"k",       kInteger, -1, 0, kLargestSize, {},  "columns of A, rows of every B"},
    Field{"groups",  kInteger, -1, 1, 4096, {},          "groups of rows, each with a B of its own"},
    Field{"routing", kWord, 0, 0, 0, kRoutings,          "how rows fall into groups: evenly, at random, many groups empty, groups of one row, all into one"},
    Field{"layout",  kWord, 0, 0, 0, kLayouts,           "how every B is stored: nn as [k, n], nt as [n, k]"},
    Field{"out",     kWord, 0, 0, 0, kOutputs,           "format of D"},
    Field{"a",       kWord, 0, 0, 0, kOperands,          "format of A"},
    Field{"b",       kWord, 0, 0, 0, kOperands,          "format of B"},
    Field{"scale_a", kWord, 0, 0, 0, kScalesOfA,         "scales of A: one, or one per row"},
    Field{"scale_b", kWord, 0, 0, 0, kScalesOfB,         "tensor: one scale per group"},
};

constexpr std::array kTensors = {
    TensorName{"a",           TensorRole::input,  "[m, k]", "", kFactor, "a"},
    TensorName{"b",           TensorRole::input,  "[groups, k, n]", "", kFactor, "b"},
    TensorName{"group_sizes", TensorRole::input,  "[groups]: rows per group; they add up to m", "s32", kIndices},
    TensorName{"scale_a",     TensorRole::input,  "[1] or [m]", "f32", kF32},
    TensorName{"scale_b",     TensorRole::input,  "[groups]", "f32", kF32},
    TensorName{"d",           TensorRole::output, "[m, n]", "", kStored, "out"},
};
// clang-format on

constexpr std::array kFactors = {Operation::Factors{"d", "a", "b"}};

constexpr std::array kQuantized = {Operation::Quantized{"a", "scale_a"},
                                   Operation::Quantized{"b", "scale_b"}};

std::int64_t size_of_group(const Tensor& sizes, std::int64_t group) {
  return static_cast<std::int64_t>(to_double(format(FormatId::s32), sizes.bits(group)));
}

// Group g's matrix as [1, k, n].
Tensor matrix_of(const Tensor& b, std::int64_t group) {
  Tensor matrix = b;
  matrix.layout.offset += group * b.layout.strides[0];
  matrix.layout.shape[0] = 1;
  return matrix;
}

// Entries [first, first + count) of a vector.
Tensor entries_of(const Tensor& vector, std::int64_t first, std::int64_t count) {
  Tensor entries(dense_layout(vector.layout.format, {count}));
  for (std::int64_t i = 0; i < count; ++i) entries.set_bits(i, vector.bits(first + i));
  return entries;
}

constexpr std::string_view kAbout =
    R"~(D = A · B of each row's group, as in a mixture of experts: the rows of A belong to groups, in order, and every group has a matrix B of its
own. How many rows a group has is data (`group_sizes`); it may be 0. The sizes must add up to m. Scales multiply each sum in the epilogue.
)~";

constexpr std::array<std::string_view, 2> kUsualNames = {"group gemm", "group matmul"};
constexpr std::array<std::string_view, 3> kDeepProblems = {
    "groups=3 m=96 n=64 k=256", "groups=3 m=96 n=64 k=64", "groups=3 m=96 n=64 k=1024"};

class GroupedGemm final : public Operation {
 public:
  std::string_view name() const override { return "grouped_gemm"; }

  std::string_view about() const override { return kAbout; }

  std::span<const Field> schema() const override { return kSchema; }

  std::span<const TensorName> tensor_names() const override { return kTensors; }

  std::span<const Factors> factors() const override { return kFactors; }

  std::vector<DotProducts> dot_products(std::int64_t count, std::int64_t depth) const override {
    return {{.output = "d",
             .a = "a",
             .b = "b",
             .fields = fmt::format("groups=1 m={0} n={0} k={1}", count, depth),
             .others = {{"group_sizes", static_cast<double>(count)}}}};
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k"),
                       groups = problem.integer("groups");
    std::vector<TensorSpec> specs;
    Status usable;
    const auto add = [&](std::string_view tensor, TensorRole role,
                         std::vector<std::int64_t> shape) {
      TensorLayout layout = dense_layout(manifest.tensor_format(tensor, problem), std::move(shape));
      if (tensor == "b" && problem.word("layout") == "nt") layout.strides = {n * k, 1, k};
      if (usable) usable = layout.check();
      specs.push_back({std::string(tensor), role, std::move(layout)});
    };
    add("a", TensorRole::input, {m, k});
    add("b", TensorRole::input, {groups, k, n});
    add("group_sizes", TensorRole::input, {groups});
    if (problem.word("scale_a") != "none") {
      add("scale_a", TensorRole::input, {problem.word("scale_a") == "row" ? m : 1});
    }
    if (problem.word("scale_b") != "none") add("scale_b", TensorRole::input, {groups});
    add("d", TensorRole::output, {m, n});
    if (!usable) return usable.error();
    return specs;
  }

  Status check_values(const Problem& problem, const CaseTensors& tensors) const override {
    const Tensor& sizes = *tensors.find("group_sizes");
    std::int64_t rows = 0;
    for (std::int64_t group = 0; group < problem.integer("groups"); ++group) {
      const std::int64_t size = size_of_group(sizes, group);
      if (size < 0)
        return bad_input(fmt::format("group_sizes[{}] is {}", group, size),
                         "a group has 0 rows or more");
      rows += size;
    }
    if (rows == problem.integer("m")) return {};
    return bad_input(
        fmt::format("the group sizes add up to {}, A has {} rows", rows, problem.integer("m")),
        "every row belongs to a group");
  }

  double work(const Problem& problem) const override {
    double work = 1;
    for (const std::string_view size : {"m", "n", "k"})
      work *= static_cast<double>(problem.integer(size));
    return work;
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    const Contract contract = manifest.contract(problem, "d");
    auto joined = std::make_unique<JoinedOracle>(std::vector<std::string>{"d"});
    const auto keep = [&](Tensor tensor) { return joined->keep(std::move(tensor)); };
    for (const Group& group : groups_of(problem, tensors, keep))
      joined->add(0, group.words(), group.gemm, contract, sm);
    return joined;
  }

  std::span<const Quantized> quantized() const override { return kQuantized; }

  Usual usual() const override { return {kUsualNames, {}, kDeepProblems}; }

  // A scale for each row of A and each group of B, or one.
  void quantize(const Problem& problem, const CaseTensors& sources,
                CaseTensors& tensors) const override {
    const std::int64_t row = problem.integer("k"), matrix = row * problem.integer("n");
    const bool per_row = problem.word("scale_a") == "row";
    quantize_tensor(*sources.find("a"), *tensors.find("a"), tensors.find("scale_a"),
                    [&](std::int64_t element) { return per_row ? element / row : 0; });
    quantize_tensor(*sources.find("b"), *tensors.find("b"), tensors.find("scale_b"),
                    [&](std::int64_t element) { return element / matrix; });
  }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    const Contract contract = manifest.contract(problem, "d");
    auto joined = std::make_unique<StagedJoin>();
    const auto keep = [&](Tensor tensor) { return joined->keep(std::move(tensor)); };
    const std::vector<Group> stored = groups_of(problem, tensors, keep),
                             before = groups_of(problem, sources, keep);
    for (std::size_t g = 0; g < stored.size(); ++g) {
      joined->add("d",
                  staged_gemm(stored[g].gemm, contract, sm, *before[g].gemm.a, *before[g].gemm.b));
    }
    return joined;
  }

 private:
  struct Group {
    std::int64_t number = 0, first = 0;  // its first row
    GemmProblem gemm;

    std::string words() const {
      return fmt::format("group {} (rows {} to {})", number, first, first + gemm.m - 1);
    }
  };

  // Those that have rows. What is not a tensor of the case goes through `keep`.
  template <typename Keep>
  static std::vector<Group> groups_of(const Problem& problem, const CaseTensors& tensors,
                                      const Keep& keep) {
    const Tensor& sizes = *tensors.find("group_sizes");
    const Tensor* scale_a = tensors.find("scale_a");
    const Tensor* scale_b = tensors.find("scale_b");
    const bool per_row = problem.word("scale_a") == "row";
    std::vector<Group> groups;
    std::int64_t first = 0;
    for (std::int64_t number = 0; number < problem.integer("groups"); ++number) {
      GemmProblem gemm;
      gemm.m = size_of_group(sizes, number);
      if (gemm.m == 0) continue;
      gemm.n = problem.integer("n");
      gemm.k = problem.integer("k");
      gemm.a = keep(rows_of(*tensors.find("a"), first, gemm.m));
      gemm.b = keep(matrix_of(*tensors.find("b"), number));
      if (scale_a) gemm.scale_a = per_row ? keep(entries_of(*scale_a, first, gemm.m)) : scale_a;
      gemm.scale_a_block = per_row ? kVectorScale : kTensorScale;
      if (scale_b) gemm.scale_b = keep(entries_of(*scale_b, number, 1));
      gemm.output = tensors.find("d")->layout.format;
      groups.push_back({number, first, gemm});
      first += gemm.m;
    }
    return groups;
  }
};

}  // namespace

const Operation& grouped_gemm_operation() {
  static const GroupedGemm operation;
  return operation;
}

}  // namespace plumbline
