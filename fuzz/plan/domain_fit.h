// SPDX-License-Identifier: MIT
// From a problem that was drawn to one that the kernel's domain accepts.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "kernels/manifest/manifest.h"

namespace plumbline {

// The problem itself, or as close to it as the kernel's domain allows: with leading dimensions
// rounded up, with the sizes rounded up that the refusing rules name, with all sizes rounded up,
// with features at their defaults where some exclude each other (others stay), and last with sizes
// taken from what the domain compares them with ("n == 4096"). A domain that asks for large sizes
// gets small ones where it asks for none, so that padded multiply-accumulates stay near
// `work_limit`. nullopt where none of that helps.
std::optional<Problem> fit_to_domain(const Manifest& manifest, const Problem& problem,
                                     double work_limit = std::numeric_limits<double>::infinity());

// Why so few problems of a kernel are in its domain: which of its rules refused most of those that
// are drawn for it, even after all that fit_to_domain() tries. One sentence for people.
std::string domain_refusals(const Manifest& manifest);

}  // namespace plumbline
