// SPDX-License-Identifier: MIT
#include "reports/record/columns.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "oracles/base/text.h"

namespace plumbline {
namespace {

// As text: twenty times all cases of a quick run of every shipped kernel.
constexpr double kMostBytes = 2e8;
constexpr std::size_t kMostWords = 100;  // more than any operation has fields

using Values = std::vector<const Json*>;  // by object; null: it has none

// A double that JSON lacks is an object as well.
bool is_number_by_bits(const Json& value) {
  return value.is_object() && value.contains("bits") && value.contains("value");
}

bool all_are_objects(const Values& values) {
  return std::ranges::all_of(values, [](const Json* value) {
    return !value || (value->is_object() && !is_number_by_bits(*value));
  });
}

bool is_list_of_objects(const Json* value) {
  return value && value->is_array() && !value->empty() && value->front().is_object();
}

std::string on_one_line(const auto& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json column_of(const Values& values);

// A word with what is behind its "=": a number where that is how numbers are written, else a text;
// true where there is no "=".
using Word = std::pair<std::string, Json>;

std::string text_of(const std::string& name, const auto& value) {
  if (value.is_boolean()) return name;
  return name + "=" + (value.is_string() ? value.template get<std::string>() : value.dump());
}

Word word_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, true};
  const std::string value = text.substr(equals + 1);
  const auto number = parse_number<std::int64_t>(value);
  const bool whole = number && std::to_string(*number) == value;
  return {text.substr(0, equals), whole ? Json(*number) : Json(value)};
}

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> words;
  for (const std::string_view word : split(text, ' ')) words.push_back(word_of(std::string(word)));
  return words;
}

// The words of all texts, in an order that each of the texts has; empty where there is none, or
// where they are too many. Among several orders it is the one in which they are met first.
std::vector<std::string> names_in_order(const std::vector<std::vector<Word>>& texts) {
  std::vector<std::string> names;
  std::map<std::string, std::set<std::string>> before;  // the words right before a word
  for (const std::vector<Word>& words : texts) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto [known, added] = before.try_emplace(words[i].first);
      if (added) names.push_back(words[i].first);
      if (names.size() > kMostWords) return {};
      if (i > 0) known->second.insert(words[i - 1].first);
    }
  }
  std::vector<std::string> ordered;
  while (!names.empty()) {
    const auto next = std::ranges::find_if(names, [&](const std::string& name) {
      return std::ranges::none_of(before[name], [&](const std::string& other) {
        return std::ranges::find(names, other) != names.end();
      });
    });
    if (next == names.end()) return {};
    ordered.push_back(std::move(*next));
    names.erase(next);
  }
  return ordered;
}

// All texts as columns of their words; null where these words in this order do not give the texts
// again.
Json columns_of_words(const Json& texts) {
  std::vector<std::vector<Word>> all;
  for (const Json& text : texts) {
    if (!text.is_string()) return nullptr;
    all.push_back(words_of(text.get<std::string>()));
  }
  const std::vector<std::string> names = names_in_order(all);
  Json columns = Json::array();
  std::vector<std::string> again(all.size());
  for (const std::string& name : names) {
    Values values;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto word = std::ranges::find(all[i], name, &Word::first);
      values.push_back(word == all[i].end() ? nullptr : &word->second);
      if (values.back()) again[i] += (again[i].empty() ? "" : " ") + text_of(name, *values.back());
    }
    columns.push_back({name, column_of(values)});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (again[i] != texts[i].get<std::string>()) return nullptr;
  }
  return columns;
}

// {"each": ...} with the values one by one, or in runs, whichever is shorter.
void list(Json& form, Json each) {
  Json runs = Json::array();
  for (const Json& value : each) {
    // 1 and 1.0, 0.0 and -0.0 are equal, and not the same.
    const bool again =
        !runs.empty() && runs[runs.size() - 2].type() == value.type() &&
        (value.is_number_float() ? on_one_line(runs[runs.size() - 2]) == on_one_line(value)
                                 : runs[runs.size() - 2] == value);
    if (again) {
      runs.back() = runs.back().get<std::size_t>() + 1;
    } else {
      runs.push_back(value);
      runs.push_back(std::size_t{1});
    }
  }
  const bool shorter = on_one_line(runs).size() < on_one_line(each).size();
  form[shorter ? "runs" : "each"] = shorter ? std::move(runs) : std::move(each);
}

Json column_of(const Values& values) {
  std::map<std::string, std::size_t> places;
  Json different = Json::array(), place_of = Json::array(), each = Json::array();
  bool any_words = false;
  for (const Json* value : values) {
    const Json one = value ? *value : Json();
    const auto [known, added] = places.emplace(on_one_line(one), places.size());
    if (added) different.push_back(one);
    place_of.push_back(known->second);
    each.push_back(one);
    any_words =
        any_words || (one.is_string() && one.get<std::string>().find('=') != std::string::npos);
  }
  if (different.size() == 1) return {{"all", different.front()}};
  std::vector<Json> forms(1, Json::object());
  list(forms.back(), std::move(each));
  if (Json words = any_words ? columns_of_words(different) : Json(); !words.is_null()) {
    forms.push_back({{"words", std::move(words)}});
    list(forms.back(), place_of);
  }
  forms.push_back({{"values", std::move(different)}});
  list(forms.back(), std::move(place_of));
  return *std::ranges::min_element(forms, {},
                                   [](const Json& form) { return on_one_line(form).size(); });
}

Json table_of_values(const Values& objects);

Json list_of_tables(const Values& lists) {
  std::size_t longest = 0;
  for (const Json* list : lists) longest = std::max(longest, list ? list->size() : 0);
  Json tables = Json::array();
  for (std::size_t i = 0; i < longest; ++i) {
    Values items;
    for (const Json* list : lists)
      items.push_back(list && i < list->size() ? &(*list)[i] : nullptr);
    tables.push_back(table_of_values(items));
  }
  return tables;
}

Json table_of_values(const Values& objects) {
  std::vector<std::string> keys;  // in the order in which they are met
  for (const Json* object : objects) {
    if (!object) continue;
    for (const auto& [key, value] : object->items())
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  Json table = Json::object();
  for (const std::string& key : keys) {
    Values values;
    for (const Json* object : objects) {
      const bool has = object && object->contains(key);
      values.push_back(has ? &object->at(key) : nullptr);
    }
    if (std::ranges::any_of(values, is_list_of_objects)) {
      table[key] = list_of_tables(values);
    } else if (std::ranges::all_of(values, [](const Json* v) { return v && v->empty(); }) &&
               !values.front()->is_null()) {
      table[key] = *values.front();  // {} or [] in every object
    } else {
      table[key] = all_are_objects(values) ? table_of_values(values) : column_of(values);
    }
  }
  return table;
}

using Read = nlohmann::json;

bool is_column(const Read& json) {
  return json.is_object() &&
         (json.contains("all") || json.contains("each") || json.contains("runs"));
}

double bytes_of(const Read& value) { return static_cast<double>(on_one_line(value).size()); }

// The most that an object of this table takes, as text.
double bytes_of_an_object(const Read& table) {
  double bytes = 16;
  if (is_column(table)) {
    if (table.contains("all")) return bytes + bytes_of(table["all"]);
    if (table.contains("words")) return bytes + bytes_of_an_object(table["words"]);
    double most = 0;
    if (table.contains("values")) {
      for (const Read& value : table["values"]) most = std::max(most, bytes_of(value));
    }
    if (table.contains("runs")) {
      for (const Read& value : table["runs"]) most = std::max(most, bytes_of(value));
    }
    return bytes + most;
  }
  if (!table.is_structured()) return bytes + bytes_of(table);
  for (const Read& part : table) bytes += bytes_of_an_object(part);
  return bytes;
}

Read value_of(const Read& column, std::size_t index, std::size_t count, std::string& error);

// The text of columns of words that has this place.
Read text_of_words(const Read& words, const Read& place, std::string& error) {
  std::string text;
  bool good = words.is_array() && place.is_number_unsigned();
  for (std::size_t i = 0; good && error.empty() && i < words.size(); ++i) {
    const Read& word = words[i];
    good = word.is_array() && word.size() == 2 && word[0].is_string() && is_column(word[1]) &&
           !word[1].contains("words");
    if (!good) break;
    // All columns of words are of the same texts; how many these are, the longest of them says.
    const auto each = word[1].find("each");
    const std::size_t count = each == word[1].end() ? 0 : each->size();
    const auto index = place.get<std::size_t>();
    good = each == word[1].end() || (each->is_array() && index < count);
    if (!good) break;
    const Read value = value_of(word[1], index, count, error);
    if (value.is_null()) continue;
    good = value.is_boolean() || value.is_number_integer() || value.is_string();
    if (good) text += (text.empty() ? "" : " ") + text_of(word[0].get<std::string>(), value);
  }
  if (!good) error = "columns of words are due";
  return text;
}

// A value of a column; null where the object has none, or with an error.
Read value_of(const Read& column, std::size_t index, std::size_t count, std::string& error) {
  if (const auto all = column.find("all"); all != column.end()) return *all;
  const Read& each = column["each"];
  if (!each.is_array() || each.size() != count) {
    error = "a column is due with a value for each case";
    return {};
  }
  if (column.contains("words")) return text_of_words(column["words"], each[index], error);
  const auto values = column.find("values");
  if (values == column.end()) return each[index];
  const bool known = values->is_array() && each[index].is_number_unsigned() &&
                     each[index].get<std::uint64_t>() < values->size();
  if (known) return (*values)[each[index].get<std::size_t>()];
  error = "a place in the values of its column is due";
  return {};
}

}  // namespace

Json table_of(const std::vector<Json>& objects) {
  Values all;
  for (const Json& object : objects) all.push_back(&object);
  return table_of_values(all);
}

bool fits_memory(const Read& table, std::size_t count) {
  return bytes_of_an_object(table) * static_cast<double>(count) < kMostBytes;
}

Read without_runs(Read table, std::size_t count, std::string& error) {
  if (!table.is_structured()) return table;
  if (const auto words = table.is_object() ? table.find("words") : table.end();
      words != table.end())
    *words = without_runs(std::move(*words), count, error);
  if (const auto runs = table.is_object() ? table.find("runs") : table.end(); runs != table.end()) {
    Read each = Read::array();
    bool good = runs->is_array() && runs->size() % 2 == 0 && !table.contains("each");
    for (std::size_t i = 0; good && i < runs->size(); i += 2) {
      const Read& length = (*runs)[i + 1];
      good = length.is_number_unsigned() && length.get<std::size_t>() > 0 &&
             length.get<std::size_t>() <= count - each.size();
      for (std::size_t k = 0; good && k < length.get<std::size_t>(); ++k)
        each.push_back((*runs)[i]);
    }
    if (!good) error = "runs are due: in turns a value and how many cases have it";
    table.erase(runs);
    table["each"] = std::move(each);
  }
  // What a column holds are values, also where they look like tables.
  if (is_column(table)) return table;
  for (Read& part : table) part = without_runs(std::move(part), count, error);
  return table;
}

Read object_of(const Read& table, std::size_t index, std::size_t count, std::string& error) {
  Read object = Read::object();
  if (!table.is_object()) error = "a table is due";
  if (!error.empty()) return object;
  for (const auto& [key, part] : table.items()) {
    if (is_column(part)) {
      Read value = value_of(part, index, count, error);
      if (!value.is_null()) object[key] = std::move(value);
    } else if (part.is_array()) {
      Read list = Read::array();
      for (const Read& of_one : part) {
        Read item = object_of(of_one, index, count, error);
        if (!item.empty()) list.push_back(std::move(item));
      }
      object[key] = std::move(list);
    } else {
      object[key] = object_of(part, index, count, error);
    }
    if (!error.empty()) {
      error = key + ": " + error;
      break;
    }
  }
  return object;
}

}  // namespace plumbline
