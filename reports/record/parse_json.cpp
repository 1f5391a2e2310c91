// SPDX-License-Identifier: MIT
#include "reports/record/parse_json.h"

#include <set>
#include <string>
#include <vector>

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepest = 100;

// Goes through a text without keeping its values (a parser that asks about each value while it
// builds them takes quadratic time for an object of objects): false at what is refused.
class Reviewer final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }

  bool boolean(bool) override { return true; }

  bool number_integer(number_integer_t) override { return true; }

  bool number_unsigned(number_unsigned_t) override { return true; }

  bool number_float(number_float_t, const string_t&) override { return true; }

  bool string(string_t&) override { return true; }

  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override { return begin(); }

  bool key(string_t& name) override { return keys_.back().insert(name).second; }

  bool end_object() override { return end(); }

  bool start_array(std::size_t) override { return begin(); }

  bool end_array() override { return end(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool begin() {
    keys_.emplace_back();
    return keys_.size() <= kDeepest;
  }

  bool end() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of the objects and arrays that are open
};

}  // namespace

std::optional<nlohmann::json> parse_json(std::string_view text) {
  Reviewer reviewer;
  if (!Json::sax_parse(text, &reviewer)) return std::nullopt;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

}  // namespace plumbline
