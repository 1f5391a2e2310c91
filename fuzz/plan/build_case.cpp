// SPDX-License-Identifier: MIT
#include "fuzz/plan/build_case.h"

#include <algorithm>

#include "fuzz/case/draw.h"
#include "fuzz/case/free_fields.h"
#include "fuzz/case/memory.h"
#include "fuzz/plan/domain_fit.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr int kDraws = 8;   // that are problems of the kernel
constexpr int kTexts = 64;  // for those

// Of a case's work over what it should be: at quick 10^9 terms of a text, which take minutes.
constexpr double kMostExcess = 100;

// 32 bits are enough for a seed, and short enough to read out.
std::uint64_t draw_seed(Random& random) { return random.next() >> 32; }

// Of tensors and what is kept beside them: one case must not need a large machine.
double most_memory(Profile profile) {
  switch (profile) {
    case Profile::quick:
      return 0x1p30;
    case Profile::standard:
      return 0x1p32;
    case Profile::deep:
      break;
  }
  return 0x1p34;
}

// Drawn text as a problem of the kernel, which need not have every stride that a class writes.
struct Drawn {
  Result<Problem> problem;
  bool strides_left;  // or there were none
};

Drawn parsed(const Manifest& manifest, std::string_view text) {
  const Generator& generator = generator_of(*manifest.operation);
  const FreeStrides free = free_strides(manifest, generator.shrink_fields().strides, text);
  return {parse_problem(manifest.schema(), free.text, free.text), !free.nothing_left};
}

// Some draw of the choice that is a problem of this kernel's schema, with strides if the layout
// class is about them.
std::optional<Problem> some_draw(const Manifest& manifest, const Choice& choice) {
  const Generator& generator = generator_of(*manifest.operation);
  Random random(0);
  for (int draw = 0; draw < 2 * kDraws; ++draw) {
    const Drawn drawn =
        parsed(manifest, generator.problem_text(choice, manifest, Profile::quick, random));
    if (drawn.problem && drawn.strides_left) return *drawn.problem;
  }
  return std::nullopt;
}

bool has_draws(const Manifest& manifest, const Choice& choice) {
  return some_draw(manifest, choice).has_value();
}

bool fits_memory(const Manifest& manifest, const Problem& problem, Profile profile) {
  const Result<std::vector<TensorSpec>> specs = manifest.tensors(problem);
  return specs && memory_of(*specs) <= most_memory(profile);
}

Case case_of(const Manifest& manifest, const Choice& choice, const Problem& problem,
             std::uint64_t seed) {
  const Generator& generator = generator_of(*manifest.operation);
  Case built;
  built.kernel = &manifest;
  built.problem = problem;
  built.recipe.value_class = generator.value_classes()[static_cast<std::size_t>(choice.value)];
  built.recipe.seed = seed;
  built.shape_class = generator.shape_classes()[static_cast<std::size_t>(choice.shape)].name;
  built.layout_class = generator.layout_classes()[static_cast<std::size_t>(choice.layout)].name;
  return built;
}

Case designed_case(const Manifest& manifest, const DesignedCase& designed, const Problem& problem,
                   Random random) {
  Case built;
  built.kernel = &manifest;
  built.problem = problem;
  built.recipe.value_class = designed.value_class;
  built.recipe.seed = draw_seed(random);
  built.shape_class = designed.shape_class;
  built.layout_class = designed.layout_class;
  built.origin = "designed";
  return built;
}

bool has_other(const Problem& problem, const Problem& fitted, const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return problem.integer(field.name) != fitted.integer(field.name);
    case FieldKind::real:
      return problem.real(field.name) != fitted.real(field.name);
    case FieldKind::word:
      break;
  }
  return problem.word(field.name) != fitted.word(field.name);
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether another size is as many tiles, and whole ones or not as before. A size of 1 is what a
// class is about that is named after it.
bool is_same_tiling(const Manifest& manifest, const DesignedCase& designed, std::string_view name,
                    std::int64_t size, std::int64_t fitted) {
  constexpr std::int64_t kUsualTile = 64;
  if (size == fitted) return true;
  if (size == 0 || (size == 1 && designed.shape_class.starts_with("one"))) return false;
  const auto found = manifest.tile.find(std::string(name));
  const std::int64_t tile =
      found == manifest.tile.end() ? kUsualTile : std::max<std::int64_t>(1, found->second);
  const auto tiles = [&](std::int64_t extent) { return (extent + tile - 1) / tile; };
  return tiles(size) == tiles(fitted) && (size % tile == 0) == (fitted % tile == 0);
}

// Sizes that were equal are so still: another orientation fits.
bool is_still_square(const Generator& generator, const Problem& problem, const Problem& fitted) {
  for (const std::string_view one : generator.shrink_fields().sizes) {
    for (const std::string_view other : generator.shrink_fields().sizes) {
      if (problem.integer(one) == problem.integer(other) &&
          fitted.integer(one) != fitted.integer(other))
        return false;
    }
  }
  return true;
}

bool is_still_designed(const Manifest& manifest, const DesignedCase& designed,
                       const Problem& problem, const Problem& fitted) {
  const Generator& generator = generator_of(*manifest.operation);
  const ShrinkFields& fields = generator.shrink_fields();
  for (const Field& field : problem.schema()) {
    const std::string_view name = field.name;
    if (contains(fields.sizes, name)) {
      if (!is_same_tiling(manifest, designed, name, problem.integer(name), fitted.integer(name)))
        return false;
    } else if (contains(fields.strides, name)) {
      if (fitted.is_default(name) && !problem.is_default(name)) return false;
    } else if (has_other(problem, fitted, field)) {
      return false;
    }
  }
  return designed.shape_class != "square" || is_still_square(generator, problem, fitted);
}

}  // namespace

KernelChoices choices_of(const Manifest& manifest) {
  const Generator& generator = generator_of(*manifest.operation);
  KernelChoices choices;
  choices.features = generator.features(manifest);
  Choice plain;
  plain.features.assign(choices.features.size(), 0);
  const auto count = [](auto classes) { return static_cast<int>(classes.size()); };
  for (int shape = 0; shape < count(generator.shape_classes()); ++shape) {
    Choice choice = plain;
    choice.shape = shape;
    for (choice.layout = 0; choice.layout < count(generator.layout_classes()); ++choice.layout) {
      if (!generator.compatible(shape, choice.layout) || !has_draws(manifest, choice)) continue;
      choices.shapes.push_back(shape);
      break;
    }
  }
  PLUMB_ASSERT(!choices.shapes.empty());
  for (int layout = 0; layout < count(generator.layout_classes()); ++layout) {
    Choice choice = plain;
    choice.layout = layout;
    for (const int shape : choices.shapes) {
      choice.shape = shape;
      if (!generator.compatible(shape, layout) || !has_draws(manifest, choice)) continue;
      choices.layouts.push_back(layout);
      break;
    }
  }
  return choices;
}

std::optional<Case> build_case(const Manifest& manifest, const Choice& choice, Profile profile,
                               double work_limit, Random random) {
  const Generator& generator = generator_of(*manifest.operation);
  std::optional<Problem> best;
  for (int draw = 0, texts = 0; draw < kDraws && texts < kTexts; ++texts) {
    const Result<Problem> drawn =
        parsed(manifest, generator.problem_text(choice, manifest, profile, random)).problem;
    if (!drawn) continue;
    ++draw;
    const std::optional<Problem> problem = fit_to_domain(manifest, *drawn, work_limit);
    if (!problem || !fits_memory(manifest, *problem, profile)) continue;
    const double work = generator.padded_work(*problem, manifest);
    if (!best || work < generator.padded_work(*best, manifest)) best = problem;
    if (work <= work_limit) break;
  }
  // No sizes make it cheap enough: a sum has a billion terms for all sizes, for instance.
  if (!best || generator.padded_work(*best, manifest) > kMostExcess * work_limit)
    return std::nullopt;
  return case_of(manifest, choice, *best, draw_seed(random));
}

std::optional<Case> build_changed(const Manifest& manifest, const Choice& choice, Profile profile,
                                  double work_limit, const std::function<void(Problem&)>& change,
                                  Random random) {
  const Generator& generator = generator_of(*manifest.operation);
  for (int draw = 0; draw < kDraws; ++draw) {
    Result<Problem> problem =
        parsed(manifest, generator.problem_text(choice, manifest, Profile::quick, random)).problem;
    if (!problem) continue;
    change(*problem);
    Problem precise = *problem;
    const auto out = std::ranges::find(manifest.schema(), "out", &Field::name);
    if (out != manifest.schema().end() &&
        std::ranges::find(out->choices, "f32") != out->choices.end())
      precise.set_word("out", "f32");
    std::optional<Problem> fitted = fit_to_domain(manifest, precise, work_limit);
    if (!fitted) fitted = fit_to_domain(manifest, *problem, work_limit);
    if (!fitted || !fits_memory(manifest, *fitted, profile) ||
        generator.padded_work(*fitted, manifest) > work_limit)
      continue;
    return case_of(manifest, choice, *fitted, draw_seed(random));
  }
  return std::nullopt;
}

Case build_unchecked(const Manifest& manifest, const KernelChoices& choices, Random random) {
  const Generator& generator = generator_of(*manifest.operation);
  for (int texts = 0; texts < kTexts; ++texts) {
    Choice choice;
    choice.shape = draw_one_of(random, choices.shapes);
    choice.layout = draw_one_of(random, choices.layouts);
    choice.value = static_cast<int>(random.below(generator.value_classes().size()));
    for (const Feature& feature : choices.features)
      choice.features.push_back(static_cast<int>(random.below(feature.fragments.size())));
    if (!generator.compatible(choice.shape, choice.layout)) continue;
    const Result<Problem> drawn =
        parsed(manifest, generator.problem_text(choice, manifest, Profile::quick, random)).problem;
    if (drawn) return case_of(manifest, choice, *drawn, draw_seed(random));
  }
  // What choices_of() found the first shape by.
  Choice choice;
  choice.features.assign(choices.features.size(), 0);
  choice.shape = choices.shapes.front();
  for (const int layout : choices.layouts) {
    choice.layout = layout;
    if (!generator.compatible(choice.shape, layout)) continue;
    if (const auto drawn = some_draw(manifest, choice))
      return case_of(manifest, choice, *drawn, draw_seed(random));
  }
  PLUMB_ASSERT(!"the first shape of a kernel has draws");
  return {};
}

std::optional<Case> build_designed(const Manifest& manifest, const DesignedCase& designed,
                                   Random random) {
  const auto [problem, strides_left] = parsed(manifest, designed.problem);
  if (!problem || !strides_left || manifest.excluded(*problem) ||
      !fits_memory(manifest, *problem, Profile::quick))
    return std::nullopt;
  return designed_case(manifest, designed, *problem, random);
}

std::optional<Case> fit_designed(const Manifest& manifest, const DesignedCase& designed,
                                 Random random) {
  const auto [problem, strides_left] = parsed(manifest, designed.problem);
  if (!problem || !strides_left || !manifest.excluded(*problem)) return std::nullopt;
  const std::optional<Problem> fitted = fit_to_domain(manifest, *problem);
  if (!fitted || !is_still_designed(manifest, designed, *problem, *fitted) ||
      !fits_memory(manifest, *fitted, Profile::quick))
    return std::nullopt;
  return designed_case(manifest, designed, *fitted, random);
}

}  // namespace plumbline
