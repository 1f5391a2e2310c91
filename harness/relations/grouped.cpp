// SPDX-License-Identifier: MIT
// The relations of grouped GEMM. Rows move with their group: which group a row belongs to decides
// what it is multiplied with, where the group lies decides about nothing.
#include <fmt/format.h>

#include <algorithm>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_problem.h"
#include "harness/relations/relation_families.h"
#include "kernels/manifest/manifest.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

struct Grouped {
  const Case& test_case;
  const CaseTensors& tensors;
  const Contract contract = test_case.kernel->contract(test_case.problem, "d");

  // nullopt where the sums may be added in another order then.
  Related with_fields(const std::vector<FieldEdit>& edits) const {
    Related run = other_problem(test_case, tensors, edits);
    return run && same_order(test_case, run->test_case, "d") ? std::move(run) : std::nullopt;
  }

  std::int64_t m = size("m"), n = size("n"), k = size("k"), groups = size("groups");

  std::int64_t size(std::string_view field) const { return test_case.problem.integer(field); }

  std::int64_t rows(std::int64_t group) const {
    const Tensor& sizes = *tensors.find("group_sizes");
    return static_cast<std::int64_t>(to_double(format(sizes.layout.format), sizes.bits(group)));
  }

  // The group with the most rows, and how many rows come before it.
  std::pair<std::int64_t, std::int64_t> largest() const {
    std::pair<std::int64_t, std::int64_t> found;
    for (std::int64_t group = 0, before = 0; group < groups; before += rows(group), ++group)
      if (group == 0 || rows(group) > rows(found.first)) found = {group, before};
    return found;
  }
};

// Moves whole rows of A and whole groups: `row` and `group` say where they come from.
bool move_groups(const Grouped& from, CaseTensors& to, const Source& row, const Source& group) {
  const auto move = [&](std::string_view name, const Source& outer, std::int64_t inner) {
    const Tensor* before = from.tensors.find(name);
    return !before || rearrange(*before, *to.find(name), [&](std::int64_t i) {
      return outer(i / inner) * inner + i % inner;
    });
  };
  const Tensor* scale_a = from.tensors.find("scale_a");
  const bool per_row = scale_a && from.test_case.problem.word("scale_a") == "row";
  return move("a", row, from.k) && move("b", group, from.k * from.n) &&
         move("group_sizes", group, 1) && move("scale_b", group, 1) &&
         (!per_row || move("scale_a", row, 1));
}

Related negated_a(const Case& test_case, const CaseTensors& tensors) {
  const Grouped grouped{test_case, tensors};
  RelatedRun run = same_problem(test_case, tensors);
  if (!odd(grouped.contract, tensors.find("d")->layout.format)) return std::nullopt;
  if (!negate(tensors, run.tensors, {"a"})) return std::nullopt;
  run.outputs = {{"d", -1}};
  return run;
}

// As for GEMM: nothing on the way is subnormal or infinite.
Related doubled_a(const Case& test_case, const CaseTensors& tensors) {
  const Grouped grouped{test_case, tensors};
  const Magnitudes a = magnitudes(tensors, "a");
  Magnitudes sums = a * magnitudes(tensors, "b");
  for (const std::string_view scale : {"scale_a", "scale_b"})
    sums = sums | sums * magnitudes(tensors, scale);
  if (!a.normal || !sums_are_normal(sums, grouped.k, grouped.contract.accumulator))
    return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!multiply(tensors, run.tensors, 2, {"a"})) return std::nullopt;
  run.outputs = {{"d", 2}};
  return run;
}

// Every row keeps its B, so the products are the same, in the same order of k.
Related reversed_groups(const Case& test_case, const CaseTensors& tensors) {
  const Grouped grouped{test_case, tensors};
  if (!alike_everywhere(grouped.contract) || grouped.m < 2) return std::nullopt;
  RelatedRun run = same_problem(test_case, tensors);
  if (!move_groups(grouped, run.tensors, reversed(grouped.m, 1), reversed(grouped.groups, 1)))
    return std::nullopt;
  run.outputs = {{"d", 1, reversed(grouped.m, grouped.n)}};
  return run;
}

Related one_group(const Case& test_case, const CaseTensors& tensors) {
  const Grouped grouped{test_case, tensors};
  const auto [group, before] = grouped.largest();
  if (!alike_everywhere(grouped.contract) || grouped.groups < 2 || grouped.rows(group) == 0)
    return std::nullopt;
  Related run =
      grouped.with_fields({{"m", fmt::format("{}", grouped.rows(group))}, {"groups", "1"}});
  if (!run) return std::nullopt;
  const auto row = [first = before](std::int64_t i) { return first + i; };
  if (!move_groups(grouped, run->tensors, row, [at = group](std::int64_t) { return at; }))
    return std::nullopt;
  run->outputs = {{"d", 1, [first = before * grouped.n](std::int64_t i) { return first + i; }}};
  return run;
}

// A group without rows, with the B of the first one.
Related empty_group(const Case& test_case, const CaseTensors& tensors) {
  const Grouped grouped{test_case, tensors};
  if (!alike_everywhere(grouped.contract)) return std::nullopt;
  Related run = grouped.with_fields({{"groups", fmt::format("{}", grouped.groups + 1)}});
  if (!run) return std::nullopt;
  const auto behind_it = [](std::int64_t i) { return std::max<std::int64_t>(i - 1, 0); };
  if (!move_groups(grouped, run->tensors, [](std::int64_t i) { return i; }, behind_it))
    return std::nullopt;
  Tensor& sizes = *run->tensors.find("group_sizes");
  sizes.set_bits(0, encode(format(sizes.layout.format), 0));
  run->outputs = {{"d"}};
  return run;
}

}  // namespace

std::vector<Relation> grouped_gemm_relations(std::string_view operation) {
  if (operation != "grouped_gemm") return {};
  return {
      {"G1", "negating A negates every output", negated_a},
      {"G2", "doubling A doubles every output", doubled_a},
      {"G3", "rows and groups in the reverse order reverse the rows of D", reversed_groups},
      {"G9", "a group is the same alone", one_group},
      {"G11", "an empty group changes nothing", empty_group},
  };
}

}  // namespace plumbline
