// SPDX-License-Identifier: MIT
#include "reports/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/card.h"

namespace plumbline {
namespace {

constexpr double kNoticed = 1.01;  // a factor
constexpr double kBelievedChance = 0.05;

// A class on both sides.
struct Pair {
  const BaselineRow *before, *after;

  bool same_cases() const { return before->inputs == after->inputs; }

  // Alike on both sides: older baselines do not tell exact outputs from nearly exact ones.
  bool exact_known() const { return before->exact && after->exact; }

  double mean(const BaselineRow& row) const {
    return exact_known() ? row.mean_error() : row.mean_ulp;
  }

  double mean_before() const { return mean(*before); }

  double mean_after() const { return mean(*after); }

  bool same_bits() const { return same_cases() && before->outputs == after->outputs; }
};

// 1: the figure rose, -1: it fell, 0: neither by much.
int direction(double before, double after) {
  if (after > before * kNoticed) return 1;
  if (before > after * kNoticed) return -1;
  return 0;
}

// The worst share decides, the mean where that stays.
int direction(const Pair& pair) {
  const int share = direction(pair.before->worst_share, pair.after->worst_share);
  return share != 0 ? share : direction(pair.mean_before(), pair.mean_after());
}

std::string figures(const Pair& pair) {
  const BaselineRow &before = *pair.before, &after = *pair.after;
  if (direction(before.worst_share, after.worst_share) != 0) {
    return fmt::format("{} -> {} of the admissible error with class {} on {}",
                       share_text(before.worst_share), share_text(after.worst_share),
                       after.value_class, after.device);
  }
  return fmt::format("mean error {:.3g} -> {:.3g} ulp with class {} on {}", pair.mean_before(),
                     pair.mean_after(), after.value_class, after.device);
}

// How far a pair moved, to name the one that moved most.
double distance(const Pair& pair) {
  const auto ratio = [](double a, double b) {
    return a == b ? 0.0 : std::fabs(std::log(std::max(a, 1e-12) / std::max(b, 1e-12)));
  };
  return ratio(pair.before->worst_share, pair.after->worst_share) +
         ratio(pair.mean_before(), pair.mean_after());
}

std::string most_moved(const std::vector<Pair>& pairs, int wanted) {
  const Pair* most = nullptr;
  for (const Pair& pair : pairs) {
    if (direction(pair) == wanted && (!most || distance(pair) > distance(*most))) most = &pair;
  }
  return most ? figures(*most) : "";
}

std::string classes(std::size_t n) { return fmt::format("{} class{}", n, n == 1 ? "" : "es"); }

// Two seeds of one profile have about as many cases.
bool of_other_plans(std::int64_t before, std::int64_t after) {
  return 2 * std::max(before, after) > 3 * std::min(before, after);
}

KernelChange compare_kernel(const std::vector<Pair>& pairs) {
  KernelChange out;
  std::int64_t failed_before = 0, failed_after = 0, cases_before = 0, cases_after = 0;
  std::vector<Pair> facts, chances;
  std::size_t moved_bits = 0;
  for (const Pair& pair : pairs) {
    failed_before += pair.before->failed;
    failed_after += pair.after->failed;
    cases_before += pair.before->cases;
    cases_after += pair.after->cases;
    (pair.same_cases() ? facts : chances).push_back(pair);
    moved_bits += pair.same_cases() && !pair.same_bits();
  }
  if ((failed_before > 0) != (failed_after > 0)) {
    out.broke = failed_after > 0;
    out.change = out.broke ? Change::worse : Change::better;
    out.words = out.broke ? fmt::format("{} cases fail now", failed_after)
                          : fmt::format("{} cases failed, none does now", failed_before);
    return out;
  }
  // Cases that are the same say more than those that are not.
  const std::vector<Pair>& told = facts.empty() ? chances : facts;
  const auto count = [&](int wanted) {
    return static_cast<int>(std::count_if(
        told.begin(), told.end(), [&](const Pair& pair) { return direction(pair) == wanted; }));
  };
  const int up = count(1), down = count(-1);
  out.grew = up > 0 && !facts.empty();
  if (facts.empty() && !pairs.empty() && of_other_plans(cases_before, cases_after)) {
    out.change = Change::unclear;
    out.words = fmt::format(
        "other plans: {} cases before and {} now, and of more cases the worst is worse; compare "
        "runs of one profile",
        cases_before, cases_after);
    return out;
  }
  if (facts.empty() && sign_test(up, down) > kBelievedChance) {
    out.change = Change::unclear;
    out.words = fmt::format("other cases on both sides; {} rose and {} fell, as two seeds may",
                            classes(static_cast<std::size_t>(up)), down);
    return out;
  }
  if (up > 0 && down > 0 && !facts.empty()) {
    out.change = Change::unclear;
    out.words = fmt::format("{} rose ({}) and {} fell ({})", classes(static_cast<std::size_t>(up)),
                            most_moved(told, 1), down, most_moved(told, -1));
    return out;
  }
  if (up != down) {
    const int way = up > down ? 1 : -1;
    out.change = way > 0 ? Change::worse : Change::better;
    out.words = most_moved(told, way);
    const std::size_t others = static_cast<std::size_t>(std::max(up, down)) - 1;
    if (others > 0) out.words += fmt::format(", and {} more", classes(others));
    return out;
  }
  out.words =
      moved_bits == 0 ? "" : fmt::format("other bits in {}, errors as before", classes(moved_bits));
  return out;
}

// Of all rows of a kernel, those of classes and devices that only one side has too.
std::int64_t failed_of(const Baseline& baseline, const std::string& kernel) {
  std::int64_t failed = 0;
  for (const BaselineRow& row : baseline.rows) failed += row.kernel == kernel ? row.failed : 0;
  return failed;
}

std::size_t rows_of(const Baseline& baseline, const std::string& kernel) {
  return static_cast<std::size_t>(std::ranges::count(baseline.rows, kernel, &BaselineRow::kernel));
}

// A case that could not run is neither worse nor gone: its result is not known.
void note_errors(const Baseline& after, const std::string& kernel, KernelChange& change) {
  const auto found = after.errors.find(kernel);
  if (change.broke || found == after.errors.end()) return;
  change.change = Change::error;
  change.words =
      fmt::format("{} case{} could not run", found->second, found->second == 1 ? "" : "s");
}

// A promise that is broken more often than before comes before all other changes, also where the
// old side has no such cases.
void note_failures(const Baseline& before, const Baseline& after, const std::string& kernel,
                   KernelChange& change) {
  const std::int64_t failed = failed_of(after, kernel), old = failed_of(before, kernel);
  if (change.broke || failed <= old) return;
  change.broke = true;
  change.change = Change::worse;
  change.words = old == 0 ? fmt::format("{} cases fail now", failed)
                          : fmt::format("{} cases fail now, {} did before", failed, old);
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::better:
      return "better";
    case Change::worse:
      return "worse";
    case Change::unclear:
      return "unclear";
    case Change::same:
      return "same";
    case Change::added:
      return "added";
    case Change::removed:
      return "removed";
    case Change::error:
      return "error";
  }
  return "";
}

Verdict verdict_of(const KernelChange& change, bool strict) {
  if (change.broke) return Verdict::fail;
  if (strict && (change.change == Change::worse || change.grew)) return Verdict::fail;
  if (change.change == Change::error) return Verdict::error;
  const bool told = change.change != Change::unclear && change.change != Change::removed;
  return strict && !told ? Verdict::mistrusted : Verdict::pass;
}

std::string change_json_line(const KernelChange& change) {
  return nlohmann::ordered_json{{"kernel", change.kernel},
                                {"change", name(change.change)},
                                {"broke", change.broke},
                                {"grew", change.grew},
                                {"words", change.words}}
      .dump();
}

double sign_test(int up, int down) {
  const int n = up + down, most = std::max(up, down);
  double tail = 0;
  for (int i = most; i <= n; ++i)
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                     n * std::log(2.0));
  return std::min(1.0, 2 * tail);
}

std::vector<KernelChange> changes(const Baseline& before, const Baseline& after) {
  std::set<std::string> kernels;
  std::map<std::string, std::vector<Pair>> pairs;
  std::set<std::string> old_kernels, new_kernels;
  for (const BaselineRow& row : before.rows) old_kernels.insert(row.kernel);
  for (const BaselineRow& row : after.rows) {
    new_kernels.insert(row.kernel);
    const auto found = std::lower_bound(
        before.rows.begin(), before.rows.end(), row,
        [](const BaselineRow& a, const BaselineRow& b) { return a.key() < b.key(); });
    if (found != before.rows.end() && found->key() == row.key())
      pairs[row.kernel].push_back({&*found, &row});
  }
  kernels.insert(old_kernels.begin(), old_kernels.end());
  kernels.insert(new_kernels.begin(), new_kernels.end());
  for (const auto& [kernel, count] : after.errors) kernels.insert(kernel);
  std::vector<KernelChange> out;
  for (const std::string& kernel : kernels) {
    KernelChange change;
    if (!old_kernels.contains(kernel)) {
      change.change = Change::added;
      change.words = "not in the old baseline";
    } else if (!new_kernels.contains(kernel)) {
      change.change = Change::removed;
      change.words = "not in the new run";
    } else if (pairs[kernel].empty()) {
      change.change = Change::unclear;
      change.words = "no device and value class in common";
    } else {
      change = compare_kernel(pairs[kernel]);
    }
    note_failures(before, after, kernel, change);
    note_errors(after, kernel, change);
    const std::size_t old_only = rows_of(before, kernel) - pairs[kernel].size(),
                      new_only = rows_of(after, kernel) - pairs[kernel].size();
    if (change.change == Change::same && change.words.empty() && old_only + new_only > 0)
      change.words = fmt::format("in {}; {} of the old side and {} of the new have no other",
                                 classes(pairs[kernel].size()), old_only, new_only);
    change.kernel = kernel;
    out.push_back(std::move(change));
  }
  return out;
}

}  // namespace plumbline
