// SPDX-License-Identifier: MIT
#include "fuzz/rows/fill.h"

#include <cmath>

#include "fuzz/gemm/shared_fill.h"
#include "fuzz/rows/values.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

constexpr double kEpsilon = 1e-5;

class Filler {
 public:
  Filler(const Case& test_case, CaseTensors& tensors)
      : values_(row_value_class(test_case.recipe.value_class)),
        random_(recipe_random(test_case.recipe)),
        m_(test_case.problem.integer("m")),
        n_(test_case.problem.integer("n")),
        tensors_(tensors) {}

  void fill_matrix_of(std::string_view name) {
    Tensor* matrix = input(name);
    if (!matrix) return;
    const Format& f = format(matrix->layout.format);
    const Random own = random_.fork(fingerprint(name));
    fill_matrix(matrix, [&](const At& at) {
      const RowSpot spot{n_, at.row, at.column, stream(own, 1, at.row), stream(own, 2, at.column),
                         f};
      Random random = stream(own, 3, (at.row << 28) ^ at.column);
      return values_.element(spot, random);
    });
  }

  void fill_vectors() {
    fill_vector(input("gamma"), [&](std::int64_t j) {
      Random random = stream(random_.fork(fingerprint("gamma")), 3, j);
      return row_weight(values_, j, random);
    });
    fill_vector(input("beta"), [&](std::int64_t j) {
      Random random = stream(random_.fork(fingerprint("beta")), 3, j);
      return row_offset(values_, random);
    });
  }

  // Y of a softmax: the class's magnitudes, divided by their sum.
  void make_probabilities() {
    Tensor* y = input("y");
    if (!y) return;
    const Format& f = format(y->layout.format);
    for (std::int64_t i = 0; i < m_; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n_; ++j) {
        const double value = std::fabs(element(*y, i, j));
        if (std::isfinite(value)) sum += value;
      }
      for (std::int64_t j = 0; j < n_; ++j) {
        const double value = element(*y, i, j);
        if (!std::isfinite(value) || sum == 0) continue;
        y->set_bits(i * n_ + j, encode(f, std::fabs(value) / sum));
      }
    }
  }

  void make_statistics() {
    const Tensor* x = tensors_.find("x");
    Tensor* rstd = input("rstd");
    if (!rstd) return;
    Tensor* means = input("mean");
    for (std::int64_t i = 0; i < m_; ++i) {
      double sum = 0, squares = 0;
      for (std::int64_t j = 0; j < n_; ++j) sum += element(*x, i, j);
      const double mean = means ? sum / static_cast<double>(n_) : 0;
      for (std::int64_t j = 0; j < n_; ++j) {
        const double centered = element(*x, i, j) - mean;
        squares += centered * centered;
      }
      const Format& f32 = format(FormatId::f32);
      if (means) means->set_bits(i, encode(f32, mean));
      rstd->set_bits(i, encode(f32, 1 / std::sqrt(squares / static_cast<double>(n_) + kEpsilon)));
    }
  }

 private:
  static Random stream(const Random& random, std::uint64_t kind, std::int64_t index) {
    return random.fork(kind).fork(static_cast<std::uint64_t>(index));
  }

  Tensor* input(std::string_view name) const {
    for (std::size_t i = 0; i < tensors_.specs.size(); ++i) {
      const TensorSpec& spec = tensors_.specs[i];
      if (spec.name == name && spec.role == TensorRole::input) return &tensors_.tensors[i];
    }
    return nullptr;
  }

  double element(const Tensor& matrix, std::int64_t i, std::int64_t j) const {
    return to_double(format(matrix.layout.format), matrix.bits(i * n_ + j));
  }

  const RowValueClass& values_;
  Random random_;
  std::int64_t m_, n_;
  CaseTensors& tensors_;
};

}  // namespace

void fill_row_case(const Case& test_case, CaseTensors& tensors) {
  Filler filler(test_case, tensors);
  for (const std::string_view matrix : {"x", "y", "dy"}) filler.fill_matrix_of(matrix);
  filler.fill_vectors();
  filler.make_probabilities();
  filler.make_statistics();
}

}  // namespace plumbline
