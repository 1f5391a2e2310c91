// SPDX-License-Identifier: MIT
#include "reports/code_quality.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/places.h"
#include "reports/record/escape.h"

namespace plumbline {

std::string code_quality_json(const RunRecord& record, const std::string& root) {
  using Json = nlohmann::ordered_json;
  Json issues = Json::array();
  for (const PlaceFindings& place : code_places(record, root)) {
    const FindingPlace& first = place.first;
    if (first.file.starts_with('/')) continue;  // no file of the repository
    issues.push_back(
        {{"description", readable(fmt::format("{}. {}", first.finding.text, seen_in(place)))},
         {"check_name", "plumbline: " + readable(first.finding.kind)},
         {"fingerprint", place.fingerprint},
         {"severity", "critical"},
         {"location", {{"path", readable(first.file)}, {"lines", {{"begin", first.line}}}}}});
  }
  return issues.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumbline
