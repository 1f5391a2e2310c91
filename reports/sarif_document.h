// SPDX-License-Identifier: MIT
// What every SARIF file here is made of (SARIF 2.1.0): results of rules, around them the tool.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plumbline {

// "out of bounds" -> "out-of-bounds".
std::string sarif_rule_id(std::string kind);

// A line of a file; names that are not absolute are below the root of the checkout.
nlohmann::ordered_json sarif_location(const std::string& file, int line);

// The file's text.
std::string sarif_document(const std::string& version, const std::string& verb,
                           nlohmann::ordered_json rules, nlohmann::ordered_json results);

}  // namespace plumbline
