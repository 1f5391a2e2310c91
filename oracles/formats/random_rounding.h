// SPDX-License-Identifier: MIT
// Monte Carlo arithmetic (Parker, 1997): rounding errors made random, so that the spread of many
// runs shows what they do to a result. An exact value is moved by a uniformly random amount of up
// to half a unit of the last place that is kept, either way, and then rounded as it always is:
//   - to nearest, this is stochastic rounding: up or down with probability by distance, right on
//     average;
//   - toward zero, up or down, the result keeps the bias of the direction, half a unit, so that a
//     mean over many runs shows it.
// A value that needs no rounding stays as it is, and no result is moved across zero.
#pragma once

#include <cstdint>

#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"

namespace plumbline {

// Which way a rounding goes, in magnitude.
enum class Pull : std::uint8_t { nearest, toward_zero, away };

Pull pull_of(Rounding rounding, bool negative);

// Steps from the lower neighbor in magnitude, for a value that lies at `position` in (0, 1) of the
// way to the upper one. `noise` is uniform in [0, 1). -1 to 2; 0 or 1 to nearest.
int random_step(Pull pull, double position, double noise);

// The exact value `sum` + `error`, |error| at most half an ulp of the double `sum`, with its
// rounding moved. `usual` is the code that the rounding gives undisturbed: it stays where it is
// exact, where it is not finite, and where a neighbor is not. For formats of at most 24 significant
// bits.
std::uint64_t encode_randomly(const Format& format, std::uint64_t usual, double sum, double error,
                              Rounding rounding, double noise);

}  // namespace plumbline
