// SPDX-License-Identifier: MIT
#include "reports/error_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "oracles/reference/output_tally.h"

namespace plumbline {
namespace {

constexpr int kCells = OutputTally::kCells, kBinades = OutputTally::kBinades;
constexpr double kCellWidth = 8.0 / kCells;

void add_cells(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& part) {
  sum.resize(std::max(sum.size(), part.size()));
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
}

}  // namespace

double magnitude_end(int cell) {
  if (cell == 0) return 0;
  return cell == kBinades - 1 ? std::numeric_limits<double>::infinity()
                              : std::ldexp(1.0, cell - OutputTally::kFirstBinade);
}

double histogram_start(int cell) { return -4 + cell * kCellWidth; }

void ErrorProfile::add(const OutputVerdict& verdict) {
  add_cells(histogram, verdict.histogram);
  add_cells(magnitudes, verdict.magnitudes);
  worst_ulp = std::max(worst_ulp, verdict.worst_ulp);
  for (const std::int64_t count : verdict.magnitudes) outputs += count;
}

double ErrorProfile::quantile(double share) const {
  if (outputs == 0) return std::numeric_limits<double>::quiet_NaN();
  const double due = share * static_cast<double>(outputs);
  double end = worst_ulp;
  std::int64_t seen = 0;
  for (int cell = 0; cell < static_cast<int>(magnitudes.size()); ++cell) {
    seen += magnitudes[static_cast<std::size_t>(cell)];
    if (static_cast<double>(seen) < due) continue;
    end = std::min(end, magnitude_end(cell));
    break;
  }
  // Near zero the histogram is finer: both its sides, without the open ends.
  seen = 0;
  for (int cell = 0; histogram.size() == kCells && cell < kCells / 2 - 1; ++cell) {
    seen += histogram[static_cast<std::size_t>(kCells / 2 + cell)] +
            histogram[static_cast<std::size_t>(kCells / 2 - 1 - cell)];
    if (static_cast<double>(seen) < due) continue;
    end = std::min(end, (cell + 1) * kCellWidth);
    break;
  }
  return end;
}

double ErrorProfile::share_within(int binade_cell) const {
  std::int64_t seen = 0;
  for (int cell = 0; cell <= binade_cell && cell < static_cast<int>(magnitudes.size()); ++cell)
    seen += magnitudes[static_cast<std::size_t>(cell)];
  return outputs == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(outputs);
}

double ErrorProfile::share_within_half() const {
  if (outputs > 0 && worst_ulp <= 0.5) return 1;
  return share_within(OutputTally::kFirstBinade - 1);  // cells end at 2^(cell - kFirstBinade)
}

double ErrorProfile::share_in_ends() const {
  if (histogram.empty() || outputs == 0) return 0;
  return static_cast<double>(histogram.front() + histogram.back()) / static_cast<double>(outputs);
}

ErrorProfile::Mean ErrorProfile::mean() const {
  double sum = 0, squares = 0, count = 0;
  // The open end cells hold errors of any size.
  for (int cell = 1; cell + 1 < static_cast<int>(histogram.size()); ++cell) {
    const auto n = static_cast<double>(histogram[static_cast<std::size_t>(cell)]);
    const double middle = histogram_start(cell) + kCellWidth / 2;
    sum += n * middle;
    squares += n * middle * middle;
    count += n;
  }
  // Exact outputs are counted in the cell that starts at 0; their error is 0, not its middle.
  if (!magnitudes.empty()) sum -= static_cast<double>(magnitudes[0]) * kCellWidth / 2;
  if (count == 0) return {};
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

std::vector<ErrorProfile> error_profiles(const RunRecord& record, const std::string& kernel,
                                         const std::string& value_class) {
  std::map<std::pair<std::string, std::string>, ErrorProfile> found;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel || (!value_class.empty() && c.value_class != value_class)) continue;
    for (const OutputRecord& o : c.outputs) {
      ErrorProfile& profile = found[{o.name, o.format}];
      profile.output = o.name;
      profile.format = o.format;
      profile.add(o.verdict);
    }
  }
  std::vector<ErrorProfile> profiles;
  for (auto& [key, profile] : found) {
    if (profile.outputs > 0) profiles.push_back(std::move(profile));
  }
  std::stable_sort(
      profiles.begin(), profiles.end(),
      [](const ErrorProfile& a, const ErrorProfile& b) { return a.outputs > b.outputs; });
  return profiles;
}

}  // namespace plumbline
