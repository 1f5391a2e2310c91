// SPDX-License-Identifier: MIT
// The generator of grouped GEMM: joins its shape classes, designed cases and routing with the value
// classes of GEMM.
#include "fuzz/grouped/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/gemm/values.h"
#include "fuzz/grouped/designed.h"
#include "fuzz/grouped/fill.h"
#include "fuzz/grouped/shapes.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 1> kNoFeatures = {"layout"};  // the layout classes' own

constexpr std::array<std::string_view, 4> kSizeFields = {"groups", "m", "n", "k"};
constexpr std::array<std::string_view, 1> kLayoutFields = {"layout"};
constexpr std::array<std::string_view, 3> kFeatureFields = {"routing", "scale_a", "scale_b"};
constexpr std::array<std::string_view, 5> kSimpleValues = {
    "scale_a=none", "scale_b=none", "scale_a=tensor", "routing=even", "routing=single"};
constexpr ShrinkFields kShrinkFields = {
    kSizeFields, {}, kLayoutFields, kFeatureFields, kSimpleValues};

class GroupedGenerator : public Generator {
 public:
  GroupedGenerator() : shapes_(infos_of(grouped_shape_classes())) {
    for (const GemmValueClass& entry : gemm_value_classes()) values_.push_back(entry.name);
  }

  std::string_view operation() const override { return "grouped_gemm"; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return grouped_layout_classes(); }

  std::span<const std::string_view> value_classes() const override { return values_; }

  std::vector<Feature> features(const Manifest& manifest) const override {
    return schema_features(manifest, kNoFeatures, {});
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const GroupedShapeClass& shape =
        grouped_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const GroupedSizes sizes = shape.draw(gemm_tile(manifest), profile, random);
    return fmt::format("m={} n={} k={} groups={} layout={} {}", sizes.m, sizes.n, sizes.k,
                       sizes.groups, layout_classes()[static_cast<std::size_t>(choice.layout)].name,
                       fragments_text(features(manifest), choice));
  }

  std::vector<DesignedCase> populations() const override {
    const std::string columns = "a bias or a loss of accuracy in some columns, inside the bound",
                      sums = "errors of long sums that lean to one side, or grow, inside the bound";
    return {
        {"m=128 n=128 k=1024 groups=3 routing=even out=f32", "normal", "group_edge", "nn", sums},
        {"m=256 n=512 k=128 groups=4 routing=random layout=nt out=bf16", "normal", "straddling",
         "nt", columns},
        {"m=256 n=512 k=128 groups=4 routing=even out=f32", "normal", "group_edge", "nn", columns}};
  }

  // How many rows there are is the routing's business, not the alignment's.
  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : {"n", "k"}) {
      problem.set_integer(field, round_up(problem.integer(field), granule));
    }
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return grouped_designed(manifest);
  }

  // Every group may end in a partial tile.
  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    const GemmTile tile = gemm_tile(manifest);
    const auto padded = [&](std::string_view field, std::int64_t granule) {
      return static_cast<double>(round_up(problem.integer(field), granule));
    };
    const std::int64_t tails = std::min(problem.integer("groups"), problem.integer("m"));
    return (padded("m", tile.m) + static_cast<double>(tails * tile.m)) * padded("n", tile.n) *
           padded("k", tile.k);
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    grouped_fill(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

 private:
  std::vector<ClassInfo> shapes_;
  std::vector<std::string_view> values_;
};

}  // namespace

const Generator& grouped_generator() {
  static const GroupedGenerator generator;
  return generator;
}

}  // namespace plumbline
