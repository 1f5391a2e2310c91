// SPDX-License-Identifier: MIT
// Layouts and epilogue fields towards their defaults.
#include <fmt/format.h>

#include <algorithm>

#include "fuzz/case/generator.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/pass.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

const ShrinkFields& fields_of(const Case& test_case) {
  return generator_of(*test_case.kernel->operation).shrink_fields();
}

void reset(Problem& problem, std::span<const std::string_view> fields) {
  for (const std::string_view field : fields) problem.reset(field);
}

// The stride a field would have if it were left at its default, or nothing when it is, or when no
// stride shows it.
std::optional<std::int64_t> tight_stride(const Case& test_case, std::string_view field) {
  if (test_case.problem.is_default(field)) return std::nullopt;
  Problem tight = test_case.problem;
  reset(tight, std::span(&field, 1));
  const auto now = test_case.kernel->tensors(test_case.problem);
  const auto then = test_case.kernel->tensors(tight);
  if (!now || !then) return std::nullopt;
  for (std::size_t i = 0; i < now->size(); ++i) {
    const std::vector<std::int64_t>& strides = (*now)[i].layout.strides;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      if (strides[d] != (*then)[i].layout.strides[d] &&
          strides[d] == test_case.problem.integer(field)) {
        return (*then)[i].layout.strides[d];
      }
    }
  }
  return std::nullopt;
}

std::vector<Problem> simpler_layouts(const Case& test_case) {
  const ShrinkFields& fields = fields_of(test_case);
  std::vector<std::string_view> strides(fields.strides.begin(), fields.strides.end());
  strides.insert(strides.end(), {kOffset, kOffsetIn});
  std::vector<Problem> simpler;
  const auto add = [&](Problem problem) {
    if (!(problem == test_case.problem)) simpler.push_back(std::move(problem));
  };
  Problem all = test_case.problem;
  reset(all, strides);
  Problem both = all;
  reset(both, fields.layouts);
  add(both);
  add(all);
  for (const auto& list : {fields.layouts, std::span<const std::string_view>(strides)}) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      Problem one = test_case.problem;
      reset(one, list.subspan(i, 1));
      add(one);
    }
  }
  // Where padding itself is needed: as little of it as will do.
  for (const std::string_view field : fields.strides) {
    const std::optional<std::int64_t> tight = tight_stride(test_case, field);
    if (!tight) continue;
    const std::int64_t value = test_case.problem.integer(field);
    for (std::int64_t removed = value - *tight - 1; removed > 0; removed /= 2) {
      Problem narrower = test_case.problem;
      narrower.set_integer(field, value - removed);
      add(narrower);
    }
  }
  return simpler;
}

class LayoutPass : public ShrinkPass {
 public:
  std::int64_t moves(const Case& test_case) const override {
    return static_cast<std::int64_t>(simpler_layouts(test_case).size());
  }

  std::optional<Case> apply(const Case& test_case, std::int64_t move) const override {
    return with_problem(test_case, simpler_layouts(test_case)[static_cast<std::size_t>(move)]);
  }

  std::int64_t resume(std::int64_t) const override { return 0; }
};

// "alpha=2" as a field and its place in the list of simple values.
struct SimpleValue {
  std::string_view field, value;
};

SimpleValue split(std::string_view text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// The field's value in canonical text: "2", "row".
std::string value_text(const Problem& problem, std::string_view field) {
  const std::string text = fmt::format(" {} ", problem.full_text());
  const std::string key = fmt::format(" {}=", field);
  const std::size_t start = text.find(key) + key.size();
  return text.substr(start, text.find(' ', start) - start);
}

class FeaturePass : public ShrinkPass {
 public:
  std::int64_t moves(const Case& test_case) const override {
    return static_cast<std::int64_t>(fields_of(test_case).simple_values.size());
  }

  std::optional<Case> apply(const Case& test_case, std::int64_t move) const override {
    const auto simple_values = fields_of(test_case).simple_values;
    const SimpleValue wanted = split(simple_values[static_cast<std::size_t>(move)]);
    const std::string current = value_text(test_case.problem, wanted.field);
    // Values earlier in the list are simpler: never go back.
    for (std::int64_t i = 0; i <= move; ++i) {
      const SimpleValue simpler = split(simple_values[static_cast<std::size_t>(i)]);
      if (simpler.field == wanted.field && simpler.value == current) return std::nullopt;
    }
    std::string text = fmt::format(" {}", test_case.problem.full_text());
    const std::string old = fmt::format(" {}={}", wanted.field, current);
    text.replace(text.find(old), old.size(), fmt::format(" {}={}", wanted.field, wanted.value));
    const Result<Problem> problem = parse_problem(test_case.problem.schema(), text);
    if (!problem) return std::nullopt;  // not a word of this kernel
    return with_problem(test_case, *problem);
  }

  std::int64_t resume(std::int64_t move) const override { return move + 1; }
};

}  // namespace

const ShrinkPass& shrink_layout() {
  static const LayoutPass pass;
  return pass;
}

const ShrinkPass& shrink_features() {
  static const FeaturePass pass;
  return pass;
}

}  // namespace plumbline
