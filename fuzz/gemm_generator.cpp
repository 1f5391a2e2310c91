// SPDX-License-Identifier: MIT
// The generator of GEMM: joins its shape classes, layout classes, features, designed cases and
// value classes.
#include "fuzz/gemm_generator.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "fuzz/gemm_designed.h"
#include "fuzz/gemm_fill.h"
#include "fuzz/gemm_shapes.h"
#include "fuzz/gemm_values.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 2> kOut = {"out=bf16", "out=f32"};
constexpr std::array<std::string_view, 3> kBias = {"bias=none", "bias=row", "bias=column"};
constexpr std::array<std::string_view, 2> kAct = {"act=none", "act=relu"};
constexpr std::array<std::string_view, 5> kAlpha = {"alpha=1", "alpha=0.97", "alpha=-1.5",
                                                    "alpha=0", "alpha=1e-30"};
constexpr std::array<std::string_view, 5> kBeta = {"beta=0", "beta=1", "beta=2", "beta=-0.5",
                                                   "beta=0 c=always"};

// Relu hides negative outputs, and alpha of 0 or 1e-30 the whole product.
constexpr std::array<Feature, 5> kFeatures = {
    Feature{"out", kOut}, Feature{"bias", kBias}, Feature{"act", kAct, true},
    Feature{"alpha", kAlpha, true}, Feature{"beta", kBeta}};
constexpr std::size_t kBetaFeature = 4;

constexpr std::array<std::string_view, 4> kSizeFields = {"batch", "m", "n", "k"};
constexpr std::array<std::string_view, 8> kStrideFields = {
    "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"};
constexpr std::array<std::string_view, 1> kLayoutFields = {"layout"};
constexpr std::array<std::string_view, 5> kFeatureFields = {"bias", "act", "alpha", "beta", "c"};
constexpr std::array<std::string_view, 9> kSimpleValues = {"bias=none", "act=none", "c=auto",
                                                           "beta=0",    "alpha=1",  "beta=1",
                                                           "beta=2",    "alpha=2",  "alpha=-1"};
constexpr ShrinkFields kShrinkFields = {kSizeFields, kStrideFields, kLayoutFields, kFeatureFields,
                                        kSimpleValues};

template <typename Class>
std::vector<ClassInfo> infos_of(std::span<const Class> classes) {
  std::vector<ClassInfo> infos;
  for (const Class& entry : classes) infos.push_back(entry.info);
  return infos;
}

std::int64_t round_up(std::int64_t value, std::int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

class GemmGenerator : public Generator {
 public:
  GemmGenerator()
      : shapes_(infos_of(gemm_shape_classes())), layouts_(infos_of(gemm_layout_classes())) {
    for (const GemmValueClass& entry : gemm_value_classes()) values_.push_back(entry.name);
  }

  std::string_view operation() const override { return "gemm"; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  std::span<const Feature> features() const override { return kFeatures; }

  // A batch of several matrices has real strides everywhere.
  bool compatible(int shape, int layout) const override {
    return shapes_[static_cast<std::size_t>(shape)].name != "batched" ||
           layouts_[static_cast<std::size_t>(layout)].name != "absurd_strides";
  }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const GemmShapeClass& shape = gemm_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const GemmLayoutClass& layout = gemm_layout_classes()[static_cast<std::size_t>(choice.layout)];
    GemmLayoutRequest request;
    request.sizes = shape.draw(gemm_tile(manifest), profile, random);
    request.has_c = choice.features[kBetaFeature] != 0;
    const std::string strides = layout.draw(request, random);
    const GemmSizes& sizes = request.sizes;
    std::string text =
        fmt::format("m={} n={} k={} batch={} {}", sizes.m, sizes.n, sizes.k, sizes.batch, strides);
    for (std::size_t i = 0; i < kFeatures.size(); ++i) {
      text += ' ';
      text += kFeatures[i].fragments[static_cast<std::size_t>(choice.features[i])];
    }
    return text;
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : {"m", "n", "k"}) {
      problem.set_integer(field, round_up(problem.integer(field), granule));
    }
    // Tight strides follow the sizes; others would have to be drawn again.
    for (const std::string_view field : kStrideFields) {
      const bool broadcast = field.starts_with("stride") && problem.integer(field) == 0;
      if (!broadcast) problem.set_integer(field, field.starts_with("stride") ? -1 : 0);
    }
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return gemm_designed(manifest);
  }

  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    const GemmTile tile = gemm_tile(manifest);
    const auto padded = [&](std::string_view field, std::int64_t granule) {
      return static_cast<double>(round_up(problem.integer(field), granule));
    };
    return static_cast<double>(problem.integer("batch")) * padded("m", tile.m) *
           padded("n", tile.n) * padded("k", tile.k);
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    gemm_fill(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

 private:
  std::vector<ClassInfo> shapes_, layouts_;
  std::vector<std::string_view> values_;
};

}  // namespace

const Generator& gemm_generator() {
  static const GemmGenerator generator;
  return generator;
}

}  // namespace plumbline
