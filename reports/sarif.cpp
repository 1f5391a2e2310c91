// SPDX-License-Identifier: MIT
#include "reports/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "oracles/base/hash.h"
#include "reports/places.h"
#include "reports/record/escape.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

// GitHub shows no more results of a run.
constexpr std::size_t kMostResults = 5000;

std::string rule_id(std::string kind) {
  for (char& c : kind) c = c == ' ' ? '-' : c;
  return kind;
}

// What a rule is about, for people who do not know plumbline.
std::string_view help(std::string_view kind) {
  static const std::map<std::string_view, std::string_view> kHelp = {
      {"out of bounds", "An access outside every allocation, or outside its memory space."},
      {"misaligned", "An access whose address is not a multiple of its size."},
      {"read of unwritten memory", "A read of memory that nothing has written."},
      {"race",
       "Two lanes or blocks access one address, one of them writing, and nothing orders the two."},
      {"missing wait", "Data of an asynchronous copy is used before the copy was waited for."},
      {"divergent barrier", "A barrier or .aligned instruction that only part of a warp reaches."},
      {"deadlock", "No warp can go on."},
      {"trap", "The kernel trapped, or an assertion in it failed."},
      {"device exception",
       "The GPU stopped the kernel, often for an access outside shared memory; it names no cause."},
      {"endless loop", "The kernel did not end within its budget of instructions."},
      {"division by zero",
       "A quotient or remainder of integers by zero, which the ISA leaves open."},
      {"unwritten register", "Outputs depend on a register that nothing has written."},
      {"bad operand", "An operand no correct kernel gives: a lane or barrier that takes no part."},
      {"write outside output", "Memory around an output or in its padding was changed."},
      {"wrong value",
       "An output that the kernel's contract does not allow was stored here; it may have gone "
       "wrong on the way here."},
  };
  const auto found = kHelp.find(kind);
  return found == kHelp.end() ? "Something no correct kernel does." : found->second;
}

Json location(const std::string& file, int line) {
  const bool absolute = file.starts_with('/');
  Json artifact = {{"uri", (absolute ? "file://" : "") + uri_path(readable(file))}};
  if (!absolute) artifact["uriBaseId"] = "%SRCROOT%";
  return {{"physicalLocation",
           {{"artifactLocation", std::move(artifact)}, {"region", {{"startLine", line}}}}}};
}

Json result(const FindingPlace& place, const std::string& fingerprint_text) {
  const FindingRecord& f = place.finding;
  Json json = {
      {"ruleId", rule_id(f.kind)},
      {"level", "error"},
      {"message",
       {{"text", readable(fmt::format("{}. Seen in {} case{} of {}; replay one with: plumbline "
                                      "replay {}",
                                      f.text, place.cases, place.cases == 1 ? "" : "s",
                                      place.kernel, place.replay))}}},
      {"locations", Json::array({location(place.file, place.line)})},
      {"partialFingerprints",
       {{"plumblineFinding/v1", fmt::format("{:016x}", fingerprint(fingerprint_text))}}}};
  json["locations"][0]["logicalLocations"] =
      Json::array({{{"name", readable(place.kernel)}, {"kind", "function"}}});
  Json related = Json::array();
  const auto relate = [&](const std::string& file, int line, const std::string& message) {
    related.push_back(location(file, line));
    related.back()["message"] = {{"text", readable(message)}};
  };
  if (!f.source_file.empty() && !f.ptx_file.empty() && f.ptx_line > 0)
    relate(f.ptx_file, f.ptx_line, "the PTX instruction");
  if (!place.other.file.empty())
    relate(place.other.file, place.other.line, "the other access: " + f.other->text);
  if (!related.empty()) json["relatedLocations"] = std::move(related);
  return json;
}

}  // namespace

std::string sarif_json(const RunRecord& record, const std::string& root) {
  std::vector<FindingPlace> places = finding_places(record, root);
  std::ranges::move(store_places(record, root), std::back_inserter(places));
  if (places.size() > kMostResults) places.resize(kMostResults);
  std::map<std::string, std::string> rules;  // id -> kind
  for (const FindingPlace& place : places) rules[rule_id(place.finding.kind)] = place.finding.kind;
  Json rule_list = Json::array();
  for (const auto& [id, kind] : rules) {
    rule_list.push_back({{"id", id},
                         {"shortDescription", {{"text", kind}}},
                         {"fullDescription", {{"text", help(kind)}}},
                         {"defaultConfiguration", {{"level", "error"}}},
                         {"properties", {{"tags", {"gpu", "correctness"}}}}});
  }
  // A fingerprint outlives edits above the line: it counts the findings of a kind in a file instead
  // of naming the line.
  std::vector<const FindingPlace*> by_line;
  for (const FindingPlace& place : places) by_line.push_back(&place);
  std::sort(by_line.begin(), by_line.end(), [](const FindingPlace* a, const FindingPlace* b) {
    return std::tie(a->kernel, a->finding.kind, a->file, a->line) <
           std::tie(b->kernel, b->finding.kind, b->file, b->line);
  });
  std::map<std::string, int> count;
  std::map<const FindingPlace*, std::string> names;
  for (const FindingPlace* place : by_line) {
    const std::string kind =
        fmt::format("{}\n{}\n{}", place->kernel, place->finding.kind, place->file);
    names[place] = fmt::format("{}\n{}", kind, ++count[kind]);
  }
  Json results = Json::array();
  for (const FindingPlace& place : places) results.push_back(result(place, names[&place]));
  const Json sarif = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       Json::array({{{"tool",
                      {{"driver",
                        {{"name", "plumbline"},
                         {"version", record.plumbline_version},
                         {"rules", std::move(rule_list)}}}}},
                     {"automationDetails", {{"id", fmt::format("plumbline/{}/", record.verb)}}},
                     {"columnKind", "utf16CodeUnits"},
                     {"results", std::move(results)}}})}};
  return sarif.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumbline
