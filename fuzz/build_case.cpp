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
  return !manifest.excluded(problem) && manifest.operation->tensors(problem, manifest).ok();
}

// The problem itself, or with its sizes rounded up to what the kernel's domain most often asks for.
std::optional<Problem> fit_to_domain(const Manifest& manifest, const Generator& generator,
                                     const Problem& problem) {
  if (is_usable(manifest, problem)) return problem;
  for (const std::int64_t granule : {1, 2, 4, 8, 16, 32, 64, 128}) {
    Problem rounded = problem;
    generator.round_sizes(rounded, granule);
    if (is_usable(manifest, rounded)) return rounded;
  }
  return std::nullopt;
}

Problem parsed(const Manifest& manifest, const std::string& text) {
  Result<Problem> problem = parse_problem(manifest.operation->schema(), text, text);
  PLUMB_ASSERT(problem.ok());  // generators write problem text themselves
  return *problem;
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

std::optional<Case> build_case(const Manifest& manifest, const Choice& choice, Profile profile,
                               double work_limit, Random random) {
  const Generator& generator = generator_of(*manifest.operation);
  std::optional<Problem> best;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::string text = generator.problem_text(choice, manifest, profile, random);
    const std::optional<Problem> problem =
        fit_to_domain(manifest, generator, parsed(manifest, text));
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
  const std::string text =
      generator_of(*manifest.operation).problem_text(choice, manifest, profile, random);
  return case_of(manifest, choice, parsed(manifest, text), draw_seed(random));
}

std::optional<Case> build_designed(const Manifest& manifest, const DesignedCase& designed,
                                   Random random) {
  Case built;
  built.kernel = &manifest;
  built.problem = parsed(manifest, designed.problem);
  if (!is_usable(manifest, built.problem)) return std::nullopt;
  built.recipe.value_class = designed.value_class;
  built.recipe.seed = draw_seed(random);
  built.shape_class = designed.shape_class;
  built.layout_class = designed.layout_class;
  built.origin = "designed";
  return built;
}

}  // namespace plumbline
