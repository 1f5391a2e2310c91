// SPDX-License-Identifier: MIT
#include "fuzz/plan/case_gen.h"

#include <rapidcheck.h>

#include "fuzz/case/generator.h"
#include "fuzz/plan/build_case.h"
#include "fuzz/plan/plan.h"
#include "fuzz/shrink/shrinkable_case.h"

namespace plumbline {

namespace {

constexpr int kAttempts = 100;

rc::Gen<Choice> choice_gen(const Generator& generator, const KernelChoices& choices) {
  return rc::gen::exec([&generator, &choices] {
    // At every size all classes are as likely: RapidCheck scales ranges by size otherwise.
    const auto index_below = [](std::size_t count) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, static_cast<int>(count)));
    };
    Choice choice;
    do {
      choice.shape = choices.shapes[static_cast<std::size_t>(index_below(choices.shapes.size()))];
      choice.layout =
          choices.layouts[static_cast<std::size_t>(index_below(choices.layouts.size()))];
    } while (!generator.compatible(choice.shape, choice.layout));
    choice.value = index_below(generator.value_classes().size());
    for (const Feature& feature : choices.features)
      choice.features.push_back(index_below(feature.fragments.size()));
    return choice;
  });
}

// Draws choices until one fits the kernel's domain.
class CaseSource {
 public:
  explicit CaseSource(const Manifest& manifest) : manifest_(&manifest) {}

  rc::Shrinkable<Case> operator()(const rc::Random& random, int size) const {
    const KernelChoices possible = choices_of(*manifest_);
    const rc::Gen<Choice> choices = choice_gen(generator_of(*manifest_->operation), possible);
    const Profile profile = size >= 90 ? Profile::standard : Profile::quick;
    rc::Random source = random;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Choice choice = choices(source.split(), size).value();
      const Random own(source.split().next());
      if (std::optional<Case> built = build_case(*manifest_, choice, profile, kWorkLimit, own)) {
        built->origin = "fuzz";
        return rc::shrinkable::shrinkRecur(std::move(*built),
                                           [](const Case& from) { return simpler_cases(from); });
      }
    }
    // A domain this narrow: let the runner say which rule excludes the problem.
    Case refused = build_unchecked(*manifest_, possible, Random(source.next()));
    refused.origin = "fuzz";
    return rc::shrinkable::just(std::move(refused));
  }

 private:
  const Manifest* manifest_;
};

}  // namespace

rc::Gen<Case> case_gen(const Manifest& manifest) { return CaseSource(manifest); }

Case random_case(const Manifest& manifest, std::uint64_t seed) {
  // One case in ten is of the standard profile's sizes.
  const int size = static_cast<int>(Random(seed).below(100));
  return case_gen(manifest)(rc::Random(seed), size).value();
}

}  // namespace plumbline
