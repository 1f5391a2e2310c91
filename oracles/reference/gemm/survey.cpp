// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "oracles/base/random.h"
#include "oracles/reference/gemm/element.h"

namespace plumbline {
namespace {

constexpr std::size_t kKept = 32;

// At most kKept of them, at random: every n-th would be the same few columns again and again.
void subsample(std::vector<SurveyedElement>& elements) {
  std::vector<SurveyedElement> kept;
  Random random(2);
  for (std::size_t left = elements.size(), needed = std::min(left, kKept); needed > 0; --left) {
    if (random.below(left) >= needed) continue;
    kept.push_back(elements[elements.size() - left]);
    --needed;
  }
  elements = std::move(kept);
}

// Outputs to look at: all that a budget of products allows.
std::vector<std::int64_t> surveyed(const PreparedGemm& gemm, const GemmPlace& around) {
  constexpr std::int64_t kProducts = 100'000'000;
  const GemmProblem& problem = gemm.problem;
  const std::int64_t outputs = problem.outputs();
  const std::int64_t budget =
      std::clamp<std::int64_t>(kProducts / std::max<std::int64_t>(problem.k, 1), 64, 8192);
  std::set<std::int64_t> chosen;
  if (outputs <= budget) {
    for (std::int64_t index = 0; index < outputs; ++index) chosen.insert(index);
    return {chosen.begin(), chosen.end()};
  }
  for (std::int64_t s = 0; s < budget / 4; ++s) {
    chosen.insert(gemm.index({around.batch, around.i, (around.j + s) % problem.n}));
    chosen.insert(gemm.index({around.batch, (around.i + s) % problem.m, around.j}));
  }
  Random random(1);
  while (static_cast<std::int64_t>(chosen.size()) < budget) {
    chosen.insert(static_cast<std::int64_t>(random.unit() * static_cast<double>(outputs)));
  }
  return {chosen.begin(), chosen.end()};
}

// "row 3", "rows 0 to 7", "rows 64 to 99 (the last tile of 64)", "rows 1 mod 8", "rows 0 mod 64
// (the first of each tile of 64)", "rows 1 mod 8 from 9 to 41": what a set of coordinates has in
// common. Empty when that is nothing.
std::string common(std::string_view name, const std::set<std::int64_t>& failing,
                   const std::set<std::int64_t>& all) {
  if (failing.empty() || failing == all) return {};
  if (failing.size() == 1) return fmt::format("{} {}", name, *failing.begin());
  const std::int64_t first = *failing.begin(), last = *failing.rbegin();
  const bool range = first > *all.begin() || last < *all.rbegin();
  for (const std::int64_t modulus : {64, 32, 16, 8, 4, 2}) {
    const auto like_first = [&](std::int64_t x) { return x % modulus == first % modulus; };
    if (!std::ranges::all_of(failing, like_first)) continue;
    const std::string every = fmt::format("{}s {} mod {}", name, first % modulus, modulus);
    const bool is_first = first % modulus == 0, is_last = first % modulus == modulus - 1;
    const bool whole =
        !range || (first - *all.begin() < modulus && *all.rbegin() - last < modulus &&
                   std::ranges::count_if(all, like_first) == std::ssize(failing));
    if (whole && modulus >= 8 && (is_first || is_last)) {
      return fmt::format("{} (the {} of each tile of {})", every, is_first ? "first" : "last",
                         modulus);
    }
    if (whole) return every;
    // Any two coordinates of a range have some difference, so two are no pattern. At least three,
    // and all that there are in the range, are one.
    const auto there_are = std::count_if(all.lower_bound(first), all.upper_bound(last), like_first);
    if (there_are < 3 || static_cast<std::size_t>(there_are) != failing.size()) continue;
    return fmt::format("{} from {} to {}", every, first, last);
  }
  if (!range) return {};
  const std::string text = fmt::format("{}s {} to {}", name, first, last);
  const bool without_gaps =
      std::distance(all.find(first), std::next(all.find(last))) == std::ssize(failing);
  for (const std::int64_t tile : {256, 128, 64, 32, 16, 8}) {
    if (without_gaps && last == *all.rbegin() && first % tile == 0 && last - first < tile)
      return fmt::format("{} (the last tile of {})", text, tile);
  }
  return text;
}

// Coordinates of elements along each dimension.
struct Extent {
  std::set<std::int64_t> batches, rows, columns;

  void add(const GemmPlace& at) {
    batches.insert(at.batch);
    rows.insert(at.i);
    columns.insert(at.j);
  }
};

std::string where_text(const Extent& failing, const Extent& all, std::size_t failed,
                       std::size_t looked_at) {
  if (looked_at == 1) return "the one element looked at fails";
  std::string text = fmt::format("{} of {} elements looked at fail", failed, looked_at);
  std::string separator = ": ";
  for (const std::string& part :
       {common("batch", failing.batches, all.batches), common("row", failing.rows, all.rows),
        common("column", failing.columns, all.columns)}) {
    if (part.empty()) continue;
    text += separator + part;
    separator = ", ";
  }
  return text;
}

}  // namespace

GemmSurvey survey_gemm(const PreparedGemm& gemm, const GemmPlace& around, const Tensor& got) {
  const GemmTensorReader reader(got);
  GemmSurvey survey;
  Extent failing, all;
  std::size_t failed = 0, looked_at = 0;
  for (const std::int64_t index : surveyed(gemm, around)) {
    const SurveyedElement element{gemm.place(index), reader.bits(gemm.place(index))};
    const bool pass = judge_element(gemm, element.at, element.got).pass;
    ++looked_at;
    all.add(element.at);
    if (!pass) {
      ++failed;
      failing.add(element.at);
    }
    (pass ? survey.passing : survey.failing).push_back(element);
  }
  subsample(survey.failing);
  subsample(survey.passing);
  survey.where = where_text(failing, all, failed, looked_at);
  return survey;
}

}  // namespace plumbline
