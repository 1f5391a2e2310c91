// SPDX-License-Identifier: MIT
// JSON from a file that another program may have written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace plumbline {

// The value of a JSON text; nullopt where it is no JSON, where an object has a key twice (readers
// differ in which value they take), or where lists are nested deeper than in any file of ours. The
// time it takes grows with the length of the text, not with its content.
std::optional<nlohmann::json> parse_json(std::string_view text);

}  // namespace plumbline
