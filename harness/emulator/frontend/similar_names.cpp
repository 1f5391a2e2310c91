// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/similar_names.h"

#include <algorithm>

#include "oracles/base/suggest.h"

namespace plumbline::emulator {
namespace {

constexpr std::size_t kShortest = 3;  // of one or two letters, everything is a neighbor
constexpr std::size_t kLongest = 64;  // the comparison is quadratic in the length
constexpr std::size_t kMostCandidates = 20'000;

}  // namespace

std::string similar_name(std::string_view word, std::vector<std::string_view> candidates) {
  if (word.size() < kShortest || word.size() > kLongest) return {};
  std::erase_if(candidates, [](std::string_view name) { return name.size() > kLongest; });
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
  return did_you_mean(word, candidates);
}

}  // namespace plumbline::emulator
