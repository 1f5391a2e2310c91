// SPDX-License-Identifier: MIT
// One generator for all texts: it reads sizes, scalars, tensors and their values off the text. What
// sizes a kernel takes it does not work out; it draws until the kernel takes them.
#include "fuzz/text/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "fuzz/case/classes.h"
#include "fuzz/case/draw.h"
#include "fuzz/case/far_apart.h"
#include "fuzz/case/free_fields.h"
#include "fuzz/case/values.h"
#include "fuzz/rows/values.h"
#include "fuzz/text/fill.h"
#include "kernels/manifest/real_text.h"
#include "oracles/text/words.h"

namespace plumbline {

namespace {

// A term is a few instructions of a kernel, and as many of its oracle; an element of a row is worth
// as much as in the row operations, however little is computed of it. Rows count as whole blocks of
// threads.
constexpr double kWorkOfATerm = 8, kWorkOfAnElement = 96;
constexpr std::int64_t kBlock = 128;

constexpr int kDraws = 60;  // of sizes, until the kernel takes some
constexpr std::array<std::string_view, 1> kOut = {"out"};
constexpr std::array<std::int64_t, 12> kPrimes = {2, 3, 5, 7, 13, 31, 61, 127, 131, 251, 257, 509};

struct Size {
  std::string_view name;
  bool row;  // rows of a tensor are as long as it says
  bool may_be_empty;
  std::int64_t tile;  // the manifest's; 0: none
};

struct ShapeClass {
  ClassInfo info;
  std::int64_t (*draw)(const Size& size, Profile profile, Random& random);
};

std::int64_t growth(Profile profile) {
  return profile == Profile::quick ? 1 : profile == Profile::standard ? 4 : 12;
}

std::int64_t few(const Size& size, Random& random) {
  return draw_logarithmic(random, 1, size.row ? 24 : 8);
}

std::int64_t near_tiles(const Size& size, std::int64_t away, Random& random) {
  if (size.tile > 0) return std::max<std::int64_t>(1, size.tile * random.between(1, 2) + away);
  return size.row ? 32 * random.between(1, 4) + away : few(size, random);
}

// One size that is long or empty, and all others small, is drawn where it can be seen which.
constexpr auto kSmall = [](const Size& size, Profile, Random& random) { return few(size, random); };

// clang-format off
constexpr std::array kShapes = {
    ShapeClass{{"one", "every size is 1: the smallest problem there is"},
      [](const Size&, Profile, Random&) -> std::int64_t { return 1; }},
    ShapeClass{{"tiny", "rows shorter than a vector, everything less than a warp"},
      [](const Size& size, Profile, Random& random) { return random.between(1, size.row ? 16 : 8); }},
    ShapeClass{{"power", "sizes that are powers of two"},
      [](const Size& size, Profile, Random& random) { return std::int64_t{1} << random.between(0, size.row ? 10 : 5); }},
    ShapeClass{{"prime", "sizes that divide nothing"},
      [](const Size& size, Profile, Random& random) { return kPrimes[random.below(size.row ? 12 : 7)]; }},
    ShapeClass{{"vector_tail", "rows that end within a vector load"},
      [](const Size& size, Profile, Random& random) {
        return size.row ? 8 * random.between(1, 40) + random.between(1, 7) : draw_logarithmic(random, 1, 24); }},
    ShapeClass{{"tile_minus_1", "one short of what a block takes at a time: masks of the last line"},
      [](const Size& size, Profile, Random& random) { return near_tiles(size, -1, random); }},
    ShapeClass{{"tile", "whole tiles: no mask at all"},
      [](const Size& size, Profile, Random& random) { return near_tiles(size, 0, random); }},
    ShapeClass{{"tile_plus_1", "one past whole tiles: another tile with one line"},
      [](const Size& size, Profile, Random& random) { return near_tiles(size, 1, random); }},
    ShapeClass{{"large", "all sizes as large as a case may be"},
      [](const Size& size, Profile profile, Random& random) {
        const std::int64_t most = growth(profile) * (size.row ? 320 : 160);
        return random.between(most / 2, most); }},
    ShapeClass{{"long", "thousands of one size, everything else small"}, kSmall},
    ShapeClass{{"empty", "none of one size: nothing to do, and nothing to touch"}, kSmall},
};

constexpr std::array kLayouts = {
    ClassInfo{"tight", "rows without padding"},
    ClassInfo{"padded_in", "padding after the rows that are read: it is NaN"},
    ClassInfo{"padded_out", "padding after the rows that are written: it must not be"},
    ClassInfo{"padded_all", "padding in every tensor"},
    ClassInfo{"padded_odd", "odd strides: no row but the first is aligned"},
};
// clang-format on

// What a case of a profile may have: terms that an oracle evaluates, and elements.
double most_work(Profile profile) { return 1e6 * static_cast<double>(growth(profile)); }

// A default this small keeps a divisor from 0: it is tried down to nothing, and never below.
bool keeps_from_zero(double usual) { return usual > 0 && usual < 0x1p-6; }

double default_of(const Field& field) {
  if (field.kind == FieldKind::integer) return static_cast<double>(field.default_value);
  return std::bit_cast<float>(static_cast<std::int32_t>(field.default_value));
}

std::string fragment_of(const Field& field, double number) {
  return field.kind == FieldKind::integer
             ? fmt::format("{}={}", field.name, static_cast<std::int64_t>(number))
             : fmt::format("{}={}", field.name,
                           real_text(std::bit_cast<std::uint32_t>(static_cast<float>(number))));
}

// The default of a scalar, then numbers that show whether it is used, then any.
Feature feature_of(const Field& field) {
  const double usual = default_of(field), size = usual == 0 ? 1 : std::fabs(usual);
  std::vector<double> numbers;
  Spread spread{.field = field.name, .least = size / 256, .most = size * 8, .either_sign = true};
  if (field.kind == FieldKind::integer) {
    numbers = {usual, 0, 1, 2, 4, -1};
    spread = {.field = field.name, .least = 1, .most = std::max(0x1p17, 4 * size), .whole = true};
  } else if (keeps_from_zero(usual)) {
    numbers = {usual, 0.25, 0, 1e-12};
    spread = {.field = field.name, .least = 0x1p-40, .most = 1};
  } else {
    numbers = {usual, 0, 1, -0.75 * size, 0.125 * size, 2.5 * size};
  }
  Feature feature{std::string(field.name), {}, true, spread};
  for (const double number : numbers) {
    const std::string fragment = fragment_of(field, number);
    if (std::ranges::count(feature.fragments, fragment) == 0) feature.fragments.push_back(fragment);
  }
  feature.fragments.push_back(fmt::format("{}=*", field.name));
  return feature;
}

class TextGenerator final : public Generator {
 public:
  explicit TextGenerator(const TextOperation& operation) : operation_(operation) {
    for (const auto& [info, draw] : kShapes) {
      const auto can_be_empty = [&](const std::string& one) { return operation.may_be_empty(one); };
      if (info.name != "empty" || std::ranges::any_of(operation.sizes(), can_be_empty))
        shapes_.push_back(info);
    }
    for (const ClassInfo& info : kLayouts) {
      if (info.name == "tight" || !pads_of(info.name).empty()) layouts_.push_back(info);
    }
    for (const RowValueClass& entry : row_value_classes()) values_.push_back(entry.name);
    simple_ = {"out=f32"};
    for (const Field& field : operation.schema()) {
      if (!operation.text().find(field.name)) continue;
      for (const double number : {default_of(field), 0.0, 1.0, 2.0})
        simple_.push_back(fragment_of(field, number));
      feature_fields_.push_back(field.name);
      if (field.kind == FieldKind::integer) integers_.push_back(field.name);
    }
    feature_fields_.push_back("out");
    simple_values_ = {simple_.begin(), simple_.end()};
    size_fields_ = {operation.sizes().begin(), operation.sizes().end()};
    pad_fields_ = {operation.pads().begin(), operation.pads().end()};
    shrink_ = {size_fields_, pad_fields_, {}, feature_fields_, simple_values_};
  }

  std::string_view operation() const override { return operation_.name(); }

  std::span<const ClassInfo> shape_classes() const override { return shapes_; }

  std::span<const ClassInfo> layout_classes() const override { return layouts_; }

  std::span<const std::string_view> value_classes() const override { return values_; }

  // Found once for a manifest: every draw asks for them.
  std::vector<Feature> features(const Manifest& manifest) const override {
    std::string key = manifest.path;
    for (const Field& field : manifest.schema()) key += field.fixed ? '=' : '*';
    for (const DomainRule& rule : manifest.domain) key += "\n" + std::string(rule.condition.text());
    const std::lock_guard lock(mutex_);
    const auto found = features_.find(key);
    if (found != features_.end()) return found->second;
    return features_[key] = found_features(manifest);
  }

  // Leaves out numbers that the kernel refuses for all sizes.
  std::vector<Feature> found_features(const Manifest& manifest) const {
    std::vector<Feature> numbers;
    for (const Field& field : manifest.schema()) {
      if (!operation_.text().find(field.name) || !is_free(manifest.schema(), field.name)) continue;
      Feature feature = feature_of(field);
      if (feature.spread->whole)
        feature.spread->either_sign = is_taken(feature, fmt::format("{}=-3", field.name), manifest);
      std::erase_if(feature.fragments, [&](const std::string& fragment) {
        return fragment != feature.fragments.front() && !is_taken(feature, fragment, manifest);
      });
      if (feature.fragments.size() > 1) numbers.push_back(std::move(feature));
    }
    return schema_features(manifest, {}, numbers);
  }

  bool compatible(int, int) const override { return true; }

  std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                           Random& random) const override {
    const ShapeClass& shape = kShapes[static_cast<std::size_t>(choice.shape)];
    const std::string_view layout = layouts_[static_cast<std::size_t>(choice.layout)].name;
    const std::string words = drawn_fragments_text(features(manifest), choice, random);
    Result<Problem> problem = drawn(shape, words, manifest, profile, random);
    if (!problem) return {};
    Random padding = random.fork(random.next());
    std::string text = problem->text();
    for (const std::string_view pad : pads_of(layout)) {
      const std::int64_t width = width_of(pad, *problem);
      const std::int64_t stride = layout == "padded_odd"
                                      ? width + 1 + 2 * padding.between(0, 3) + width % 2
                                      : round_up(width, 8) + 8 * padding.between(1, 4);
      text += fmt::format(" {}={}", pad, stride - width);
    }
    return text;
  }

  void round_sizes(Problem& problem, std::int64_t granule) const override {
    for (const std::string& size : operation_.sizes()) {
      if (ends_rows(size)) problem.set_integer(size, round_up(problem.integer(size), granule));
    }
    for (const std::string_view pad : pad_fields_) problem.reset(pad);
  }

  bool round_strides(Problem& problem, std::int64_t granule) const override {
    bool any = false;
    for (const std::string_view pad : pad_fields_) {
      if (!is_free(problem.schema(), pad)) continue;
      any = true;
      const std::int64_t width = width_of(pad, problem);
      problem.set_integer(pad, round_up(width + problem.integer(pad), granule) - width);
    }
    return any;
  }

  std::vector<DesignedCase> designed(const Manifest& manifest) const override;

  double padded_work(const Problem& problem, const Manifest& manifest) const override {
    double most = 0;
    const Result<std::vector<TensorSpec>> specs = manifest.tensors(problem);
    if (!specs) return kWorkOfATerm * operation_.work(problem);
    for (const TensorSpec& spec : *specs) {
      double elements = static_cast<double>(spec.layout.count());
      if (spec.layout.shape.size() > 1 && elements > 0)
        elements *= static_cast<double>(round_up(spec.layout.shape.back(), kBlock)) /
                    static_cast<double>(spec.layout.shape.back());
      most = std::max(most, elements);
    }
    return std::max(kWorkOfATerm * operation_.work(problem), kWorkOfAnElement * most);
  }

  void fill(const Case& test_case, CaseTensors& tensors) const override {
    fill_text_case(operation_, test_case, tensors);
  }

  const ShrinkFields& shrink_fields() const override { return shrink_; }

  std::span<const std::string_view> integers() const override { return integers_; }

  void repair_dependent_values(const Case&, std::span<const Removal>, Case& after) const override {
    settle_text_values(operation_, after);
  }

 private:
  // Whether rows of some tensor are as long as a size says; of a text of vectors, any size.
  bool ends_rows(std::string_view size) const {
    const auto& parameters = operation_.text().parameters;
    const bool has_rows = std::ranges::any_of(
        parameters, [](const text::Parameter& one) { return one.sizes.size() > 1; });
    return std::ranges::any_of(parameters, [&](const text::Parameter& one) {
      return one.sizes.size() > (has_rows ? 1 : 0) && mentions(*one.sizes.back(), size);
    });
  }

  std::vector<Size> sizes_of(const Manifest& manifest) const {
    std::vector<Size> sizes;
    for (const std::string& name : operation_.sizes()) {
      const auto tile = manifest.tile.find(name);
      sizes.push_back({name, ends_rows(name), operation_.may_be_empty(name),
                       tile == manifest.tile.end() ? 0 : tile->second});
    }
    return sizes;
  }

  std::vector<std::string_view> pads_of(std::string_view layout) const {
    std::vector<std::string_view> pads;
    for (const std::string& pad : operation_.pads()) {
      const text::Parameter& tensor = *operation_.text().find(std::string_view(pad).substr(4));
      const bool written = tensor.output || tensor.inout;
      if (layout == "tight" || (layout == "padded_in" && tensor.output) ||
          (layout == "padded_out" && !written))
        continue;
      pads.push_back(pad);
    }
    return pads;
  }

  // Elements of a row of the tensor that a field pads.
  std::int64_t width_of(std::string_view pad, const Problem& problem) const {
    const std::string stride = fmt::format("ld_{}", pad.substr(4));
    for (const Derived& one : operation_.derived()) {
      if (one.name != stride) continue;
      const Result<std::int64_t> value = one.value(problem);
      return value ? std::max<std::int64_t>(0, *value - problem.integer(pad)) : 0;
    }
    return 0;
  }

  static bool takes(const Manifest& manifest, const Problem& problem) {
    return !manifest.excluded(problem) && manifest.tensors(problem).ok();
  }

  // Makes sizes smaller as long as a case would take too long: those in several tiles by a tile, if
  // tiles are given, then the others by half, the largest first; and last those in tiles, and one
  // that is to be long. Of the others two are left there, so that it is seen which one is meant.
  void lighten(Problem& problem, std::string_view kept, std::span<const Size> tiled,
               double most) const {
    const auto tile_of = [&](std::string_view name) {
      const auto found = std::ranges::find(tiled, name, &Size::name);
      return found == tiled.end() ? 0 : found->tile;
    };
    // The largest of some, or none.
    const auto largest = [&](auto counts) {
      std::string_view found;
      for (const std::string& size : operation_.sizes()) {
        if (counts(size) && (found.empty() || problem.integer(size) > problem.integer(found)))
          found = size;
      }
      return found;
    };
    const std::int64_t least = tiled.empty() ? 2 : 1;
    while (operation_.work(problem) > most) {
      const std::string_view tiles = largest([&](const std::string& size) {
        return tile_of(size) > 0 && problem.integer(size) > 3 * tile_of(size) / 2;
      });
      if (!tiles.empty()) {
        problem.set_integer(tiles, problem.integer(tiles) - tile_of(tiles));
        continue;
      }
      std::string_view size = largest([&](const std::string& one) {
        return one != kept && tile_of(one) == 0 && problem.integer(one) > least;
      });
      if (!size.empty()) {
        problem.set_integer(size, std::max(least, problem.integer(size) / 2));
        continue;
      }
      size = largest([&](const std::string& one) { return problem.integer(one) > 1; });
      if (size.empty()) return;
      problem.set_integer(size, problem.integer(size) / 2);
    }
  }

  Result<Problem> drawn(const ShapeClass& shape, const std::string& words, const Manifest& manifest,
                        Profile profile, Random& random) const {
    std::string text = words;
    for (const std::string& size : operation_.sizes()) text += fmt::format(" {}=1", size);
    Result<Problem> problem = parse_problem(manifest.schema(), text);
    const std::vector<Size> sizes = sizes_of(manifest);
    for (int i = 0; problem && !sizes.empty() && i < kDraws; ++i) {
      for (const Size& size : sizes)
        problem->set_integer(size.name, shape.draw(size, profile, random));
      const Size& chosen = draw_one_of(random, sizes);
      std::string_view kept;
      if (shape.info.name == "long") {
        const std::int64_t most = growth(profile) * 9000;
        problem->set_integer(kept = chosen.name, random.between(most / 3, most));
      }
      if (shape.info.name == "empty") {
        if (!chosen.may_be_empty) continue;
        problem->set_integer(kept = chosen.name, 0);
      }
      const bool of_tiles = shape.info.name.starts_with("tile");
      // Tiles may cost as much as designed cases do.
      lighten(*problem, kept, of_tiles ? std::span(sizes) : std::span<const Size>(),
              (of_tiles ? 4 : 1) * most_work(profile));
      if (takes(manifest, *problem) || fit_scalars(manifest, *problem)) break;
    }
    return problem;
  }

  // Makes a size a multiple of a scalar, as where rows fall into groups, or halves the scalar until
  // the kernel takes the problem. Else leaves it as it was.
  bool fit_scalars(const Manifest& manifest, Problem& problem) const {
    for (const Field& field : manifest.schema()) {
      if (field.kind != FieldKind::integer || !operation_.text().find(field.name)) continue;
      if (!is_free(manifest.schema(), field.name)) continue;
      for (std::int64_t number = problem.integer(field.name); number > 1; number /= 2) {
        Problem other = problem;
        other.set_integer(field.name, number);
        if (takes(manifest, other)) {
          problem = std::move(other);
          return true;
        }
        for (const std::string& size : operation_.sizes()) {
          Problem rounded = other;
          rounded.set_integer(size, round_up(rounded.integer(size), number));
          if (operation_.work(rounded) > most_work(Profile::quick) || !takes(manifest, rounded))
            continue;
          problem = std::move(rounded);
          return true;
        }
      }
    }
    return false;
  }

  // Whether small sizes, or powers of two, go with a fragment of a feature: with one of a few
  // numbers, if it is drawn.
  bool is_taken(const Feature& feature, const std::string& fragment,
                const Manifest& manifest) const {
    const std::vector<Feature> only = {{feature.name, {fragment}, true, feature.spread}};
    const auto goes_with = [&](std::string_view name, Random random) {
      const auto shape =
          std::ranges::find(kShapes, name, [](const ShapeClass& one) { return one.info.name; });
      const std::string words = drawn_fragments_text(only, {0, 0, 0, {0}}, random);
      const Result<Problem> problem = drawn(*shape, words, manifest, Profile::quick, random);
      return problem && takes(manifest, *problem);
    };
    for (std::uint64_t i = fragment.ends_with('*') ? 8 : 1; i > 0; --i) {
      if (goes_with("tiny", Random(i)) || goes_with("power", Random(i))) return true;
    }
    return false;
  }

  const TextOperation& operation_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::vector<Feature>> features_;  // of manifests
  std::vector<ClassInfo> shapes_, layouts_;
  std::vector<std::string> simple_;  // what views point to
  std::vector<std::string_view> size_fields_, pad_fields_, feature_fields_, integers_,
      simple_values_, values_;
  ShrinkFields shrink_;
};

// They know nothing of what a text computes: each value class at a usual shape, each size at
// lengths where lanes, warps and tiles end, long rows, padding in each tensor, every number of the
// scalars, nothing at all.
std::vector<DesignedCase> TextGenerator::designed(const Manifest& manifest) const {
  const std::vector<std::string> outputs = every_choice(manifest, kOut);
  const std::vector<Size> sizes = sizes_of(manifest);
  std::vector<DesignedCase> cases;
  // The chosen size as it should be, rows this long, and a few of the rest. No two are alike, so
  // that one taken for another shows.
  const auto sized = [&](std::string_view chosen, std::int64_t length, std::int64_t row,
                         std::int64_t rest, std::string_view words) {
    std::string text(words);
    std::int64_t rows = 0, others = 0;
    for (const Size& size : sizes) {
      const std::int64_t usual =
          size.row ? std::max(row - row / 4 * rows, row / 4) : (rest == 1 ? 1 : rest + others);
      (size.row ? rows : others)++;
      text += fmt::format(" {}={}", size.name,
                          size.name == chosen ? length : std::max<std::int64_t>(1, usual));
    }
    return text;
  };
  const auto usual = [&](std::string_view words) {
    const auto rest = std::ranges::count(sizes, false, &Size::row);
    return sized("", 0, 72, rest < 2 ? 12 : 4, words);
  };
  const auto add = [&](std::string problem, std::string_view value, std::string_view shape,
                       std::string_view layout, std::string_view purpose) {
    cases.push_back({std::move(problem), std::string(value), std::string(shape),
                     std::string(layout), std::string(purpose)});
  };

  for (const std::string_view value : values_) {
    for (const std::string& words : outputs)
      add(usual(words), value, "vector_tail", "tight", find_value_class(value)->purpose);
  }

  add(sized("", 0, 1, 1, outputs.front()), "normal", "one", "tight", "a single element");
  for (const Size& size : sizes) {
    for (const std::int64_t length : {1, 2, 7, 31, 33, 129}) {
      add(sized(size.name, length, 12, 3, outputs.front()), "positive",
          length < 8     ? "tiny"
          : length == 31 ? "tile_minus_1"
                         : "tile_plus_1",
          "tight", "an element left out, or one too many");
    }
    if (size.row) {
      add(sized(size.name, 8192, 2, 4, outputs.front()), "normal", "long", "tight",
          "a path of its own for a width that models have");
      add(sized(size.name, 65573, 2, 4, outputs.front()), "normal", "long", "tight",
          "a row longer than 16 bits count, and in f32 than shared memory");
    } else if (size.tile == 0) {  // tiles are fewer
      add(sized(size.name, 65573, 3, 2, outputs.front()), "normal", "long", "tight",
          "more rows than 16 bits count, or than grids have in y and z");
    }
    if (size.may_be_empty)
      add(sized(size.name, 0, 12, 3, outputs.front()), "normal", "empty", "tight",
          "nothing to do, and nothing to touch");
  }

  // Sizes that integers point into are long together: what a tile leaves shows in the next one.
  const bool has_places = std::ranges::any_of(operation_.text().parameters, [&](const auto& one) {
    return !one.sizes.empty() && !one.output && holds_places(operation_, one);
  });
  for (const std::int64_t length : {40, 72, 136}) {
    if (!has_places) break;
    for (const std::string_view value : {"normal", "integers"}) {
      add(sized("", 0, 40, length, outputs.front()), value, "tile_plus_1", "tight",
          "many tiles between a beginning and an end that data say");
    }
  }

  std::string far, odd, even;
  for (const std::string_view pad : pad_fields_) {
    if (!is_free(manifest.schema(), pad)) continue;
    const text::Parameter& tensor = *operation_.text().find(pad.substr(4));
    add(fmt::format("{} {}=16", usual(outputs.front()), pad), "normal", "vector_tail",
        tensor.output ? "padded_out" : "padded_in", "rows taken for tight");
    far += fmt::format(" {}={}", pad, kFarApart);
    odd += fmt::format(" {}=7", pad);
    even += fmt::format(" {}=24", pad);
  }
  if (!far.empty()) {
    add(usual(outputs.front()) + even, "normal", "vector_tail", "padded_all",
        "rows taken for tight");
    add(usual(outputs.front()) + odd, "normal", "vector_tail", "padded_odd",
        "rows taken for tight");
    add(usual(outputs.front()) + far, "normal", "vector_tail", "padded_all", kFarPurpose);
    add(sized("", 0, 40, 1, outputs.front()) + odd, "normal", "tiny", "padded_odd",
        "strides of a dimension of size 1 must not be used");
  }

  for (const Feature& feature : features(manifest)) {
    if (!operation_.text().find(feature.name)) continue;
    for (const std::string& fragment : std::span(feature.fragments).subspan(1)) {
      if (fragment.ends_with('*')) continue;
      for (const std::string_view value : {"normal", "equal_rows"})
        add(usual(fmt::format("{} {}", outputs.front(), fragment)), value, "vector_tail", "tight",
            fmt::format("{} left out, or taken for another", feature.name));
    }
  }
  const double most = 4 * most_work(Profile::quick);
  std::erase_if(cases, [&](DesignedCase& one) {
    Result<Problem> problem = parse_problem(manifest.schema(), one.problem);
    if (!problem) return true;
    if (operation_.work(*problem) > most) {
      // A long size is what its case is for.
      const auto length = [&](const std::string& size) { return problem->integer(size); };
      const bool is_long = one.shape_class == "long";
      lighten(*problem, is_long ? *std::ranges::max_element(operation_.sizes(), {}, length) : "",
              {}, most);
      one.problem = problem->text();
    }
    return operation_.work(*problem) > most;
  });
  return cases;
}

}  // namespace

const Generator& text_generator(const TextOperation& operation) {
  static std::mutex mutex;
  static std::map<const TextOperation*, std::unique_ptr<const TextGenerator>> made;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const TextGenerator>& generator = made[&operation];
  if (!generator) generator = std::make_unique<const TextGenerator>(operation);
  return *generator;
}

}  // namespace plumbline
