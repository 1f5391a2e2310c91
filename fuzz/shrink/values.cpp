// SPDX-License-Identifier: MIT
// Data towards nothing: from recipe to literal bits, then zeros wherever they will do, then the
// simplest values that still fail: one, powers of two, few significant bits.
#include <algorithm>
#include <bit>
#include <cmath>

#include "fuzz/case/generator.h"
#include "fuzz/case/literal.h"
#include "fuzz/shrink/crop.h"
#include "fuzz/shrink/pass.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// Larger inputs keep their recipe: a case file of millions of digits explains nothing.
constexpr std::int64_t kMostLiteralElements = std::int64_t{1} << 22;

// Larger tensors lose whole slices only; once sizes have shrunk, single elements get their turn.
constexpr std::int64_t kMostSingleElements = 4096;

class LiteralPass : public ShrinkPass {
 public:
  std::int64_t moves(const Case&) const override { return 1; }

  std::optional<Case> apply(const Case& test_case, std::int64_t) const override {
    if (test_case.recipe.value_class == kLiteralValues) return std::nullopt;
    const Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(test_case.problem);
    if (!specs) return std::nullopt;
    std::int64_t elements = 0;
    for (const TensorSpec& spec : *specs) {
      if (spec.role == TensorRole::input) elements += spec.layout.count();
    }
    if (elements > kMostLiteralElements) return std::nullopt;
    Result<Case> frozen = freeze(test_case);
    if (!frozen) return std::nullopt;
    return std::move(*frozen);
  }

  std::int64_t resume(std::int64_t move) const override { return move + 1; }
};

// Makes an edit one that the operation allows. Where stride 0 makes matrices of a batch share
// storage, gives all of them the last one's elements. False when that undoes the edit, or the case
// cannot be built.
bool repair_and_check(const Case& before, Case& edited, std::size_t tensor) {
  generator_of(*edited.kernel->operation).repair_dependent_values(before, {}, edited);
  const Result<std::vector<TensorSpec>> specs = edited.kernel->tensors(edited.problem);
  if (!specs) return false;
  auto& [name, literal] = edited.literals[tensor];
  for (const TensorSpec& spec : *specs) {
    if (spec.name != name) continue;
    bool shared = false;
    for (std::size_t d = 0; d < spec.layout.shape.size(); ++d) {
      shared = shared || (spec.layout.strides[d] == 0 && spec.layout.shape[d] > 1);
    }
    if (shared) {
      Tensor in_place(spec.layout);
      (void)copy_literal(literal, in_place);
      literal = contiguous_copy(in_place);
    }
  }
  return literal.storage != before.literals[tensor].second.storage;
}

// Slices of one dimension, or, with dimension -1, a run of elements in row-major order.
struct Chunk {
  std::size_t tensor = 0;
  int dimension = -1;
  std::int64_t first = 0, count = 0;
};

void add_chunks(std::size_t tensor, int dimension, std::int64_t extent, std::int64_t largest,
                std::vector<Chunk>& chunks) {
  for (std::int64_t count = largest; count > 0; count /= 2) {
    for (std::int64_t first = 0; first < extent; first += count) {
      chunks.push_back({tensor, dimension, first, std::min(count, extent - first)});
    }
  }
}

std::vector<Chunk> chunks_of(const Case& test_case) {
  std::vector<Chunk> chunks;
  for (std::size_t t = 0; t < test_case.literals.size(); ++t) {
    const std::vector<std::int64_t>& shape = test_case.literals[t].second.layout.shape;
    const std::int64_t elements = test_case.literals[t].second.layout.count();
    if (elements == 0) continue;
    chunks.push_back({t, -1, 0, elements});
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const std::int64_t extent = shape[static_cast<std::size_t>(d)];
      if (extent > 1) add_chunks(t, d, extent, (extent + 1) / 2, chunks);
    }
    if (elements <= kMostSingleElements)
      add_chunks(t, -1, elements, std::min<std::int64_t>(64, elements), chunks);
  }
  return chunks;
}

template <typename Visit>
void for_each_in(const Chunk& chunk, const TensorLayout& layout, Visit visit) {
  if (chunk.dimension < 0) {
    for (std::int64_t i = chunk.first; i < chunk.first + chunk.count; ++i) visit(i);
    return;
  }
  const auto dimension = static_cast<std::size_t>(chunk.dimension);
  const std::int64_t step = layout.strides[dimension], extent = layout.shape[dimension];
  const std::int64_t elements = layout.count();
  for (std::int64_t outer = 0; outer < elements; outer += step * extent) {
    for (std::int64_t i = chunk.first; i < chunk.first + chunk.count; ++i) {
      for (std::int64_t inner = 0; inner < step; ++inner) visit(outer + i * step + inner);
    }
  }
}

class NonzeroPass : public ShrinkPass {
 public:
  std::int64_t moves(const Case& test_case) const override {
    return static_cast<std::int64_t>(chunks_of(test_case).size());
  }

  std::optional<Case> apply(const Case& test_case, std::int64_t move) const override {
    const Chunk chunk = chunks_of(test_case)[static_cast<std::size_t>(move)];
    Case edited = test_case;
    Tensor& tensor = edited.literals[chunk.tensor].second;
    bool changed = false;
    for_each_in(chunk, tensor.layout, [&](std::int64_t element) {
      changed = changed || tensor.bits_at(element) != 0;
      tensor.set_bits_at(element, 0);
    });
    if (!changed || !repair_and_check(test_case, edited, chunk.tensor)) return std::nullopt;
    return edited;
  }

  std::int64_t resume(std::int64_t move) const override { return move + 1; }

  // Data that all matters is left as it is.
  int patience() const override { return 120; }
};

// How much there is to say about a value; each move must lower it, so the pass ends.
int complexity(const Format& element, std::uint64_t bits) {
  const Decoded value = decode(element, bits);
  if (value.cls == ValueClass::zero) return value.negative ? 1 : 0;
  const int sign = value.negative ? 1 : 0;
  if (value.cls != ValueClass::finite) return 2000 + sign + (bits == element.canonical_nan ? 0 : 1);
  const int trailing = std::countr_zero(value.significand);
  const int significant = 64 - std::countl_zero(value.significand) - trailing;
  const int exponent = value.exponent + trailing;
  return 2 + sign + 2 * std::abs(exponent) + 8 * (significant - 1);
}

enum class Simpler : std::uint8_t { one, minus_one, power, few_bits, near_one, integer, count };

std::optional<double> simpler_value(const Format& element, std::uint64_t bits, Simpler kind) {
  const Decoded value = decode(element, bits);
  if (kind == Simpler::one) return 1.0;
  if (kind == Simpler::minus_one) return -1.0;
  if (value.cls != ValueClass::finite) return std::nullopt;
  const double sign = value.negative ? -1 : 1;
  const int width = 64 - std::countl_zero(value.significand);
  const int trailing = std::countr_zero(value.significand);
  const int top = value.exponent + width - 1;  // the power of two at or below the magnitude
  switch (kind) {
    case Simpler::power:
      return std::ldexp(sign, top);
    case Simpler::few_bits: {  // half of the significant bits
      const int keep = (width - trailing + 1) / 2;
      const std::uint64_t kept = value.significand >> (width - keep);
      return std::ldexp(sign * static_cast<double>(kept), value.exponent + width - keep);
    }
    case Simpler::near_one:
      return std::ldexp(sign * static_cast<double>(value.significand),
                        value.exponent - top + top / 2);
    case Simpler::integer:
      return sign * std::trunc(std::fabs(
                        std::ldexp(static_cast<double>(value.significand), value.exponent)));
    default:
      return std::nullopt;
  }
}

constexpr auto kKinds = static_cast<std::int64_t>(Simpler::count);

// Moves: for each tensor every kind on all its elements at once, then for each element every kind.
class ValuePass : public ShrinkPass {
 public:
  std::int64_t moves(const Case& test_case) const override {
    std::int64_t count = 0;
    for (const auto& [name, literal] : test_case.literals)
      count += kKinds * (1 + literal.layout.count());
    return count;
  }

  std::optional<Case> apply(const Case& test_case, std::int64_t move) const override {
    // Whole tensors first: kinds of tensor 0, of tensor 1, ...
    const auto tensors = static_cast<std::int64_t>(test_case.literals.size());
    const auto kind = static_cast<Simpler>(move % kKinds);
    std::int64_t item = move / kKinds;
    if (item < tensors) return edit(test_case, static_cast<std::size_t>(item), -1, kind);
    item -= tensors;
    for (std::size_t t = 0; t < test_case.literals.size(); ++t) {
      const std::int64_t elements = test_case.literals[t].second.layout.count();
      if (item < elements) return edit(test_case, t, item, kind);
      item -= elements;
    }
    return std::nullopt;
  }

  std::int64_t resume(std::int64_t move) const override { return move + 1; }

  int patience() const override { return 80; }

 private:
  static std::optional<Case> edit(const Case& test_case, std::size_t tensor, std::int64_t only,
                                  Simpler kind) {
    const Tensor& before = test_case.literals[tensor].second;
    const Format& element = format(before.layout.format);
    std::optional<Case> edited;
    const auto simplify = [&](std::int64_t index) {
      const std::uint64_t bits = before.bits_at(index);
      if (bits == 0) return;
      const std::optional<double> value = simpler_value(element, bits, kind);
      if (!value) return;
      const std::uint64_t simple = encode(element, *value);
      if (simple == 0 || complexity(element, simple) >= complexity(element, bits)) return;
      if (!edited) edited = test_case;
      edited->literals[tensor].second.set_bits_at(index, simple);
    };
    if (only >= 0) {
      simplify(only);
    } else {
      for (std::int64_t i = 0; i < before.layout.count(); ++i) simplify(i);
    }
    if (edited && !repair_and_check(test_case, *edited, tensor)) return std::nullopt;
    return edited;
  }
};

}  // namespace

const ShrinkPass& shrink_to_literals() {
  static const LiteralPass pass;
  return pass;
}

const ShrinkPass& shrink_nonzeros() {
  static const NonzeroPass pass;
  return pass;
}

const ShrinkPass& shrink_values() {
  static const ValuePass pass;
  return pass;
}

}  // namespace plumbline
