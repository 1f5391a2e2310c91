// SPDX-License-Identifier: MIT
#include "tests/oracles/reference/text/random_texts.h"

namespace plumbline::text {
namespace {

TEST(RandomTextsDeep, FormsHoldKernelsAndTheDefinition) { check_random_texts(1000, 60000); }

}  // namespace
}  // namespace plumbline::text
