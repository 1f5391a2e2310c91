// SPDX-License-Identifier: MIT
// The generator of GEMM: joins its shape classes, layout classes, features, designed cases and
// value classes.
#include "fuzz/gemm/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/classes.h"
#include "fuzz/gemm/designed.h"
#include "fuzz/gemm/fill.h"
#include "fuzz/gemm/shapes.h"
#include "fuzz/gemm/values.h"
#include "kernels/ops/gemm_layout.h"

namespace plumbline {

namespace {

// Layout classes choose the layout; that C is there although beta is 0 belongs to beta.
constexpr std::array<std::string_view, 2> kNoFeatures = {"layout", "c"};

// Alphas of 0 or 1e-30 hide the whole product.
const std::array<Feature, 6> kNumbers = {
    Feature{"alpha",
            {"alpha=1", "alpha=0.97", "alpha=-1.5", "alpha=0", "alpha=1e-30", "alpha=*"},
            true,
            Spread{.field = "alpha", .least = 0x1p-20, .most = 0x1p10, .either_sign = true}},
    Feature{"beta",
            {"beta=0", "beta=1", "beta=2", "beta=-0.5", "beta=0 c=always", "beta=*"},
            false,
            Spread{.field = "beta", .least = 0x1p-20, .most = 0x1p10, .either_sign = true}},
    Feature{"zero_a", {"zero_a=0", "zero_a=3", "zero_a=-128", "zero_a=127"}},
    Feature{"zero_b", {"zero_b=0", "zero_b=-7", "zero_b=127"}},
    Feature{"zero_d", {"zero_d=0", "zero_d=11", "zero_d=-128"}},
    Feature{"splits",
            {"splits=1", "splits=2", "splits=3", "splits=7", "splits=16", "splits=*"},
            false,
            Spread{.field = "splits", .least = 1, .most = 64, .whole = true}},
};

// Zero points are elements themselves: of u8 some are beyond what s8 has.
void add_zero_points(std::vector<Feature>& features, const Manifest& manifest) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFormats = {
      {{"zero_a", "a"}, {"zero_b", "b"}, {"zero_d", "out"}}};
  for (Feature& feature : features) {
    for (const auto& [zero, format] : kFormats) {
      if (feature.name != zero) continue;
      const auto field = std::ranges::find(manifest.schema(), format, &Field::name);
      const bool has_u8 = std::ranges::find(field->choices, "u8") != field->choices.end();
      if (has_u8) feature.fragments.push_back(fmt::format("{}=255", zero));
      feature.fragments.push_back(fmt::format("{}=*", zero));
      feature.spread = Spread{.field = zero,
                              .least = -128,
                              .most = has_u8 ? 256.0 : 128.0,
                              .whole = true,
                              .scale = Spread::Scale::linear};
    }
  }
}

constexpr std::array<std::string_view, 4> kSizeFields = {"batch", "m", "n", "k"};
constexpr std::array<std::string_view, 8> kStrideFields = {
    "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"};
constexpr std::array<std::string_view, 1> kLayoutFields = {"layout"};
constexpr std::array<std::string_view, 12> kFeatureFields = {
    "bias",    "act",     "alpha",  "beta",   "c",      "scale_a",
    "scale_b", "scale_d", "zero_a", "zero_b", "zero_d", "splits"};
constexpr std::array<std::string_view, 17> kSimpleValues = {
    "bias=none", "act=none", "c=auto",   "beta=0",       "alpha=1",      "beta=1",
    "beta=2",    "alpha=2",  "alpha=-1", "scale_a=none", "scale_b=none", "scale_d=none",
    "zero_a=0",  "zero_b=0", "zero_d=0", "splits=1",     "splits=2"};
constexpr ShrinkFields kShrinkFields = {kSizeFields, kStrideFields, kLayoutFields, kFeatureFields,
                                        kSimpleValues};

constexpr std::array<std::pair<std::string_view, GemmMatrix>, 4> kLeading = {
    {{"lda", GemmMatrix::a},
     {"ldb", GemmMatrix::b},
     {"ldc", GemmMatrix::c},
     {"ldd", GemmMatrix::d}}};

constexpr std::array<std::pair<std::string_view, GemmMatrix>, 4> kBatchStrides = {
    {{"stride_a", GemmMatrix::a},
     {"stride_b", GemmMatrix::b},
     {"stride_c", GemmMatrix::c},
     {"stride_d", GemmMatrix::d}}};

// Strides of dimensions of size 1 are this long and longer, padding is not.
constexpr std::int64_t kAbsurd = 1 << 20;

// Matrices of a batch follow each other, but for those that it shares.
void tighten_batches(Problem& problem) {
  for (const auto& [field, matrix] : kBatchStrides) {
    if (problem.integer(field) != 0) problem.set_integer(field, -1);
  }
}

// How a matrix would be stored without padding.
struct TightMatrix {
  std::int64_t rows = 0, width = 0;
};

TightMatrix tight_matrix(Problem problem, std::size_t matrix) {
  problem.set_integer(kLeading[matrix].first, 0);
  problem.set_integer(kBatchStrides[matrix].first, -1);
  const std::int64_t width = gemm_leading_dimension(problem, kLeading[matrix].second);
  const Result<std::int64_t> size = gemm_batch_stride(problem, kLeading[matrix].second);
  return {size && width > 0 ? *size / width : 0, width};
}

// The strides of a matrix whose sizes changed: the same padding, the same gap, or side by side as
// before.
void keep_padding_of(const Problem& before, Problem& after, std::size_t matrix) {
  const auto& [leading, which] = kLeading[matrix];
  const std::string_view stride = kBatchStrides[matrix].first;
  const TightMatrix old = tight_matrix(before, matrix), now = tight_matrix(after, matrix);
  const std::int64_t ld = gemm_leading_dimension(before, which), gap = before.integer(stride);
  const bool side_by_side = gap > 0 && gap < old.rows * ld && gap < kAbsurd;
  if (before.integer(leading) != 0) {
    const std::int64_t padding = std::max<std::int64_t>(0, ld - old.width);
    const std::int64_t padded =
        side_by_side ? now.width * after.integer("batch") : now.width + padding;
    after.set_integer(leading, padding < kAbsurd || now.rows == 1 ? padded : 0);
  }
  if (gap <= 0 || gap >= kAbsurd + old.rows * ld) return;
  const std::int64_t now_ld = gemm_leading_dimension(after, which);
  after.set_integer(stride, side_by_side ? now.width : now.rows * now_ld + gap - old.rows * ld);
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

  std::vector<Feature> features(const Manifest& manifest) const override {
    std::vector<Feature> features = schema_features(manifest, kNoFeatures, kNumbers);
    add_zero_points(features, manifest);
    // Relu hides negative outputs.
    for (Feature& feature : features)
      feature.prefer_first = feature.prefer_first || feature.name == "act";
    return features;
  }

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
    const std::string features = drawn_fragments_text(this->features(manifest), choice, random);
    const std::string words = fmt::format(" {} ", features);
    const bool adds_c = words.find(" beta=") != words.npos && words.find(" beta=0 ") == words.npos;
    request.has_c = adds_c || words.find(" c=always ") != words.npos;
    request.words = gemm_layout_words(manifest);
    request.schema = manifest.schema();
    const std::string strides = layout.draw(request, random);
    if (strides.empty()) return {};
    const GemmSizes& sizes = request.sizes;
    return fmt::format("m={} n={} k={} batch={} {} {}", sizes.m, sizes.n, sizes.k, sizes.batch,
                       strides, features);
  }

  std::vector<DesignedCase> populations() const override {
    const std::string columns = "a bias or a loss of accuracy in some columns, inside the bound",
                      sums = "errors of long sums that lean to one side, or grow, inside the bound";
    return {{"m=128 n=128 k=1024 out=f32", "normal", "tile", "nn", sums},
            {"m=256 n=512 k=128 out=bf16", "normal", "many_tiles", "nn", columns},
            {"m=256 n=512 k=256 out=f32", "normal", "many_tiles", "nn", columns},
            {"m=128 n=256 k=128 batch=4 layout=nt out=f32", "normal", "batched", "nt", columns}};
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : {"m", "n", "k"}) {
      problem.set_integer(field, round_up(problem.integer(field), granule));
    }
    // Tight strides follow the sizes; others would have to be drawn again.
    for (const auto& [field, matrix] : kLeading) problem.set_integer(field, 0);
    tighten_batches(problem);
  }

  bool round_strides(Problem& problem, std::int64_t granule) const override {
    bool any = false;
    for (const Field& field : problem.schema()) {
      for (const auto& [name, matrix] : kLeading) {
        if (field.name != name || field.fixed) continue;
        problem.set_integer(name, round_up(gemm_leading_dimension(problem, matrix), granule));
        any = true;
      }
    }
    tighten_batches(problem);
    return any;
  }

  void keep_padding(const Problem& before, Problem& after) const override {
    for (std::size_t matrix = 0; matrix < kLeading.size(); ++matrix)
      keep_padding_of(before, after, matrix);
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
