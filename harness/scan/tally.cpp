// SPDX-License-Identifier: MIT
#include "harness/scan/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/scan/due.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

// due_value() is off by less, relatively.
constexpr double kDueError = 0x1p-50;

// `Number` is that of the exact result and of the error.
template <typename Number>
Number error_of(ErrorMeasure measure, const Format& to, const Number& due, double got) {
  const Number error = due < got ? Number(got) - due : due - Number(got);
  const double magnitude = std::fabs(static_cast<double>(due));
  switch (measure) {
    case ErrorMeasure::ulp:
      return error / ulp(to, magnitude);
    case ErrorMeasure::relative:
      return error / std::max(magnitude, std::ldexp(1.0, to.emin()));
    case ErrorMeasure::absolute:
      break;
  }
  return error;
}

bool covers(const ErrorLimit& limit, double of) {
  const double magnitude = std::fabs(of);
  return magnitude >= limit.least && magnitude <= limit.most && !(limit.positive_only && of < 0);
}

}  // namespace

void LargestError::offer(double candidate, const ScannedElement& element) {
  if (candidate < error || (candidate == error && (error == 0 || !element.before(at)))) return;
  error = candidate;
  at = element;
}

ScanTally::ScanTally(const ScanInstruction& instruction)
    : instruction_(instruction), to_(&format(instruction.to.format)) {
  for (const ErrorLimit* limit : error_limits(instruction)) errors_.push_back({limit, 0, {}, 0});
}

void ScanTally::add(std::uint32_t a, std::uint32_t b, std::uint32_t result) {
  const ScalarType &to = instruction_.to, &from = instruction_.from;
  // Results of 8 bits are extended to their registers.
  const int from_bits = from.element_bits(), to_bits = to.is_integer() ? 32 : to.element_bits();
  const std::uint64_t from_mask = (std::uint64_t{1} << from_bits) - 1,
                      to_mask = (std::uint64_t{1} << to_bits) - 1;
  if (instruction_.function == ScanFunction::div) {
    add_element({a, b, result});
    return;
  }
  // The first source of two becomes the upper half.
  const bool into_pair = instruction_.sources() == 2;
  for (int i = 0; i < to.elements; ++i) {
    const std::uint64_t source = into_pair ? (i == 0 ? b : a) : std::uint64_t{a} >> (i * from_bits);
    add_element({source & from_mask, 0, (std::uint64_t{result} >> (i * to_bits)) & to_mask});
  }
}

void ScanTally::add_element(const ScannedElement& element) {
  ++elements_;
  bool is_right;
  if (instruction_.to.is_integer()) {
    is_right = element.result == due_integer(instruction_, element.a);
  } else {
    const double a = operand_value(instruction_, element.a),
                 b = instruction_.function == ScanFunction::div
                         ? operand_value(instruction_, element.b)
                         : 0;
    is_right = right(element, a, b, due_value(instruction_, a, b));
  }
  if (is_right) return;
  ++wrong_;
  offer_wrong(element);
}

void ScanTally::offer_wrong(const ScannedElement& element) {
  if (!first_wrong_ || element.before(*first_wrong_)) first_wrong_ = element;
}

// Errors of approximate results are measured, not judged here.
bool ScanTally::right(const ScannedElement& element, double a, double b, double due) {
  const double got = to_double(*to_, element.result);
  if (std::isnan(due))
    return to_->has_nan() ? std::isnan(got) : element.result == to_->canonical_nan;
  if (std::isnan(got)) return false;
  const bool measured = instruction_.approximate && std::isfinite(due) && due != 0;
  // An absolute error may take the sign along.
  if (to_->has_sign && !measured && std::signbit(got) != std::signbit(due)) return false;
  if (instruction_.flushes(to_->id)) {
    const double least_normal = std::ldexp(1.0, to_->emin());
    const bool subnormal = got != 0 && std::fabs(got) < least_normal;
    if (subnormal) return false;
    if (got == 0 && std::fabs(due) < least_normal) return true;
  }
  if (measured) {
    measure(element, a, b, due, got);
    return true;
  }
  if (instruction_.approximate) return got == due;  // zero or infinite
  return rounds_right(element, a, b, due);
}

bool ScanTally::rounds_right(const ScannedElement& element, double a, double b, double due) const {
  const std::uint64_t sign = to_->has_sign ? std::uint64_t{1} << (to_->code_bits() - 1) : 0;
  const std::uint64_t padding = (std::uint64_t{1} << to_->padding_bits) - 1;
  if ((element.result & padding) != 0) return false;
  const std::uint64_t code = (element.result >> to_->padding_bits) & ~sign;
  if (std::isinf(due) && to_->has_infinity() && !instruction_.satfinite)
    return std::isinf(to_double(*to_, element.result));
  const RoundingInterval interval = rounds_to(instruction_, code, std::signbit(due));
  const double magnitude = std::fabs(due);
  if (instruction_.function == ScanFunction::identity || std::isinf(due) || due == 0)
    return interval.holds(magnitude);
  const double off = magnitude * kDueError;
  const bool low = interval.holds(magnitude - off), high = interval.holds(magnitude + off);
  if (low && high) return true;
  if (!low && !high) return false;
  return interval.holds(ScanReal(abs(due_real(instruction_, a, b))));
}

void ScanTally::measure(const ScannedElement& element, double a, double b, double due, double got) {
  // As if there were numbers beyond the largest, of which infinity is the first.
  const double last = to_double(*to_, to_->max_finite());
  const double value = std::isinf(got) ? std::copysign(last + ulp(*to_, last), got) : got;
  const double to = std::isinf(got) && std::fabs(due) > last ? due : value;
  for (LargestError& largest : errors_) {
    if (!covers(*largest.limit, instruction_.function == ScanFunction::div ? b : a)) continue;
    ++largest.inputs;
    const double error = error_of(largest.limit->measure, *to_, due, to);
    largest.offer(error, element);
  }
}

void ScanTally::confirm() {
  for (LargestError& largest : errors_) {
    if (largest.error == 0) continue;
    const double got = to_double(*to_, largest.at.result);
    if (std::isinf(got)) continue;
    const ScanReal due = due_real(instruction_, operand_value(instruction_, largest.at.a),
                                  operand_value(instruction_, largest.at.b));
    largest.error = static_cast<double>(error_of(largest.limit->measure, *to_, due, got));
  }
}

ScanTally& ScanTally::operator+=(const ScanTally& other) {
  elements_ += other.elements_;
  wrong_ += other.wrong_;
  if (other.first_wrong_) offer_wrong(*other.first_wrong_);
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    LargestError& mine = errors_[i];
    const LargestError& theirs = other.errors_[i];
    mine.inputs += theirs.inputs;
    mine.offer(theirs.error, theirs.at);
  }
  return *this;
}

bool ScanTally::holds() const {
  return wrong_ == 0 && std::ranges::all_of(errors_, &LargestError::within);
}

std::string ScanTally::due_text(const ScannedElement& element) const {
  if (instruction_.to.is_integer())
    return element_text(instruction_.to, due_integer(instruction_, element.a));
  const double a = operand_value(instruction_, element.a),
               b = operand_value(instruction_, element.b);
  const double due = due_value(instruction_, a, b);
  if (std::isnan(due) && !to_->has_nan()) return element_text(instruction_.to, to_->canonical_nan);
  return instruction_.approximate ? fmt::format("{}", due) : fmt::format("{}, rounded", due);
}

std::string element_text(const ScalarType& type, std::uint64_t bits) {
  const int digits = (type.element_bits() + 3) / 4;
  if (type.is_integer()) {
    const int unused = 64 - type.integer_bits;
    const std::int64_t value = type.is_signed ? static_cast<std::int64_t>(bits << unused) >> unused
                                              : static_cast<std::int64_t>(bits);
    return fmt::format("{:#0{}x} ({})", bits, digits + 2, value);
  }
  return fmt::format("{:#0{}x} ({})", bits, digits + 2, to_double(format(type.format), bits));
}

}  // namespace plumbline
