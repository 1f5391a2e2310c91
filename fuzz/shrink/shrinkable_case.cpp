// SPDX-License-Identifier: MIT
#include "fuzz/shrink/shrinkable_case.h"

#include <rapidcheck.h>

namespace plumbline {

namespace {

// The moves of a pass from one case, as a lazy sequence.
class MoveSequence {
 public:
  MoveSequence(const ShrinkPass& pass, Candidate from)
      : pass_(&pass), from_(std::move(from)), moves_(pass.moves(from_.test_case)) {}

  rc::Maybe<Candidate> operator()() {
    while (from_.next_move < moves_) {
      const std::int64_t move = from_.next_move++;
      if (std::optional<Case> simpler = pass_->apply(from_.test_case, move)) {
        return Candidate{std::move(*simpler), pass_->resume(move)};
      }
    }
    return rc::Nothing;
  }

 private:
  const ShrinkPass* pass_;
  Candidate from_;
  std::int64_t moves_;
};

}  // namespace

rc::Shrinkable<Candidate> shrinkable_candidate(const ShrinkPass& pass, Candidate candidate) {
  return rc::shrinkable::shrinkRecur(std::move(candidate), [&pass](const Candidate& from) {
    return rc::makeSeq<MoveSequence>(pass, from);
  });
}

rc::Seq<Case> simpler_cases(const Case& test_case) {
  const auto by = [&](const ShrinkPass& pass) {
    return rc::seq::map(rc::makeSeq<MoveSequence>(pass, Candidate{test_case, 0}),
                        [](Candidate&& candidate) { return std::move(candidate.test_case); });
  };
  return rc::seq::concat(by(shrink_sizes()), by(shrink_layout()), by(shrink_features()));
}

}  // namespace plumbline
