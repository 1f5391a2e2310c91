// SPDX-License-Identifier: MIT
// The errors of one kernel's outputs: noise or bias, how bad is typical, and whether they grow with
// the length of the sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "oracles/reference/output_tally.h"
#include "reports/card.h"
#include "reports/error_profile.h"
#include "reports/html/sections.h"
#include "reports/propagation_text.h"
#include "reports/significance.h"

namespace plumbline {
namespace {

constexpr std::size_t kShownOutputs = 3;
constexpr const char* kColors[kShownOutputs] = {"blue", "orange", "green"};

std::vector<ErrorProfile> shown_profiles(const RunRecord& record, const KernelRecord& kernel) {
  std::vector<ErrorProfile> profiles = error_profiles(record, kernel.name);
  if (profiles.size() > kShownOutputs) profiles.resize(kShownOutputs);
  return profiles;
}

std::string label(const ErrorProfile& profile) {
  return fmt::format("{} ({})", profile.output, profile.format);
}

double share_of(std::int64_t part, const ErrorProfile& profile) {
  return static_cast<double>(part) / static_cast<double>(profile.outputs);
}

std::string describe_mean(const ErrorProfile& profile, bool failing) {
  constexpr double kOffCenter = 0.1;  // ulp; a nearest rounding is centered, a truncation 0.5 off
  constexpr double kFewInEnds = 0.01, kManyErrors = 4;  // standard errors
  constexpr std::int64_t kFewestOfMean = 64;
  const ErrorProfile::Mean mean = profile.mean();
  const double within = profile.share_within_half(), ends = profile.share_in_ends();
  const std::string start = fmt::format(
      "{} of {} of {} {} {} exact", percent_text(within), counted(profile.outputs, "output"),
      label(profile), profile.outputs == 1 ? "is" : "are",
      profile.worst_ulp <= 0.5 ? "within half an ulp of" : "less than half an ulp from");
  // The histogram does not hold how large the errors in its ends are: there is no mean of them.
  if (ends > kFewInEnds)
    return fmt::format("{}; {} are off by 4 ulp or more.", start, percent_text(ends));
  if (profile.outputs < kFewestOfMean) return start + ".";
  if (!failing) return fmt::format("{}; their mean error is {:+.3f} ulp.", start, mean.ulp);
  if (std::fabs(mean.ulp) > kOffCenter + kManyErrors * mean.error) {
    return fmt::format(
        "{}, and their mean error is {:+.2f} ulp: off center, as truncation or a "
        "dropped term is.",
        start, mean.ulp);
  }
  const std::string said = fmt::format("{}; their mean error is {:+.3f} ulp", start, mean.ulp);
  if (std::fabs(mean.ulp) + kManyErrors * mean.error > kOffCenter) return said + ".";
  return fmt::format(
      "{}, {}", said,
      within > 0.9 ? "as of results rounded once." : "centered, but wider than one rounding.");
}

// What one rounding to nearest gives: as many exact outputs, the others spread evenly over half an
// ulp to both sides.
double rounded_once(const ErrorProfile& profile, double start) {
  constexpr double kWidth = 8.0 / OutputTally::kCells;
  const double exact = share_of(profile.magnitudes.front(), profile);
  const bool within = start >= -0.5 && start < 0.5;
  return (within ? (1 - exact) * kWidth : 0) + (start == 0 ? exact : 0);
}

}  // namespace

Html error_histogram(const RunRecord& record, const KernelRecord& kernel) {
  const std::vector<ErrorProfile> profiles = shown_profiles(record, kernel);
  if (profiles.empty()) return {};
  Figure figure;
  figure.title = "Distribution of errors";
  figure.finding = describe_mean(profiles.front(), kernel.verdict == Verdict::fail);
  figure.x.title = "signed error in output ulp";
  figure.y = {"% of outputs", true};
  figure.table.head = {"from (ulp)"};
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    figure.table.head.push_back(fmt::format("{} %", label(profiles[i])));
    figure.series.push_back({label(profiles[i]), static_cast<int>(i + 1), "steps", kColors[i]});
  }
  figure.table.head.push_back("rounded once %");
  figure.series.push_back({fmt::format("{} if rounded once", label(profiles.front())),
                           static_cast<int>(profiles.size() + 1), "expected", "gray"});
  int first = OutputTally::kCells / 2 - 8, last = OutputTally::kCells / 2 + 8;
  for (const ErrorProfile& p : profiles) {
    for (int i = 0; i < OutputTally::kCells; ++i) {
      if (p.histogram[static_cast<std::size_t>(i)] == 0) continue;
      first = std::min(first, i);
      last = std::max(last, i + 1);
    }
  }
  const auto percent = [](double share) {
    return share == 0 ? Cell{escaped("0"), std::nan(""), true}
                      : number_cell(100 * share, fmt::format("{:.3g}", 100 * share));
  };
  for (int i = first; i < std::min(last, OutputTally::kCells); ++i) {
    const double start = histogram_start(i);
    std::vector<Cell> row = {
        number_cell(start, fmt::format("{:g}{}", start, i == 0 ? " and below" : ""))};
    for (const ErrorProfile& p : profiles)
      row.push_back(percent(share_of(p.histogram[static_cast<std::size_t>(i)], p)));
    row.push_back(percent(rounded_once(profiles.front(), start)));
    figure.table.rows.push_back(std::move(row));
  }
  figure.note = "The outermost cells hold everything beyond.";
  return to_html(figure);
}

Html error_quantiles(const RunRecord& record, const KernelRecord& kernel) {
  const std::vector<ErrorProfile> profiles = shown_profiles(record, kernel);
  if (profiles.empty()) return {};
  Figure figure;
  figure.title = "Error quantiles";
  std::string finding;
  for (const ErrorProfile& p : profiles) {
    finding += fmt::format("{}{}: half of the outputs within {} ulp, 99 % within {}, all within {}",
                           finding.empty() ? "" : "; ", label(p), ulp_number(p.quantile(0.5)),
                           ulp_number(p.quantile(0.99)), ulp_number(p.worst_ulp));
  }
  figure.finding = finding + ".";
  figure.x = {"error in output ulp, at most", true};
  figure.y = {"% of outputs", false};
  figure.table.head = {"at most (ulp)"};
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    figure.table.head.push_back(fmt::format("{} %", label(profiles[i])));
    figure.series.push_back({label(profiles[i]), static_cast<int>(i + 1), "line", kColors[i]});
  }
  for (int cell_at = 0; cell_at < OutputTally::kBinades; ++cell_at) {
    const double end = magnitude_end(cell_at);
    bool all = true, any = false;
    std::vector<Cell> row = {number_cell(end, cell_at == 0 ? "0 (exact)" : ulp_number(end))};
    for (const ErrorProfile& p : profiles) {
      const double share = p.share_within(cell_at);
      all = all && share == 1;
      any = any || share > 0;
      row.push_back(number_cell(100 * share, fmt::format("{:.6g}", 100 * share)));
    }
    if (any) figure.table.rows.push_back(std::move(row));
    if (all) break;
  }
  return to_html(figure);
}

namespace {

struct LengthProfile {
  ErrorProfile errors;
  std::int64_t cases = 0;
  std::vector<double> bounds;  // the typical admissible error of each case
};

using Lengths = std::map<std::int64_t, LengthProfile>;

// Errors by length of sums, of one output and one value class: classes whose sums cancel would only
// show how much they do.
Lengths lengths_of(const RunRecord& record, const KernelRecord& kernel, const ErrorProfile& output,
                   const std::string& value_class) {
  Lengths lengths;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name || c.value_class != value_class) continue;
    for (const OutputRecord& o : c.outputs) {
      const std::int64_t length = o.length_name.empty() ? c.length : o.length;
      if (o.name != output.output || o.format != output.format || length <= 0) continue;
      LengthProfile& at = lengths[length];
      at.errors.add(o.verdict);
      ++at.cases;
      if (o.verdict.bounded > 0) at.bounds.push_back(o.verdict.median_bound_ulp);
    }
  }
  std::erase_if(lengths, [](const auto& entry) { return entry.second.errors.outputs == 0; });
  return lengths;
}

// "normal" where it was tried at three lengths or more, else the class tried at most.
std::string telling_class(const RunRecord& record, const KernelRecord& kernel,
                          const ErrorProfile& output) {
  std::map<std::string, std::size_t> tried;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel == kernel.name && c.length > 0) tried[c.value_class];
  }
  std::string best;
  std::size_t most = 2;
  for (auto& [value_class, count] : tried) {
    count = lengths_of(record, kernel, output, value_class).size();
    if (count <= most) continue;
    most = count;
    best = value_class;
  }
  return tried.contains("normal") && tried["normal"] > 2 ? "normal" : best;
}

// Fewer outputs have no quantile of 99 %; errors far below an ulp of the output
// are as good as exact.
constexpr std::int64_t kFewestOutputs = 64;
constexpr double kAsGoodAsExact = 0x1p-10;

// What an interval of exponents excludes; empty where it excludes nothing. Output rounding alone
// has 0, independent roundings have 1/2, and both together lie between. Of a kernel that keeps its
// contract only the exponent is said: how errors grow is then a property of its arithmetic.
std::string describe_growth(const PowerLaw& law, const std::string& length, bool failing) {
  const bool faster = law.low > 0.5, flat = law.high < 0.25;
  if (!faster && !(failing && flat) && law.high >= 0) return {};
  std::string text = fmt::format(", as {} to the power {:.2f} (95 % interval {:.2f} to {:.2f})",
                                 length, law.exponent, law.low, law.high);
  if (!failing) return text;
  if (law.low > 1) return text + ": faster than the length itself";
  if (faster) {
    return text + ": faster than the square root, so the errors have one sign more often than not";
  }
  return text + ": long sums are not what is wrong";
}

// A power of ten well above the errors `most` of an axis: what lies beyond would press them into
// the frame.
double useful_limit(double most) { return std::pow(10, std::ceil(std::log10(most)) + 2); }

}  // namespace

Html error_by_length(const RunRecord& record, const KernelRecord& kernel) {
  const std::vector<ErrorProfile> profiles = shown_profiles(record, kernel);
  if (profiles.empty()) return {};
  const ErrorProfile& output = profiles.front();
  const std::string value_class = telling_class(record, kernel, output);
  const Lengths lengths = lengths_of(record, kernel, output, value_class);
  if (lengths.size() < 3) return {};
  std::string length_name;
  for (const CaseRecord& c : record.cases) {
    if (c.kernel != kernel.name) continue;
    if (!c.length_name.empty()) length_name = c.length_name;
    const auto own = std::ranges::find(c.outputs, output.output, &OutputRecord::name);
    if (own == c.outputs.end() || own->length_name.empty()) continue;
    length_name = own->length_name;
    break;
  }

  std::vector<std::pair<double, double>> points;
  for (const auto& [length, at] : lengths) {
    const double error = at.errors.quantile(0.99);
    if (at.errors.outputs < kFewestOutputs || error < kAsGoodAsExact || !std::isfinite(error))
      continue;
    points.emplace_back(static_cast<double>(length), error);
  }
  Figure figure;
  figure.title = fmt::format("Error by {}", length_name);
  if (points.size() < 2) {
    figure.finding = fmt::format(
        "No growth with {} is seen: too few lengths have errors to compare.", length_name);
  } else {
    // Half an ulp is the output's own rounding, which does not grow; what is hardly more is mostly
    // that.
    constexpr double kOwnRounding = 0.55;
    std::vector<std::pair<double, double>> grown;
    std::ranges::copy_if(points, std::back_inserter(grown),
                         [](const auto& point) { return point.second > kOwnRounding; });
    const std::optional<PowerLaw> law = power_law(grown);
    const std::string growth =
        law ? describe_growth(*law, length_name, kernel.verdict == Verdict::fail) : "";
    const auto [least, most] = std::ranges::minmax(points | std::views::values);
    const auto [from, to] = growth.empty() ? std::pair(least, most)
                                           : std::pair(points.front().second, points.back().second);
    figure.finding = fmt::format(
        "From {} = {:.0f} to {:.0f} the error that 99 % of {} keep within {} {:.3g} {} {:.3g} "
        "ulp{} (value class {}).",
        length_name, points.front().first, points.back().first, label(output),
        growth.empty() ? "is between" : "goes from", from, growth.empty() ? "and" : "to", to,
        growth, value_class);
    figure.y.limit = useful_limit(most);
  }
  figure.x = {length_name, true};
  figure.y.title = "error in output ulp";
  figure.y.log = true;
  figure.table.head = {length_name,   "cases",       "half (ulp)",
                       "99 % (ulp)",  "worst (ulp)", "half allowed (ulp)",
                       "square root", "linear"};
  figure.series = {{"99 % of outputs", 3, "line", "blue"},
                   {"worst", 4, "dots", "vermillion"},
                   {"allowed to half of them", 5, "line", "gray"},
                   {"grows as the square root", 6, "dashed", "green"},
                   {"grows linearly", 7, "dashed", "orange"}};
  double allowed = 0, worst = 0;
  for (const auto& [length, at] : lengths) {
    const auto x = static_cast<double>(length);
    std::vector<double> bounds = at.bounds;
    std::sort(bounds.begin(), bounds.end());
    const double bound = bounds.empty() ? std::nan("") : bounds[bounds.size() / 2];
    const double root =
        points.empty() ? std::nan("") : points.front().second * std::sqrt(x / points.front().first);
    const double linear =
        points.empty() ? std::nan("") : points.front().second * x / points.front().first;
    std::vector<Cell> row = {count_cell(length), count_cell(at.cases)};
    for (const double value : {at.errors.quantile(0.5), at.errors.quantile(0.99),
                               at.errors.worst_ulp, bound, root, linear})
      row.push_back(number_cell(value, ulp_number(value)));
    if (bound > allowed) allowed = bound;
    worst = std::max(worst, at.errors.worst_ulp);
    figure.table.rows.push_back(std::move(row));
  }
  if (std::max(worst, allowed) <= figure.y.limit) figure.y.limit = std::nan("");
  if (!std::isnan(figure.y.limit)) {
    std::string beyond;
    if (worst > figure.y.limit) beyond = fmt::format("worst errors up to {}", ulp_number(worst));
    if (allowed > figure.y.limit) {
      beyond += fmt::format("{} up to {}", beyond.empty() ? "allowed errors" : " and allowed ones",
                            ulp_number(allowed));
    }
    figure.note = fmt::format("The axis ends at {} ulp; {} ulp are in the numbers only.",
                              ulp_number(figure.y.limit), beyond);
  }
  return to_html(figure);
}

}  // namespace plumbline
