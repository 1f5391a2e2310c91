// SPDX-License-Identifier: MIT
#include "tests/oracles/reference/text/known_gradients.h"
#include "tests/oracles/reference/text/random_texts.h"

namespace plumbline::text {
namespace {

TEST(RandomTextsDeep, FormsHoldKernelsAndTheDefinition) { check_random_texts(1000, 100000); }

TEST(TextGradientsDeep, AreThoseOfTheFormulasThatAreKnown) { check_known_gradients(10000); }

}  // namespace
}  // namespace plumbline::text
