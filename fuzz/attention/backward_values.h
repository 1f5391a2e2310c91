// SPDX-License-Identifier: MIT
// The gradient of O that an attention backward case starts from. Most value classes choose Q, K and
// V (attention/values.h) and take a gradient that suits them; the classes here choose the gradient.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "fuzz/attention/values.h"

namespace plumbline {

// From a spot of dO and O's value there.
using OutputGradient = std::function<double(const AttentionSpot&, double o)>;

OutputGradient output_gradient(std::string_view value_class, const AttentionContext& context);

// Classes that attention forward does not have; their Q, K and V are normal.
std::span<const std::string_view> gradient_classes();

}  // namespace plumbline
