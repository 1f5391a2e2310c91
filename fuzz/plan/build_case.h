// SPDX-License-Identifier: MIT
// From a choice of classes to a case that the kernel accepts.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

// Of cases that are drawn at random: the most work (Operation::work).
inline constexpr double kWorkLimit = 3e8;

// What one kernel leaves of its operation's classes: those of which it accepts some draw.
struct KernelChoices {
  std::vector<int> shapes, layouts;  // indices into the generator's lists
  std::vector<Feature> features;
};

KernelChoices choices_of(const Manifest& manifest);

// nullopt when no draw of this choice lies in the kernel's domain, even as near to it as
// fit_to_domain() comes, or none fits the memory that a case of the profile may take. `work_limit`
// is in padded multiply-accumulates; draws above it are repeated, and the smallest is taken.
std::optional<Case> build_case(const Manifest& manifest, const Choice& choice, Profile profile,
                               double work_limit, Random random);

// The same of draws that are changed before they are fitted to the domain, with f32 outputs where
// the kernel has them; nullopt where none costs as little as `work_limit`.
std::optional<Case> build_changed(const Manifest& manifest, const Choice& choice, Profile profile,
                                  double work_limit, const std::function<void(Problem&)>& change,
                                  Random random);

// A problem of this kernel's schema, whether its domain accepts it or not.
Case build_unchecked(const Manifest& manifest, const KernelChoices& choices, Random random);

// A designed case, or nothing where it is not a problem of this kernel.
std::optional<Case> build_designed(const Manifest& manifest, const DesignedCase& designed,
                                   Random random);

// A designed case that the kernel's domain refuses, as near to it as fit_to_domain() comes: where
// that still is what it was designed for, with the same features, tiles whole or partial as they
// were, and padding where there was some.
std::optional<Case> fit_designed(const Manifest& manifest, const DesignedCase& designed,
                                 Random random);

}  // namespace plumbline
