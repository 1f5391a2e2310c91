// SPDX-License-Identifier: MIT
// The plan of a run: designed cases, then covering arrays of (shape, layout, values, features)
// until the profile's number of cases is reached, then single sizes that these do not reach. Every
// array is complete on its own; each has sizes and seeds of its own.
#include "fuzz/plan/plan.h"

#include <fmt/format.h>

#include <unordered_set>

#include "fuzz/case/generator.h"
#include "fuzz/plan/build_case.h"
#include "fuzz/plan/pairwise.h"
#include "fuzz/plan/sizes.h"
#include "fuzz/plan/triples.h"

namespace plumbline {

namespace {

struct Limits {
  std::size_t cases;  // at least; a first complete array may bring more
  double case_work;   // padded multiply-accumulates of one case
};

Limits limits_of(Profile profile) {
  switch (profile) {
    case Profile::quick:
      return {320, 0.8e8};
    case Profile::standard:
      return {3200, 3e8};
    case Profile::deep:
      break;
  }
  return {32000, 2e9};
}

// The factors of the covering array: shape, layout, values, then the features.
constexpr int kShape = 0, kLayout = 1, kValue = 2, kFirstFeature = 3;

std::vector<Factor> factors_of(const Generator& generator, const KernelChoices& choices) {
  std::vector<Factor> factors = {{static_cast<int>(choices.shapes.size())},
                                 {static_cast<int>(choices.layouts.size())},
                                 {static_cast<int>(generator.value_classes().size())}};
  for (const Feature& feature : choices.features) {
    factors.push_back({static_cast<int>(feature.fragments.size()), feature.prefer_first});
  }
  return factors;
}

class Planner {
 public:
  Planner(const Manifest& manifest, const PlanOptions& options)
      : manifest_(manifest),
        generator_(generator_of(*manifest.operation)),
        choices_(choices_of(manifest)),
        profile_(options.profile),
        code_sizes_(options.code_sizes),
        random_(Random(options.seed).fork(static_cast<std::uint64_t>(options.profile))) {}

  std::vector<Case> run() {
    add_designed();
    // A kernel whose domain leaves few distinct problems ends the loop by rounds, not by cases.
    const std::size_t wanted = limits_of(profile_).cases;
    const std::size_t most_rounds = 1 + wanted / 50;
    for (std::size_t round = 0; round < most_rounds; ++round) {
      if (round > 0 && (cases_.size() >= wanted || planned_work_ == 0)) break;
      add_array(round, round == 0 ? SIZE_MAX : wanted);
    }
    add_sizes();
    for (const DesignedCase& designed : generator_.populations()) {
      std::optional<Case> built = build_designed(manifest_, designed, random_.fork(counter_++));
      if (built) built->origin = "population";
      add(std::move(built));
    }
    return std::move(cases_);
  }

 private:
  // Those that the domain takes as they are, then others fitted to it, unless they become the same.
  void add_designed() {
    const std::vector<DesignedCase> all = generator_.designed(manifest_);
    std::unordered_set<std::string> known;
    const auto text_of = [](const Case& built) {
      return fmt::format("{} value={}", built.problem.text(), built.recipe.value_class);
    };
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::optional<Case> built = build_designed(manifest_, all[i], random_.fork(i));
      if (!built) {
        refused.push_back(i);
        continue;
      }
      known.insert(text_of(*built));
      add(std::move(built));
    }
    for (const std::size_t i : refused) {
      std::optional<Case> built = fit_designed(manifest_, all[i], random_.fork(i));
      if (built && known.insert(text_of(*built)).second) add(std::move(built));
    }
    counter_ = all.size();
  }

  // The first one holds every three features too, where there is time for them: in the quick
  // profile there is not.
  void add_array(std::size_t round, std::size_t wanted) {
    const std::vector<Factor> factors = factors_of(generator_, choices_);
    const PairAllowed allowed = [&](int first, int a, int second, int b) {
      return first != kShape || second != kLayout || generator_.compatible(shape(a), layout(b));
    };
    Random array_seed = random_.fork(0xa77a'0000 + round);
    std::vector<std::vector<int>> rows = pairwise_rows(factors, allowed, array_seed.next());
    if (round == 0 && profile_ != Profile::quick) {
      const auto triples = triple_rows(factors, kFirstFeature, rows, allowed, array_seed.next());
      rows.insert(rows.end(), triples.begin(), triples.end());
    }
    for (const std::vector<int>& row : rows) {
      // Of a kernel that only takes large problems fewer cases are as much work.
      const Limits limits = limits_of(profile_);
      if (cases_.size() >= wanted ||
          planned_work_ >= static_cast<double>(limits.cases) * limits.case_work)
        return;
      std::optional<Case> built = build_case(manifest_, choice_of(row), profile_, limits.case_work,
                                             random_.fork(counter_++));
      if (built) planned_work_ += 1 + generator_.padded_work(built->problem, manifest_);
      add(std::move(built));
    }
  }

  void add_sizes() {
    SizePlanner planner(manifest_, choices_, profile_, random_.fork(0x512e5));
    for (Case& one : planner.long_sizes()) add(std::move(one));
    for (Case& one : planner.sizes_of_code(code_sizes_, cases_)) add(std::move(one));
    for (Case& one : planner.tile_pairs(cases_)) add(std::move(one));
  }

  int shape(int index) const { return choices_.shapes[static_cast<std::size_t>(index)]; }

  int layout(int index) const { return choices_.layouts[static_cast<std::size_t>(index)]; }

  Choice choice_of(const std::vector<int>& row) const {
    return {shape(row[kShape]),
            layout(row[kLayout]),
            row[kValue],
            {row.begin() + kFirstFeature, row.end()}};
  }

  void add(std::optional<Case> built) {
    if (!built) return;
    if (!texts_.insert(built->text()).second) return;
    cases_.push_back(std::move(*built));
  }

  const Manifest& manifest_;
  const Generator& generator_;
  const KernelChoices choices_;
  Profile profile_;
  std::vector<std::int64_t> code_sizes_;
  Random random_;
  std::uint64_t counter_ = 0;
  double planned_work_ = 0;  // of what the arrays brought
  std::vector<Case> cases_;
  std::unordered_set<std::string> texts_;
};

}  // namespace

std::vector<Case> plan_cases(const Manifest& manifest, const PlanOptions& options) {
  return Planner(manifest, options).run();
}

}  // namespace plumbline
