// SPDX-License-Identifier: MIT
// Value classes: named kinds of input data ("cancelling", "subnormal", "index_code"). A tensor's
// bits depend on (class, seed, problem) alone and are the same on every machine.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"

namespace plumbline {

struct ValueClassInfo {
  std::string_view name;
  std::string_view purpose;  // which faults it kills, for `list` and the coverage matrix
  bool exact_integers =
      false;                  // every product and sum is an exact small integer: Freivalds applies
  bool has_specials = false;  // contains NaN or Inf
};

std::span<const ValueClassInfo> value_classes();
const ValueClassInfo* find_value_class(std::string_view name);

// Those that an operation's generator has.
std::vector<ValueClassInfo> value_classes(const Operation& operation);
bool has_value_class(const Operation& operation, std::string_view name);

// Fills the logical elements of a case's inputs. Padding between rows (storage no logical element
// reaches) is materialize()'s business (case.h): it holds NaN codes.
void fill_inputs(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
