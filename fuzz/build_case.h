// SPDX-License-Identifier: MIT
// From a choice of classes to a case that the kernel accepts.
#pragma once

#include <optional>

#include "fuzz/generator.h"

namespace plumbline {

// Nothing when no draw of this choice lies in the kernel's domain, even with sizes rounded up.
// `work_limit` is in padded multiply-accumulates; draws above it are repeated, and the smallest is
// taken.
std::optional<Case> build_case(const Manifest& manifest, const Choice& choice, Profile profile,
                               double work_limit, Random random);

// The first draw, whether the kernel accepts it or not.
Case build_unchecked(const Manifest& manifest, const Choice& choice, Profile profile,
                     Random random);

// A designed case, or nothing where the kernel's domain excludes it.
std::optional<Case> build_designed(const Manifest& manifest, const DesignedCase& designed,
                                   Random random);

}  // namespace plumbline
