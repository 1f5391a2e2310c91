// SPDX-License-Identifier: MIT
#include "fuzz/gemm/values.h"

#include <array>

#include "oracles/base/hash.h"

namespace plumbline {

namespace {

constexpr std::array kClasses = {
    GemmValueClass{"normal", gemm_normal},
    GemmValueClass{"positive", gemm_positive},
    GemmValueClass{"ones", gemm_ones},
    GemmValueClass{"outliers", gemm_outliers},
    GemmValueClass{"cancelling", gemm_cancelling},
    GemmValueClass{"wide", gemm_wide},
    GemmValueClass{"early_large", gemm_early_large},
    GemmValueClass{"width_ladder", gemm_width_ladder},
    GemmValueClass{"subnormal", gemm_subnormal},
    GemmValueClass{"large", gemm_large},
    GemmValueClass{"specials", gemm_specials},
    GemmValueClass{"zero_slices", gemm_zero_slices},
    GemmValueClass{"integers", gemm_integers},
    GemmValueClass{"power_scaled", gemm_power_scaled},
    GemmValueClass{"one_hot", gemm_one_hot},
    GemmValueClass{"index_code", gemm_index_code},
    GemmValueClass{"ties", gemm_ties},
};

}  // namespace

ElementStream::ElementStream(const Random& random, std::string_view tensor)
    : random_(random.fork(fingerprint(tensor))) {}

std::span<const GemmValueClass> gemm_value_classes() { return kClasses; }

}  // namespace plumbline
