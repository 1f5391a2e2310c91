// SPDX-License-Identifier: MIT
// Who gives the same bits as whom: every device beside every other, and beside exact arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/html_sections.h"

namespace plumbline {
namespace {

// Of cases that both ran.
struct Agreement {
  std::int64_t cases = 0, same = 0;
};

// The outputs of a device that lie within half an ulp of the exact value, as rounding once does.
struct Nearest {
  std::int64_t outputs = 0, nearest = 0;
};

// OutputVerdict::magnitudes: cell i has the errors below 2^(i - 10) ulp.
constexpr std::size_t kHalfAnUlp = 9;

Nearest nearest_of(const RunRecord& record, const std::string& device) {
  Nearest out;
  for (const CaseRecord& c : record.cases) {
    if (c.device != device) continue;
    for (const OutputRecord& output : c.outputs) {
      for (std::size_t i = 0; i < output.verdict.magnitudes.size(); ++i) {
        out.outputs += output.verdict.magnitudes[i];
        if (i <= kHalfAnUlp) out.nearest += output.verdict.magnitudes[i];
      }
    }
  }
  return out;
}

double percent(std::int64_t part, std::int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Cell share_of(std::int64_t part, std::int64_t whole, std::string_view noun) {
  if (whole == 0) return cell("-");
  const double share = percent(part, whole);
  return number_cell(share, fmt::format("{:.1f} % of {}", share, counted(whole, noun)));
}

}  // namespace

Html agreement_matrix(const RunRecord& record) {
  std::map<std::string, std::map<std::string, std::string>> cases;  // text -> device -> bits
  std::set<std::string> devices;
  for (const CaseRecord& c : record.cases) {
    if (c.fingerprint.empty()) continue;
    cases[c.text][c.device] = c.fingerprint;
    devices.insert(c.device);
  }
  std::map<std::pair<std::string, std::string>, Agreement> pairs;  // both ways round
  for (const auto& [text, bits] : cases) {
    for (const auto& [one, one_bits] : bits) {
      for (const auto& [other, other_bits] : bits) {
        if (one == other) continue;
        Agreement& pair = pairs[{one, other}];
        ++pair.cases;
        pair.same += one_bits == other_bits;
      }
    }
  }
  if (pairs.empty()) return {};
  Table table;
  table.head = {"the same bits as"};
  table.head.insert(table.head.end(), devices.begin(), devices.end());
  table.head.emplace_back("exact, rounded once");
  for (const std::string& one : devices) {
    std::vector<Cell> row = {cell(one)};
    for (const std::string& other : devices)
      row.push_back(share_of(pairs[{one, other}].same, pairs[{one, other}].cases, "case"));
    const Nearest nearest = nearest_of(record, one);
    row.push_back(share_of(nearest.nearest, nearest.outputs, "output"));
    table.rows.push_back(std::move(row));
  }
  const auto least = std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return a.second.cases - a.second.same < b.second.cases - b.second.same;
  });
  const Agreement& worst = least->second;
  const std::string finding =
      worst.same == worst.cases
          ? "All devices give the same bits in every case that two of them ran."
          : fmt::format(
                "{} and {} give different bits in {} of {}: where both keep their "
                "contracts, chips that add up differently.",
                least->first.first, least->first.second, count_text(worst.cases - worst.same),
                counted(worst.cases, "case"));
  Html content = to_html(table);
  content += element("p",
                     "Devices among themselves by whole cases, every bit of every output; beside "
                     "exact values by outputs that are within half an ulp.",
                     "class=\"note\"");
  return figure_around("Who gives the same bits as whom?", finding, content);
}

}  // namespace plumbline
