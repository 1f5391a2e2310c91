// SPDX-License-Identifier: MIT
// The search: from the current case through the moves of one pass, taking the first simpler case
// that still fails, until no pass finds one. Sizes, layout and features come first, with the recipe
// kept; then the bits are frozen, and sizes, zeros and values are simplified on the data itself, so
// that a fault tied to single elements survives.
#include "fuzz/shrink/shrink.h"

#include "fuzz/shrink/shrinkable_case.h"

#include <rapidcheck.h>

#include <unordered_set>

namespace plumbline {

namespace {

class Search {
 public:
  Search(const Case& failing, const std::function<bool(const Case&)>& fails, int budget,
         const std::function<bool()>& stop)
      : fails_(fails), stop_(stop), budget_(budget) {
    result_.smallest = failing;
    result_.trail.push_back(failing.text());
    known_.insert(failing.text());
  }

  ShrinkResult run() {
    repeat({&shrink_sizes(), &shrink_layout(), &shrink_features()});
    descend(shrink_to_literals());
    if (!result_.smallest.literals.empty()) {
      repeat({&shrink_sizes(), &shrink_layout(), &shrink_features(), &shrink_nonzeros(),
              &shrink_values()});
    }
    if (result_.steps > 0) {  // it is no longer an example of the classes it was drawn from
      result_.smallest.shape_class.clear();
      result_.smallest.layout_class.clear();
    }
    return std::move(result_);
  }

 private:
  void repeat(const std::vector<const ShrinkPass*>& passes) {
    bool progress = true;
    while (progress && !out_of_time()) {
      progress = false;
      for (const ShrinkPass* pass : passes) progress |= descend(*pass);
    }
  }

  // Follows one pass down; true when anything was simplified.
  bool descend(const ShrinkPass& pass) {
    bool progress = false;
    rc::Shrinkable<Candidate> current = shrinkable_candidate(pass, {result_.smallest, 0});
    while (std::optional<rc::Shrinkable<Candidate>> simpler =
               first_failing(current, pass.patience())) {
      current = std::move(*simpler);
      accept(current.value().test_case);
      progress = true;
    }
    return progress;
  }

  std::optional<rc::Shrinkable<Candidate>> first_failing(const rc::Shrinkable<Candidate>& current,
                                                         int patience) {
    rc::Seq<rc::Shrinkable<Candidate>> simpler = current.shrinks();
    int rejected = 0;
    while (rejected < patience && !out_of_time()) {
      rc::Maybe<rc::Shrinkable<Candidate>> candidate = simpler.next();
      if (!candidate) break;
      const Case test_case = candidate->value().test_case;
      if (!known_.insert(test_case.text()).second) continue;  // tried before: it did not fail
      ++result_.tried;
      if (fails_(test_case)) return std::move(*candidate);
      ++rejected;
    }
    return std::nullopt;
  }

  void accept(Case test_case) {
    ++result_.steps;
    result_.trail.push_back(test_case.text());
    result_.smallest = std::move(test_case);
  }

  bool out_of_time() const { return result_.tried >= budget_ || (stop_ && stop_()); }

  const std::function<bool(const Case&)>& fails_;
  const std::function<bool()>& stop_;
  int budget_;
  std::unordered_set<std::string> known_;
  ShrinkResult result_;
};

}  // namespace

ShrinkResult shrink(const Case& failing, const std::function<bool(const Case&)>& fails, int budget,
                    const std::function<bool()>& stop) {
  return Search(failing, fails, budget, stop).run();
}

}  // namespace plumbline
