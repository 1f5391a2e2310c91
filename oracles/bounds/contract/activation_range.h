// SPDX-License-Identifier: MIT
// The f32 values that an activation can have in a conforming kernel, for x anywhere in a range.
//
// A contract names how the one function that is no f32 operation is computed, and leaves the rest
// open: the order and the fusing of products and sums, constants rounded either way, halving first
// or last, subnormal numbers lost or not, and of a quotient whether it is rounded to nearest, comes
// from div.full or div.approx, or from rcp.approx and a product. So the bounds below are sums over
// all of these ways. With u = 2^-24, and n roundings of an argument v (constants count):
// |v^ - v| <= gamma_n |v|, gamma_n = n u / (1 - n u).
//
// By a sigmoid function t = erf or tanh, y = x (1 + t(v)) / 2, theta its relative error:
//
//   |t^ - t| <= E = gamma_n max|v t'(v)| + theta T,   T = max|t|
//   y^ = h (1 + t^) (1 + d)^2 or (h t^ (1 + d) + h) (1 + d) (1 + d),   h = x / 2, |d| <= u
//   |y^ - y| <= (1 + gamma_3) |h| (E + u (T + E)) + gamma_3 |y|
//
// max|v erf'(v)| = 0.4839 at v = 1 / sqrt 2, and max|v tanh'(v)| = 0.4477. The part with |h| is
// absolute: far below zero, 1 + t cancels.
//
// By an exponential, y = x / (1 + e^-v), epsilon the relative error of the exponential and q that
// of a quotient, with a the lower end of the range:
//
//   e^ = e^-v (1 + eta),   |eta| <= e^(gamma_n |v|) (1 + epsilon) - 1
//   (1 + e^) / (1 + e^-v) = 1 + eta w,   w <= 1 / (1 + e^v(a))
//   |y^ / y| <= (1 + q) / ((1 - u) (1 - |eta| w))
//
// for v >= -87. Below, e^ is at least 2^125.4 or has overflown, and |y^| < 2^-118. Above 100, e^
// is nothing beside 1. What lost subnormal numbers cost is less than 2^-118 as well.
//
// Special values are those of the formulas: NaN for NaN and for -Inf, which is multiplied by 0 or
// divided by infinity; +Inf for +Inf. Where x is halved last, x (1 + t) may overflow from 2^127 on,
// and any of these errors may carry the largest numbers beyond f32.
//
// Errors: tanh.approx.f32, ex2.approx.f32, rcp.approx.f32, div.full.f32 and div.approx.f32 as PTX
// ISA has them; expf, tanhf and erff 2 ulp from the nearest number (CUDA C++ Programming Guide,
// Mathematical Functions, which calls these errors tested, not proved).
#pragma once

#include "oracles/bounds/contract/contract.h"
#include "oracles/bounds/contract/f32_range.h"

namespace plumbline {

// What a step of an epilogue computes; none for steps that are no activation.
Activation activation_of(EpilogueStep step);

// Whether it is known to a bound only.
bool is_smooth(Activation function);

// The real function, to a relative error of 2^-40.
double activation_value(Activation function, double x);

// `step` is a way to compute a smooth activation.
F32Range activation_range(EpilogueStep step, const F32Range& x);

}  // namespace plumbline
