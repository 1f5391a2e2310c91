// SPDX-License-Identifier: MIT
#include "fuzz/shrink/crop.h"

#include <algorithm>

#include "fuzz/case/generator.h"
#include "fuzz/case/literal.h"
#include "oracles/base/assert.h"
#include "oracles/formats/elements.h"

namespace plumbline {

namespace {

const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

std::optional<std::vector<TensorSpec>> accepted_specs(const Case& test_case,
                                                      const Problem& problem) {
  const Manifest& kernel = *test_case.kernel;
  if (kernel.excluded(problem)) return std::nullopt;
  Result<std::vector<TensorSpec>> specs = kernel.tensors(problem);
  if (!specs) return std::nullopt;
  return std::move(*specs);
}

// Old indices of the slices that stay along one dimension. Where a dimension loses more or less
// than the field does (rows of all sequences lie one after the other; rows share scales), they go
// from the same end.
std::vector<std::int64_t> kept_indices(std::int64_t extent, std::int64_t smaller_extent,
                                       const Removal* removal) {
  const std::int64_t count = removal ? extent - smaller_extent : 0;
  std::int64_t first = smaller_extent;
  const bool alike = removal && count == removal->count && removal->first + count <= extent;
  if (removal && (alike || removal->first == 0)) first = removal->first;
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i < first || i >= first + count) kept.push_back(i);
  }
  return kept;
}

Tensor take(const Tensor& from, const std::vector<std::vector<std::int64_t>>& kept) {
  TensorLayout layout = from.layout;
  std::vector<std::int64_t> shape;
  for (const auto& indices : kept) shape.push_back(static_cast<std::int64_t>(indices.size()));
  layout.shape = shape;
  layout.strides = contiguous_strides(shape);
  Tensor result(layout);
  std::vector<std::size_t> at(kept.size(), 0);
  for (std::int64_t linear = 0; linear < layout.count(); ++linear) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < kept.size(); ++d) source += kept[d][at[d]] * from.layout.strides[d];
    result.set_bits_at(linear, from.bits_at(source));
    for (std::size_t d = kept.size(); d-- > 0 && ++at[d] == kept[d].size();) at[d] = 0;
  }
  return result;
}

// The dimensions of `before` that one field alone shrinks: found by shrinking only that field.
class Reach {
 public:
  Reach(const Case& test_case, const std::vector<Removal>& removals) {
    for (const Removal& removal : removals) {
      Problem alone = test_case.problem;
      alone.set_integer(removal.field, alone.integer(removal.field) - removal.count);
      Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(alone);
      if (!specs) continue;
      shrunk_.push_back({&removal, std::move(*specs)});
    }
  }

  const Removal* removal_of(std::string_view tensor, std::size_t dimension,
                            std::int64_t extent) const {
    for (const auto& [removal, specs] : shrunk_) {
      const TensorSpec* spec = find_spec(specs, tensor);
      if (spec && spec->layout.shape[dimension] != extent) return removal;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<const Removal*, std::vector<TensorSpec>>> shrunk_;
};

}  // namespace

std::optional<Case> remove_slices(const Case& test_case, const std::vector<Removal>& removals) {
  Case smaller = test_case;
  for (const Removal& removal : removals) {
    smaller.problem.set_integer(removal.field,
                                smaller.problem.integer(removal.field) - removal.count);
  }
  const std::optional<std::vector<TensorSpec>> specs = accepted_specs(test_case, smaller.problem);
  if (!specs) return std::nullopt;
  const Reach reach(test_case, removals);
  for (auto& [name, literal] : smaller.literals) {
    const TensorSpec* spec = find_spec(*specs, name);
    if (!spec) return std::nullopt;
    if (spec->layout.shape == literal.layout.shape) continue;
    std::vector<std::vector<std::int64_t>> kept;
    for (std::size_t d = 0; d < literal.layout.shape.size(); ++d) {
      const std::int64_t extent = literal.layout.shape[d];
      const Removal* removal = reach.removal_of(name, d, extent);
      kept.push_back(kept_indices(extent, spec->layout.shape[d], removal));
      if (static_cast<std::int64_t>(kept.back().size()) != spec->layout.shape[d])
        return std::nullopt;
    }
    literal = take(literal, kept);
  }
  if (!smaller.literals.empty())
    generator_of(*test_case.kernel->operation)
        .repair_dependent_values(test_case, removals, smaller);
  return smaller;
}

std::optional<Case> with_problem(const Case& test_case, const Problem& problem) {
  const std::optional<std::vector<TensorSpec>> specs = accepted_specs(test_case, problem);
  if (!specs) return std::nullopt;
  Case changed = test_case;
  changed.problem = problem;
  std::erase_if(changed.literals,
                [&](const auto& literal) { return find_spec(*specs, literal.first) == nullptr; });
  for (const auto& [name, literal] : changed.literals) {
    if (find_spec(*specs, name)->layout.shape != literal.layout.shape) return std::nullopt;
  }
  return changed;
}

}  // namespace plumbline
