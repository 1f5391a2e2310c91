// SPDX-License-Identifier: MIT
#include "oracles/base/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace plumbline {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> suggestion(std::string_view word,
                                      std::span<const std::string_view> candidates) {
  std::size_t best = word.size() / 3 + 2;  // further than this is a different word
  std::optional<std::string> found;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = std::string(candidate);
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const auto found = suggestion(word, candidates);
  return found ? "did you mean \"" + *found + "\"?" : "";
}

}  // namespace plumbline
