// SPDX-License-Identifier: MIT
// Random texts: a few steps of random expressions over three inputs, each of which may read those
// before it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "oracles/base/random.h"
#include "tests/oracles/reference/text/conforming_kernel.h"

namespace plumbline::text {

class RandomText {
 public:
  // Smooth ones have no maximum over elements.
  explicit RandomText(std::uint64_t seed, bool smooth = false) : random_(seed), smooth_(smooth) {}

  // x[m, n], a[m, n] and v[n]; y[m, n] is the output.
  std::string text() {
    std::string out = "operation drawn(x[m, n], a[m, n], v[n], s = 0.75) -> y[m, n]\n";
    const auto steps = random_.between(0, 3);
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool rows = random_.below(3) == 0;
      has_column_ = !rows;
      const std::string name = fmt::format("t{}", i);
      out += fmt::format("  {}[{}] = {} for i < m{}\n", name, rows ? "i" : "i, j", real(3),
                         rows ? "" : ", j < n");
      (rows ? rows_ : matrices_).push_back(name);
    }
    has_column_ = true;
    // So every input and size is used, for all steps above.
    return out + fmt::format("  y[i, j] = {} + {}\n", real(4),
                             one_of({"x[i, j] * a[i, j]", "v[j] * a[i, j] - x[i, j]",
                                     "where(x[i, j] < a[i, j], v[j], s)"}));
  }

 private:
  template <typename Choices>
  std::string drawn_of(const Choices& choices) {
    return choices[static_cast<std::size_t>(random_.below(choices.size()))];
  }

  std::string one_of(std::vector<std::string> choices) { return drawn_of(choices); }

  std::string leaf() {
    const std::string row = one_of({"i", "i", "m - 1 - i"});
    if (!column_.empty() || has_column_) {
      const std::string column = column_.empty() ? "j" : column_;
      switch (random_.below(8)) {
        case 0:
          return fmt::format("v[{}]", column);
        case 1:
          return fmt::format("a[{}, n - 1 - {}]", row, column);
        case 2:
          if (!matrices_.empty())
            return fmt::format("{}[{}, {}]", drawn_of(matrices_), row, column);
          break;
        case 3:
        case 4:
          return fmt::format("{}[{}, {}]", one_of({"x", "a"}), row, column);
        default:
          break;
      }
    }
    if (!rows_.empty() && random_.below(3) == 0) return fmt::format("{}[{}]", drawn_of(rows_), row);
    return one_of({"s", "2", "1", "0.5", "0.1", "-3", "n", "(i + 1)", "x[i, 0]", "a[i, n - 1]"});
  }

  std::string condition(int depth) {
    const std::string test = fmt::format(
        "{} {} {}", real(depth - 1), one_of({"<", "<=", ">", ">=", "==", "!="}), real(depth - 1));
    return random_.below(4) == 0 ? fmt::format("not ({} and i > 0)", test) : test;
  }

  std::string real(int depth) {
    if (depth <= 0) return leaf();
    const auto inner = [&] { return real(depth - 1); };
    switch (random_.below(16)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", inner(), inner());
      case 2:
        return fmt::format("({} - {} - {})", inner(), inner(), leaf());
      case 3:
      case 4:
        return fmt::format("{} * {}", inner(), inner());
      case 5:
        return fmt::format("({} * {} * {})", inner(), inner(), leaf());
      case 6:
        return fmt::format("({}) / ({})", inner(), inner());
      case 7:
      case 8:
        return fmt::format("{}({})",
                           one_of({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "erf",
                                   "sin", "cos", "abs", "sigmoid", "silu", "gelu"}),
                           inner());
      case 9:
        return fmt::format("({})^2", inner());
      case 10:
        return fmt::format("{}({}, {})", one_of({"max", "min"}), inner(), inner());
      case 11:
        return fmt::format("where({}, {}, {})", condition(depth), inner(), inner());
      case 12:
        return fmt::format("{}({})", one_of({"bf16", "f16", "f32"}), inner());
      case 13:
      case 14:
        return reduction(depth);
      default:
        return leaf();
    }
  }

  std::string reduction(int depth) {
    if (!column_.empty()) return leaf();
    column_ = "k";
    const std::string kind = one_of({"sum", "sum", "max", "min"});
    std::string out = fmt::format("({}[k < n{}] ({}))", smooth_ ? "sum" : kind,
                                  one_of({"", "", " if k != i"}), real(depth - 1));
    column_.clear();
    return out;
  }

  Random random_;
  bool smooth_;
  std::vector<std::string> rows_, matrices_;
  std::string column_;       // the index of the reduction that this is within
  bool has_column_ = false;  // whether j is an index of the step
};

// Texts of the seeds from `first` on, each with data of one kind and one arithmetic.
inline void check_random_texts(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = RandomText(seed).text();
    Random random = Random(seed).fork(1);
    const Data& data = kData[random.below(std::size(kData))];
    const Arithmetic arithmetic{.any_order = random.below(2) == 0,
                                .functions = static_cast<Arithmetic::Functions>(random.below(3)),
                                .flushed = random.below(2) == 0};
    const TextProblem problem(text, {2, random.between(1, 9)}, data.element, seed);
    const std::string what = fmt::format("seed {}, {}:\n{}", seed, data.name, text);
    check_conforming(problem, arithmetic, 3, what);
    check_definition(problem, what);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace plumbline::text
