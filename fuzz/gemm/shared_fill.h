// SPDX-License-Identifier: MIT
// From values at logical positions to the bits of tensors: what the generators of all operations
// built on GEMM patterns share. The one place where their data is rounded to its format.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "fuzz/case/case.h"
#include "fuzz/gemm/values.h"

namespace plumbline {

// Draws of a recipe: of its class and seed alone.
Random recipe_random(const Recipe& recipe);

// The pattern of a class that GEMM has.
GemmPattern gemm_pattern(std::string_view value_class, const GemmContext& context);

// The format of a tensor, or f32 where the problem lacks it.
const Format& element_format(const CaseTensors& tensors, std::string_view name);

// Sets every element of a matrix, [rows, columns] or [batch, rows, columns]. Nothing happens where
// the problem lacks the tensor.
void fill_matrix(Tensor* matrix, const std::function<double(const At&)>& value);
void fill_vector(Tensor* vector, const std::function<double(std::int64_t)>& value);

// One draw per entry of a scale tensor, of the kind that suits the class's data
// (gemm/values_scales.cpp).
void fill_scales(std::string_view name, std::string_view value_class, const Random& random,
                 CaseTensors& tensors);

// One element after the others: a matrix takes the indices it has, a vector the column, which may
// lie outside it.
void place(Tensor* tensor, const At& at, double value);

}  // namespace plumbline
