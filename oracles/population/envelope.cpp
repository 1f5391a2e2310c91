// SPDX-License-Identifier: MIT
#include "oracles/population/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"

namespace plumbline {
namespace {

// Factors that bring the exact values of every row and every column to about 1, for all scales: 1 /
// (r_i c_j). Rows and columns of zeros have the factor 0.
std::vector<double> weights_of(const EnvelopeSample& sample) {
  const auto rows = static_cast<std::size_t>(sample.rows),
             columns = static_cast<std::size_t>(sample.columns);
  std::vector<double> of_row(rows), of_column(columns), weights(rows * columns);
  const auto inverse_rms = [](double squares, std::size_t count) {
    return squares == 0 ? 0 : 1 / std::sqrt(squares / static_cast<double>(count));
  };
  for (std::size_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < columns; ++j)
      squares += sample.exact[i * columns + j] * sample.exact[i * columns + j];
    of_row[i] = inverse_rms(squares, columns);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    double squares = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const double y = sample.exact[i * columns + j] * of_row[i];
      squares += y * y;
    }
    of_column[j] = inverse_rms(squares, rows);
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) weights[i * columns + j] = of_row[i] * of_column[j];
  return weights;
}

// Sums over each row, for statistics that are quotients of them.
struct RowSums {
  std::vector<double> of_row;

  double total() const {
    double sum = 0;
    for (const double x : of_row) sum += x;
    return sum;
  }

  // The standard error of the total, rows being independent: of this less `share` times another.
  double deviation(const RowSums& other, double share) const {
    double squares = 0;
    for (std::size_t i = 0; i < of_row.size(); ++i) {
      const double x = of_row[i] - share * other.of_row[i];
      squares += x * x;
    }
    const auto rows = static_cast<double>(of_row.size());
    return std::sqrt(squares * rows / (rows - 1));
  }
};

std::string lean(double bias) {
  const double percent = std::round(100 * bias);
  if (percent == 0) return "to neither side";
  return fmt::format("{} zero by {:.0f} % of their size", percent > 0 ? "away from" : "toward",
                     std::fabs(percent));
}

class Envelope {
 public:
  explicit Envelope(const EnvelopeSample& sample) : sample_(sample), weights_(weights_of(sample)) {}

  EnvelopeResult run() {
    test_rms();
    test_flips();
    test_tiles();
    test_bias();
    std::stable_sort(result_.suspicions.begin(), result_.suspicions.end(),
                     [](const Suspicion& a, const Suspicion& b) { return a.sigmas > b.sigmas; });
    return std::move(result_);
  }

 private:
  // Row by row, the weighted sum of term(index, weight).
  template <typename Term>
  RowSums sums(const Term& term) const {
    RowSums sums{std::vector<double>(static_cast<std::size_t>(sample_.rows))};
    const auto columns = static_cast<std::size_t>(sample_.columns);
    for (std::size_t at = 0; at < weights_.size(); ++at)
      sums.of_row[at / columns] += term(at, weights_[at]);
    return sums;
  }

  RowSums products(const std::vector<double>& x, const std::vector<double>& y) const {
    return sums([&](std::size_t at, double w) { return x[at] * w * y[at] * w; });
  }

  // How far x is outside the values from 0 to the model's, with its sign.
  static double beyond(double x, double model) {
    return x - std::clamp(x, std::min(0.0, model), std::max(0.0, model));
  }

  // What an effect must have beyond the least suspect one to be suspect on all four draws of a
  // verdict nine times in ten: the way past the model's own, and two standard errors.
  static double found(double deviation, double model) { return 2 * deviation + std::fabs(model); }

  static double in_sigmas(double effect, double deviation) {
    if (effect == 0) return 0;
    return deviation == 0 ? kInfinity : std::fabs(effect) / deviation;
  }

  // The difference of the squares has to be certain, too: one large error is no population.
  void test_rms() {
    const RowSums errors = products(sample_.errors, sample_.errors),
                  model = products(sample_.model_errors, sample_.model_errors);
    const double squares = errors.total(), allowed = model.total();
    if (squares <= kSuspectRatio * kSuspectRatio * allowed) return;
    const RowSums excess = sums([&](std::size_t at, double w) {
      const double e = sample_.errors[at] * w, m = sample_.model_errors[at] * w;
      return e * e - m * m;
    });
    const RowSums ones{std::vector<double>(excess.of_row.size(), 1.0)};
    const double mean = excess.total() / static_cast<double>(sample_.rows);
    const double sigmas = in_sigmas(excess.total(), excess.deviation(ones, mean));
    if (sigmas <= kSuspectSigmas) return;
    const double ratio = std::sqrt(squares / allowed);
    std::string words = allowed == 0 ? "errors where the contract's model has none"
                                     : fmt::format(
                                           "errors {:.1f} times as large as those of the "
                                           "contract's model",
                                           ratio);
    result_.suspicions.push_back({EnvelopeTest::rms, -1, -1, ratio, sigmas, std::move(words)});
  }

  void test_flips() {
    if (sample_.flips < 0) return;
    const auto flips = static_cast<double>(sample_.flips),
               expected = static_cast<double>(sample_.model_flips);
    const double most = expected + kSuspectSigmas * std::sqrt(expected) + 20;
    result_.detectable_flips = static_cast<std::int64_t>(std::floor(most)) + 1;
    if (flips <= most) return;
    result_.suspicions.push_back(
        {EnvelopeTest::flips, -1, -1, flips,
         (flips - expected) / std::sqrt(std::max(expected, 1.0)),
         fmt::format("{} of {} outputs that are not the exact value rounded, where the contract's "
                     "model has {}",
                     sample_.flips, sample_.rows * sample_.columns, sample_.model_flips)});
  }

  void test_tiles() {
    for (std::int64_t begin = 0; begin < sample_.k; begin += sample_.tile_depth) {
      const std::vector<double> tile = sample_.tile(begin / sample_.tile_depth);
      const RowSums own = products(tile, tile), errors = products(sample_.errors, tile);
      const double squares = own.total();
      if (squares == 0) continue;
      const double beta = errors.total() / squares,
                   model = products(sample_.model_errors, tile).total() / squares,
                   deviation = errors.deviation(own, beta) / squares;
      const double least = kSuspectSigmas * deviation + kSuspectFactor;
      result_.detectable_factor =
          std::max(result_.detectable_factor, least + found(deviation, model));
      const double effect = beyond(beta, model);
      if (std::fabs(effect) <= least) continue;
      const std::int64_t end = std::min(sample_.k, begin + sample_.tile_depth);
      result_.suspicions.push_back(
          {EnvelopeTest::tile_profile, begin, end, effect, in_sigmas(effect, deviation),
           fmt::format("a factor of 1 {} {:.1e} on k from {} to {}", effect > 0 ? '+' : '-',
                       std::fabs(effect), begin, end - 1)});
    }
  }

  void test_bias() {
    const auto side = [&](const std::vector<double>& errors) {
      return sums([&](std::size_t at, double w) {
        const double e = errors[at] * w;
        return sample_.exact[at] > 0 ? e : sample_.exact[at] < 0 ? -e : 0;
      });
    };
    const auto count = static_cast<double>(weights_.size());
    const auto rms = [&](const std::vector<double>& errors) {
      return std::sqrt(products(errors, errors).total() / count);
    };
    const double size = rms(sample_.errors), model_size = rms(sample_.model_errors);
    result_.detectable_bias = kInfinity;
    if (size == 0) return;
    const RowSums leaning = side(sample_.errors);
    const RowSums ones{std::vector<double>(leaning.of_row.size(), 1.0)};
    const double bias = leaning.total() / count / size,
                 model =
                     model_size == 0 ? 0 : side(sample_.model_errors).total() / count / model_size,
                 mean = leaning.total() / static_cast<double>(sample_.rows),
                 deviation = leaning.deviation(ones, mean) / count / size;
    const double least = kSuspectSigmas * deviation + kSuspectBias;
    result_.detectable_bias = least + found(deviation, model);
    const double effect = beyond(bias, model);
    if (std::fabs(effect) <= least) return;
    result_.suspicions.push_back(
        {EnvelopeTest::bias, -1, -1, effect, in_sigmas(effect, deviation),
         fmt::format("errors that lean {}, those of the contract's model {}", lean(bias),
                     lean(model))});
  }

  const EnvelopeSample& sample_;
  std::vector<double> weights_;
  EnvelopeResult result_;
};

}  // namespace

EnvelopeResult test_envelope(const EnvelopeSample& sample) {
  const auto count = static_cast<std::size_t>(sample.rows * sample.columns);
  PLUMB_ASSERT(sample.rows >= 2 && sample.exact.size() == count && sample.errors.size() == count &&
               sample.model_errors.size() == count);
  return Envelope(sample).run();
}

}  // namespace plumbline
