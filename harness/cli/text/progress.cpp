// SPDX-License-Identifier: MIT
#include "harness/cli/text/progress.h"

#include <fmt/format.h>

#include "reports/count_text.h"

namespace plumbline {

std::string progress_text(const Progress& p) {
  std::string line = fmt::format("{}   {}/{} cases, {:.0f} %", p.kernel, count_text(p.done),
                                 count_text(p.total), 100 * p.share);
  if (p.failed > 0) line += fmt::format("   {} failed", count_text(p.failed));
  if (p.shrinking > 0) line += fmt::format("   {} shrinking", p.shrinking);
  if (p.seconds <= 0) return line;
  const double rate = static_cast<double>(p.done) / p.seconds;
  line += rate < 10 ? fmt::format("   {:.1f}/s", rate) : fmt::format("   {:.0f}/s", rate);
  // What little is done says nothing of the rest.
  if (p.share >= 0.01 && p.share < 1)
    line += fmt::format("   {} left", duration_text(p.seconds / p.share - p.seconds));
  return line;
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace plumbline
