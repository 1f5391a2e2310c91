// SPDX-License-Identifier: MIT
// What a kernel that keeps its contract stores: some rows and columns of a GEMM through the model
// of the contract's unit, its schedule and its epilogue, and what every tile of k contributes to
// them. Tests of many errors compare a kernel with it (oracles/population/envelope.h). No
// verdict on a single element does: a contract allows more than one execution, and this is one of
// them, with parts joined in increasing order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracles/models/real_dot.h"
#include "oracles/reference/gemm/prepared.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {

struct GemmRectangle {
  std::vector<std::int64_t> rows, columns;
  std::int64_t batch = 0;  // the matrix they are of

  std::size_t count() const { return rows.size() * columns.size(); }
};

// Why a contract has no model of which an execution would be typical: nothing is promised about its
// order, or it rounds at random; or there is nothing to model. nullopt where there is one.
std::optional<std::string> no_model_because(const Contract& contract);

class GemmModel {
 public:
  // The case must outlive it, and have a model and finite operands.
  GemmModel(const PreparedGemm& gemm, GemmRectangle rectangle);

  const GemmRectangle& rectangle() const { return rectangle_; }

  // Output bits, row-major.
  std::vector<std::uint64_t> outputs(int threads) const;

  // What k from `begin` to `end` contributes to each output before its last rounding, where nothing
  // is added to the product: doubles, off by less than 2^-40 of the magnitudes they add up.
  std::vector<double> contributions(std::int64_t begin, std::int64_t end, int threads) const;

 private:
  GemmPlace place(std::size_t at) const {
    return {rectangle_.batch, rectangle_.rows[at / rectangle_.columns.size()],
            rectangle_.columns[at % rectangle_.columns.size()]};
  }

  const PreparedGemm& gemm_;
  GemmRectangle rectangle_;
  StagedSum sum_;
  RealOperands rows_, columns_;  // of the rectangle, one after the other; see append_scaled()
  std::vector<double> factors_;  // of the epilogue, for each output
};

}  // namespace plumbline
