// SPDX-License-Identifier: MIT
// KernelSchema: the fields of an operation as one kernel has them. A manifest's [problem] table
// lists the words and numbers the kernel accepts; everything else is fixed at its default. Parsing,
// planning, fuzzing and shrinking read a kernel's schema, so that none of them can ask a kernel for
// what it never promised.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/manifest/expression.h"
#include "kernels/manifest/problem.h"

namespace plumbline {

class Operation;

// The fields that every operation has behind its own: inputs and outputs need not begin where an
// allocation does, as the views of a framework do not.
inline constexpr std::string_view kOffset = "offset";       // in elements
inline constexpr std::string_view kOffsetIn = "offset_in";  // one tensor, or kAllTensors
inline constexpr std::string_view kAllTensors = "all";
std::span<const Field> common_fields();

class KernelSchema {
 public:
  // All fields fixed at their defaults, except those that must be given (m, n, k).
  explicit KernelSchema(const Operation& operation);

  KernelSchema(const KernelSchema&) = delete;
  KernelSchema& operator=(const KernelSchema&) = delete;

  // The field may have any value its operation allows.
  void free(std::string_view name);
  // The field has these words, the first by default. They outlive this.
  void allow(std::string_view name, std::vector<std::string_view> words);

  // Expressions cannot use the name. Before any is parsed: they point to the names that are left.
  void leave_out(std::string_view derived);

  std::span<const Field> fields() const { return fields_; }

  std::span<const Derived> derived() const { return derived_; }

 private:
  Field& field(std::string_view name);

  const Operation& operation_;
  std::vector<Field> fields_;
  std::vector<Derived> derived_;
  std::vector<std::unique_ptr<std::vector<std::string_view>>>
      words_;  // what the fields' choices point to
};

}  // namespace plumbline
