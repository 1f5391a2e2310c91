// SPDX-License-Identifier: MIT
#include "oracles/reference/text/oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/text/definition.h"
#include "oracles/text/edits.h"

namespace plumbline::text {
namespace {

// Enough where nothing cancels; where they do not agree with double, many.
constexpr int kRefereeBits = 128, kMostRefereeBits = 256;
// Columns of a row that stands for one sample of the referee.
constexpr std::int64_t kLongRow = 256;

// Integers and FP4 have no NaN: it is stored as cvt does, as 0 and as 6.
RangedElement stored_in(const Format& f, RangedElement element) {
  if (f.has_nan()) return element;
  const auto stored = static_cast<float>(to_double(f, f.canonical_nan));
  if (std::isnan(element.exact.value)) element.exact = {static_cast<double>(stored), 0};
  if (!element.range.nan) return element;
  element.range = element.range.has_numbers()
                      ? F32Range{std::min(element.range.low, stored),
                                 std::max(element.range.high, stored), false}
                      : F32Range{stored, stored, false};
  return element;
}

// Of an output of integers: all bits count, where double would round.
std::int64_t integer_of(const Format& f, std::uint64_t bits) {
  return f.id == FormatId::s64 ? static_cast<std::int64_t>(bits)
                               : static_cast<std::int64_t>(to_double(f, bits));
}

std::uint64_t bits_of(const Format& f, std::int64_t integer) {
  return f.id == FormatId::s64 ? static_cast<std::uint64_t>(integer)
                               : encode(f, static_cast<double>(integer));
}

using Candidates = Evaluator<Forms>::Candidates;

// What a candidate has in a conforming kernel; none: it is no candidate.
std::optional<F32Range> range_at(const Candidates& from, std::int64_t choice) {
  const auto found = std::ranges::find(from.of, choice, [](const auto& one) { return one.first; });
  return found == from.of.end() ? std::nullopt : std::optional(ranged(found->second).range);
}

bool is_same_number(const F32Range& a, const F32Range& b) {
  return a.is_point() && b.is_point() && a.low == b.low;
}

// Whether a candidate may be at this rank: as many come before it at least, and at most.
bool may_be_chosen(const Candidates& from, std::int64_t choice) {
  const std::optional<F32Range> known = range_at(from, choice);
  if (!known) return choice == -1 && (from.rank < 0 || from.rank >= std::ssize(from.of));
  const F32Range& mine = *known;
  std::int64_t surely = 0, possibly = 0;
  for (const auto& [index, value] : from.of) {
    if (index == choice) continue;
    const F32Range other = ranged(value).range;
    const bool first = index < choice;
    const bool equal = is_same_number(mine, other) || (!mine.has_numbers() && !other.has_numbers());
    if (equal) {
      surely += first;
      possibly += first;
      continue;
    }
    // NaN comes last.
    const bool above = other.has_numbers() && mine.has_numbers();
    surely += !other.nan && (!mine.has_numbers() || other.low > mine.high);
    possibly += (above && other.high >= mine.low) || (mine.nan && (other.has_numbers() || first));
  }
  return surely <= from.rank && from.rank <= possibly;
}

}  // namespace

TextOracle::TextOracle(Instance instance, Inputs inputs, Arithmetic arithmetic,
                       std::vector<Output> outputs)
    : instance_(std::move(instance)),
      inputs_(std::move(inputs)),
      arithmetic_(arithmetic),
      outputs_(std::move(outputs)),
      judge_(instance_, inputs_, Forms(arithmetic_, instance_)) {
  for (int o = 0; o < this->outputs(); ++o) {
    const Output& output = of(o);
    if (!output.stored || !step_of(o).is_choice()) continue;
    given_.resize(instance_.program().steps.size());
    Evaluator<Forms> evaluator = forms();
    std::vector<std::int64_t> choices;
    const Format& f = plumbline::format(output.format);
    for (std::int64_t i = 0; i < instance_.step_elements(output.step); ++i) {
      const std::int64_t stored = integer_of(f, output.stored->bits(i));
      // What is no candidate cannot be read by others: they are judged as if it were right.
      const Candidates from = evaluator.candidates(output.step, i);
      choices.push_back(range_at(from, stored) ? stored : evaluator.chosen(from));
    }
    given_[static_cast<std::size_t>(output.step)] = std::move(choices);
  }
  judge_.give(given_);
}

std::vector<double> TextOracle::defined(int output, std::span<const std::int64_t> elements,
                                        int bits) const {
  return at_precision(bits, [&]<typename Number>() {
    Evaluator<Definition<Number>> evaluator(instance_, inputs_, Definition<Number>());
    evaluator.give(given_);
    std::vector<double> values;
    for (const std::int64_t i : elements)
      values.push_back(static_cast<double>(evaluator.element(of(output).step, i)));
    return values;
  });
}

// A choice that the kernel made for a rank before this one.
bool TextOracle::is_repeated(int output, std::int64_t index, std::int64_t choice) const {
  const Piece& piece = step_of(output).pieces.front();
  const Expression& rank = *piece.value->children[1];
  if (rank.op != Op::index) return false;
  const std::span<const std::int64_t> shape = instance_.step_shape(of(output).step);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    if (piece.subscripts[d]->id != rank.id) continue;
    const auto& given = given_[static_cast<std::size_t>(of(output).step)];
    for (std::int64_t before = index / stride % shape[d]; before > 0; --before) {
      if (given[static_cast<std::size_t>(index - before * stride)] == choice) return true;
    }
  }
  return false;
}

ElementVerdict TextOracle::integer_element(Evaluator<Forms>& evaluator, int output,
                                           std::int64_t index, std::uint64_t got) const {
  const Format& f = plumbline::format(of(output).format);
  const int step = of(output).step;
  const bool is_choice = step_of(output).is_choice();
  const Candidates from = is_choice ? evaluator.candidates(step, index) : Candidates{};
  const std::int64_t expected =
      is_choice ? evaluator.chosen(from) : evaluator.integer_element(step, index);
  ElementVerdict out;
  out.index = index;
  out.got = got;
  out.exact = static_cast<double>(expected);
  out.expected = out.low = out.high = bits_of(f, expected);
  const std::int64_t choice = integer_of(f, got);
  out.pass = got == out.expected;
  if (is_choice)
    out.pass = may_be_chosen(from, choice) && !(choice >= 0 && is_repeated(output, index, choice));
  if (out.pass) return out;
  // Exact also where neighbors are one double.
  out.error_ulp = to_double(f, got) - out.exact;
  if (out.error_ulp == 0) out.error_ulp = choice > expected ? 1 : -1;
  out.share = kInfinity;
  return out;
}

ElementVerdict TextOracle::element(Evaluator<Forms>& evaluator, int output, std::int64_t index,
                                   std::uint64_t got) const {
  if (is_integer(output)) return integer_element(evaluator, output, index, got);
  const Format& f = plumbline::format(of(output).format);
  return range_verdict(f, index, stored_in(f, ranged(evaluator.element(of(output).step, index))),
                       got);
}

bool TextOracle::agrees(int output, std::int64_t index, double referee) const {
  if (step_of(output).is_choice())
    return may_be_chosen(judge_.candidates(of(output).step, index),
                         static_cast<std::int64_t>(referee));
  const Certified exact = ranged(judged(output, index)).exact;
  return std::isinf(exact.error) || plumbline::agrees(referee, exact);
}

std::vector<std::int64_t> TextOracle::sampled(int output, const JudgeOptions& options) const {
  const std::int64_t elements = instance_.step_elements(of(output).step);
  if (elements == 0) return {};
  const bool all = options.mpfr_bits > 0;
  std::vector<std::int64_t> out(
      static_cast<std::size_t>(all ? elements : std::min(elements, options.referee_samples)));
  if (all) {
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  // Elements of a row may all need the whole of it: of long rows several are taken.
  const std::int64_t width =
      instance_.rows_are_independent() ? elements / instance_.step_shape(of(output).step)[0] : 1;
  const std::int64_t from_a_row = std::max<std::int64_t>(1, width / kLongRow);
  Random random(options.seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  std::int64_t taken = 0, row = 0;
  for (std::int64_t& i : out) {
    if (taken++ % from_a_row == 0) row = below(elements / width);
    i = row * width + below(width);
  }
  std::ranges::sort(out);
  return out;
}

Form TextOracle::judged(int output, std::int64_t index) const {
  const int step = of(output).step;
  const bool kept = instance_.rows_are_independent() &&
                    instance_.step_elements(step) == instance_.step_shape(step)[0];
  return kept ? judge_.kept_element(step, index) : judge_.element(step, index);
}

OutputVerdict TextOracle::judge(int output, const Tensor& got, const JudgeOptions& options) const {
  const Format& f = plumbline::format(of(output).format);
  const std::int64_t elements = instance_.step_elements(of(output).step);
  const std::vector<std::int64_t> samples = sampled(output, options);
  const std::vector<double> exact =
      defined(output, samples, std::max(options.mpfr_bits, kRefereeBits));
  std::int64_t disagreements = 0;
  std::size_t next = 0;  // of the samples
  OutputTally tally;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (is_integer(output)) {
      tally.add_element(f, integer_element(judge_, output, i, got.bits(i)), true);
    } else {
      tally_ranged(f, i, stored_in(f, ranged(judged(output, i))), got.bits(i), tally);
    }
    for (; next < samples.size() && samples[next] == i; ++next) {
      if (agrees(output, i, exact[next])) continue;
      const int bits = std::max(options.mpfr_bits, kMostRefereeBits);
      disagreements += !agrees(output, i, defined(output, {&i, 1}, bits).front());
    }
  }
  OutputVerdict verdict = tally.verdict(elements);
  verdict.refereed = std::ssize(samples);
  verdict.disagreements = disagreements;
  return verdict;
}

ElementVerdict TextOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  Evaluator<Forms> evaluator = forms();
  return element(evaluator, output, index, got);
}

namespace {

// Without the roundings that the text asks for.
struct Mathematics : Definition<double> {
  double round_to(FormatId, double x) const { return x; }
};

}  // namespace

std::vector<double> TextOracle::reference_values(int output, Reference reference, int) const {
  std::vector<double> values;
  const std::int64_t elements = instance_.step_elements(of(output).step);
  if (reference == Reference::mathematics) {
    Evaluator<Mathematics> mathematics(instance_, inputs_, Mathematics());
    mathematics.give(given_);
    for (std::int64_t i = 0; i < elements; ++i)
      values.push_back(mathematics.element(of(output).step, i));
    return values;
  }
  Evaluator<Forms> evaluator = forms();
  values.reserve(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i)
    values.push_back(evaluator.element(of(output).step, i).value);
  return values;
}

namespace {

// An element of a step that an element of another one is computed from.
struct Read {
  int step = 0;
  std::int64_t element = 0;
  std::string text;  // "rstd[3]"
};

class Reads {
 public:
  Reads(const Instance& instance, const std::vector<std::int64_t>& slots)
      : instance_(instance), slots_(slots) {}

  // Those outside of sums: of a sum's there are too many.
  std::vector<Read> of(const Expression& node) {
    visit(node);
    return std::move(reads_);
  }

 private:
  void visit(const Expression& node) {
    if (node.op == Op::reduce) return;
    if (node.op == Op::step && node.type == Type::real) take(node);
    for (const ExpressionPtr& child : node.children) visit(*child);
  }

  void take(const Expression& node) {
    const std::span<const std::int64_t> shape = instance_.step_shape(node.id);
    Read read{node.id, 0, instance_.program().steps[static_cast<std::size_t>(node.id)].name};
    std::string subscripts;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Expression& one = *node.children[d];
      const Result<std::int64_t> fixed = instance_.fixed(one);
      if (one.op != Op::index && !fixed) return;
      const std::int64_t at =
          one.op == Op::index ? slots_[static_cast<std::size_t>(one.id)] : *fixed;
      if (at < 0 || at >= shape[d]) return;
      read.element = read.element * shape[d] + at;
      subscripts += fmt::format("{}{}", d == 0 ? "" : ", ", at);
    }
    if (!shape.empty()) read.text += "[" + subscripts + "]";
    const bool known =
        std::ranges::any_of(reads_, [&](const Read& other) { return other.text == read.text; });
    if (!known) reads_.push_back(read);
  }

  const Instance& instance_;
  const std::vector<std::int64_t>& slots_;
  std::vector<Read> reads_;
};

std::string range_words(const F32Range& range) {
  if (!range.has_numbers()) return "NaN";
  const std::string nan = range.nan ? ", or NaN" : "";
  if (range.is_point()) return fmt::format("{:.9g}", range.low + 0.0) + nan;
  return fmt::format("{:.9g} to {:.9g}{}", range.low, range.high, nan);
}

// Of an output that a fault has to fit.
constexpr std::int64_t kMostElements = 4096;

}  // namespace

// Whether outputs are what conforming kernels have before the last rounding, cut off, and not what
// is nearest to it.
bool TextOracle::is_truncated(int step, const Format& f, const Tensor& got) const {
  if (f.is_integer || f.storage_bits >= 32 || f.id == FormatId::ue8m0) return false;
  Evaluator<Forms> evaluator = forms();
  const std::int64_t elements = std::min(kMostElements, instance_.step_elements(step));
  const auto cut = [&](float x) {
    return to_double(
        f, encode(f, static_cast<double>(x), {Rounding::toward_zero, Overflow::saturate, 0}));
  };
  bool any = false;
  for (std::int64_t i = 0; i < elements; ++i) {
    const RangedElement element = ranged(evaluator.element(step, i));
    const double stored = to_double(f, got.bits(i));
    if (!element.range.has_numbers() || !std::isfinite(stored)) continue;
    if (!(cut(element.range.low) <= stored && stored <= cut(element.range.high))) return false;
    any = any || !range_verdict(f, i, stored_in(f, element), got.bits(i)).pass;
  }
  return any;
}

// Elements of an output that a fault is tried on: all of them where they are few; else a sample,
// and the wrong ones of a larger one.
TextOracle::Tried TextOracle::tried_of(int output, const Tensor& got) const {
  constexpr std::size_t kMostWrong = 1024;
  Tried out{&got, {}, false};
  const std::int64_t elements = instance_.step_elements(of(output).step);
  const bool few = elements <= kMostElements;
  out.places.resize(static_cast<std::size_t>(few ? elements : 0));
  std::iota(out.places.begin(), out.places.end(), 0);
  JudgeOptions sample;
  sample.referee_samples = kMostElements;
  if (!few) out.places = sampled(output, sample);
  Evaluator<Forms> evaluator = forms();
  const auto is_wrong = [&](std::int64_t i) {
    try {
      return !element(evaluator, output, i, got.bits(i)).pass;
    } catch (const Undefined&) {
      return true;
    }
  };
  if (few) {
    out.is_wrong = std::ranges::any_of(out.places, is_wrong);
    return out;
  }
  std::size_t wrong = 0;
  sample.referee_samples = 4 * kMostElements;
  ++sample.seed;
  for (const std::int64_t i : sampled(output, sample)) {
    if (!is_wrong(i)) continue;
    out.is_wrong = true;
    out.places.push_back(i);
    if (++wrong == kMostWrong) break;
  }
  return out;
}

// Whether a kernel of this text, computed so, would have stored what is there.
class TextOracle::Fit {
 public:
  Fit(const TextOracle& oracle, const Instance& instance, const Arithmetic& arithmetic,
      double largest)
      : oracle_(oracle),
        evaluator_(oracle.forms_of(instance, arithmetic)),
        is_the_text_(&instance == &oracle.instance_),
        elements_of_(instance),
        largest_(largest) {}

  // All that is tried of the output that is explained. NaN fits what has nothing to do with it, so
  // some of it has to be a number.
  bool explains(int output, std::int64_t index, const Tried& tried) {
    const Format& f = plumbline::format(oracle_.of(output).format);
    bool any_number = false;
    std::int64_t wide = 0, all = 0;
    const auto fits = [&](std::int64_t i) {
      if (i >= elements_of_.step_elements(oracle_.of(output).step)) return true;
      any_number = any_number || !std::isnan(to_double(f, tried.stored->bits(i)));
      wide_ = false;
      const bool admitted = admits(output, i, *tried.stored, true);
      wide += wide_;
      ++all;
      return admitted;
    };
    return fits(index) && std::ranges::all_of(tried.places, fits) && any_number && 2 * wide <= all;
  }

  // Another output only has to be admissible.
  bool allows(int other, const Tried& tried) {
    return std::ranges::all_of(tried.places, [&](std::int64_t i) {
      return i >= elements_of_.step_elements(oracle_.of(other).step) ||
             admits(other, i, *tried.stored, false);
    });
  }

 private:
  bool admits(int output, std::int64_t i, const Tensor& stored, bool has_to_tell) {
    const int step = oracle_.of(output).step;
    const Format& f = plumbline::format(oracle_.of(output).format);
    try {
      if (oracle_.is_integer(output))
        return bits_of(f, evaluator_.integer_element(step, i)) == stored.bits(i);
      const RangedElement element = stored_in(f, ranged(evaluator_.element(step, i)));
      wide_ = has_to_tell && !tells(f, element);
      // The text itself, in another arithmetic, may be in doubt about some elements.
      return (!wide_ || is_the_text_) && range_verdict(f, i, element, stored.bits(i)).pass;
    } catch (const Undefined&) {
      return false;
    }
  }

  // A range that holds almost anything is no explanation.
  bool tells(const Format& f, const RangedElement& element) const {
    const F32Range& range = element.range;
    if (range.nan && range.has_numbers()) return false;
    if (range.is_point() || !range.has_numbers()) return true;
    const double width = double{range.high} - double{range.low};
    const double size = std::max(std::fabs(double{range.low}), std::fabs(double{range.high}));
    if (!std::isfinite(width)) return false;
    return width <= std::max(std::fabs(element.exact.value) / 16, largest_ / 1024) ||
           width <= ulp(f, size);  // two neighbors
  }

  const TextOracle& oracle_;
  Evaluator<Forms> evaluator_;
  bool is_the_text_;
  bool wide_ = false;  // the element that was looked at last says nothing
  const Instance& elements_of_;
  double largest_;
};

NamedFaults TextOracle::faults(int output, std::int64_t index, const Tensor& got) const {
  // Twice those of the longest text in the tree, whose 998 are checked in 33 ms.
  constexpr std::size_t kMostEdits = 2000;
  const Format& f = plumbline::format(of(output).format);
  const int step = of(output).step;
  double largest = 0;  // that the kernel stored there
  for (std::int64_t i = 0; i < got.layout.count(); ++i) {
    const double one = std::fabs(to_double(f, got.bits(i)));
    if (std::isfinite(one)) largest = std::max(largest, one);
  }
  const Tried tried = tried_of(output, got);
  std::vector<std::pair<int, Tried>> others;
  for (int other = 0; other < outputs(); ++other) {
    if (const Tensor* const stored = of(other).stored; other != output && stored != nullptr)
      others.emplace_back(other, tried_of(other, *stored));
  }
  FaultRanking fitting;
  const std::string own_line = fmt::format(
      "line {}: ", instance_.program().steps[static_cast<std::size_t>(step)].pieces[0].place.line);
  // An output that is wrong itself may have a fault of its own; one that is right has none. Then
  // the fault may lie where this one is stored.
  const auto try_out = [&](FittingFault fault, const Instance& instance,
                           const Arithmetic& arithmetic) {
    Fit fit(*this, instance, arithmetic, largest);
    if (!fit.explains(output, index, tried)) return;
    bool all = true, right_others = true;
    for (const auto& [other, its] : others) {
      if (fit.allows(other, its)) continue;
      all = false;
      right_others = right_others && its.is_wrong;
    }
    if (!right_others) {
      if (!fault.words.starts_with(own_line)) return;
      fault.words += ", in what is stored alone";
    }
    fault.agreement[0] = all;
    fitting.add(std::move(fault));
  };
  Arithmetic begun = arithmetic_;
  begun.begins_with_addend = true;
  if (!arithmetic_.begins_with_addend) {
    try_out({.words = "sums begin with what is added to them; if that is meant, the contract says "
                      "sum_start = \"addend\""},
            instance_, begun);
  }
  Arithmetic in_any_order = arithmetic_;
  in_any_order.lanes = 0;
  in_any_order.any_order = true;
  // An order of additions is no explanation of what is far beyond the bound.
  constexpr double kOfRoundings = 4;
  if (!arithmetic_.any_order && element(output, index, got.bits(index)).share <= kOfRoundings) {
    try_out({.words = "sums are added up term by term; if that is meant, the contract says sums = "
                      "\"any\"",
             .unlikely = true},
            instance_, in_any_order);
  }
  if (is_truncated(step, f, got))
    fitting.add({.words = "the output was truncated, not rounded to nearest", .agreement = {1}});
  // What is stored in a format has been rounded to it.
  const std::string as_stored = fmt::format(
      "line {}: rounded to {}",
      instance_.program().steps[static_cast<std::size_t>(step)].pieces[0].place.line, f.name);
  for (const Edit& edit : single_edits(instance_.program().text, kMostEdits)) {
    if (edit.name == as_stored) continue;
    auto program = check_operation(edit.text);
    if (!program || (*program)->steps.size() != instance_.program().steps.size()) continue;
    const Result<Instance> instance = Instance::make(*std::move(program), instance_.setting());
    if (instance) try_out({.words = edit.name}, *instance, arithmetic_);
  }
  return std::move(fitting).named(1);
}

Explanation TextOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  Explanation out;
  Evaluator<Forms> evaluator = forms();
  const int step = of(output).step;
  const RangedElement element = ranged(evaluator.element(step, index));
  std::vector<std::int64_t> slots(static_cast<std::size_t>(instance_.program().slots));
  const Piece& piece = instance_.locate(step, index, slots);
  // The steps that the line reads for this element, each once.
  for (const Read& read : Reads(instance_, slots).of(*piece.value)) {
    const RangedElement value = ranged(evaluator.element(read.step, read.element));
    out.lines.push_back(fmt::format("{} is {} exactly; a conforming kernel has {}", read.text,
                                    number_text(value.exact.value, 9), range_words(value.range)));
  }
  const double stored = to_double(plumbline::format(of(output).format), got.bits(index));
  const std::string line =
      fmt::format("line {} of {}", piece.place.line, instance_.program().text.path);
  bool is_of_equal_ones = false;
  if (step_of(output).is_choice()) {
    const std::int64_t choice = integer_of(plumbline::format(of(output).format), got.bits(index));
    const Candidates from = evaluator.candidates(step, index);
    const std::int64_t exact = evaluator.chosen(from);
    const std::optional<F32Range> right = range_at(from, exact), other = range_at(from, choice);
    is_of_equal_ones = exact != choice && right && other && is_same_number(*right, *other);
    const auto value_at = [](std::int64_t at, const std::optional<F32Range>& range) {
      if (range) return fmt::format("{} has {}", at, range_words(*range));
      return at == -1 ? std::string("-1 stands for none") : fmt::format("{} is none of them", at);
    };
    out.lines.push_back(
        fmt::format("{} chooses the one with {} before it, of {}: {} exactly; the kernel stored {}",
                    line, from.rank, from.of.size(), exact, choice));
    out.lines.push_back(fmt::format("in a conforming kernel {}, and {}", value_at(exact, right),
                                    value_at(choice, other)));
    if (is_repeated(output, index, choice))
      out.lines.push_back(fmt::format("the kernel stored {} for a rank before, too", choice));
  } else if (is_integer(output)) {
    out.lines.push_back(fmt::format(
        "{} gives {}; the kernel stored {}", line, evaluator.integer_element(step, index),
        integer_of(plumbline::format(of(output).format), got.bits(index))));
  } else {
    if (piece.value->op == Op::round_to) {
      out.lines.push_back(
          fmt::format("{}: {} exactly before it is rounded to {}", line,
                      number_text(ranged(evaluator.before_rounding(step, index)).exact.value, 9),
                      plumbline::format(piece.value->format).name));
    }
    out.lines.push_back(fmt::format(
        "{}: exact {}; a conforming kernel has {} before it stores; stored {}", line,
        number_text(element.exact.value, 9), range_words(element.range), number_text(stored, 9)));
  }
  out.faults = faults(output, index, got);
  if (is_of_equal_ones)
    out.faults.names.push_back(
        fmt::format("line {}: of equal ones another than the first is chosen", piece.place.line));
  return out;
}

}  // namespace plumbline::text
