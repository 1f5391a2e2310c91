// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kernels/manifest/manifest_parameters.h"
#include "kernels/manifest/manifest_sections.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

using Text = TomlReader::Text;
using Kind = ValueType::Kind;

constexpr std::string_view kStruct = "struct";
// CUDA C++ Programming Guide, 13.3.3.1: the most a kernel takes since CUDA 12.1, on sm_70 and
// later.
constexpr std::int64_t kMaximumBytes = 32764;
// Structs inside structs, far beyond what source code has: each is a level of recursion here.
constexpr std::size_t kDeepest = 64;

// clang-format off
constexpr std::array kTypes = {
    ValueType{Kind::pointer,    "ptr",          8,  8},
    ValueType{Kind::integer,    "s8",           1,  1, true},
    ValueType{Kind::integer,    "u8",           1,  1},
    ValueType{Kind::integer,    "s16",          2,  2, true},
    ValueType{Kind::integer,    "u16",          2,  2},
    ValueType{Kind::integer,    "s32",          4,  4, true},
    ValueType{Kind::integer,    "u32",          4,  4},
    ValueType{Kind::integer,    "s64",          8,  8, true},
    ValueType{Kind::integer,    "u64",          8,  8},
    ValueType{Kind::real,       "f32",          4,  4},
    ValueType{Kind::real,       "f64",          8,  8},
    ValueType{Kind::tensor_map, "tensor_map", 128, 64},
};

// clang-format on

// "s64 ld_a @ 24": a type, a value, and where it begins.
struct FieldText {
  Text type, value;
  std::optional<Text> offset;
};

Text part(const Text& text, std::size_t from, std::size_t to = std::string::npos) {
  const std::size_t end = std::min(to, text.text.size());
  const std::size_t begin = std::min(text.text.find_first_not_of(' ', from), end);
  std::string piece = text.text.substr(begin, end - begin);
  piece.erase(piece.find_last_not_of(' ') + 1);
  return {std::move(piece), advance_position(text.where, begin)};
}

// nullopt after an error.
std::optional<FieldText> split(TomlReader& reader, const Text& text) {
  const std::size_t space = std::min(text.text.find(' '), text.text.size());
  const std::size_t at = text.text.rfind('@');
  FieldText field{part(text, 0, space), part(text, space, at), std::nullopt};
  if (at != std::string::npos) field.offset = part(text, at + 1);
  if (!field.value.text.empty()) return field;
  reader.fail(text.where, fmt::format("this parameter is only a type: \"{}\"", text.text),
              "write a type and a value, as in \"ptr a\", \"s32 m\" or \"f32 alpha\"");
  return std::nullopt;
}

std::int64_t aligned(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// The offset that a field gives itself, after fields that end at `end`.
std::int64_t own_offset(TomlReader& reader, const Text& text, std::int64_t end,
                        std::int64_t alignment) {
  const std::int64_t offset = parse_number<std::int64_t>(text.text).value_or(kMaximumBytes + 1);
  if (offset > kMaximumBytes) {
    reader.fail(text.where, fmt::format("\"{}\" is not an offset", text.text),
                "write bytes from where the struct begins, as offsetof gives them");
  } else if (offset < end) {
    reader.fail(text.where, fmt::format("byte {} belongs to a field before this one", offset),
                fmt::format("they end at {}", end));
  } else if (offset % alignment != 0) {
    reader.fail(text.where, fmt::format("byte {} is not aligned for this field", offset),
                fmt::format("its offset is a multiple of {}", alignment));
  }
  return reader.error() ? 0 : offset;
}

}  // namespace

KernelParameter ParameterReader::parameter(const Text& text) {
  const std::optional<FieldText> field = split(reader_, text);
  if (!field) return {};
  if (field->offset) {
    reader_.fail(field->offset->where, "parameters have no offsets of their own",
                 "fields of a struct do: [struct.<name>]");
  }
  Block block = field_block(field->type, field->value);
  return {text.text, text.where, block.bytes, std::move(block.values)};
}

ParameterReader::Block ParameterReader::field_block(const Text& word, const Text& text) {
  if (word.text == kStruct) return struct_block(text);
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const ValueType& one) { return one.word == word.text; });
  if (type == kTypes.end()) {
    std::vector<std::string_view> words = {kStruct};
    for (const ValueType& one : kTypes) words.push_back(one.word);
    reader_.fail_word(word, words);
    return {};
  }
  return {type->bytes, type->alignment, {value(*type, text)}};
}

KernelValue ParameterReader::value(const ValueType& type, const Text& text) {
  KernelValue value{&type, 0, text.text, {}};
  switch (type.kind) {
    case Kind::pointer:
      check_tensor_name(reader_, manifest_, text);
      break;
    case Kind::tensor_map:
      check_tensor_map_name(reader_, text);
      break;
    case Kind::integer:
      value.expression = read_expression(reader_, manifest_, text);
      break;
    case Kind::real:
      value.expression = read_real_expression(reader_, manifest_, text);
      break;
  }
  return value;
}

ParameterReader::Block ParameterReader::struct_block(const Text& name) {
  const toml::table* tables = reader_.table(reader_.root(), kStruct);
  const toml::node* node = tables ? tables->get(name.text) : nullptr;
  if (!node) {
    std::vector<std::string_view> names;
    if (tables) {
      for (const auto& [key, other] : *tables) names.push_back(key.str());
    }
    const std::string meant = did_you_mean(name.text, names);
    reader_.fail(name.where, fmt::format("there is no table [{}.{}]", kStruct, name.text),
                 meant.empty() ? "add it, with its fields" : meant);
    return {};
  }
  if (std::find(open_.begin(), open_.end(), name.text) != open_.end()) {
    reader_.fail(name.where, fmt::format("struct {} contains itself", name.text), "");
    return {};
  }
  if (open_.size() == kDeepest) {
    reader_.fail(name.where, fmt::format("structs are nested more than {} deep", kDeepest),
                 "write the fields of the innermost in place of it");
    return {};
  }
  const toml::table* table = reader_.table(*node, fmt::format("\"{}.{}\"", kStruct, name.text));
  if (!table) return {};
  used_.insert(name.text);
  open_.push_back(name.text);
  Block block = fields(*table);
  open_.pop_back();
  return block;
}

ParameterReader::Block ParameterReader::fields(const toml::table& table) {
  reader_.check_keys(table, {"size", "fields"});
  Block block;
  const toml::array* array =
      reader_.required_array(table, "fields", "fields = [\"ptr a\", \"s32 m\"]");
  if (!array) return block;
  for (const toml::node& node : *array) {
    if (const std::optional<Text> text = reader_.text(node, "a field")) append(block, *text);
    if (reader_.error()) return {};
  }
  const std::int64_t end = block.bytes;
  block.bytes = aligned(end, block.alignment);
  const std::optional<std::int64_t> size = reader_.integer(table, "size");
  if (!size && end == 0) {  // twice as many at each level of nesting would take no room
    reader_.fail_at(*array, "the struct has no bytes", "add its fields, or its size");
  }
  if (!size) return block;
  if (*size < std::max<std::int64_t>(end, 1) || *size > kMaximumBytes) {
    reader_.fail_at(
        *table.get("size"), fmt::format("the struct cannot have {} bytes", *size),
        fmt::format("its fields take {}, and kernels take {} at most", end, kMaximumBytes));
  }
  block.bytes = *size;
  return block;
}

void ParameterReader::append(Block& block, const Text& text) {
  const std::optional<FieldText> field = split(reader_, text);
  if (!field) return;
  Block inner = field_block(field->type, field->value);
  std::int64_t offset = aligned(block.bytes, inner.alignment);
  if (field->offset) offset = own_offset(reader_, *field->offset, block.bytes, inner.alignment);
  if (offset + inner.bytes > kMaximumBytes) {
    reader_.fail(text.where, fmt::format("this field ends at byte {}", offset + inner.bytes),
                 fmt::format("kernels take {} at most", kMaximumBytes));
    return;
  }
  for (KernelValue& value : inner.values) {
    value.offset += offset;
    block.values.push_back(std::move(value));
  }
  block.bytes = offset + inner.bytes;
  block.alignment = std::max(block.alignment, inner.alignment);
}

std::vector<KernelParameter> ParameterReader::parameters(const toml::table& table) {
  std::vector<KernelParameter> parameters;
  const toml::array* array =
      reader_.required_array(table, "parameters", "parameters = [\"ptr a\", ...]");
  if (!array) return parameters;
  for (const toml::node& node : *array) {
    if (const std::optional<Text> text = reader_.text(node, "a parameter"))
      parameters.push_back(parameter(*text));
  }
  return parameters;
}

void ParameterReader::check_structs() {
  const toml::table* tables = reader_.table(reader_.root(), kStruct);
  if (!tables) return;
  for (const auto& [key, node] : *tables) {
    if (used_.contains(key.str())) continue;
    reader_.fail(
        reader_.position(key.source()), fmt::format("no parameter is the struct \"{}\"", key.str()),
        fmt::format("add \"{} {}\" to the parameters, or remove the table", kStruct, key.str()));
  }
}

}  // namespace plumbline
