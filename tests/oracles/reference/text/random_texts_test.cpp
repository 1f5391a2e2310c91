// SPDX-License-Identifier: MIT
// For all texts: conforming kernels lie within forms, and forms within the definition.
#include "tests/oracles/reference/text/random_texts.h"

namespace plumbline::text {
namespace {

TEST(RandomTexts, FormsHoldKernelsAndTheDefinition) { check_random_texts(0, 400); }

}  // namespace
}  // namespace plumbline::text
