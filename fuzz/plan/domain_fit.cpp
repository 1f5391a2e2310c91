// SPDX-License-Identifier: MIT
#include "fuzz/plan/domain_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "fuzz/case/classes.h"
#include "fuzz/case/generator.h"
#include "fuzz/plan/build_case.h"

namespace plumbline {

namespace {

constexpr std::array kGranules = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::size_t kMostSizes = 5;    // that are chosen together
constexpr std::size_t kMostValues = 24;  // of one size
constexpr int kMostProblems = 1024;
constexpr std::int64_t kLargestDivisor = 1 << 20;

bool is_usable(const Manifest& manifest, const Problem& problem) {
  return !manifest.excluded(problem) && manifest.tensors(problem).ok();
}

const Field& field_of(const Problem& problem, std::string_view name) {
  return *std::find_if(problem.schema().begin(), problem.schema().end(),
                       [&](const Field& field) { return field.name == name; });
}

// What one size may be instead.
struct SizeValues {
  std::string_view field;
  std::vector<std::int64_t> values;
};

// The numbers that the domain holds a size against, and their neighbors; sizes as drawn, beyond
// them; all of them also as multiples of what it must be divisible by.
SizeValues values_of(const Manifest& manifest, const Problem& problem, std::string_view name) {
  const std::int64_t drawn = problem.integer(name);
  std::vector<std::int64_t> plain = {drawn};
  std::vector<FieldConstant> divisors;
  std::int64_t common = 1;
  for (const DomainRule& rule : manifest.domain) {
    for (const FieldConstant& constant : rule.condition.constants()) {
      if (constant.field != name) continue;
      if (constant.divides) {
        divisors.push_back(constant);
        const std::int64_t both = std::lcm(common, constant.value);
        if (both <= kLargestDivisor) common = both;
        continue;
      }
      plain.push_back(constant.value);
      if (constant.exact) continue;
      plain.insert(plain.end(), {constant.value + 1, constant.value - 1, constant.value + drawn});
    }
  }
  if (common > 1) divisors.push_back({name, common, false, true, 0});
  SizeValues all{name, {}};
  const Field& field = field_of(problem, name);
  const auto add = [&](std::int64_t value) {
    if (value == drawn || value < std::max<std::int64_t>(1, field.minimum) || value > field.maximum)
      return;
    if (std::find(all.values.begin(), all.values.end(), value) == all.values.end())
      all.values.push_back(value);
  };
  for (const std::int64_t value : plain) {
    for (const FieldConstant& divisor : divisors)
      add(round_up(value, divisor.value) + divisor.remainder);
    add(value);
  }
  // Another one comes first for another problem, so that a bound and what is beyond it are both
  // met.
  if (!all.values.empty()) {
    const auto first =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(drawn) % all.values.size());
    std::rotate(all.values.begin(), all.values.begin() + first, all.values.end());
    all.values.resize(std::min(all.values.size(), kMostValues));
  }
  return all;
}

// What refuses a problem: of a rule "a && b", those of its parts that do not hold. A part that
// cannot be evaluated may need one before it, so it only counts where those hold.
std::vector<Expression> refusing_parts(const Manifest& manifest, const Problem& problem) {
  std::vector<Expression> refusing;
  for (const DomainRule& rule : manifest.domain) {
    bool held = true;
    for (Expression& part : rule.condition.conjuncts()) {
      const Result<std::int64_t> accepted = part.evaluate(problem);
      if (accepted ? *accepted != 0 : !held) continue;
      held = false;
      refusing.push_back(std::move(part));
    }
  }
  return refusing;
}

// The fields that those parts speak of.
std::vector<std::string_view> refused_fields(const Manifest& manifest, const Problem& problem) {
  std::vector<std::string_view> fields;
  for (const Expression& part : refusing_parts(manifest, problem)) {
    for (const FieldConstant& constant : part.constants())
      fields.push_back(field_of(problem, constant.field).name);
  }
  return fields;
}

// The same of whole rules: where one size cannot move without another.
std::vector<std::string_view> fields_of_refusing_rules(const Manifest& manifest,
                                                       const Problem& problem) {
  std::vector<std::string_view> fields;
  for (const DomainRule& rule : manifest.domain) {
    const Result<std::int64_t> accepted = rule.condition.evaluate(problem);
    if (accepted && *accepted != 0) continue;
    for (const FieldConstant& constant : rule.condition.constants())
      fields.push_back(constant.field);
  }
  return fields;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A size of 0 is what its shape class is about, but for those whose 0 means another size.
bool may_change(const Problem& problem, std::string_view name) {
  const Field& field = field_of(problem, name);
  return !field.fixed && (problem.integer(name) != 0 || field.default_value == 0);
}

// Calls `take` with problems of other sizes, among those named, until it takes one: the fewer sizes
// differ, the sooner.
template <typename Take>
bool resized(const Manifest& manifest, const Problem& problem,
             const std::vector<std::string_view>& refused, Take take) {
  const Generator& generator = generator_of(*manifest.operation);
  std::vector<SizeValues> sizes;
  for (const std::string_view name : generator.shrink_fields().sizes) {
    if (!contains(refused, name) || !may_change(problem, name) || sizes.size() == kMostSizes)
      continue;
    SizeValues values = values_of(manifest, problem, name);
    if (!values.values.empty()) sizes.push_back(std::move(values));
  }
  std::vector<std::uint32_t> subsets(std::size_t{1} << sizes.size());
  std::iota(subsets.begin(), subsets.end(), 0u);
  std::stable_sort(subsets.begin(), subsets.end(), [](std::uint32_t a, std::uint32_t b) {
    return std::popcount(a) < std::popcount(b);
  });
  int left = kMostProblems;
  for (const std::uint32_t subset : subsets) {
    std::vector<std::size_t> at(sizes.size());
    for (bool more = subset != 0; more && left > 0; --left) {
      Problem other = problem;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if ((subset >> i & 1) != 0) other.set_integer(sizes[i].field, sizes[i].values[at[i]]);
      }
      generator.keep_padding(problem, other);
      if (take(other)) return true;
      more = false;
      for (std::size_t i = 0; i < sizes.size() && !more; ++i) {
        if ((subset >> i & 1) == 0) continue;
        more = ++at[i] < sizes[i].values.size();
        if (!more) at[i] = 0;
      }
    }
  }
  return false;
}

// A problem with `next` of the sizes that refusing rules name, padded as before; with others only
// where all of these were equal and are so still, so that what is square stays so.
template <typename Next>
Problem with_refused_sizes(const Manifest& manifest, const Problem& problem, Next next) {
  const Generator& generator = generator_of(*manifest.operation);
  const std::vector<std::string_view> refused = refused_fields(manifest, problem);
  Problem other = problem;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // of those named: from, to
  for (const std::string_view name : generator.shrink_fields().sizes) {
    if (!contains(refused, name)) continue;
    const std::int64_t size = problem.integer(name);
    if (may_change(problem, name))
      other.set_integer(name, std::min(next(name, size), field_of(problem, name).maximum));
    steps.emplace_back(size, other.integer(name));
  }
  const bool equal = !steps.empty() && steps.front().first > 1 &&
                     std::count(steps.begin(), steps.end(), steps.front()) ==
                         static_cast<std::ptrdiff_t>(steps.size());
  for (const std::string_view name : generator.shrink_fields().sizes) {
    if (!equal || contains(refused, name) || problem.integer(name) != steps.front().first) continue;
    if (may_change(problem, name) && steps.front().second <= field_of(problem, name).maximum)
      other.set_integer(name, steps.front().second);
  }
  generator.keep_padding(problem, other);
  return other;
}

// Each of these sizes is the next one that rules take which name it: the only one that it may be,
// or a multiple of what has to divide it.
Problem with_own_sizes(const Manifest& manifest, const Problem& problem) {
  const std::vector<Expression> refusing = refusing_parts(manifest, problem);
  return with_refused_sizes(manifest, problem, [&](std::string_view name, std::int64_t size) {
    std::vector<std::int64_t> only;
    for (const Expression& part : refusing) {
      for (const FieldConstant& constant : part.constants())
        if (constant.field == name && constant.exact) only.push_back(constant.value);
    }
    if (only.size() == 1 && only.front() >= field_of(problem, name).minimum) return only.front();
    std::int64_t common = 1;
    for (const DomainRule& rule : manifest.domain) {
      for (const FieldConstant& constant : rule.condition.constants()) {
        if (constant.field != name || !constant.divides || constant.remainder != 0) continue;
        const std::int64_t both = std::lcm(common, constant.value);
        if (both <= kLargestDivisor) common = both;
      }
    }
    return round_up(size, common);
  });
}

void copy_field(const Problem& from, std::string_view name, Problem& to) {
  switch (field_of(from, name).kind) {
    case FieldKind::integer:
      return to.set_integer(name, from.integer(name));
    case FieldKind::real:
      return to.set_real(name, from.real(name));
    case FieldKind::word:
      return to.set_word(name, from.word(name));
  }
}

// Calls `take` with features at their defaults, ever more from the last one on, until it takes
// that; then gives each of them back that it takes too, so that rules between a few fields cost the
// others nothing.
template <typename Take>
bool with_fewer_features(const Manifest& manifest, const Problem& problem, Take take) {
  const std::vector<Feature> features = generator_of(*manifest.operation).features(manifest);
  Problem plain = problem;
  for (std::size_t left = features.size(); left-- > 0;) {
    if (plain.is_default(features[left].name)) continue;
    plain.reset(features[left].name);
    if (!take(plain, false)) continue;
    for (std::size_t i = left + 1; i < features.size(); ++i) {
      Problem fuller = plain;
      copy_field(problem, features[i].name, fuller);
      if (!(fuller == plain) && take(fuller, false)) plain = fuller;
    }
    return true;
  }
  return false;
}

Problem without_features(const Manifest& manifest, Problem problem) {
  for (const Feature& feature : generator_of(*manifest.operation).features(manifest))
    problem.reset(feature.name);
  return problem;
}

// Calls `take` with ever less faithful versions of a problem until it takes one. Says whether sizes
// are numbers of the domain.
template <typename Take>
bool nearby(const Manifest& manifest, const Problem& problem, Take take) {
  const Generator& generator = generator_of(*manifest.operation);
  if (take(problem, false)) return true;
  for (const std::int64_t granule : kGranules) {
    Problem strided = problem;
    if (generator.round_strides(strided, granule) && take(strided, false)) return true;
  }
  if (take(with_own_sizes(manifest, problem), false)) return true;
  for (const std::int64_t granule : kGranules) {
    const auto rounded = [&](std::string_view, std::int64_t size) {
      return round_up(size, granule);
    };
    if (take(with_refused_sizes(manifest, problem, rounded), false)) return true;
  }
  for (const std::int64_t granule : kGranules) {
    Problem rounded = problem;
    generator.round_sizes(rounded, granule);
    if (take(rounded, false)) return true;
  }
  if (with_fewer_features(manifest, problem, take)) return true;
  const auto take_resized = [&](const Problem& other) { return take(other, true); };
  const std::vector<std::string_view> fields = fields_of_refusing_rules(manifest, problem);
  return resized(manifest, problem, refused_fields(manifest, problem), take_resized) ||
         resized(manifest, problem, fields, take_resized) ||
         resized(manifest, without_features(manifest, problem), fields, take_resized);
}

// Smaller in the sizes that the domain did not ask to be others than in `drawn`.
void lighten(const Manifest& manifest, const Problem& drawn, double work_limit, Problem& problem) {
  const Generator& generator = generator_of(*manifest.operation);
  const std::vector<std::string_view> refused = refused_fields(manifest, drawn);
  std::vector<std::string_view> open;
  for (const std::string_view name : generator.shrink_fields().sizes) {
    if (may_change(problem, name) && !contains(refused, name)) open.push_back(name);
  }
  const auto with = [&](std::string_view name, std::int64_t size) {
    Problem other = problem;
    other.set_integer(name, size);
    generator.keep_padding(problem, other);
    return other;
  };
  Problem least = problem;
  for (const std::string_view name : open) {
    const Problem other = with(name, 1);
    if (problem.integer(name) > 1 && is_usable(manifest, other)) least.set_integer(name, 1);
  }
  const double enough = std::max(work_limit, 2 * generator.padded_work(least, manifest));
  for (bool smaller = true; smaller && generator.padded_work(problem, manifest) > enough;) {
    smaller = false;
    for (const std::string_view name : open) {
      const std::int64_t size = problem.integer(name);
      const Problem other = with(name, (size + 1) / 2);
      if (size < 2 || !is_usable(manifest, other)) continue;
      problem = other;
      smaller = true;
      break;
    }
  }
}

// How many of a domain's rules hold before the first that does not.
std::size_t rules_that_hold(const Manifest& manifest, const Problem& problem) {
  std::size_t rules = 0;
  while (rules < manifest.domain.size()) {
    const Result<std::int64_t> accepted = manifest.domain[rules].condition.evaluate(problem);
    if (!accepted || *accepted == 0) break;
    ++rules;
  }
  return rules;
}

}  // namespace

std::optional<Problem> fit_to_domain(const Manifest& manifest, const Problem& problem,
                                     double work_limit) {
  std::optional<Problem> fitting;
  nearby(manifest, problem, [&](const Problem& other, bool by_numbers) {
    if (!is_usable(manifest, other)) return false;
    fitting = other;
    if (by_numbers) lighten(manifest, problem, work_limit, *fitting);
    return true;
  });
  return fitting;
}

std::string domain_refusals(const Manifest& manifest) {
  constexpr int kProblems = 100;
  std::vector<int> refused(manifest.domain.size() + 1);  // the last: no rule, but the operation
  const KernelChoices choices = choices_of(manifest);
  std::string reason;  // of the first that is no problem of the operation
  Random random(0);
  for (int i = 0; i < kProblems; ++i) {
    const Problem drawn =
        build_unchecked(manifest, choices, random.fork(static_cast<std::uint64_t>(i))).problem;
    std::size_t best = 0;
    nearby(manifest, drawn, [&](const Problem& other, bool) {
      best = std::max(best, rules_that_hold(manifest, other));
      return best == manifest.domain.size();
    });
    ++refused[best];
    if (reason.empty() && best == manifest.domain.size()) {
      const Result<std::vector<TensorSpec>> specs = manifest.tensors(drawn);
      if (!specs) reason = ": " + specs.error().text();
    }
  }
  const auto most = std::max_element(refused.begin(), refused.end());
  const auto rule = static_cast<std::size_t>(most - refused.begin());
  if (rule == manifest.domain.size())
    return fmt::format("no case could be made: {} of {} problems drawn are none that {} has{}",
                       *most, kProblems, manifest.operation->name(),
                       reason.empty() ? ", or take too long to judge" : reason);
  const DomainRule& required = manifest.domain[rule];
  return fmt::format(
      "no case could be made: of {} problems drawn, {} were refused by the rule \"{}\" ({}), also "
      "with the sizes that it speaks of; compare sizes with numbers in it, like \"n == 4096\", or "
      "run problems that you write yourself with plumbline replay",
      kProblems, *most, required.condition.text(), required.condition.where());
}

}  // namespace plumbline
