// SPDX-License-Identifier: MIT
// [problem] of a manifest: the operation's fields as this kernel has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/manifest/manifest_sections.h"
#include "oracles/base/suggest.h"

namespace plumbline {
namespace {

using Text = TomlReader::Text;

constexpr std::string_view kFree = "free";

// The field's words that the kernel has.
void read_words(TomlReader& reader, const toml::node& node, const Field& field,
                KernelSchema& schema) {
  const toml::array* array = node.as_array();
  if (!array || array->empty()) {
    reader.fail_at(node,
                   fmt::format("\"{}\" must be a list of the words the kernel has", field.name),
                   fmt::format("they are among {}", fmt::join(field.choices, ", ")));
    return;
  }
  std::vector<std::string_view> words;
  for (const toml::node& element : *array) {
    const std::optional<Text> text = reader.text(element, "a word");
    if (!text) return;
    const auto known = std::find(field.choices.begin(), field.choices.end(), text->text);
    if (known == field.choices.end()) return reader.fail_word(*text, field.choices);
    if (std::find(words.begin(), words.end(), *known) != words.end()) {
      return reader.fail_at(element, fmt::format("\"{}\" is listed twice", *known), "keep one");
    }
    words.push_back(*known);
  }
  schema.allow(field.name, std::move(words));
}

void read_free(TomlReader& reader, const toml::array& array, KernelSchema& schema) {
  std::vector<std::string_view> numbers;
  for (const Field& field : schema.fields()) {
    if (field.kind != FieldKind::word) numbers.push_back(field.name);
  }
  for (const toml::node& element : array) {
    const std::optional<Text> text = reader.text(element, "a field");
    if (!text) return;
    if (std::find(numbers.begin(), numbers.end(), text->text) == numbers.end()) {
      return reader.fail_word(*text, numbers);
    }
    schema.free(text->text);
  }
}

}  // namespace

void read_problem(TomlReader& reader, Manifest& manifest) {
  const std::span<const Field> fields = manifest.operation->schema();
  auto schema = std::make_shared<KernelSchema>(*manifest.operation);
  if (const toml::table* table = reader.table(reader.root(), "problem")) {
    std::vector<std::string_view> keys = {kFree};
    for (const Field& field : fields) {
      if (field.kind == FieldKind::word) keys.push_back(field.name);
    }
    reader.check_keys(*table, keys);
    for (const Field& field : fields) {
      const toml::node* node = field.kind == FieldKind::word ? table->get(field.name) : nullptr;
      if (node) read_words(reader, *node, field, *schema);
    }
    if (const toml::array* free = reader.array(*table, kFree)) {
      read_free(reader, *free, *schema);
    }
  }
  read_in_place(reader, manifest, *schema);
  read_zeroed(reader, manifest);
  manifest.own_schema = std::move(schema);
}

}  // namespace plumbline
