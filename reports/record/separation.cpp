// SPDX-License-Identifier: MIT
#include "reports/record/separation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "oracles/base/text.h"

namespace plumbline {
namespace {

// Of fewer cases some field tells them apart by chance.
constexpr std::size_t kFewest = 3;
// Words of one field that are still one property: "value class ties or cancelling".
constexpr std::size_t kMostWords = 3;
// Of the cases that did not fail, at most one in so many may have the property too.
constexpr std::size_t kOneIn = 4;

const std::string kValueClass = "value class", kDevice = "device";

// What a property says of every case, and how to say it.
struct Property {
  std::string words;       // behind "all 146"
  std::size_t others = 0;  // cases that did not fail and have it too
};

using Values =
    std::vector<std::optional<std::string>>;  // of a field, by case; nothing: its default

std::optional<std::int64_t> integer(const std::optional<std::string>& text) {
  return text ? parse_number<std::int64_t>(*text) : std::nullopt;
}

// The values as numbers; empty where one is none.
std::vector<std::int64_t> numbers_of(const Values& values) {
  std::vector<std::int64_t> numbers;
  for (const auto& value : values) {
    const auto number = integer(value);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

class Search {
 public:
  explicit Search(const std::vector<SortedCase>& cases) : cases_(cases) {}

  const std::optional<Property>& best() const { return best_; }

  void try_field(const std::string& name) {
    Values values;
    for (const SortedCase& c : cases_) {
      const auto found =
          std::ranges::find(c.fields, name, &std::pair<std::string, std::string>::first);
      values.push_back(found == c.fields.end() ? std::nullopt : std::optional(found->second));
    }
    const std::vector<std::int64_t> numbers = numbers_of(values);
    if (numbers.empty()) return try_words(name, values);
    try_thresholds(name, numbers);
    try_all_but_one(name, numbers);
    try_multiples(name, numbers);
  }

 private:
  // Keeps the property if every failing case has it and fewer others do than of the best so far.
  template <typename Has>
  void offer(std::string words, Has&& has) {
    Property property{std::move(words), 0};
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].failed && !has(i)) return;
      property.others += !cases_[i].failed && has(i);
    }
    if (!best_ || property.others < best_->others) best_ = std::move(property);
  }

  void try_words(const std::string& name, const Values& values) {
    std::set<std::optional<std::string>> failing;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].failed) failing.insert(values[i]);
    }
    if (failing.size() > kMostWords) return;
    std::string words;
    for (const auto& value : failing) {
      if (!words.empty()) words += " or ";
      if (!value) {
        words += name + " at its default";
      } else {
        words += name == kValueClass ? name + " " + *value : name + "=" + *value;
      }
    }
    const bool device = name == kDevice && failing.size() == 1 && *failing.begin();
    offer(device ? "run on " + **failing.begin() : "have " + words,
          [&](std::size_t i) { return failing.contains(values[i]); });
  }

  void try_thresholds(const std::string& name, const std::vector<std::int64_t>& numbers) {
    std::optional<std::int64_t> least, most;  // of failing cases
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (!cases_[i].failed) continue;
      least = std::min(least.value_or(numbers[i]), numbers[i]);
      most = std::max(most.value_or(numbers[i]), numbers[i]);
    }
    std::optional<std::int64_t> below, above;  // the nearest ones of others
    for (const std::int64_t number : numbers) {
      if (number < *least) below = std::max(below.value_or(number), number);
      if (number > *most) above = std::min(above.value_or(number), number);
    }
    if (*least == *most)
      offer(fmt::format("have {} = {}", name, *least),
            [&](std::size_t i) { return numbers[i] == *least; });
    if (below)
      offer(fmt::format("have {} > {}", name, *below),
            [&](std::size_t i) { return numbers[i] > *below; });
    if (above)
      offer(fmt::format("have {} < {}", name, *above),
            [&](std::size_t i) { return numbers[i] < *above; });
  }

  void try_all_but_one(const std::string& name, const std::vector<std::int64_t>& numbers) {
    std::set<std::int64_t> others;
    for (std::size_t i = 0; i < cases_.size(); ++i)
      if (!cases_[i].failed) others.insert(numbers[i]);
    if (others.size() != 1) return;
    offer(fmt::format("have {} other than {}", name, *others.begin()),
          [&](std::size_t i) { return !others.contains(numbers[i]); });
  }

  // Tails of tiles and vectors.
  void try_multiples(const std::string& name, const std::vector<std::int64_t>& numbers) {
    for (std::int64_t step = 2; step <= 256; step *= 2) {
      offer(fmt::format("have {} not a multiple of {}", name, step),
            [&](std::size_t i) { return numbers[i] % step != 0; });
      offer(fmt::format("have {} a multiple of {}", name, step),
            [&](std::size_t i) { return numbers[i] % step == 0; });
    }
  }

  const std::vector<SortedCase>& cases_;
  std::optional<Property> best_;
};

}  // namespace

std::string what_separates(const std::vector<SortedCase>& cases) {
  const auto failed =
      static_cast<std::size_t>(std::ranges::count(cases, true, &SortedCase::failed));
  const std::size_t others = cases.size() - failed;
  if (failed < kFewest || others < kFewest) return "";
  Search search(cases);
  std::set<std::string> seen;
  for (const SortedCase& c : cases) {
    for (const auto& [name, value] : c.fields) {
      if (seen.insert(name).second) search.try_field(name);
    }
  }
  const std::optional<Property>& best = search.best();
  if (!best || best->others * kOneIn > others) return "";
  if (best->others == 0)
    return fmt::format("all {} {}, and no other case does", failed, best->words);
  return fmt::format("all {} {}, as {} {} of the {} that did not fail", failed, best->words,
                     best->others == 1 ? "does" : "do", best->others, others);
}

SortedCase sorted_case(const CaseRecord& test_case) {
  SortedCase sorted;
  sorted.failed = test_case.verdict == Verdict::fail;
  sorted.fields = {{kValueClass, test_case.value_class}, {kDevice, test_case.device}};
  for (const std::string_view word : split(test_case.text, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;  // the kernel, a switch
    const std::string_view name = word.substr(0, equals);
    // How the values were made says nothing beyond their class.
    if (name == "value" || name == "seed" || name == "bits") continue;
    sorted.fields.emplace_back(name, word.substr(equals + 1));
  }
  return sorted;
}

std::string failures_line(const KernelRecord& kernel) {
  if (kernel.failed == 0 || kernel.cases == 1) return "";
  return fmt::format("{} of {} cases failed{}{}", kernel.failed, kernel.cases,
                     kernel.failing.empty() ? "" : "; ", kernel.failing);
}

}  // namespace plumbline
