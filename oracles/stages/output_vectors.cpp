// SPDX-License-Identifier: MIT
#include "oracles/stages/output_vectors.h"

#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"

namespace plumbline {

std::vector<double> values_of(const Tensor& tensor) {
  const Format& stored = format(tensor.layout.format);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tensor.layout.count()));
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
    values.push_back(to_double(stored, tensor.bits(i)));
  return values;
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  PLUMB_ASSERT(a.size() == b.size());
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] - b[i];
  return out;
}

double inner_product(const std::vector<double>& a, const std::vector<double>& b) {
  PLUMB_ASSERT(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = a[i] * b[i];
    if (std::isfinite(term)) sum += term;
  }
  return sum;
}

double norm(const std::vector<double>& a) { return std::sqrt(inner_product(a, a)); }

double root_mean_square(const std::vector<double>& a) {
  return a.empty() ? 0 : norm(a) / std::sqrt(static_cast<double>(a.size()));
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  return norm(difference(a, b));
}

}  // namespace plumbline
