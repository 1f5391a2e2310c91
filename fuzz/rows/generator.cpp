// SPDX-License-Identifier: MIT
// One generator for all row operations: they differ in their leading dimensions and numbers.
#include "fuzz/rows/generator.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/rows/designed.h"
#include "fuzz/rows/fill.h"
#include "fuzz/rows/shapes.h"
#include "fuzz/rows/values.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 2> kSizes = {"m", "n"};
constexpr std::array<std::string_view, 1> kWords = {"out"};
constexpr std::array<std::string_view, 1> kSimpleValues = {"out=f32"};

// A row is read three times, functions are computed of its elements, and a block of threads waits
// for itself several times however short the row is.
constexpr double kWorkOfAnElement = 96;

struct RowGeneratorInfo {
  std::string_view operation;
  std::array<std::string_view, 3> strides;  // of the output last
  std::size_t stride_count;
  std::string_view number;  // "scale" or "eps"; empty: none
  bool adds_to_gamma = false;

  std::span<const std::string_view> stride_fields() const {
    return std::span(strides).first(stride_count);
  }
};

constexpr RowGeneratorInfo kInfos[] = {
    {"softmax", {"ldx", "ldy"}, 2, "scale"},
    {"softmax_backward", {"ldy", "lddy", "lddx"}, 3, "scale"},
    {"rmsnorm", {"ldx", "ldy"}, 2, "eps", true},
    {"rmsnorm_backward", {"ldx", "lddy", "lddx"}, 3, ""},
    {"layernorm", {"ldx", "ldy"}, 2, "eps"},
    {"layernorm_backward", {"ldx", "lddy", "lddx"}, 3, ""},
};

std::vector<Feature> numbers_of(const RowGeneratorInfo& info) {
  const auto spread = [](std::string_view field, double least, double most, bool either_sign) {
    return Spread{.field = field, .least = least, .most = most, .either_sign = either_sign};
  };
  if (info.number == "scale")
    return {{"scale",
             {"scale=1", "scale=0.125", "scale=2.5", "scale=-0.75", "scale=*"},
             true,
             spread("scale", 0x1p-10, 0x1p6, true)}};
  std::vector<Feature> numbers;
  if (info.number == "eps")
    numbers.push_back({"eps",
                       {"eps=1e-05", "eps=0.25", "eps=0", "eps=1e-12", "eps=*"},
                       true,
                       spread("eps", 0x1p-40, 1, false)});
  if (info.adds_to_gamma)
    numbers.push_back({"gamma_plus",
                       {"gamma_plus=0", "gamma_plus=1", "gamma_plus=-0.75", "gamma_plus=*"},
                       true,
                       spread("gamma_plus", 0x1p-8, 0x1p3, true)});
  return numbers;
}

class RowGenerator final : public Generator {
 public:
  explicit RowGenerator(const RowGeneratorInfo& info)
      : info_(info),
        shapes_(infos_of(row_shape_classes())),
        layouts_(infos_of(row_layout_classes())),
        shrink_{kSizes, info.stride_fields(), {}, kWords, kSimpleValues} {
    for (const RowValueClass& entry : row_value_classes()) values_.push_back(entry.name);
  }

  std::string_view operation() const override { return info_.operation; }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  std::vector<Feature> features(const Manifest& manifest) const override {
    return schema_features(manifest, {}, numbers_of(info_));
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const RowSizes sizes =
        row_shape_classes()[static_cast<std::size_t>(choice.shape)].draw(profile, random);
    const RowLayoutClass& layout = row_layout_classes()[static_cast<std::size_t>(choice.layout)];
    return fmt::format("m={} n={} {} {}", sizes.m, sizes.n,
                       layout.draw(sizes.n, info_.stride_fields(), random),
                       drawn_fragments_text(features(manifest), choice, random));
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    problem.set_integer("n", round_up(problem.integer("n"), granule));
    for (const std::string_view field : info_.stride_fields()) problem.reset(field);
  }

  // Every matrix has rows of n elements.
  void keep_padding(const Problem& before, Problem& after) const override {
    for (const std::string_view field : info_.stride_fields()) {
      if (before.integer(field) == 0) continue;
      after.set_integer(field, before.integer(field) + after.integer("n") - before.integer("n"));
    }
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override {
    return row_designed(manifest, info_.stride_fields());
  }

  double padded_work(const Problem& problem, const Manifest&) const override {
    const auto m = static_cast<double>(problem.integer("m"));
    return kWorkOfAnElement * m * static_cast<double>(round_up(problem.integer("n"), 128));
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    fill_row_case(test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return shrink_; }

 private:
  const RowGeneratorInfo& info_;
  std::vector<ClassInfo> shapes_, layouts_;
  std::vector<std::string_view> values_;
  ShrinkFields shrink_;
};

template <std::size_t index>
const Generator& generator() {
  static const RowGenerator made(kInfos[index]);
  return made;
}

}  // namespace

const Generator& softmax_generator() { return generator<0>(); }

const Generator& softmax_backward_generator() { return generator<1>(); }

const Generator& rmsnorm_generator() { return generator<2>(); }

const Generator& rmsnorm_backward_generator() { return generator<3>(); }

const Generator& layernorm_generator() { return generator<4>(); }

const Generator& layernorm_backward_generator() { return generator<5>(); }

}  // namespace plumbline
