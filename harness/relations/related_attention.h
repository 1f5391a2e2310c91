// SPDX-License-Identifier: MIT
// An attention case, forward or backward, for its relations: sizes, and the move of whole rows of
// its tensors to other sequences, heads and positions.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "harness/relations/related_problem.h"
#include "kernels/manifest/manifest.h"
#include "oracles/bounds/contract/attention.h"

namespace plumbline {

// A row of the matrices: of a sequence, or of all packed ones.
struct AttentionSpot {
  std::int64_t batch = 0, head = 0, row = 0;
};

// Where the rows of a related problem come from. `queries` moves rows of Q, O, dO, dQ and LSE,
// `keys` those of K, V, dK and dV.
struct AttentionMove {
  using Origin = std::function<AttentionSpot(AttentionSpot)>;
  Origin queries = [](AttentionSpot spot) { return spot; };
  Origin keys = [](AttentionSpot spot) { return spot; };
};

// Queries and keys of one sequence: where they start among the rows of the matrices, how many.
struct SequenceRows {
  std::int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
};

struct RelatedAttention {
  const Case& test_case;
  const CaseTensors& tensors;
  const Problem& problem = test_case.problem;
  bool backward = tensors.find("dq") != nullptr;
  bool packed = tensors.find("query_starts") != nullptr;
  std::int64_t batch = size("batch"), heads = size("heads"), queries = size("queries"),
               keys = size("keys"), kv_heads = tensors.find("k")->layout.shape[1];

  std::int64_t size(std::string_view field) const { return problem.integer(field); }

  bool is(std::string_view field, std::string_view word) const {
    return problem.word(field) == word;
  }

  bool has_mask() const {
    return !is("causal", "none") || size("window_left") >= 0 || size("window_right") >= 0;
  }

  // Scales of blocks of rows belong to the place where rows lie.
  bool has_block_scales() const { return is("scales", "block"); }

  bool flushes_subnormals() const {
    const Problem& terms = test_case.kernel->terms;
    return terms.has("subnormals") && terms.word("subnormals") == "flushed";
  }

  // No NaN and no Inf in these matrices: a weight of 0 takes nothing from what a row does not see.
  bool all_finite() const;

  // Whether rows and heads may lie elsewhere. The order of the sum delta is not promised: a kernel
  // may choose it by how rows are aligned, so these must be alike.
  bool alike() const;

  SequenceRows sequence(std::int64_t index) const;

  AttentionContract contract() const;  // forward only

  std::optional<RelatedRun> same() const { return same_problem(test_case, tensors); }

  std::optional<RelatedRun> with_fields(const std::vector<FieldEdit>& edits) const {
    return other_problem(test_case, tensors, edits);
  }
};

// `run` with its inputs moved, and outputs that follow as they were moved: all that the move does
// not sum in another order, which `outputs` names. Sequences' starts are the caller's business.
std::optional<RelatedRun> moved(const RelatedAttention& from, std::optional<RelatedRun> run,
                                const AttentionMove& move,
                                std::span<const std::string_view> outputs);

}  // namespace plumbline
