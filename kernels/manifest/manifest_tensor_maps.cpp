// SPDX-License-Identifier: MIT
// [tensor_map.<name>] of a manifest. What numbers a chip takes is seen at the launch, when the
// expressions have values (harness/device/tensor_map.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kernels/manifest/manifest_sections.h"
#include "oracles/base/suggest.h"

namespace plumbline {
namespace {

using Text = TomlReader::Text;

constexpr std::string_view kTables = "tensor_map";
constexpr std::size_t kMaxRank = 5;

constexpr std::array<std::string_view, 4> kSwizzleWords = {"none", "32B", "64B", "128B"};
constexpr std::array kSwizzles = {0, 32, 64, 128};
constexpr std::array<std::string_view, 4> kIntegerWords = {"u8", "u16", "u32", "u64"};
constexpr std::array kIntegers = {8, 16, 32, 64};
constexpr std::array<std::string_view, 2> kFillWords = {"zero", "nan"};

// The place of a word in a list of them.
template <std::size_t kCount>
std::optional<std::size_t> read_choice(TomlReader& reader, const toml::table& table,
                                       std::string_view key,
                                       const std::array<std::string_view, kCount>& words) {
  return reader.word(reader.text(table, key), words,
                     [&](std::string_view word) -> std::optional<std::size_t> {
                       const auto found = std::find(words.begin(), words.end(), word);
                       if (found == words.end()) return std::nullopt;
                       return static_cast<std::size_t>(found - words.begin());
                     });
}

std::vector<Expression> read_list(TomlReader& reader, const Manifest& manifest,
                                  const toml::array& array, std::string_view key) {
  std::vector<Expression> list;
  for (const toml::node& node : array) {
    auto one = read_expression(reader, manifest, node, fmt::format("an entry of \"{}\"", key));
    if (one) list.push_back(*std::move(one));
  }
  return list;
}

std::vector<Expression> read_dims(TomlReader& reader, const Manifest& manifest,
                                  const toml::table& table) {
  const toml::array* array = reader.required_array(table, "dims", "dims = [\"k\", \"m\"]");
  if (!array) return {};
  if (array->empty() || array->size() > kMaxRank) {
    reader.fail_at(*array, fmt::format("\"dims\" has {} entries", array->size()),
                   "give one to five, the innermost first");
  }
  return read_list(reader, manifest, *array, "dims");
}

// A list whose length follows from the number of dims.
struct Matching {
  std::string_view key, example;
  std::size_t length;
  std::string_view of;  // what has an entry
};

std::vector<Expression> read_matching(TomlReader& reader, const Manifest& manifest,
                                      const toml::table& table, const Matching& wanted) {
  if (wanted.length == 0 && !table.get(wanted.key)) return {};
  const toml::array* array = reader.required_array(table, wanted.key, wanted.example);
  if (!array) return {};
  if (array->size() != wanted.length) {
    reader.fail_at(*array,
                   fmt::format("\"{}\" has {} where {} belong to \"dims\"", wanted.key,
                               array->size(), wanted.length),
                   fmt::format("give one for {}", wanted.of));
  }
  return read_list(reader, manifest, *array, wanted.key);
}

KernelTensorMap read_map(TomlReader& reader, const Manifest& manifest, const toml::table& table,
                         const Text& name) {
  reader.check_keys(table, {"tensor", "elements", "dims", "strides", "box", "swizzle", "fill"});
  KernelTensorMap map;
  const Text tensor = reader.text(table, "tensor").value_or(name);
  check_tensor_name(reader, manifest, tensor);
  map.tensor = tensor.text;
  if (const auto elements = read_choice(reader, table, "elements", kIntegerWords))
    map.integers = kIntegers[*elements];
  map.dims = read_dims(reader, manifest, table);
  if (reader.error()) return map;
  map.strides = read_matching(reader, manifest, table,
                              {"strides", "strides = [\"ld_a\"]", map.dims.size() - 1,
                               "every dimension but the innermost"});
  map.box = read_matching(reader, manifest, table,
                          {"box", "box = [64, 128]", map.dims.size(), "every dimension"});
  if (const auto swizzle = read_choice(reader, table, "swizzle", kSwizzleWords))
    map.swizzle = kSwizzles[*swizzle];
  if (const auto fill = read_choice(reader, table, "fill", kFillWords)) map.fill_nan = *fill == 1;
  return map;
}

bool is_used(const Manifest& manifest, std::string_view name) {
  for (const KernelLaunch& launch : manifest.launches) {
    for (const KernelParameter& parameter : launch.parameters) {
      for (const KernelValue& value : parameter.values) {
        if (value.type->kind == ValueType::Kind::tensor_map && value.name == name) return true;
      }
    }
  }
  return false;
}

}  // namespace

void check_tensor_map_name(TomlReader& reader, const Text& name) {
  std::vector<std::string_view> names;
  if (const toml::table* tables = reader.table(reader.root(), kTables)) {
    for (const auto& [key, node] : *tables) names.push_back(key.str());
  }
  if (std::find(names.begin(), names.end(), name.text) != names.end()) return;
  const std::string meant = did_you_mean(name.text, names);
  reader.fail(name.where, fmt::format("there is no table [{}.{}]", kTables, name.text),
              meant.empty() ? "add it, with dims, strides and box" : meant);
}

void read_tensor_maps(TomlReader& reader, Manifest& manifest) {
  const toml::table* tables = reader.table(reader.root(), kTables);
  if (!tables) return;
  for (const auto& [key, node] : *tables) {
    const Text name{std::string(key.str()), reader.position(key.source())};
    const toml::table* table = reader.table(node, fmt::format("\"{}.{}\"", kTables, name.text));
    if (!table) return;
    if (!is_used(manifest, name.text)) {
      reader.fail(
          name.where, fmt::format("no parameter is the tensor map \"{}\"", name.text),
          fmt::format("add \"{} {}\" to the parameters, or remove the table", kTables, name.text));
    }
    manifest.tensor_maps.emplace(name.text, read_map(reader, manifest, *table, name));
    if (reader.error()) return;
  }
}

}  // namespace plumbline
