// SPDX-License-Identifier: MIT
// Tests of all errors of an output beside those that the contract's model makes on the very same
// inputs. They find what lies inside every bound and favors no columns: a tile of k with a wrong
// factor, a unit less accurate than promised, one rounding more, a lean to one side.
//
// The null is never a formula. Units that truncate lean toward zero, so a conforming kernel has a
// profile along k and a bias of its own; the model has the same, because it is run. What lies
// between no error and the model's is never suspect: a kernel may be better than its contract.
//
//   RMS envelope  R^2 = sum e^2 / sum m^2             suspect: R > 2
//   flip rate     n = outputs off their rounding      suspect: n > n0 + 10 sqrt(n0) + 20
//   tile profile  beta = sum e S / sum S^2 per tile   suspect: 2^-20 beyond the model's
//   bias          b = mean(e sign y) / RMS(e)         suspect: 1/16 beyond the model's
//
// with e the kernel's errors, m the model's, y exact sums and S exact sums over one tile of k. Each
// has to be ten standard errors away as well. Those come from the kernel's own errors, row by row,
// with what the statistic explains taken away: a sum over rows of one thing each, which assumes no
// distribution and no independence within a row. A suspicion is no verdict: that takes the same one
// on fresh inputs (harness/population/population.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plumbline {

// Some rows and columns of an output. Everything is row-major and finite.
struct EnvelopeSample {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> exact;           // before the last rounding
  std::vector<double> errors;          // the kernel's output less exact
  std::vector<double> model_errors;    // the model's
  std::int64_t tile_depth = 0, k = 0;  // tile t is k from t * tile_depth on
  // What a tile contributes to the outputs, in their unit.
  std::function<std::vector<double>(std::int64_t tile)> tile;
  // Outputs that are not the rounding of the exact value; -1 for formats of more than 16 bits.
  std::int64_t flips = -1, model_flips = -1;
};

enum class EnvelopeTest : std::uint8_t { rms, flips, tile_profile, bias };

struct Suspicion {
  EnvelopeTest test = EnvelopeTest::rms;
  std::int64_t tile_begin = -1, tile_end = -1;  // of k, for tile_profile
  double effect = 0;     // R; n; beta or b less the nearest value of the envelope
  double sigmas = 0;     // standard errors beyond the envelope
  std::string words;     // what it is: "a factor of 1 + 1.0e-3 on k from 384 to 511"
  std::string output{};  // of a case with several: whose errors show it

  // The same statistic, output, tile and sign.
  bool same_as(const Suspicion& other) const {
    return test == other.test && output == other.output && tile_begin == other.tile_begin &&
           (effect > 0) == (other.effect > 0);
  }
};

struct EnvelopeResult {
  std::vector<Suspicion> suspicions;  // the most certain first
  // The smallest effects that would be suspect on four draws, nine times in ten: on any tile, on
  // the bias, for either sign and beside the effect that the model itself has. Infinite where no
  // effect could be.
  double detectable_factor = 0, detectable_bias = 0;
  std::int64_t detectable_flips = -1;  // -1: not counted
};

inline constexpr double kSuspectSigmas = 10, kSuspectRatio = 2, kSuspectFactor = 0x1p-20,
                        kSuspectBias = 0x1p-4;

// Fewer rows do not tell a standard error well enough, fewer outputs see little.
inline constexpr std::int64_t kFewestEnvelopeRows = 32, kFewestEnvelopeOutputs = 4096;

EnvelopeResult test_envelope(const EnvelopeSample& sample);

}  // namespace plumbline
