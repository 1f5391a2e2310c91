// SPDX-License-Identifier: MIT
#include "reports/sarif_document.h"

#include <fmt/format.h>

#include <utility>

#include "reports/record/escape.h"

namespace plumbline {

using Json = nlohmann::ordered_json;

std::string sarif_rule_id(std::string kind) {
  for (char& c : kind) c = c == ' ' ? '-' : c;
  return kind;
}

Json sarif_location(const std::string& file, int line) {
  const bool absolute = file.starts_with('/');
  Json artifact = {{"uri", (absolute ? "file://" : "") + uri_path(readable(file))}};
  if (!absolute) artifact["uriBaseId"] = "%SRCROOT%";
  return {{"physicalLocation",
           {{"artifactLocation", std::move(artifact)}, {"region", {{"startLine", line}}}}}};
}

std::string sarif_document(const std::string& version, const std::string& verb, Json rules,
                           Json results) {
  const Json sarif = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       Json::array(
           {{{"tool",
              {{"driver",
                {{"name", "plumbline"}, {"version", version}, {"rules", std::move(rules)}}}}},
             {"automationDetails", {{"id", fmt::format("plumbline/{}/", verb)}}},
             {"columnKind", "utf16CodeUnits"},
             {"results", std::move(results)}}})}};
  return sarif.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumbline
