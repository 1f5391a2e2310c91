// SPDX-License-Identifier: MIT
#include "harness/cli/text/progress.h"

#include <fmt/format.h>

#include "reports/count_text.h"

namespace plumbline {

std::string progress_text(const Progress& p, int width) {
  const std::string kernel = p.kernel + "   ";
  std::string done =
      fmt::format("{}/{} cases, {:.0f} %", count_text(p.done), count_text(p.total), 100 * p.share);
  if (p.failed > 0) done += fmt::format("   {} failed", count_text(p.failed));
  if (p.shrinking > 0) done += fmt::format("   {} shrinking", p.shrinking);
  if (p.seconds <= 0) return kernel + done;
  const double per_second = static_cast<double>(p.done) / p.seconds;
  const std::string rate = per_second < 10 ? fmt::format("   {:.1f}/s", per_second)
                                           : fmt::format("   {:.0f}/s", per_second);
  std::string left;
  // What little is done says nothing of the rest.
  if (p.share >= 0.01 && p.share < 1)
    left = fmt::format("   {} left", duration_text(p.seconds / p.share - p.seconds));
  const auto fits = [&](const std::string& line) {
    return line.size() <= static_cast<std::size_t>(width);
  };
  if (std::string line = kernel + done + rate + left; fits(line)) return line;
  if (std::string line = kernel + done + left; fits(line)) return line;
  return done + left;
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace plumbline
