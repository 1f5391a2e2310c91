// SPDX-License-Identifier: MIT
// Instance: a program with the sizes, scalars and formats of one problem. It knows the shape of
// every tensor, and which line of the text computes an element.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "oracles/text/program.h"

namespace plumbline::text {

// What a problem says, in the order of the program's sizes, scalars, inputs and parameters.
struct Setting {
  std::vector<std::int64_t> sizes;
  std::vector<double> scalars;
  std::vector<bool> present;      // inputs; those that are not there are what the text says
  std::vector<FormatId> formats;  // parameters; of scalars: any
};

class Instance {
 public:
  // Errors: sizes that do not fit each other, elements that no line or two lines compute,
  // subscripts and quotients of integers that have no value for any data.
  static Result<Instance> make(std::shared_ptr<const Program> program, Setting setting);

  const Program& program() const { return *program_; }

  const Setting& setting() const { return setting_; }

  std::span<const std::int64_t> input_shape(int input) const {
    return inputs_[static_cast<std::size_t>(input)];
  }

  std::span<const std::int64_t> step_shape(int step) const {
    return steps_[static_cast<std::size_t>(step)].shape;
  }

  std::int64_t step_elements(int step) const {
    return steps_[static_cast<std::size_t>(step)].elements;
  }

  // Of the format of a parameter.
  FormatId format_of(int parameter) const {
    return setting_.formats[static_cast<std::size_t>(parameter)];
  }

  // The line that computes the element with this row-major index, and its indices: slots get their
  // values.
  const Piece& locate(int step, std::int64_t element, std::vector<std::int64_t>& slots) const;

  // What stands for the elements of an input that is not there.
  double absent_value(int input) const { return absent_[static_cast<std::size_t>(input)]; }

  // Whether element [i, ...] of every step needs elements [i, ...] of other steps alone.
  bool rows_are_independent() const { return rows_; }

  // An expression of sizes, scalars and numbers, and of indices where their values are given.
  Result<std::int64_t> fixed(const Expression& node,
                             std::span<const std::int64_t> slots = {}) const;

 private:
  // A subscript of a left side: offset + stride * slot.
  struct Affine {
    int slot = -1;
    std::int64_t stride = 0, offset = 0;
  };

  // first, first + step, ...
  struct Progression {
    std::int64_t first = 0, step = 1, count = 1;

    std::int64_t last() const;
    bool has(std::int64_t number) const;
    std::optional<std::int64_t> in_common(const Progression& other) const;
  };

  struct Box {  // a piece
    std::vector<Affine> subscripts;
    std::vector<std::int64_t> low, high;  // of its ranges
    std::vector<Progression> written;     // by dimension, where there are several pieces

    bool is_empty() const {
      for (std::size_t r = 0; r < low.size(); ++r)
        if (low[r] >= high[r]) return true;
      return false;
    }

    bool writes(std::int64_t element, const std::vector<std::int64_t>& shape) const;
  };

  struct Shape {
    std::vector<std::int64_t> shape;
    std::int64_t elements = 0;
    std::vector<Box> boxes;

    std::int64_t first_hole() const;
  };

  Instance(std::shared_ptr<const Program> program, Setting setting)
      : program_(std::move(program)), setting_(std::move(setting)) {}

  Status shape_inputs();
  Status shape_step(int step);
  Status shape_piece(const Piece& piece, Shape& out);
  static bool is_whole(const StepTensor& step, const Shape& shape);
  Status list_written(const StepTensor& step, const Piece& piece, const Shape& shape,
                      Box& box) const;
  Status cover(const StepTensor& step, Shape& out) const;
  Status check_ends(const Expression& node) const;
  Status check_defined(const Expression& node, std::vector<std::int64_t>& slots, int ends) const;
  Status check_ranges(std::span<const Range> ranges, const Expression* condition,
                      std::span<const ExpressionPtr> values, std::vector<std::int64_t>& slots,
                      int ends) const;
  Result<std::int64_t> agreed(const std::vector<ExpressionPtr>& all, Place place,
                              std::string_view what,
                              std::span<const std::int64_t> slots = {}) const;
  bool same_row(const Expression& node, int slot) const;
  Error error(Place place, std::string message, std::string hint = "") const;

  std::shared_ptr<const Program> program_;
  Setting setting_;
  std::vector<std::vector<std::int64_t>> inputs_;
  std::vector<double> absent_;
  std::vector<Shape> steps_;
  bool rows_ = false;
};

// An expression of sizes, scalars and numbers, given in the program's order, and of indices where
// their values are given, by slot; a number that is none of these is NaN, or an error.
Result<std::int64_t> fixed_integer(const Expression& node, std::span<const std::int64_t> sizes,
                                   std::span<const double> scalars, std::string_view path,
                                   std::span<const std::int64_t> slots = {});
double fixed_real(const Expression& node, std::span<const std::int64_t> sizes,
                  std::span<const double> scalars);

// a // b and a % b: rounded towards minus infinity, the remainder with the sign of b.
std::int64_t floor_divided(std::int64_t a, std::int64_t b);

}  // namespace plumbline::text
