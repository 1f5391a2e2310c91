// SPDX-License-Identifier: MIT
#include "reports/places.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace plumbline {
namespace {

std::string relative_to(const std::string& file, std::string root) {
  if (!root.ends_with('/')) root += '/';
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

}  // namespace

std::vector<FindingPlace> finding_places(const RunRecord& record, const std::string& root) {
  std::map<std::tuple<std::string, std::string, std::string, int>, FindingPlace> places;
  for (const CaseRecord& c : record.cases) {
    std::set<const FindingPlace*> seen;  // in this case, at whichever instruction of the line
    for (const FindingRecord& f : c.findings) {
      const bool source = !f.source_file.empty() && f.source_line > 0;
      if (!source && (f.ptx_file.empty() || f.ptx_line <= 0)) continue;
      const std::string file = relative_to(source ? f.source_file : f.ptx_file, root);
      const int line = source ? f.source_line : f.ptx_line;
      FindingPlace& place = places[{c.kernel, f.kind, file, line}];
      if (place.cases == 0) place = {c.kernel, f, file, line, c.text};
      if (seen.insert(&place).second) ++place.cases;
    }
  }
  std::vector<FindingPlace> sorted;
  for (auto& [key, place] : places) sorted.push_back(std::move(place));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const FindingPlace& a, const FindingPlace& b) { return a.cases > b.cases; });
  return sorted;
}

}  // namespace plumbline
