// SPDX-License-Identifier: MIT
#include "fuzz/grouped/routing.h"

#include <algorithm>
#include <array>

#include "oracles/base/assert.h"

namespace plumbline {

namespace {

using Sizes = std::vector<std::int64_t>;

// Rows spread evenly; the first groups take the remainder.
void even(std::int64_t m, Sizes& sizes, Random&) {
  const auto groups = static_cast<std::int64_t>(sizes.size());
  for (std::int64_t g = 0; g < groups; ++g) {
    sizes[static_cast<std::size_t>(g)] = m / groups + (g < m % groups ? 1 : 0);
  }
}

// Cuts at random places: the sizes differ widely, some are 0.
Sizes cut_at_random(std::int64_t m, std::size_t parts, Random& random) {
  Sizes cuts = {0, m};
  for (std::size_t i = 1; i < parts; ++i) cuts.push_back(random.between(0, m));
  std::sort(cuts.begin(), cuts.end());
  Sizes sizes;
  for (std::size_t i = 0; i < parts; ++i) sizes.push_back(cuts[i + 1] - cuts[i]);
  return sizes;
}

void at_random(std::int64_t m, Sizes& sizes, Random& random) {
  sizes = cut_at_random(m, sizes.size(), random);
}

// Two groups of three have no rows. The first group and the last are among those where there are
// enough, as a sum that starts or ends wrong needs.
void gaps(std::int64_t m, Sizes& sizes, Random& random) {
  std::vector<std::size_t> busy;
  const std::size_t ends = sizes.size() >= 3 ? 1 : 0;
  for (std::size_t g = ends; g + ends < sizes.size(); ++g) {
    if (random.below(3) == 0) busy.push_back(g);
  }
  if (busy.empty()) busy.push_back(ends + random.below(sizes.size() - 2 * ends));
  const Sizes rows = cut_at_random(m, busy.size(), random);
  for (std::size_t i = 0; i < busy.size(); ++i) sizes[busy[i]] = rows[i];
}

// One row each; the last group takes what is left, or the last groups have none.
void ones(std::int64_t m, Sizes& sizes, Random&) {
  for (std::size_t g = 0; g + 1 < sizes.size() && m > 0; ++g, --m) sizes[g] = 1;
  sizes.back() = m;
}

void single(std::int64_t m, Sizes& sizes, Random& random) { sizes[random.below(sizes.size())] = m; }

struct Routing {
  std::string_view word;
  void (*route)(std::int64_t m, Sizes& sizes, Random& random);
};

constexpr std::array kRoutings = {Routing{"even", even}, Routing{"random", at_random},
                                  Routing{"gaps", gaps}, Routing{"ones", ones},
                                  Routing{"single", single}};

}  // namespace

std::vector<std::int64_t> grouped_sizes(std::string_view routing, std::int64_t m,
                                        std::int64_t groups, Random random) {
  const auto found = std::find_if(kRoutings.begin(), kRoutings.end(),
                                  [&](const Routing& entry) { return entry.word == routing; });
  PLUMB_ASSERT(found != kRoutings.end());
  Sizes sizes(static_cast<std::size_t>(groups), 0);
  found->route(m, sizes, random);
  return sizes;
}

}  // namespace plumbline
