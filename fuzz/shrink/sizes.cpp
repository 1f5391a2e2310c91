// SPDX-License-Identifier: MIT
// Sizes towards 1: first all the way, then by half, ..., then by one.
#include <algorithm>

#include "fuzz/case/generator.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/pass.h"

namespace plumbline {

namespace {

using Move = std::vector<Removal>;

// How much to remove from a size to try 1, then half, then a quarter less, ..., then one less; or
// the same in steps of a granule.
std::vector<std::int64_t> removal_counts(std::int64_t size, std::int64_t granule) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = size / granule - 1; count > 0; count /= 2)
    counts.push_back(count * granule);
  return counts;
}

// What a kernel needs a size to be a multiple of: the least power of two that divides this one and
// leaves the kernel a smaller one.
std::int64_t granule_of(const Case& test_case, std::string_view field) {
  const std::int64_t size = test_case.problem.integer(field);
  for (std::int64_t granule = 1; granule < size && size % granule == 0; granule *= 2) {
    Problem smaller = test_case.problem;
    smaller.set_integer(field, size - granule);
    if (!test_case.kernel->excluded(smaller)) return granule;
  }
  return 1;
}

// Chunks in the middle, for literal data whose ends are both needed.
void add_middle_moves(std::string_view field, std::int64_t size, std::vector<Move>& moves) {
  for (std::int64_t count = size / 2; count > 0 && count >= size / 8; count /= 2) {
    for (std::int64_t first = 1; first + count < size; first += count)
      moves.push_back({{field, first, count}});
  }
}

std::vector<Move> size_moves(const Case& test_case) {
  const ShrinkFields& fields = generator_of(*test_case.kernel->operation).shrink_fields();
  const bool literal = !test_case.literals.empty();
  const auto size_of = [&](std::string_view field) { return test_case.problem.integer(field); };
  std::vector<Move> moves;
  // Fields that are removed together, from the front or the back.
  const auto add = [&](const std::vector<std::string_view>& together) {
    const std::int64_t size = size_of(together.front());
    std::int64_t granule = 1;
    for (const std::string_view field : together)
      granule = std::max(granule, granule_of(test_case, field));
    for (const std::int64_t count : removal_counts(size, granule)) {
      Move last, first;
      for (const std::string_view field : together) {
        last.push_back({field, size - count, count});
        first.push_back({field, 0, count});
      }
      moves.push_back(std::move(last));
      if (literal) moves.push_back(std::move(first));
    }
  };
  for (const std::string_view field : fields.sizes) add({field});
  // A fault may need equal sizes (a square problem): shrink those together.
  for (std::size_t i = 0; i < fields.sizes.size(); ++i) {
    std::vector<std::string_view> equal = {fields.sizes[i]};
    for (std::size_t j = i + 1; j < fields.sizes.size(); ++j) {
      if (size_of(fields.sizes[j]) != size_of(fields.sizes[i])) continue;
      add({fields.sizes[i], fields.sizes[j]});
      equal.push_back(fields.sizes[j]);
    }
    if (equal.size() > 2) add(equal);
  }
  if (literal) {
    for (const std::string_view field : fields.sizes)
      add_middle_moves(field, size_of(field), moves);
  }
  return moves;
}

class SizePass : public ShrinkPass {
 public:
  std::int64_t moves(const Case& test_case) const override {
    return static_cast<std::int64_t>(size_moves(test_case).size());
  }

  std::optional<Case> apply(const Case& test_case, std::int64_t move) const override {
    return remove_slices(test_case, size_moves(test_case)[static_cast<std::size_t>(move)]);
  }

  // The list is another one for the smaller case.
  std::int64_t resume(std::int64_t) const override { return 0; }
};

}  // namespace

const ShrinkPass& shrink_sizes() {
  static const SizePass pass;
  return pass;
}

}  // namespace plumbline
