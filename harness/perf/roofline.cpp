// SPDX-License-Identifier: MIT
#include "harness/perf/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "oracles/base/text.h"

namespace plumbline {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", 1e9 * seconds);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

}  // namespace

std::string Ceiling::least_time() const { return duration_text(seconds); }

double peak_of(const std::string& instruction, const TensorPeaks& peaks, std::string& words) {
  // The type of A, or of both factors; the accumulator's says nothing.
  const std::vector<std::string_view> parts = split(instruction, '.');
  const auto has = [&](std::string_view word) { return std::ranges::count(parts, word) > 0; };
  if (has("kind::mxf4") || has("kind::mxf4nvf4")) return words = "FP4", peaks.fp4;
  if (has("kind::f8f6f4") || has("kind::mxf8f6f4")) return words = "FP8", peaks.fp8;
  if (has("kind::i8")) return words = "INT8", peaks.int8;
  if (has("kind::tf32")) return words = "TF32", peaks.tf32;
  if (has("kind::f16")) return words = "16-bit", peaks.bits16;
  if (has("e4m3") || has("e5m2")) return words = "FP8", peaks.fp8;
  if (has("s8") || has("u8")) return words = "INT8", peaks.int8;
  if (has("tf32")) return words = "TF32", peaks.tf32;
  if (has("bf16") || has("f16")) return words = "16-bit", peaks.bits16;
  if (has("f64")) return words = "FP64", peaks.f64;
  return 0;
}

std::optional<Ceiling> ceiling(const PerfEntry& entry, const Chip& chip) {
  // Of the launches one after the other: at least as long as the longer of both.
  double seconds = 0, bytes = 0, macs = 0;
  double by_memory = 0, by_tensor = 0, by_grid = 0;
  double best_peak = 0;
  Ceiling out;
  for (const PerfLaunch& launch : entry.launches) {
    const PerfLine* most = nullptr;
    for (const PerfLine& line : launch.lines) {
      const std::uint64_t own = line.counts[Counter::tensor_macs];
      if (own > 0 && (most == nullptr || own > most->counts[Counter::tensor_macs])) most = &line;
    }
    const auto moved = static_cast<double>(launch.least_memory_bytes());
    const double memory = moved / (chip.bandwidth * 1e9);
    double tensor = 0, grid = 0;
    if (most != nullptr) {
      std::string words;
      const double peak = peak_of(most->instruction, chip.tensor, words);
      if (peak == 0) return std::nullopt;
      const auto own = static_cast<double>(launch.totals[Counter::tensor_macs]);
      tensor = own / (peak * 0.5e12);
      const double used =
          std::min(1.0, static_cast<double>(launch.blocks()) / chip.multiprocessors);
      if (used < 1) grid = tensor / used;
      macs += own;
      if (peak > best_peak) {
        best_peak = peak;
        out.peak = words;
      }
    }
    const double longest = std::max({memory, tensor, grid});
    if (longest == memory) {
      by_memory += longest;
    } else if (longest == grid) {
      by_grid += longest;
    } else {
      by_tensor += longest;
    }
    seconds += longest;
    bytes += moved;
  }
  if (seconds == 0 || bytes == 0) return std::nullopt;
  const double useful = std::min(entry.useful_macs.value_or(macs), macs);
  out.seconds = seconds;
  out.intensity = useful / bytes;
  out.peak_rate = best_peak;
  if (best_peak > 0) out.share = useful / (best_peak * 0.5e12) / seconds;
  out.bound = by_memory >= std::max(by_tensor, by_grid) ? Bound::memory
              : by_grid >= by_tensor                    ? Bound::grid
                                                        : Bound::tensor_cores;
  return out;
}

std::string_view name(Bound bound) {
  constexpr std::array<std::string_view, 3> kNames = {"memory", "products", "grid"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::string ceiling_words(const Ceiling& top, const Chip& chip) {
  const std::string least = "at least " + top.least_time();
  if (top.peak.empty()) return fmt::format("{} on {}, for its bytes alone", least, one_of(chip));
  const std::string bound =
      top.bound == Bound::grid
          ? fmt::format("its grid, of fewer blocks than {} multiprocessors", chip.multiprocessors)
      : top.bound == Bound::memory ? "memory"
                                   : "its products";
  return fmt::format(
      "at most {:.3g} % of the {} peak of {}, bound by {}: {:.3g} useful products for each byte; "
      "{}",
      100 * top.share, top.peak, one_of(chip), bound, top.intensity, least);
}

}  // namespace plumbline
