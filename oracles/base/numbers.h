// SPDX-License-Identifier: MIT
// The few numbers and integer functions that everything uses.
#pragma once

#include <cstdint>
#include <limits>

namespace plumbline {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

// The least integer that is at least a / b, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace plumbline
