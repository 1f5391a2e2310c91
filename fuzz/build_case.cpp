// SPDX-License-Identifier: MIT
#include "fuzz/build_case.h"

#include <array>

#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr int kDraws = 8;

// 32 bits are enough for a seed, and short enough to read out.
std::uint64_t draw_seed(Random& random) { return random.next() >> 32; }

bool is_usable(const Manifest& manifest, const Problem& problem) {
  return !manifest.excluded(problem) && manifest.tensors(problem).ok();
}

Result<Problem> parsed(const Manifest& manifest, const std::string& text) {
  return parse_problem(manifest.schema(), text, text);
}

// Whether some draw of the choice is a problem of this kernel's schema.
bool has_draws(const Manifest& manifest, const Choice& choice) {
  const Generator& generator = generator_of(*manifest.operation);
  Random random(0);
  for (int draw = 0; draw < 2 * kDraws; ++draw) {
    if (parsed(manifest, generator.problem_text(choice, manifest, Profile::quick, random)))
      return true;
  }
  return false;
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

}  // namespace

std::optional<Problem> fit_to_domain(const Manifest& manifest, const Problem& problem) {
  const Generator& generator = generator_of(*manifest.operation);
  if (is_usable(manifest, problem)) return problem;
  constexpr std::array kGranules = {1, 2, 4, 8, 16, 32, 64, 128};
  for (const std::int64_t granule : kGranules) {
    Problem strided = problem;
    if (generator.round_strides(strided, granule) && is_usable(manifest, strided)) return strided;
  }
  for (const std::int64_t granule : kGranules) {
    Problem rounded = problem;
    generator.round_sizes(rounded, granule);
    if (is_usable(manifest, rounded)) return rounded;
  }
  Problem plain = problem;
  const std::vector<Feature> features = generator.features(manifest);
  for (auto feature = features.rbegin(); feature != features.rend(); ++feature) {
    plain.reset(feature->name);
    if (is_usable(manifest, plain)) return plain;
  }
  return std::nullopt;
}

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
  for (int draw = 0; draw < kDraws; ++draw) {
    const Result<Problem> drawn =
        parsed(manifest, generator.problem_text(choice, manifest, profile, random));
    if (!drawn) continue;
    const std::optional<Problem> problem = fit_to_domain(manifest, *drawn);
    if (!problem) continue;
    const double work = generator.padded_work(*problem, manifest);
    if (!best || work < generator.padded_work(*best, manifest)) best = problem;
    if (work <= work_limit) break;
  }
  if (!best) return std::nullopt;
  return case_of(manifest, choice, *best, draw_seed(random));
}

Case build_unchecked(const Manifest& manifest, const Choice& choice, Profile profile,
                     Random random) {
  const Generator& generator = generator_of(*manifest.operation);
  for (;;) {
    const Result<Problem> drawn =
        parsed(manifest, generator.problem_text(choice, manifest, profile, random));
    if (drawn) return case_of(manifest, choice, *drawn, draw_seed(random));
  }
}

std::optional<Case> build_designed(const Manifest& manifest, const DesignedCase& designed,
                                   Random random) {
  const Result<Problem> problem = parsed(manifest, designed.problem);
  if (!problem || !is_usable(manifest, *problem)) return std::nullopt;
  Case built;
  built.kernel = &manifest;
  built.problem = *problem;
  built.recipe.value_class = designed.value_class;
  built.recipe.seed = draw_seed(random);
  built.shape_class = designed.shape_class;
  built.layout_class = designed.layout_class;
  built.origin = "designed";
  return built;
}

}  // namespace plumbline
