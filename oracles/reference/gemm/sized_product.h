// SPDX-License-Identifier: MIT
// A sum of products beside the sum of their magnitudes, which is how much a relative change of
// either factor can be magnified.
#pragma once

#include <cmath>
#include <span>

namespace plumbline {

struct SizedProduct {
  double sum = 0, size = 0;
};

// Of two rows of the same length.
inline SizedProduct sized_product(std::span<const double> a, std::span<const double> b) {
  SizedProduct out;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double term = a[k] * b[k];
    out.sum += term;
    out.size += std::fabs(term);
  }
  return out;
}

// Row i of a matrix by rows.
inline std::span<const double> matrix_row(std::span<const double> matrix, std::size_t i,
                                          std::size_t width) {
  return matrix.subspan(i * width, width);
}

}  // namespace plumbline
