// SPDX-License-Identifier: MIT
// What results of one instruction add up to: those that are wrong, and the largest errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "harness/scan/instruction.h"
#include "harness/scan/limits.h"

namespace plumbline {

// One element of an instruction's operands, and what became of it.
struct ScannedElement {
  std::uint64_t a = 0, b = 0, result = 0;

  // Which of several alike is named: the same one in every order in which they come.
  bool before(const ScannedElement& other) const {
    return std::tie(a, b, result) < std::tie(other.a, other.b, other.result);
  }
};

struct LargestError {
  const ErrorLimit* limit = nullptr;
  double error = 0;
  ScannedElement at;
  std::uint64_t inputs = 0;  // that the limit is about

  void offer(double candidate, const ScannedElement& element);

  bool within() const { return error <= limit->limit; }
};

class ScanTally {
 public:
  explicit ScanTally(const ScanInstruction& instruction);

  // One execution: the words of its registers.
  void add(std::uint32_t a, std::uint32_t b, std::uint32_t result);

  ScanTally& operator+=(const ScanTally& other);

  // The largest errors again, by MPFR.
  void confirm();

  std::uint64_t elements() const { return elements_; }

  std::uint64_t wrong() const { return wrong_; }

  const std::optional<ScannedElement>& first_wrong() const { return first_wrong_; }

  const std::vector<LargestError>& errors() const { return errors_; }

  bool holds() const;

  // What is due for an element, in words: "448", "the integer 0x7f", "NaN".
  std::string due_text(const ScannedElement& element) const;

 private:
  void add_element(const ScannedElement& element);
  void offer_wrong(const ScannedElement& element);
  bool right(const ScannedElement& element, double a, double b, double due);
  bool rounds_right(const ScannedElement& element, double a, double b, double due) const;
  void measure(const ScannedElement& element, double a, double b, double due, double got);

  ScanInstruction instruction_;
  const Format* to_;
  std::uint64_t elements_ = 0, wrong_ = 0;
  std::optional<ScannedElement> first_wrong_;
  std::vector<LargestError> errors_;
};

// An operand or result of an element: "0x3c00 (1)".
std::string element_text(const ScalarType& type, std::uint64_t bits);

}  // namespace plumbline
