// SPDX-License-Identifier: MIT
#include "reports/sarif.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "reports/places.h"
#include "reports/record/escape.h"
#include "reports/sarif_document.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

// GitHub shows no more results of a run.
constexpr std::size_t kMostResults = 5000;

// What a rule is about, for people who do not know plumbline, and where to look first.
struct RuleHelp {
  std::string_view what, look;
};

RuleHelp help(std::string_view kind) {
  static const std::map<std::string_view, RuleHelp> kHelp = {
      {"out of bounds",
       {"An access outside every allocation, or outside its memory space.",
        "Check the guards of the last tile in each dimension, and strides that are not the "
        "width."}},
      {"misaligned",
       {"An access whose address is not a multiple of its size.",
        "Vector loads need strides and base addresses that are multiples of their width."}},
      {"read of unwritten memory",
       {"A read of memory that nothing has written.",
        "Look for a tail that is loaded and not filled, or a workspace that is taken for zero."}},
      {"race",
       {"Two lanes or blocks access one address, one of them writing, and nothing orders the two.",
        "Look for a barrier that is missing between the two places of the code flow."}},
      {"missing wait",
       {"Data of an asynchronous copy is used before the copy was waited for.",
        "Count the copies in flight in the last turns of a pipeline, where fewer are issued."}},
      {"divergent barrier",
       {"A barrier or .aligned instruction that only part of a warp reaches.",
        "Look for a condition around it that differs from lane to lane."}},
      {"deadlock",
       {"No warp can go on.",
        "Compare how many threads arrive at each barrier with how many it expects."}},
      {"trap",
       {"The kernel trapped, or an assertion in it failed.", "The message names the place."}},
      {"device exception",
       {"The GPU stopped the kernel, often for an access outside shared memory; it names no cause.",
        "Run the case on the emulator, which does: add --on emulator."}},
      {"endless loop",
       {"The kernel did not end within its budget of instructions.",
        "Look at the loop's end for sizes that are 0 or no multiple of the step."}},
      {"division by zero",
       {"A quotient or remainder of integers by zero, which the ISA leaves open.",
        "Look for a size or a stride that may be 0."}},
      {"unwritten register",
       {"Outputs depend on a register that nothing has written.",
        "Look for a variable that only one branch sets."}},
      {"bad operand",
       {"An operand no correct kernel gives: a lane or barrier that takes no part.",
        "Compare masks of shuffles and votes with the lanes that are active there."}},
      {"write outside output",
       {"Memory around an output or in its padding was changed.",
        "Check the guards of stores against the output's sizes, not its strides."}},
      {"wrong value",
       {"An output that the kernel's contract does not allow was stored here; it may have gone "
        "wrong on the way here.",
        "`plumbline explain` with the case names simple faults that give exactly these outputs."}},
  };
  const auto found = kHelp.find(kind);
  return found == kHelp.end() ? RuleHelp{"Something no correct kernel does.", ""} : found->second;
}

Json rule(const std::string& id, const std::string& kind) {
  const auto [what, look] = help(kind);
  const std::string replay =
      "Each result names a case that shows it: `plumbline replay` runs that case again.";
  return {{"id", id},
          {"name", id},
          {"shortDescription", {{"text", kind}}},
          {"fullDescription", {{"text", what}}},
          {"help",
           {{"text", fmt::format("{} {} {}", what, look, replay)},
            {"markdown", fmt::format("**{}**\n\n{}\n\n{}\n\n{}", kind, what, look, replay)}}},
          {"defaultConfiguration", {{"level", "error"}}},
          {"properties", {{"tags", {"gpu", "correctness"}}, {"precision", "very-high"}}}};
}

Json described(const std::string& file, int line, const std::string& message) {
  Json json = sarif_location(file, line);
  json["message"] = {{"text", readable(message)}};
  return json;
}

// The two sides of a finding, each in a thread of its own.
Json code_flow(const FindingPlace& place) {
  const auto thread = [](const char* id, Json where) -> Json {
    return {{"id", id}, {"locations", Json::array({{{"location", std::move(where)}}})}};
  };
  const FindingRecord& f = place.finding;
  return {{"threadFlows",
           Json::array({thread("one access", described(place.file, place.line, f.text)),
                        thread("the other access",
                               described(place.other.file, place.other.line, f.other->text))})}};
}

Json result(const PlaceFindings& code, const std::string& root) {
  const FindingPlace& place = code.first;
  const FindingRecord& f = place.finding;
  Json json = {{"ruleId", sarif_rule_id(f.kind)},
               {"level", "error"},
               {"message", {{"text", readable(fmt::format("{}. {}", f.text, seen_in(code)))}}},
               {"locations", Json::array({sarif_location(place.file, place.line)})},
               {"partialFingerprints", {{"plumblineFinding/v2", code.fingerprint}}}};
  Json names = Json::array();
  for (const std::string& kernel : code.kernels)
    names.push_back({{"name", readable(kernel)}, {"kind", "function"}});
  json["locations"][0]["logicalLocations"] = std::move(names);
  Json related = Json::array();
  const std::string ptx = relative_to(root, f.ptx_file);
  if (!f.source_file.empty() && !ptx.empty() && f.ptx_line > 0)
    related.push_back(described(ptx, f.ptx_line, "the PTX instruction"));
  if (!place.other.file.empty()) {
    related.push_back(
        described(place.other.file, place.other.line, "the other access: " + f.other->text));
    json["codeFlows"] = Json::array({code_flow(place)});
  }
  if (!related.empty()) json["relatedLocations"] = std::move(related);
  return json;
}

}  // namespace

std::string sarif_json(const RunRecord& record, const std::string& root) {
  std::vector<PlaceFindings> places = code_places(record, root);
  if (places.size() > kMostResults) places.resize(kMostResults);
  std::map<std::string, std::string> rules;  // id -> kind
  Json results = Json::array(), rule_list = Json::array();
  for (const PlaceFindings& place : places) {
    const std::string& kind = place.first.finding.kind;
    rules[sarif_rule_id(kind)] = kind;
    results.push_back(result(place, root));
  }
  for (const auto& [id, kind] : rules) rule_list.push_back(rule(id, kind));
  return sarif_document(record.plumbline_version, record.verb, std::move(rule_list),
                        std::move(results));
}

}  // namespace plumbline
