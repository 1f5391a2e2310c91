// SPDX-License-Identifier: MIT
// RapidCheck's generator of cases, with our own shrinking: for `fuzz` and for properties in tests.
#pragma once

#include "fuzz/case/case.h"

namespace rc {
template <typename T>
class Gen;
}  // namespace rc

namespace plumbline {

// Cases the kernel accepts; sizes grow from the quick profile's to the standard profile's with
// RapidCheck's size.
rc::Gen<Case> case_gen(const Manifest& manifest);

}  // namespace plumbline
