// SPDX-License-Identifier: MIT
#include "reports/figure_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace plumbline {
namespace {

// Well below what file systems allow, with a number and the ending.
constexpr std::size_t kLongestName = 100;

// Letters, digits and "_" as they are, anything else one "-".
std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || c == '_')) {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name.resize(std::min(name.size(), kLongestName));
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "table" : name;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const auto& cells, const auto& text_of) {
  std::string line;
  for (const auto& cell : cells)
    line += (&cell == &cells.front() ? "" : ",") + csv_field(text_of(cell));
  return line + "\r\n";
}

std::string csv(const FigureTable& table) {
  std::string text = csv_line(table.columns, [](const std::string& title) { return title; });
  for (const auto& row : table.rows) {
    text += csv_line(row, [](const FigureTable::Cell& cell) {
      return std::isnan(cell.value) ? cell.text : fmt::format("{}", cell.value);
    });
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> table_files(
    const std::vector<FigureTable>& tables) {
  using Json = nlohmann::ordered_json;
  std::vector<std::pair<std::string, std::string>> files;
  std::set<std::string> taken;
  Json all = {{"tables", Json::array()}};
  for (const FigureTable& table : tables) {
    if (table.title.empty()) continue;
    const std::string stem = file_name(table.group) + "/" + file_name(table.title);
    std::string path = stem + ".csv";
    for (int n = 2; !taken.insert(path).second; ++n) path = fmt::format("{}-{}.csv", stem, n);
    files.emplace_back(path, csv(table));
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json cells = Json::array();
      for (const FigureTable::Cell& cell : row) {
        const bool whole = std::trunc(cell.value) == cell.value && std::fabs(cell.value) < 0x1p53;
        cells.push_back(whole                       ? Json(static_cast<std::int64_t>(cell.value))
                        : std::isfinite(cell.value) ? Json(cell.value)
                                                    : Json(cell.text));
      }
      rows.push_back(std::move(cells));
    }
    all["tables"].push_back({{"group", table.group},
                             {"title", table.title},
                             {"caption", table.caption},
                             {"file", path},
                             {"columns", table.columns},
                             {"rows", std::move(rows)}});
  }
  files.emplace_back("tables.json", all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return files;
}

}  // namespace plumbline
