// SPDX-License-Identifier: MIT
// The generator of a SwiGLU MLP: joins its shape and layout classes, designed cases and values.
#include "fuzz/swiglu/generator.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/swiglu/designed.h"
#include "fuzz/swiglu/fill.h"
#include "fuzz/swiglu/shapes.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 4> kSizeFields = {"tokens", "d", "hidden", "d_out"};
constexpr std::array<std::string_view, 1> kStrideFields = {"pad"};
constexpr std::array<std::string_view, 1> kLayoutFields = {"weights"};
constexpr ShrinkFields kShrinkFields = {kSizeFields, kStrideFields, kLayoutFields, {}, {}};

class SwigluGenerator : public Generator {
 public:
  SwigluGenerator()
      : shapes_(infos_of(swiglu_shape_classes())), layouts_(infos_of(swiglu_layout_classes())) {}

  std::string_view operation() const override { return "swiglu_mlp"; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override {
    return swiglu_value_classes();
  }

  // Layout classes choose how weights are stored.
  std::vector<Feature> features(const Manifest& manifest) const override {
    return schema_features(manifest, kLayoutFields, {});
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const SwigluShapeClass& shape = swiglu_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const SwigluLayoutClass& layout =
        swiglu_layout_classes()[static_cast<std::size_t>(choice.layout)];
    const SwigluSizes sizes = shape.draw(swiglu_tile(manifest), profile, random);
    return fmt::format("tokens={} d={} hidden={} d_out={} {} {}", sizes.tokens, sizes.d,
                       sizes.hidden, sizes.d_out, layout.draw(manifest, random),
                       fragments_text(features(manifest), choice));
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string_view field : kSizeFields)
      problem.set_integer(field, round_up(problem.integer(field), granule));
    problem.set_integer("pad", round_up(problem.integer("pad"), granule));
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return swiglu_designed(manifest);
  }

  // h [tokens, hidden] twice with depth d, and y [tokens, d_out] with depth hidden.
  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    const SwigluSizes tile = swiglu_tile(manifest);
    const auto padded = [&](std::string_view field, std::int64_t granule) {
      return static_cast<double>(round_up(problem.integer(field), granule));
    };
    const double tokens = padded("tokens", tile.tokens);
    return tokens * (2 * padded("hidden", tile.hidden) * padded("d", tile.d) +
                     padded("d_out", tile.d_out) * padded("hidden", tile.d));
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    swiglu_fill(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

 private:
  std::vector<ClassInfo> shapes_, layouts_;
};

}  // namespace

const Generator& swiglu_generator() {
  static const SwigluGenerator generator;
  return generator;
}

}  // namespace plumbline
