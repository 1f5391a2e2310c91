// SPDX-License-Identifier: MIT
// The generator of a linear layer's backward pass: joins its shape classes and designed cases with
// the value classes of GEMM.
#include "fuzz/linear/generator.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/gemm/values.h"
#include "fuzz/linear/designed.h"
#include "fuzz/linear/fill.h"
#include "fuzz/linear/shapes.h"

namespace plumbline {

namespace {

constexpr std::array kLayoutClasses = {
    ClassInfo{"tight", "row-major matrices without padding: the operation has no others"}};

constexpr std::array<std::string_view, 3> kSizeFields = {"m", "n", "k"};
constexpr std::array<std::string_view, 1> kFeatureFields = {"scales"};
constexpr std::array<std::string_view, 1> kSimpleValues = {"scales=none"};
constexpr ShrinkFields kShrinkFields = {kSizeFields, {}, {}, kFeatureFields, kSimpleValues};

class LinearGenerator : public Generator {
 public:
  LinearGenerator() : shapes_(infos_of(linear_shape_classes())) {
    for (const GemmValueClass& entry : gemm_value_classes()) values_.push_back(entry.name);
  }

  std::string_view operation() const override { return "linear_backward"; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return kLayoutClasses; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  std::vector<Feature> features(const Manifest& manifest) const override {
    return schema_features(manifest, {}, {});
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const LinearShapeClass& shape = linear_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const LinearSizes sizes = shape.draw(gemm_tile(manifest), profile, random);
    return fmt::format("m={} n={} k={} {}", sizes.m, sizes.n, sizes.k,
                       fragments_text(features(manifest), choice));
  }

  // Each long in one sum and short in the other.
  std::vector<DesignedCase> populations() const override {
    const std::string columns = "a bias or a loss of accuracy in some columns, inside the bound",
                      sums = "errors of long sums that lean to one side, or grow, inside the bound";
    return {{"m=1024 n=128 k=128 out=f32", "normal", "tile", "tight", sums},
            {"m=128 n=1024 k=128 out=f32", "normal", "tile", "tight", sums},
            {"m=256 n=256 k=512 out=f32", "normal", "tile", "tight", columns}};
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : kSizeFields) {
      problem.set_integer(field, round_up(problem.integer(field), granule));
    }
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return linear_designed(manifest);
  }

  // dx [m, k] with depth n, and dw [n, k] with depth m.
  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    const GemmTile tile = gemm_tile(manifest);
    const auto padded = [&](std::string_view field, std::int64_t granule) {
      return static_cast<double>(round_up(problem.integer(field), granule));
    };
    const double columns = padded("k", tile.n);
    return padded("m", tile.m) * columns * padded("n", tile.k) +
           padded("n", tile.m) * columns * padded("m", tile.k);
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    linear_fill(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

 private:
  std::vector<ClassInfo> shapes_;
  std::vector<std::string_view> values_;
};

}  // namespace

const Generator& linear_generator() {
  static const LinearGenerator generator;
  return generator;
}

}  // namespace plumbline
