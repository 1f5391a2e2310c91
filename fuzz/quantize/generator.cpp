// SPDX-License-Identifier: MIT
// The generator of quantization: joins its shape, layout and value classes and designed cases.
#include "fuzz/quantize/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/gemm/shared_fill.h"
#include "fuzz/quantize/designed.h"
#include "fuzz/quantize/shapes.h"
#include "fuzz/quantize/values.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 2> kSizeFields = {"m", "n"};
constexpr std::array<std::string_view, 2> kStrideFields = {"ldx", "ldq"};
constexpr std::array<std::string_view, 1> kFeatureFields = {"scale"};
constexpr std::array<std::string_view, 2> kSimpleValues = {"scale=tensor", "scale=row"};
constexpr ShrinkFields kShrinkFields = {
    kSizeFields, kStrideFields, {}, kFeatureFields, kSimpleValues};

// An element is read twice and divided: as much time as many multiply-accumulates.
constexpr double kWorkOfAnElement = 32;

class QuantizeGenerator : public Generator {
 public:
  QuantizeGenerator()
      : shapes_(infos_of(quantize_shape_classes())), layouts_(infos_of(quantize_layout_classes())) {
    for (const QuantizeValueClass& entry : quantize_value_classes()) values_.push_back(entry.name);
  }

  std::string_view operation() const override { return "quantize"; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  std::vector<Feature> features(const Manifest& manifest) const override {
    return schema_features(manifest, {}, {});
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const QuantizeShapeClass& shape =
        quantize_shape_classes()[static_cast<std::size_t>(choice.shape)];
    const QuantizeLayoutClass& layout =
        quantize_layout_classes()[static_cast<std::size_t>(choice.layout)];
    const QuantizeSizes sizes = shape.draw(profile, random);
    return fmt::format("m={} n={} {} {}", sizes.m, sizes.n, layout.draw(sizes, random),
                       fragments_text(features(manifest), choice));
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    problem.set_integer("n", round_up(problem.integer("n"), granule));
    for (const std::string_view field : kStrideFields) problem.reset(field);
  }

  // Every matrix has rows of n elements.
  void keep_padding(const Problem& before, Problem& after) const override {
    for (const std::string_view field : kStrideFields) {
      if (before.integer(field) == 0) continue;
      after.set_integer(field, before.integer(field) + after.integer("n") - before.integer("n"));
    }
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return quantize_designed(manifest);
  }

  double padded_work(const Problem& problem, const Manifest&) const override {
    const auto m = static_cast<double>(problem.integer("m"));
    return kWorkOfAnElement * m * static_cast<double>(round_up(problem.integer("n"), 128));
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    const auto classes = quantize_value_classes();
    const auto found =
        std::find_if(classes.begin(), classes.end(), [&](const QuantizeValueClass& candidate) {
          return candidate.name == test_case.recipe.value_class;
        });
    PLUMB_ASSERT(found != classes.end());
    QuantizeContext context;
    context.m = test_case.problem.integer("m");
    context.n = test_case.problem.integer("n");
    context.scale = test_case.problem.word("scale");
    context.input = &element_format(tensors, "x");
    context.code = &element_format(tensors, "q");
    context.random = recipe_random(test_case.recipe);
    const QuantizePattern pattern = found->pattern(context);
    fill_matrix(tensors.find("x"), [&](const At& at) {
      return pattern({at.row, at.column, context.group_of(at.row, at.column)});
    });
  }

  const ShrinkFields& shrink_fields() const override { return kShrinkFields; }

 private:
  std::vector<ClassInfo> shapes_, layouts_;
  std::vector<std::string_view> values_;
};

}  // namespace

const Generator& quantize_generator() {
  static const QuantizeGenerator generator;
  return generator;
}

}  // namespace plumbline
