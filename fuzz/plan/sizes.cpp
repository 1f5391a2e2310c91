// SPDX-License-Identifier: MIT
#include "fuzz/plan/sizes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "fuzz/case/draw.h"
#include "fuzz/plan/domain_fit.h"

namespace plumbline {

namespace {

// Beyond 17 bits, 16, 15, 13 and 12, and beyond the blocks that a grid often has at most. None is a
// multiple of anything: a kernel has its tails there as well. With 17 bits, parts of a size begin
// beyond 16.
constexpr std::array<std::int64_t, 7> kLong = {131101, 66003, 33003, 8209, 4099, 1031, 521};
constexpr std::int64_t kMostOfQuick = 66003;

// With features that are drawn: so many cases of the largest size, one fewer of the next one, ...
constexpr int kWithFeatures = 3;

// How far a domain may move a size that its code names: it is rounded to a multiple.
constexpr std::int64_t kMostRounding = 256;

struct Limits {
  double work;                // padded multiply-accumulates of one case: half a second, or three
  std::size_t cases_of_code;  // with sizes that the code names
};

Limits limits_of(Profile profile) {
  if (profile == Profile::quick) return {2.8e8, 16};
  return {1.5e9, 96};
}

template <typename Class>
int index_of(std::span<const Class> classes, std::string_view name) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if constexpr (std::is_same_v<std::remove_cv_t<Class>, ClassInfo>) {
      if (classes[i].name == name) return static_cast<int>(i);
    } else {
      if (classes[i] == name) return static_cast<int>(i);
    }
  }
  return 0;
}

}  // namespace

SizePlanner::SizePlanner(const Manifest& manifest, const KernelChoices& choices, Profile profile,
                         Random random)
    : manifest_(manifest),
      generator_(generator_of(*manifest.operation)),
      choices_(choices),
      profile_(profile),
      random_(random) {}

Choice SizePlanner::choice_of(std::string_view shape, Features features, Random& random) const {
  Choice choice;
  choice.shape = index_of(generator_.shape_classes(), shape);
  if (std::ranges::find(choices_.shapes, choice.shape) == choices_.shapes.end())
    choice.shape = choices_.shapes.front();
  choice.layout = choices_.layouts.front();
  choice.value = index_of(generator_.value_classes(), "normal");
  choice.features.assign(choices_.features.size(), 0);
  if (features == Features::none) return choice;
  choice.layout = choices_.layouts[random.below(choices_.layouts.size())];
  for (std::size_t i = 0; i < choice.features.size(); ++i)
    choice.features[i] = static_cast<int>(random.below(choices_.features[i].fragments.size()));
  return choice;
}

std::optional<Case> SizePlanner::case_of(const std::vector<SizedField>& sized, Features features) {
  for (const auto& [field, size] : sized) {
    const auto known = std::ranges::find(manifest_.schema(), field, &Field::name);
    if (known == manifest_.schema().end() || known->fixed || size > known->maximum)
      return std::nullopt;
  }
  Random random = random_.fork(drawn_++);
  const auto& sizes = generator_.shrink_fields().sizes;
  const bool is_size = std::ranges::count(sizes, sized.front().field) > 0;
  const Choice choice = choice_of(is_size ? "tiny" : "vector_tail", features, random);
  // Where what a class draws for the other sizes costs too much, they are 1.
  for (const bool others_are_one : {false, true}) {
    const auto stretched = [&](Problem& problem) {
      const Problem before = problem;
      for (const std::string_view other : generator_.shrink_fields().sizes) {
        if (others_are_one && is_size)
          problem.set_integer(other, std::min<std::int64_t>(1, problem.integer(other)));
      }
      for (const auto& [field, size] : sized) problem.set_integer(field, size);
      generator_.keep_padding(before, problem);
    };
    std::optional<Case> built =
        build_changed(manifest_, choice, profile_, limits_of(profile_).work, stretched, random);
    if (built) return built;
  }
  return std::nullopt;
}

std::vector<Case> SizePlanner::long_sizes() {
  std::vector<Case> cases;
  for (const std::string_view field : generator_.shrink_fields().sizes) {
    const auto add = [&](std::int64_t size, Features features) {
      std::optional<Case> built = case_of({{field, size}}, features);
      if (!built || built->problem.integer(field) < size) return false;
      cases.push_back(*std::move(built));
      return true;
    };
    int found = 0;
    for (const std::int64_t size : kLong) {
      if (profile_ == Profile::quick && size > kMostOfQuick) continue;
      if (!add(size, Features::none)) continue;
      if (profile_ == Profile::quick) break;
      // A long size may only matter beside something else: parts, another layout of scales.
      for (int more = found++; more < kWithFeatures; ++more) add(size, Features::drawn);
    }
  }
  return cases;
}

std::vector<Case> SizePlanner::tile_pairs(std::span<const Case> planned) {
  std::vector<Case> cases;
  const auto& tiles = manifest_.tile;
  for (auto first = tiles.begin(); first != tiles.end(); ++first) {
    for (auto second = std::next(first); second != tiles.end(); ++second) {
      const auto has_both = [&](const Case& one) {
        return one.problem.integer(first->first) > first->second &&
               one.problem.integer(second->first) > second->second;
      };
      if (std::ranges::any_of(planned, has_both)) continue;
      std::optional<Case> built = case_of(
          {{first->first, first->second + 1}, {second->first, second->second + 1}}, Features::none);
      if (built && has_both(*built)) cases.push_back(*std::move(built));
    }
  }
  return cases;
}

std::vector<Case> SizePlanner::sizes_of_code(std::span<const std::int64_t> numbers,
                                             std::span<const Case> planned) {
  std::vector<Case> cases;
  // Sizes and other integers have each their own share of the cases.
  for (const auto& fields : {std::span(generator_.shrink_fields().sizes), generator_.integers()}) {
    std::set<std::pair<std::string_view, std::int64_t>> known;
    for (const Case& one : planned) {
      for (const std::string_view field : fields) known.emplace(field, one.problem.integer(field));
    }
    const std::size_t most = cases.size() + limits_of(profile_).cases_of_code;
    for (const std::int64_t number : numbers) {
      for (const std::string_view field : fields) {
        for (const std::int64_t size : {number, number + 1}) {
          if (cases.size() == most || known.contains({field, size})) continue;
          std::optional<Case> built = case_of({{field, size}}, Features::none);
          if (!built) continue;
          const std::int64_t fitted = built->problem.integer(field);
          if (fitted < size || fitted > size + kMostRounding) continue;
          if (known.emplace(field, fitted).second) cases.push_back(*std::move(built));
        }
      }
    }
  }
  return cases;
}

}  // namespace plumbline
