// SPDX-License-Identifier: MIT
#include "oracles/text/instance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "oracles/base/assert.h"
#include "oracles/text/lexer.h"

namespace plumbline::text {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kLargest = std::numeric_limits<std::int64_t>::max();

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a < 0) == (b < 0) ? kLargest : kLeast;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a < 0 ? kLeast : kLargest;
}

constexpr const char* kTooLarge = "an integer that 64 bits cannot hold";

// Whether an integer follows from sizes, scalars, numbers and indices alone: fixed_integer has it,
// or the text has no value.
bool follows(const Expression& node) {
  switch (node.op) {
    case Op::constant:
    case Op::size:
    case Op::scalar:
    case Op::index:
    case Op::negate:
    case Op::integer_add:
    case Op::integer_subtract:
    case Op::integer_multiply:
    case Op::floor_divide:
    case Op::remainder:
    case Op::maximum:
    case Op::minimum:
      return std::ranges::all_of(node.children,
                                 [](const ExpressionPtr& child) { return follows(*child); });
    default:
      return false;
  }
}

// Visits what is read under all conditions: not what conditions choose from or count.
template <typename Visit>
void visit_needed(const Expression& node, const Visit& visit) {
  visit(node);
  if (node.op == Op::where || node.op == Op::logical_and || node.op == Op::logical_or)
    return visit_needed(*node.children[0], visit);
  for (const Range& range : node.ranges) {
    if (range.low) visit_needed(*range.low, visit);
    for (const ExpressionPtr& high : range.high) visit_needed(*high, visit);
  }
  if (node.condition) return visit_needed(*node.condition, visit);
  for (const ExpressionPtr& child : node.children) visit_needed(*child, visit);
}

// Outputs, and the steps whose elements they read under no condition. (Of others an element that
// has no value may be one that nothing reads.)
std::vector<bool> needed_steps(const Program& program) {
  std::vector<bool> needed(program.steps.size());
  for (const int output : program.outputs) needed[static_cast<std::size_t>(output)] = true;
  for (std::size_t s = program.steps.size(); s-- > 0;) {
    if (!needed[s]) continue;
    for (const Piece& piece : program.steps[s].pieces) {
      visit_needed(*piece.value, [&](const Expression& node) {
        if (node.op == Op::step) needed[static_cast<std::size_t>(node.id)] = true;
      });
    }
  }
  return needed;
}

}  // namespace

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

Result<std::int64_t> fixed_integer(const Expression& node, std::span<const std::int64_t> sizes,
                                   std::span<const double> scalars, std::string_view path,
                                   std::span<const std::int64_t> slots) {
  const auto error = [&](Place place, std::string message) {
    return error_at(path, place, std::move(message));
  };
  const auto child = [&](std::size_t i) {
    return fixed_integer(*node.children[i], sizes, scalars, path, slots);
  };
  const auto unknown = [&] {
    return error(node.place, "this does not follow from sizes, scalars and numbers");
  };
  switch (node.op) {
    case Op::constant:
      return static_cast<std::int64_t>(node.number);
    case Op::size:
      return sizes[static_cast<std::size_t>(node.id)];
    case Op::scalar:
      return static_cast<std::int64_t>(scalars[static_cast<std::size_t>(node.id)]);
    case Op::index:
      if (slots.empty()) return unknown();
      return slots[static_cast<std::size_t>(node.id)];
    case Op::negate: {
      const Result<std::int64_t> a = child(0);
      std::int64_t out = 0;
      if (!a) return a;
      if (__builtin_sub_overflow(std::int64_t{0}, *a, &out)) return error(node.place, kTooLarge);
      return out;
    }
    case Op::integer_add:
    case Op::integer_subtract:
    case Op::integer_multiply:
    case Op::floor_divide:
    case Op::remainder: {
      const Result<std::int64_t> a = child(0), b = child(1);
      if (!a) return a;
      if (!b) return b;
      std::int64_t out = 0;
      bool overflows = false;
      if (node.op == Op::integer_add) overflows = __builtin_add_overflow(*a, *b, &out);
      if (node.op == Op::integer_subtract) overflows = __builtin_sub_overflow(*a, *b, &out);
      if (node.op == Op::integer_multiply) overflows = __builtin_mul_overflow(*a, *b, &out);
      if (node.op == Op::floor_divide || node.op == Op::remainder) {
        if (*b == 0) return error(node.place, "a division by 0 for these sizes");
        if (*b == -1 && *a == std::numeric_limits<std::int64_t>::min()) overflows = true;
        if (!overflows)
          out =
              node.op == Op::floor_divide ? floor_divided(*a, *b) : *a - *b * floor_divided(*a, *b);
      }
      if (overflows) return error(node.place, kTooLarge);
      return out;
    }
    case Op::maximum:
    case Op::minimum: {
      std::optional<std::int64_t> best;
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Result<std::int64_t> one = child(i);
        if (!one) return one;
        if (!best || (node.op == Op::maximum) == (*one > *best)) best = *one;
      }
      return *best;
    }
    default:
      return unknown();
  }
}

double fixed_real(const Expression& node, std::span<const std::int64_t> sizes,
                  std::span<const double> scalars) {
  const auto child = [&](std::size_t i) { return fixed_real(*node.children[i], sizes, scalars); };
  switch (node.op) {
    case Op::constant:
      return node.number;
    case Op::scalar:
      return scalars[static_cast<std::size_t>(node.id)];
    case Op::negate:
      return -child(0);
    case Op::sum: {
      double out = 0;
      for (std::size_t i = 0; i < node.children.size(); ++i)
        out += node.negative[i] ? -child(i) : child(i);
      return out;
    }
    case Op::product: {
      double out = 1;
      for (std::size_t i = 0; i < node.children.size(); ++i) out *= child(i);
      return out;
    }
    case Op::quotient:
      return child(0) / child(1);
    default:
      break;
  }
  const Result<std::int64_t> integer = fixed_integer(node, sizes, scalars, "");
  return integer ? static_cast<double>(*integer) : std::nan("");
}

Error Instance::error(Place place, std::string message, std::string hint) const {
  return error_at(program_->text.path, place, std::move(message), std::move(hint));
}

Result<std::int64_t> Instance::fixed(const Expression& node,
                                     std::span<const std::int64_t> slots) const {
  return fixed_integer(node, setting_.sizes, setting_.scalars, program_->text.path, slots);
}

Result<Instance> Instance::make(std::shared_ptr<const Program> program, Setting setting) {
  PLUMB_ASSERT(setting.sizes.size() == program->sizes.size());
  PLUMB_ASSERT(setting.scalars.size() == program->scalars.size());
  PLUMB_ASSERT(setting.present.size() == program->inputs.size());
  PLUMB_ASSERT(setting.formats.size() == program->text.parameters.size());
  Instance out(std::move(program), std::move(setting));
  if (Status shaped = out.shape_inputs(); !shaped) return shaped.error();
  for (int step = 0; step < static_cast<int>(out.program_->steps.size()); ++step) {
    if (Status shaped = out.shape_step(step); !shaped) return shaped.error();
  }
  std::vector<std::int64_t> slots(static_cast<std::size_t>(out.program_->slots));
  bool rows = true;
  const std::vector<bool> needed = needed_steps(*out.program_);
  for (std::size_t s = 0; s < out.steps_.size(); ++s) {
    for (const Piece& piece : out.program_->steps[s].pieces) {
      if (Status agree = out.check_ends(*piece.value); !agree) return agree.error();
      // Long expressions at fewer ends: this is done for every problem.
      const int ends = 1 + static_cast<int>(piece.value->operations / 64);
      Status defined;
      if (needed[s])
        defined = out.check_ranges(piece.ranges, nullptr, {&piece.value, 1}, slots, ends);
      if (!defined) return defined.error();
      const bool first = !piece.subscripts.empty() && piece.subscripts[0]->op == Op::index;
      rows = rows && first && out.same_row(*piece.value, piece.subscripts[0]->id);
    }
  }
  out.rows_ = rows;
  return out;
}

Status Instance::shape_inputs() {
  for (const Input& input : program_->inputs) {
    std::vector<std::int64_t> shape;
    std::int64_t elements = 1;
    for (const ExpressionPtr& size : input.shape) {
      const Result<std::int64_t> extent = fixed(*size);
      if (!extent) return extent.error();
      if (*extent < 0)
        return error(size->place,
                     fmt::format("a size of '{}' would be {}", input.parameter->name, *extent));
      if (__builtin_mul_overflow(elements, *extent, &elements) || elements > kMostElements)
        return error(size->place,
                     fmt::format("'{}' would have more than 2^40 elements", input.parameter->name));
      shape.push_back(*extent);
    }
    inputs_.push_back(std::move(shape));
    absent_.push_back(
        input.otherwise ? fixed_real(*input.otherwise, setting_.sizes, setting_.scalars) : 0);
  }
  return {};
}

Result<std::int64_t> Instance::agreed(const std::vector<ExpressionPtr>& all, Place place,
                                      std::string_view what,
                                      std::span<const std::int64_t> slots) const {
  std::optional<std::int64_t> first;
  for (const ExpressionPtr& one : all) {
    const Result<std::int64_t> extent = fixed(*one, slots);
    if (!extent) return extent;
    if (first && *first != *extent)
      return error(place,
                   fmt::format("{} goes through {} in one tensor and through {} in another", what,
                               *first, *extent),
                   "is it the right index? If so, give it an end: for i < n, or sum[i < n]");
    first = *extent;
  }
  return *first;
}

Status Instance::shape_step(int step) {
  const StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
  Shape out;
  out.elements = 1;
  for (const std::vector<ExpressionPtr>& size : tensor.shape) {
    const Result<std::int64_t> extent =
        agreed(size, tensor.pieces[0].place, fmt::format("an index of '{}'", tensor.name));
    if (!extent) return extent.error();
    const std::int64_t clipped = std::max<std::int64_t>(*extent, 0);
    if (*extent < 0 && tensor.parameter)
      return error(size[0]->place, fmt::format("a size of '{}' would be {}", tensor.name, *extent));
    if (__builtin_mul_overflow(out.elements, clipped, &out.elements) ||
        out.elements > kMostElements)
      return error(tensor.pieces[0].place,
                   fmt::format("'{}' would have more than 2^40 elements", tensor.name));
    out.shape.push_back(clipped);
  }
  steps_.push_back(std::move(out));
  for (const Piece& piece : tensor.pieces) {
    if (Status shaped = shape_piece(piece, steps_.back()); !shaped) return shaped;
  }
  return is_whole(tensor, steps_.back()) ? Status() : cover(tensor, steps_.back());
}

// One line computes all elements, whose indices are its own.
bool Instance::is_whole(const StepTensor& step, const Shape& shape) {
  if (step.pieces.size() != 1) return false;
  const Box& box = shape.boxes[0];
  const std::vector<Range>& ranges = step.pieces[0].ranges;
  for (std::size_t d = 0; d < shape.shape.size(); ++d) {
    const Affine& affine = box.subscripts[d];
    const auto range = std::ranges::find(ranges, affine.slot, &Range::slot);
    if (range == ranges.end() || affine.stride != 1 || affine.offset != 0) return false;
    const auto r = static_cast<std::size_t>(range - ranges.begin());
    if (box.low[r] != 0 || box.high[r] != shape.shape[d]) return false;
  }
  return ranges.size() == shape.shape.size();
}

Status Instance::shape_piece(const Piece& piece, Shape& out) {
  Box box;
  for (const Range& range : piece.ranges) {
    std::int64_t low = 0;
    if (range.low) {
      const Result<std::int64_t> end = fixed(*range.low);
      if (!end) return end.error();
      low = *end;
    }
    const Result<std::int64_t> high = agreed(range.high, piece.place, "an index of this line");
    if (!high) return high.error();
    box.low.push_back(low);
    box.high.push_back(std::max(*high, low));
  }
  // The value at slot 0 and the step to slot 1 make the affine form: there is one index at most.
  for (const ExpressionPtr& subscript : piece.subscripts) {
    Affine affine;
    const auto find_slot = [&](const auto& self, const Expression& node) -> void {
      if (node.op == Op::index) affine.slot = node.id;
      for (const ExpressionPtr& child : node.children) self(self, *child);
    };
    find_slot(find_slot, *subscript);
    const auto at = [&](std::int64_t value) {
      return fixed(*subscript, std::vector(static_cast<std::size_t>(program_->slots), value));
    };
    const Result<std::int64_t> offset = at(0), next = at(1);
    if (!offset) return offset.error();
    if (!next) return next.error();
    affine.offset = *offset;
    affine.stride = affine.slot < 0 ? 0 : *next - *offset;
    if (affine.slot >= 0 && affine.stride <= 0)
      return error(subscript->place, "subscripts of a left side must rise with their index");
    box.subscripts.push_back(affine);
  }
  out.boxes.push_back(std::move(box));
  return {};
}

std::int64_t Instance::Progression::last() const { return plus(first, times(step, count - 1)); }

bool Instance::Progression::has(std::int64_t number) const {
  return number >= first && (number - first) % step == 0 && (number - first) / step < count;
}

// The least number of two progressions.
std::optional<std::int64_t> Instance::Progression::in_common(const Progression& other) const {
  const Progression &high = first >= other.first ? *this : other,
                    &low = first >= other.first ? other : *this;
  const std::int64_t end = std::min(last(), other.last());
  std::int64_t tried = 0;  // low.step of them have every remainder that there is
  for (std::int64_t at = high.first; at <= end && tried < low.step; at += high.step, ++tried)
    if (low.has(at)) return at;
  return std::nullopt;
}

bool Instance::Box::writes(std::int64_t element, const std::vector<std::int64_t>& shape) const {
  if (is_empty()) return false;
  for (std::size_t d = shape.size(); d-- > 0; element /= shape[d])
    if (!written[d].has(element % shape[d])) return false;
  return true;
}

// What a line writes: of each dimension the numbers that its subscript takes, each with each.
Status Instance::list_written(const StepTensor& step, const Piece& piece, const Shape& shape,
                              Box& box) const {
  for (std::size_t d = 0; d < box.subscripts.size(); ++d) {
    const Affine& affine = box.subscripts[d];
    Progression numbers{affine.offset, 1, 1};
    for (std::size_t r = 0; r < piece.ranges.size(); ++r) {
      if (affine.slot < 0 || piece.ranges[r].slot != affine.slot) continue;
      numbers = {plus(affine.offset, times(affine.stride, box.low[r])), affine.stride,
                 box.high[r] - box.low[r]};
    }
    box.written.push_back(numbers);
    if (box.is_empty()) continue;
    const std::int64_t extent = shape.shape[d];
    if (numbers.first >= 0 && numbers.last() < extent) continue;
    const std::int64_t beyond = numbers.first < 0 || numbers.first >= extent
                                    ? numbers.first
                                    : numbers.first + (extent - numbers.first + numbers.step - 1) /
                                                          numbers.step * numbers.step;
    return error(piece.place,
                 fmt::format("this line writes element {} of a dimension of {}", beyond, extent),
                 "give its index an end that fits, or exclude such sizes from the domain");
  }
  for (std::size_t r = 0; r < piece.ranges.size() && !box.is_empty(); ++r) {
    const auto uses = std::ranges::count(box.subscripts, piece.ranges[r].slot, &Affine::slot);
    if (uses > 1 && box.high[r] - box.low[r] > 1)
      return error(piece.place, fmt::format("one index in two subscripts of '{}'", step.name),
                   "a line writes each index of one with each of the other");
  }
  return {};
}

// The first element that no piece writes, where there is one and no two pieces write the same:
// dimension by dimension the first index behind which they are not as many as there are.
std::int64_t Instance::Shape::first_hole() const {
  std::vector<const Box*> here;
  for (const Box& box : boxes)
    if (!box.is_empty()) here.push_back(&box);
  std::int64_t hole = 0, behind = elements;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    behind /= shape[d];
    std::vector<const Box*> with;
    for (std::int64_t at = 0; at < shape[d]; ++at) {
      with.clear();
      std::int64_t covered = 0;
      for (const Box* box : here) {
        if (!box->written[d].has(at)) continue;
        with.push_back(box);
        std::int64_t written = 1;
        for (std::size_t e = d + 1; e < shape.size(); ++e) written *= box->written[e].count;
        covered += written;
      }
      if (covered == behind) continue;
      hole = hole * shape[d] + at;
      break;
    }
    here = with;
  }
  return hole;
}

// Every element of an output is computed once: no two lines have one in common, and together they
// have all.
Status Instance::cover(const StepTensor& step, Shape& out) const {
  constexpr std::size_t kMostPieces = 254;
  if (step.pieces.size() > kMostPieces)
    return error(step.pieces[0].place, fmt::format("more than {} pieces", kMostPieces));
  std::int64_t covered = 0;
  for (std::size_t p = 0; p < step.pieces.size(); ++p) {
    const Piece& piece = step.pieces[p];
    Box& box = out.boxes[p];
    if (Status listed = list_written(step, piece, out, box); !listed) return listed;
    if (box.is_empty()) continue;
    for (std::size_t q = 0; q < p; ++q) {
      if (out.boxes[q].is_empty()) continue;
      std::int64_t element = 0;
      bool common = true;
      for (std::size_t d = 0; d < out.shape.size() && common; ++d) {
        const auto number = box.written[d].in_common(out.boxes[q].written[d]);
        common = number.has_value();
        element = element * out.shape[d] + number.value_or(0);
      }
      if (common)
        return error(piece.place,
                     fmt::format("element {} of '{}' is written twice", element, step.name),
                     fmt::format("line {} writes it, too", step.pieces[q].place.line));
    }
    std::int64_t elements = 1;
    for (const Progression& numbers : box.written) elements *= numbers.count;
    covered += elements;
  }
  if (covered == out.elements) return {};
  return error(step.pieces[0].place,
               fmt::format("nothing computes element {} of '{}'", out.first_hole(), step.name),
               "an element that keeps its value is written out, too: q[i, c] = q[i, c] for ...");
}

const Piece& Instance::locate(int step, std::int64_t element,
                              std::vector<std::int64_t>& slots) const {
  const StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
  const Shape& shape = steps_[static_cast<std::size_t>(step)];
  std::size_t p = 0;
  while (p + 1 < shape.boxes.size() && !shape.boxes[p].writes(element, shape.shape)) ++p;
  const Box& box = shape.boxes[p];
  for (std::size_t d = shape.shape.size(); d-- > 0;) {
    const std::int64_t at = element % shape.shape[d];
    element /= shape.shape[d];
    const Affine& affine = box.subscripts[d];
    if (affine.slot >= 0)
      slots[static_cast<std::size_t>(affine.slot)] = (at - affine.offset) / affine.stride;
  }
  return tensor.pieces[p];
}

// An index goes through one range, also where nothing reads the sum.
Status Instance::check_ends(const Expression& node) const {
  for (const Range& range : node.ranges) {
    const bool known =
        std::ranges::all_of(range.high, [&](const ExpressionPtr& one) { return fixed(*one).ok(); });
    if (!known) continue;
    const Result<std::int64_t> end = agreed(range.high, node.place, "an index of this sum");
    if (!end) return end.error();
  }
  Status agree;
  for_each_child(node, [&](const Expression& child) {
    if (agree) agree = check_ends(child);
  });
  return agree;
}

// Reports what has no value for any data, at the ends of the indices around it. What is read
// under a condition, what depends on data and what goes wrong between the ends, is found when it is
// read (reference/text/evaluator.h).
Status Instance::check_defined(const Expression& node, std::vector<std::int64_t>& slots,
                               int ends) const {
  if (node.type == Type::integer && follows(node)) {
    const Result<std::int64_t> value = fixed(node, slots);
    return value ? Status() : value.error();
  }
  if (node.op == Op::where || node.op == Op::logical_and || node.op == Op::logical_or)
    return check_defined(*node.children[0], slots, ends);
  if (node.op == Op::reduce)
    return check_ranges(node.ranges, node.condition.get(), node.children, slots, ends);
  const bool is_input = node.op == Op::input, is_read = is_input || node.op == Op::step;
  const bool is_there = !is_input || setting_.present[static_cast<std::size_t>(node.id)];
  for (std::size_t i = 0; i < node.children.size() && is_there; ++i) {
    const Expression& child = *node.children[i];
    if (Status defined = check_defined(child, slots, ends); !defined) return defined;
    if (!is_read || !follows(child)) continue;
    const std::int64_t subscript = *fixed(child, slots);
    const std::int64_t extent = (is_input ? input_shape(node.id) : step_shape(node.id))[i];
    if (subscript >= 0 && subscript < extent) continue;
    const std::string& name =
        is_input ? program_->inputs[static_cast<std::size_t>(node.id)].parameter->name
                 : program_->steps[static_cast<std::size_t>(node.id)].name;
    return error(
        node.place,
        fmt::format("'{}' is read at element {} of a dimension of {}", name, subscript, extent),
        "correct the subscript, or exclude such sizes from the domain");
  }
  return {};
}

// The values (or the condition that they have) with the indices at all of their ends together; of
// the inner ones of many ranges with the lower end alone. `ends`: how many combinations there are.
Status Instance::check_ranges(std::span<const Range> ranges, const Expression* condition,
                              std::span<const ExpressionPtr> values,
                              std::vector<std::int64_t>& slots, int ends) const {
  constexpr int kMostEnds = 1024;
  if (ranges.empty()) {
    if (condition) return check_defined(*condition, slots, ends);
    for (const ExpressionPtr& value : values)
      if (Status defined = check_defined(*value, slots, ends); !defined) return defined;
    return {};
  }
  const Range& range = ranges.front();
  if (range.low) {
    if (Status defined = check_defined(*range.low, slots, ends); !defined) return defined;
    if (!follows(*range.low)) return {};
  }
  for (const ExpressionPtr& one : range.high)
    if (Status defined = check_defined(*one, slots, ends); !defined) return defined;
  if (!std::ranges::all_of(range.high, [](const ExpressionPtr& one) { return follows(*one); }))
    return {};
  const Result<std::int64_t> end =
      agreed(range.high, range.high.front()->place, "an index of this sum", slots);
  if (!end) return end.error();
  const std::int64_t low = range.low ? *fixed(*range.low, slots) : 0, high = *end - 1;
  if (low > high) return {};  // no index
  const bool both = low < high && ends < kMostEnds;
  const auto defined_at = [&](std::int64_t at) {
    slots[static_cast<std::size_t>(range.slot)] = at;
    return check_ranges(ranges.subspan(1), condition, values, slots, both ? 2 * ends : ends);
  };
  if (Status defined = defined_at(low); !defined || !both) return defined;
  return defined_at(high);
}

bool Instance::same_row(const Expression& node, int slot) const {
  if (node.op == Op::step) {
    const bool row =
        !node.children.empty() && node.children[0]->op == Op::index && node.children[0]->id == slot;
    if (!row) return false;
  }
  for (const Range& range : node.ranges) {
    if (range.low && !same_row(*range.low, slot)) return false;
    for (const ExpressionPtr& high : range.high) {
      if (!same_row(*high, slot)) return false;
    }
  }
  if (node.condition && !same_row(*node.condition, slot)) return false;
  return std::ranges::all_of(node.children,
                             [&](const ExpressionPtr& one) { return same_row(*one, slot); });
}

}  // namespace plumbline::text
