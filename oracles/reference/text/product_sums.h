// SPDX-License-Identifier: MIT
// The sums of a text that a kernel gives to tensor cores: sums of products of two operands, numbers
// of formats that the contract's unit multiplies. All others are sums of f32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/text/instance.h"

namespace plumbline::text {

// What a contract says of tensor cores.
struct ProductUnit {
  ContractUnit unit{};
  std::int64_t instruction_k = 0;  // as Contract's
  int sm = 0;
};

struct ProductSum {
  Contract contract;
  int sm = 0;
  FormatId a = FormatId::bf16, b = FormatId::bf16;
  BoundModel model;
  // The terms reach the unit in the order of the text: one index, from 0, and nothing left out.
  bool in_order = true;
};

class ProductSums {
 public:
  // The format of an input, by its number; none where the input is not there.
  using FormatOf = std::function<std::optional<FormatId>(int input)>;

  ProductSums() = default;  // none
  ProductSums(const Program& program, const ProductUnit& unit, bool flushed,
              const FormatOf& format_of);
  ProductSums(const Instance& instance, const ProductUnit& unit, bool flushed);

  bool empty() const { return sums_.empty(); }

  // Null: the sum is one of f32.
  const ProductSum* find(const Expression& sum) const {
    const auto found = sums_.find(&sum);
    return found == sums_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const Expression*, ProductSum> sums_;
};

}  // namespace plumbline::text
