// SPDX-License-Identifier: MIT
// Outputs as vectors. Where a term is not finite (rows that see nothing have an LSE of -inf) it
// counts as 0.
#pragma once

#include <vector>

#include "oracles/formats/tensor.h"

namespace plumbline {

// By row-major index, exactly.
std::vector<double> values_of(const Tensor& tensor);

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b);
double inner_product(const std::vector<double>& a, const std::vector<double>& b);
double norm(const std::vector<double>& a);
double root_mean_square(const std::vector<double>& a);  // 0 of none
double distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace plumbline
