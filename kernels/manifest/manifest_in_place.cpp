// SPDX-License-Identifier: MIT
// in_place and zeroed of a manifest: outputs that hold something when the kernel is launched.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/manifest/manifest_sections.h"

namespace plumbline {
namespace {

using Text = TomlReader::Text;

// The tensor of this name and role; a failure names those that there are.
bool is_tensor(TomlReader& reader, const Manifest& manifest, const Text& name, TensorRole role) {
  std::vector<std::string_view> names;
  for (const TensorName& tensor : manifest.operation->tensor_names()) {
    if (tensor.role == role) names.push_back(tensor.name);
  }
  if (std::ranges::count(names, name.text) > 0) return true;
  reader.fail_word(name, names);
  return false;
}

// The layout is the output's: the input has no fields for it.
void leave_out_layout(TomlReader& reader, KernelSchema& schema, const Text& input,
                      const std::string& output) {
  for (const Field& field : schema.fields()) {
    const bool of_input = field.name == "ld" + input.text || field.name == "stride_" + input.text;
    if (of_input && !field.fixed) {
      reader.fail(input.where,
                  fmt::format("{} lies in the memory of {}, whose layout it has, so {} cannot be "
                              "free",
                              input.text, output, field.name),
                  "remove it from free in [problem]");
    }
  }
  schema.leave_out("ld_" + input.text);
  schema.leave_out("batch_stride_" + input.text);
}

}  // namespace

void read_in_place(TomlReader& reader, Manifest& manifest, KernelSchema& schema) {
  for (const TensorName& tensor : manifest.operation->tensor_names()) {
    if (!tensor.in_place_of.empty()) manifest.in_place.emplace(tensor.name, tensor.in_place_of);
  }
  const toml::table* pairs = reader.table(reader.root(), "in_place");
  if (!pairs) return;
  std::vector<std::string> taken;
  for (const auto& [key, node] : *pairs) {
    const Text output{std::string(key.str()), reader.position(key.source())};
    const std::optional<Text> input = reader.text(node, "an input");
    if (!input || !is_tensor(reader, manifest, output, TensorRole::output) ||
        !is_tensor(reader, manifest, *input, TensorRole::input))
      return;
    if (std::ranges::count(taken, input->text) > 0) {
      reader.fail(input->where, fmt::format("two outputs are written over {}", input->text),
                  "name another input");
      return;
    }
    taken.push_back(input->text);
    leave_out_layout(reader, schema, *input, output.text);
    manifest.in_place.emplace(output.text, input->text);
  }
}

void read_zeroed(TomlReader& reader, Manifest& manifest) {
  const toml::array* const names = reader.array(reader.root(), "zeroed");
  if (names == nullptr) return;
  for (const toml::node& one : *names) {
    const std::optional<Text> output = reader.text(one, "an output");
    if (!output || !is_tensor(reader, manifest, *output, TensorRole::output)) return;
    if (manifest.in_place.contains(output->text)) {
      return reader.fail(
          output->where,
          fmt::format("{} is written over an input, which has values of its own", output->text),
          "remove it from zeroed or from in_place");
    }
    manifest.zeroed.push_back(output->text);
  }
}

void check_in_place_formats(TomlReader& reader, const Manifest& manifest) {
  if (reader.error()) return;
  for (const auto& [output, input] : manifest.in_place) {
    const std::string &over = manifest.formats.at(output), &under = manifest.formats.at(input);
    if (formats_named(manifest, over) == formats_named(manifest, under)) continue;
    const toml::node* pairs = reader.root().get("in_place");
    reader.fail_at(
        pairs ? *pairs : *reader.root().get("formats"),
        fmt::format("{} is {}, and {} in whose memory it lies is {}", output, over, input, under),
        "give both one format in [formats]");
  }
}

}  // namespace plumbline
