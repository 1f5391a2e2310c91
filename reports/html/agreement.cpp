// SPDX-License-Identifier: MIT
// Who gives the same bits as whom: every device beside every other, and beside exact arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/error_profile.h"
#include "reports/html/sections.h"
#include "reports/propagation_text.h"

namespace plumbline {
namespace {

// Of cases that both ran.
struct Agreement {
  std::int64_t cases = 0, same = 0;

  double share() const {
    return cases == 0 ? 0 : static_cast<double>(same) / static_cast<double>(cases);
  }
};

Cell share_of(double share, std::int64_t whole, std::string_view noun) {
  if (whole == 0) return number_cell(std::nan(""), "–");
  return number_cell(100 * share,
                     fmt::format("{} of {}", percent_text(share), counted(whole, noun)));
}

}  // namespace

Html agreement_matrix(const RunRecord& record) {
  std::map<std::string, std::map<std::string, std::string>> cases;  // text -> device -> bits
  std::map<std::string, ErrorProfile> devices;
  for (const CaseRecord& c : record.cases) {
    if (c.fingerprint.empty()) continue;
    cases[c.text][c.device] = c.fingerprint;
    for (const OutputRecord& output : c.outputs) devices[c.device].add(output.verdict);
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
  for (const auto& [device, errors] : devices) table.head.push_back(device);
  table.head.emplace_back("exact, rounded once");
  for (const auto& [one, errors] : devices) {
    std::vector<Cell> row = {cell(one)};
    for (const auto& [other, other_errors] : devices) {
      const Agreement& pair = pairs[{one, other}];
      row.push_back(share_of(pair.share(), pair.cases, "case"));
    }
    row.push_back(share_of(errors.share_within_half(), errors.outputs, "output"));
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
                "{} and {} give different bits in {} of {}: where both keep their contracts, they "
                "add in another order or precision.",
                least->first.first, least->first.second, count_text(worst.cases - worst.same),
                counted(worst.cases, "case"));
  Html content = to_html(table);
  content += element("p",
                     "Devices among themselves by whole cases, every bit of every output; beside "
                     "exact values by outputs that are within half an ulp (ties not counted where "
                     "others are further away).",
                     "class=\"note\"");
  return figure_around("Bitwise agreement of devices", finding, content);
}

}  // namespace plumbline
