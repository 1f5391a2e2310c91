// SPDX-License-Identifier: MIT
// The generators of attention, forward and backward: join shape and layout classes, masks and
// lengths, designed cases and value classes.
#include "fuzz/attention/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/attention/backward_designed.h"
#include "fuzz/attention/backward_fill.h"
#include "fuzz/attention/backward_values.h"
#include "fuzz/attention/crop.h"
#include "fuzz/attention/designed.h"
#include "fuzz/attention/fill.h"
#include "fuzz/attention/layouts.h"
#include "fuzz/attention/shapes.h"
#include "fuzz/attention/values.h"
#include "fuzz/case/classes.h"
#include "kernels/ops/attention_layout.h"

namespace plumbline {

namespace {

// Layout classes choose the layout; masks and lengths are features of their own below, because some
// of their words exclude each other.
constexpr std::array<std::string_view, 5> kNoFeatures = {"layout", "causal", "lengths", "bias",
                                                         "kv"};

// In place of a number that depends on the width.
constexpr std::string_view kUsualScale = "scale=1/sqrt(d)";

constexpr double kLongestWindow = 0x1p17;
constexpr std::uint64_t kWindows = 1;  // the stream of draws that is theirs

const std::array<Feature, 4> kNumbers = {
    Feature{"splits",
            {"splits=1", "splits=2", "splits=3", "splits=8", "splits=*"},
            false,
            Spread{.field = "splits", .least = 1, .most = 64, .whole = true}},
    Feature{"window_left",
            {"window_left=-1", "window_left=0", "window_left=1", "window_left=16", "window_left=63",
             "window_left=100000", "window_left=*"},
            true,
            Spread{.field = "window_left", .least = 1, .most = kLongestWindow, .whole = true}},
    Feature{"softcap",
            {"softcap=0", "softcap=30", "softcap=1.5", "softcap=*"},
            true,
            Spread{.field = "softcap", .least = 0.5, .most = 200}},
    Feature{"scale",
            {std::string(kUsualScale), "scale=0.3", "scale=1", "scale=0.001", "scale=*"},
            true,
            Spread{.field = "scale", .least = 0x1p-10, .most = 8}},
};

constexpr std::array<std::string_view, 7> kSizeFields = {"batch", "kv_heads", "heads", "queries",
                                                         "keys",  "d",        "dv"};
constexpr std::array<std::string_view, 1> kStrideFields = {"pad"};
constexpr std::array<std::string_view, 1> kLayoutFields = {"layout"};
constexpr std::array<std::string_view, 11> kFeatureFields = {
    "causal", "window_left", "window_right", "lengths", "bias",  "sink",
    "scales", "softcap",     "scale",        "kv",      "splits"};
constexpr std::array<std::string_view, 25> kSimpleValues = {
    "splits=1",       "splits=2",       "lengths=full",    "kv=own",          "bias=none",
    "sink=none",      "scales=none",    "softcap=0",       "window_left=-1",  "window_left=0",
    "window_left=1",  "window_left=4",  "window_left=16",  "window_right=-1", "window_right=0",
    "window_right=1", "window_right=4", "window_right=16", "causal=none",     "causal=bottom_right",
    "scale=1",        "scale=0.5",      "softcap=1",       "lengths=ones",    "lengths=random"};
constexpr ShrinkFields kShrinkFields = {kSizeFields, kStrideFields, kLayoutFields, kFeatureFields,
                                        kSimpleValues};

const Field& field_of(const Manifest& manifest, std::string_view name) {
  return *std::find_if(manifest.schema().begin(), manifest.schema().end(),
                       [&](const Field& field) { return field.name == name; });
}

// Causal masks, and windows to the right, which only make sense without one.
Feature masks(const Manifest& manifest) {
  Feature feature{
      "causal",
      {},
      true,
      Spread{.field = "window_right", .least = 1, .most = kLongestWindow, .whole = true}};
  for (const std::string_view word : field_of(manifest, "causal").choices) {
    feature.fragments.push_back(fmt::format("causal={}", word));
    if (field_of(manifest, "window_right").fixed) continue;
    feature.fragments.push_back(fmt::format("causal={} window_right=0", word));
    if (word != "none") continue;
    for (const int right : {3, 64, 100000})
      feature.fragments.push_back(fmt::format("causal=none window_right={}", right));
    feature.fragments.push_back("causal=none window_right=*");
  }
  return feature;
}

// Lengths that vary exclude a bias and shared keys.
Feature lengths(const Manifest& manifest) {
  Feature feature{"lengths", {}};
  for (const std::string_view word : field_of(manifest, "lengths").choices) {
    if (word != "full") {
      feature.fragments.push_back(fmt::format("lengths={}", word));
      continue;
    }
    for (const std::string_view bias : field_of(manifest, "bias").choices) {
      for (const std::string_view kv : field_of(manifest, "kv").choices)
        feature.fragments.push_back(fmt::format("lengths=full bias={} kv={}", bias, kv));
    }
  }
  return feature;
}

// Of the windows that are drawn half end within these lengths, where an end can be seen.
void limit_windows(std::vector<Feature>& features, const AttentionSizes& sizes, Random random) {
  const std::int64_t longest = std::max<std::int64_t>({2, sizes.queries, sizes.keys});
  for (Feature& feature : features) {
    if (!feature.spread || !feature.spread->field.starts_with("window_")) continue;
    if (random.below(2) == 0) continue;
    feature.spread->least = static_cast<double>(std::max<std::int64_t>(1, longest / 4));
    feature.spread->most = static_cast<double>(longest);
  }
}

// What lengths and sharing make of a batch: several sequences, and about as many rows in all.
void fit_batch(AttentionSizes& sizes, std::string_view features, Random& random) {
  if (features.find("kv=shared") != features.npos)
    sizes.batch = std::max<std::int64_t>(2, sizes.batch);
  if (features.find("lengths=full") != features.npos) return;
  sizes.batch = random.between(2, 6);
  const auto share = [&](std::int64_t rows) { return (2 * rows + sizes.batch - 1) / sizes.batch; };
  sizes.queries = share(sizes.queries);
  sizes.keys = share(sizes.keys);
}

// The f32 nearest to 1 / sqrt(d), which only uses operations that are exact everywhere.
std::string with_usual_scale(std::string features, std::int64_t d) {
  const std::size_t at = features.find(kUsualScale);
  if (at == features.npos) return features;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
  return features.replace(at, kUsualScale.size(), fmt::format("scale={}", scale));
}

// Where the two passes differ.
struct Pass {
  std::string_view operation;
  std::span<const std::string_view> own_classes;  // of values, beside those of the forward pass
  std::vector<DesignedCase> (*designed)(const Manifest&);
  void (*fill)(const Case&, CaseTensors&);
  double products;  // matrix products of queries and keys, in units of the forward pass's
};

class AttentionGenerator : public Generator {
 public:
  explicit AttentionGenerator(const Pass& pass)
      : pass_(pass),
        shapes_(infos_of(attention_shape_classes())),
        layouts_(infos_of(attention_layout_classes())),
        values_(pass.own_classes.begin(), pass.own_classes.end()) {
    for (const AttentionValueClass& entry : attention_value_classes())
      values_.push_back(entry.name);
  }

  std::string_view operation() const override { return pass_.operation; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  // Lengths come last: they are what is given up first where features exclude each other.
  std::vector<Feature> features(const Manifest& manifest) const override {
    std::vector<Feature> features = schema_features(manifest, kNoFeatures, kNumbers);
    features.push_back(masks(manifest));
    features.push_back(lengths(manifest));
    return features;
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const AttentionShapeClass& shape =
        attention_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const AttentionLayoutClass& layout =
        attention_layout_classes()[static_cast<std::size_t>(choice.layout)];
    std::vector<Feature> all = this->features(manifest);
    AttentionSizes sizes = shape.draw(attention_tile(manifest), profile, random);
    fit_batch(sizes, fragments_text(all, choice), random);
    limit_windows(all, sizes, random.fork(kWindows));
    const std::string features = drawn_fragments_text(all, choice, random);
    return fmt::format("batch={} heads={} kv_heads={} queries={} keys={} d={} dv={} {} {}",
                       sizes.batch, sizes.heads, sizes.kv_heads == sizes.heads ? 0 : sizes.kv_heads,
                       sizes.queries, sizes.keys, sizes.d, sizes.dv == sizes.d ? 0 : sizes.dv,
                       layout.draw(manifest, random), with_usual_scale(features, sizes.d));
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : {"d", "dv"})
      problem.set_integer(field, round_up(problem.integer(field), granule));
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return pass_.designed(manifest);
  }

  std::vector<DesignedCase> populations() const override {
    if (pass_.operation != "attention") return {};
    const std::string rows =
        "a bias for some queries, a loss of accuracy in some columns, inside "
        "the bound";
    const std::string sizes = "batch=2 heads=8 queries=128 keys=128 d=64 ";
    return {
        {sizes + "out=bf16", "normal", "batched", "bhs", rows},
        {sizes + "kv_heads=4 causal=bottom_right out=f32", "normal", "grouped_heads", "bhs", rows}};
  }

  // Every sequence may end in partial tiles. Packed sequences are counted as if one had all rows,
  // which is as bad as it gets.
  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    const AttentionTile tile = attention_tile(manifest);
    const bool vary = attention_lengths_vary(problem);
    const std::int64_t batch = problem.integer("batch");
    const auto rows = [&](std::string_view field, std::int64_t granule) {
      const std::int64_t length = problem.integer(field) * (vary ? batch : 1);
      return static_cast<double>(round_up(length, granule) + (vary ? granule : 0));
    };
    const std::int64_t columns =
        round_up(problem.integer("d"), tile.d) + round_up(attention_value_width(problem), tile.d);
    return pass_.products * rows("queries", tile.queries) * rows("keys", tile.keys) *
           static_cast<double>(columns * problem.integer("heads") * (vary ? 1 : batch));
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    pass_.fill(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

  void repair_dependent_values(const Case& before, std::span<const Removal> removals,
                               Case& after) const override {
    settle_attention_starts(before, removals, after);
  }

 private:
  Pass pass_;
  std::vector<ClassInfo> shapes_, layouts_;
  std::vector<std::string_view> values_;
};

}  // namespace

const Generator& attention_generator() {
  static const AttentionGenerator generator(
      {"attention", {}, attention_designed, attention_fill, 1});
  return generator;
}

const Generator& attention_backward_generator() {
  static const AttentionGenerator generator({"attention_backward", gradient_classes(),
                                             attention_backward_designed, attention_backward_fill,
                                             3.5});  // scores and dP are made twice
  return generator;
}

}  // namespace plumbline
