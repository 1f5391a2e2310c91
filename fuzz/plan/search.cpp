// SPDX-License-Identifier: MIT
#include "fuzz/plan/search.h"

#include <algorithm>
#include <array>

#include "fuzz/plan/build_case.h"
#include "fuzz/plan/domain_fit.h"
#include "fuzz/plan/plan.h"

namespace plumbline {
namespace {

// One case in four starts from nothing, so that the search never stays where it began.
constexpr std::uint64_t kFromNothing = 4;
// A share counts as larger from here on: otherwise nearly every case of a class would be kept.
constexpr double kLarger = 1.05;
constexpr std::int64_t kLargestStorage = std::int64_t{1} << 26;  // bytes, of all tensors
constexpr int kAttempts = 20;

// Recent finds are tried more often: half of the draws come from the last quarter.
std::size_t chosen(std::size_t count, Random& random) {
  const std::size_t recent = std::max<std::size_t>(1, count / 4);
  if (random.below(2) == 0) return count - 1 - random.below(recent);
  return random.below(count);
}

// One size a little off, doubled or halved.
void nudge_size(Problem& problem, Random& random) {
  std::vector<const Field*> sizes;
  for (const Field& field : problem.schema()) {
    if (field.kind == FieldKind::integer && !field.fixed) sizes.push_back(&field);
  }
  if (sizes.empty()) return;
  const Field& field = *sizes[random.below(sizes.size())];
  const std::int64_t old = problem.integer(field.name);
  const std::array<std::int64_t, 6> steps = {old - 1, old + 1, old + 8, old - 8, old * 2, old / 2};
  const std::int64_t size = steps[random.below(steps.size())];
  problem.set_integer(field.name, std::clamp(size, field.minimum, field.maximum));
}

// Strides that grow make tensors that nothing is gained from.
bool is_small(const Manifest& kernel, const Problem& problem) {
  if (kernel.operation->work(problem) > kWorkLimit) return false;
  const Result<std::vector<TensorSpec>> specs = kernel.tensors(problem);
  if (!specs) return false;
  std::int64_t bytes = 0;
  for (const TensorSpec& spec : *specs) {
    if (__builtin_add_overflow(bytes, spec.layout.storage_bytes(), &bytes)) return false;
  }
  return bytes <= kLargestStorage;
}

// Some fields of another problem of the same kernel.
void cross(Problem& problem, const Problem& other, Random& random) {
  for (const Field& field : problem.schema()) {
    if (field.fixed || random.below(4) != 0) continue;
    switch (field.kind) {
      case FieldKind::integer:
        problem.set_integer(field.name, other.integer(field.name));
        break;
      case FieldKind::real:
        problem.set_real(field.name, other.real(field.name));
        break;
      case FieldKind::word:
        problem.set_word(field.name, other.word(field.name));
        break;
    }
  }
}

}  // namespace

Case varied(const Case& from, Random random) {
  const Manifest& kernel = *from.kernel;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Case near = from;
    near.origin = "fuzz";
    const Case other = random_case(kernel, random.next() >> 32);
    switch (random.below(4)) {
      case 0:
        near.recipe.seed = random.next() >> 32;
        break;
      case 1:
        near.recipe = other.recipe;
        break;
      case 2:
        nudge_size(near.problem, random);
        break;
      default:
        cross(near.problem, other.problem, random);
        break;
    }
    const std::optional<Problem> fitting = fit_to_domain(kernel, near.problem, kWorkLimit);
    if (!fitting || !is_small(kernel, *fitting)) continue;
    near.problem = *fitting;
    return near;
  }
  return random_case(kernel, random.next() >> 32);
}

Case Search::next(std::uint64_t seed) const {
  Random random(seed);
  if (remembered_.empty() || random.below(kFromNothing) == 0) return random_case(*kernel_, seed);
  return varied(remembered_[chosen(remembered_.size(), random)], random.fork(1));
}

bool Search::learn(const Case& test_case, double share, std::span<const std::uint32_t> reached) {
  const std::string& value_class = test_case.recipe.value_class;
  bool is_new = cells_.insert(value_class + " " + test_case.shape_class).second;
  for (const std::uint32_t place : reached) is_new |= reached_.insert(place).second;
  double& largest = shares_[value_class];
  if (share > largest * kLarger) {
    largest = share;
    is_new = true;
  }
  if (!is_new || !texts_.insert(test_case.text()).second) return false;
  remembered_.push_back(test_case);
  return true;
}

std::vector<Case> minimized(std::vector<Shown> cases) {
  std::stable_sort(cases.begin(), cases.end(), [](const Shown& a, const Shown& b) {
    return a.test_case.kernel->operation->work(a.test_case.problem) <
           b.test_case.kernel->operation->work(b.test_case.problem);
  });
  if (cases.empty()) return {};
  // The largest shares first: they are goals of their own and often reach what small cases do.
  std::map<std::string, const Shown*> best;
  for (const Shown& shown : cases) {
    const Shown*& own = best[shown.test_case.recipe.value_class];
    if (!own || shown.share > own->share) own = &shown;
  }
  Search search(*cases.front().test_case.kernel);
  for (const auto& [value_class, shown] : best)
    search.learn(shown->test_case, shown->share, shown->reached);
  for (const Shown& shown : cases) search.learn(shown.test_case, shown.share, shown.reached);
  return search.remembered();
}

}  // namespace plumbline
