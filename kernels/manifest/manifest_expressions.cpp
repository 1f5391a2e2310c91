// SPDX-License-Identifier: MIT
// The parts of a manifest that are expressions over the kernel's fields: launches, workspace,
// domain; and the entry name, which is a pattern over them.
#include "kernels/manifest/manifest_parameters.h"
#include "kernels/manifest/manifest_sections.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

using Text = TomlReader::Text;

Expression adopted(TomlReader& reader, Result<Expression> parsed) {
  if (parsed) return *std::move(parsed);
  reader.adopt(parsed.error());
  return {};
}

// What no chip launches is told with its place, where it is a plain number.
void check_block(TomlReader& reader, const toml::node& threads, std::size_t dimension) {
  constexpr std::array<std::int64_t, 3> kMost = {1024, 1024, 64};
  const std::optional<std::int64_t> number = threads.value_exact<std::int64_t>();
  if (!number || (*number >= 1 && *number <= kMost[dimension])) return;
  reader.fail_at(
      threads,
      fmt::format("\"block\" has {} threads in its dimension {}", *number, "xyz"[dimension]),
      fmt::format("1 to {} are possible there, and 1024 in a block", kMost[dimension]));
}

// Grid, block or cluster: up to three expressions, or one by itself; the dimensions that are not
// given are 1.
std::array<Expression, 3> read_dimensions(TomlReader& reader, const Manifest& manifest,
                                          const toml::table& launch, std::string_view key,
                                          std::string_view example) {
  std::array<Expression, 3> dimensions;
  dimensions.fill(read_expression(reader, manifest, {"1", ""}));
  const toml::node* only = launch.get(key);
  if (only != nullptr && (only->is_integer() || only->is_string())) {
    if (key == "block") check_block(reader, *only, 0);
    dimensions[0] =
        read_expression(reader, manifest, launch, key).value_or(std::move(dimensions[0]));
    return dimensions;
  }
  const toml::array* array = reader.required_array(launch, key, example);
  if (!array) return dimensions;
  if (array->empty() || array->size() > dimensions.size()) {
    reader.fail_at(*array, fmt::format("\"{}\" has {} dimensions", key, array->size()),
                   "give one, two or three");
    return dimensions;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (key == "block") check_block(reader, *array->get(i), i);
    const auto expression =
        read_expression(reader, manifest, *array->get(i), fmt::format("\"{}\"", key));
    if (expression) dimensions[i] = *expression;
  }
  return dimensions;
}

Text read_entry(TomlReader& reader, const Manifest& manifest, const toml::table& table) {
  const Text entry = reader.required_text(table, "entry", "entry = \"the_kernel's_extern_C_name\"");
  for (std::size_t open = entry.text.find('{'); open != std::string::npos;
       open = entry.text.find('{', open + 1)) {
    const std::size_t close = entry.text.find('}', open);
    if (close == std::string::npos) {
      reader.fail(advance_position(entry.where, open), "this brace is never closed",
                  "write {field}");
      break;
    }
    const std::string name = entry.text.substr(open + 1, close - open - 1);
    std::vector<std::string_view> names;
    for (const Field& field : manifest.schema()) {
      if (field.kind != FieldKind::real) names.push_back(field.name);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string meant = did_you_mean(name, names);
      reader.fail(advance_position(entry.where, open + 1),
                  fmt::format("there is no field \"{}\"", name),
                  meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : meant);
    }
  }
  return entry;
}

// One launch; what it does not say itself, the top of the manifest says for all.
KernelLaunch read_launch(TomlReader& reader, const Manifest& manifest, ParameterReader& parameters,
                         const toml::table& table) {
  reader.check_keys(table, {"entry", "parameters", "grid", "block", "cluster", "shared", "when"});
  const auto own = [&](std::string_view key) -> const toml::table& {
    return table.get(key) ? table : reader.root();
  };
  KernelLaunch launch;
  const Text entry = read_entry(reader, manifest, own("entry"));
  launch.entry = entry.text;
  launch.entry_where = entry.where;
  launch.parameters = parameters.parameters(own("parameters"));
  if (const toml::node* list = own("parameters").get("parameters"))
    launch.parameters_where = reader.position(list->source());
  launch.grid = read_dimensions(reader, manifest, table, "grid", "grid = ['ceil_div(n, 128)']");
  launch.block = read_dimensions(reader, manifest, table, "block", "block = [256]");
  if (table.contains("cluster"))
    launch.cluster = read_dimensions(reader, manifest, table, "cluster", "cluster = [2]");
  launch.shared_bytes = read_expression(reader, manifest, table, "shared")
                            .value_or(read_expression(reader, manifest, Text{"0", ""}));
  launch.when = read_expression(reader, manifest, table, "when");
  return launch;
}

}  // namespace

Expression read_expression(TomlReader& reader, const Manifest& manifest, const Text& text) {
  return adopted(reader, Expression::parse(text.text, manifest.schema(), text.where,
                                           manifest.own_schema->derived()));
}

Expression read_real_expression(TomlReader& reader, const Manifest& manifest, const Text& text) {
  return adopted(reader, Expression::parse_real(text.text, manifest.schema(), text.where,
                                                manifest.own_schema->derived()));
}

std::optional<Expression> read_expression(TomlReader& reader, const Manifest& manifest,
                                          const toml::node& node, std::string_view what) {
  if (const auto* number = node.as_integer()) {
    return read_expression(reader, manifest,
                           {fmt::format("{}", number->get()), reader.position(node.source())});
  }
  const std::optional<Text> text =
      reader.text(node, what, "an expression in quotes or a whole number");
  if (!text) return std::nullopt;
  return read_expression(reader, manifest, *text);
}

std::optional<Expression> read_expression(TomlReader& reader, const Manifest& manifest,
                                          const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node ? read_expression(reader, manifest, *node, fmt::format("\"{}\"", key)) : std::nullopt;
}

void check_tensor_name(TomlReader& reader, const Manifest& manifest, const TomlReader::Text& name) {
  std::vector<std::string_view> names;
  for (const TensorName& tensor : manifest.operation->tensor_names()) {
    names.push_back(tensor.name);
  }
  names.push_back(kWorkspace);
  if (std::find(names.begin(), names.end(), name.text) != names.end()) return;
  const std::string meant = did_you_mean(name.text, names);
  reader.fail(name.where,
              fmt::format("{} has no tensor \"{}\"", manifest.operation->name(), name.text),
              meant.empty() ? fmt::format("its tensors are {}", fmt::join(names, ", ")) : meant);
}

void read_launches(TomlReader& reader, Manifest& manifest) {
  const toml::table& root = reader.root();
  ParameterReader parameters(reader, manifest);
  const toml::node* launch = root.get("launch");
  if (const toml::array* several = launch ? launch->as_array() : nullptr) {
    for (const toml::node& node : *several) {
      const toml::table* one = reader.table(node, "a launch");
      if (one) manifest.launches.push_back(read_launch(reader, manifest, parameters, *one));
    }
  } else if (const toml::table* only =
                 reader.required_table(root, "launch", "[launch] with grid and block")) {
    manifest.launches.push_back(read_launch(reader, manifest, parameters, *only));
  }
  parameters.check_structs();
}

void read_workspace(TomlReader& reader, Manifest& manifest) {
  manifest.workspace = read_expression(reader, manifest, reader.root(), "workspace");
}

void read_domain(TomlReader& reader, Manifest& manifest) {
  const toml::array* rules = reader.array(reader.root(), "domain");
  if (!rules) return;
  for (const toml::node& node : *rules) {
    const toml::table* rule = reader.table(node, "a rule of the domain");
    if (!rule) continue;
    reader.check_keys(*rule, {"require", "reason"});
    const Text condition = reader.required_text(*rule, "require", "require = 'k % 8 == 0'");
    const Text reason =
        reader.required_text(*rule, "reason", "reason = \"k must be a multiple of 8\"");
    if (reader.error()) return;
    manifest.domain.push_back({read_expression(reader, manifest, condition), reason.text});
  }
}

}  // namespace plumbline
