// SPDX-License-Identifier: MIT
#include "reports/record/parse_json.h"

#include <set>
#include <string>
#include <vector>

namespace plumbline {
namespace {

constexpr int kDeepest = 100;

}  // namespace

std::optional<nlohmann::json> parse_json(std::string_view text) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  bool refused = false;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    refused = refused || depth > kDeepest;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key)
      refused = refused || !keys.back().insert(value.get<std::string>()).second;
    return true;
  };
  Json json = Json::parse(text, look, /*allow_exceptions=*/false);
  if (refused || json.is_discarded()) return std::nullopt;
  return json;
}

}  // namespace plumbline
