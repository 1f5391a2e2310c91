// SPDX-License-Identifier: MIT
// A manifest from its file: the plain keys and the tables of formats and tile sizes; the sections
// made of expressions and the contract are files of their own. The operation comes first, because
// all names are checked against it.
#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/compiler_flags.h"
#include "kernels/manifest/manifest_sections.h"
#include "kernels/manifest/position.h"
#include "oracles/base/file.h"
#include "oracles/base/suggest.h"
#include "oracles/models/generation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

namespace plumbline {
namespace {

using Text = TomlReader::Text;

// A hundred times the longest shipped one: what is longer is another file, or a device.
constexpr std::size_t kLongestManifest = 1 << 20;

void read_operation(TomlReader& reader, Manifest& manifest) {
  const Text name = reader.required_text(reader.root(), "computes", "computes = \"gemm\"");
  if (name.text.ends_with(".op")) {
    const std::filesystem::path folder = std::filesystem::path(manifest.path).parent_path();
    const Result<const Operation*> text = operation_of_text(folder / name.text);
    if (!text) return reader.fail(text.error().where, text.error().message, text.error().hint);
    manifest.operation = *text;
    return;
  }
  manifest.operation = find_operation(name.text);
  if (manifest.operation) return;
  std::vector<std::string_view> names;
  for (const Operation* operation : all_operations()) names.push_back(operation->name());
  reader.fail_word(name, names);
}

// Terminals obey control characters: a summary is printed as it is.
void read_summary(TomlReader& reader, Manifest& manifest) {
  const Text text =
      reader.required_text(reader.root(), "summary", "summary = \"one line for plumbline list\"");
  const bool control = std::any_of(text.text.begin(), text.text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (control)
    reader.fail(text.where, "\"summary\" has a control character", "write one plain line");
  manifest.summary = text.text;
}

void read_source(TomlReader& reader, Manifest& manifest) {
  const std::optional<Text> source = reader.text(reader.root(), "source");
  const std::optional<Text> ptx = reader.text(reader.root(), "ptx");
  if (!source && !ptx) {
    reader.fail_at(reader.root(), "neither \"source\" nor \"ptx\" is given",
                   fmt::format("add source = \"{}.cu\"", manifest.name));
  }
  if (source && ptx)
    reader.fail(ptx->where, "\"source\" and \"ptx\" are both given", "keep one of them");
  if (source) manifest.source = source->text;
  if (ptx) manifest.ptx = ptx->text;
  const toml::array* flags = reader.array(reader.root(), "flags");
  if (!flags) return;
  if (!source) reader.fail_at(*flags, "\"flags\" belong to a source", "remove them");
  for (const toml::node& node : *flags) {
    const std::optional<Text> flag = reader.text(node, "a flag");
    if (!flag) continue;
    if (const std::string objection = flag_objection(flag->text); !objection.empty()) {
      reader.fail(flag->where, objection,
                  "compile with it yourself, and name the result: ptx = \"mine.ptx\"");
    }
    manifest.flags.push_back(flag->text);
  }
}

// 90, or "90a": a compute capability, with a letter where the code is for one chip ('a') or one
// family ('f') alone; ' ' for none.
struct TargetText {
  std::int64_t number;
  char letter;
};

std::optional<TargetText> read_target(TomlReader& reader, const toml::node& node) {
  if (!node.is_string()) {
    const std::optional<std::int64_t> number = reader.integer(node, "a target");
    return number ? std::optional(TargetText{*number, ' '}) : std::nullopt;
  }
  const Text text = *reader.text(node, "a target");
  std::int64_t number = 0;
  const char* end = text.text.data() + text.text.size();
  const auto [letter, failure] = std::from_chars(text.text.data(), end, number);
  if (failure == std::errc() && end - letter == 1 && (*letter == 'a' || *letter == 'f'))
    return TargetText{number, *letter};
  reader.fail(text.where, fmt::format("\"{}\" is not a target", text.text),
              "write sm_80 as 80, and sm_90a as \"90a\"");
  return std::nullopt;
}

// Of the .target directive (PTX ISA 9.0 section 11.1.2).
constexpr int kCapabilities[] = {50, 52, 53, 60, 61,  62,  70,  72,  75,  80, 86,
                                 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

void read_targets(TomlReader& reader, Manifest& manifest) {
  const toml::array* targets =
      reader.required_array(reader.root(), "targets", "targets = [80, 90]");
  if (!targets) return;
  if (targets->empty())
    reader.fail_at(*targets, "\"targets\" is empty", "add a compute capability, as in [80]");
  for (const toml::node& node : *targets) {
    const std::optional<TargetText> target = read_target(reader, node);
    if (!target) continue;
    if (std::ranges::find(kCapabilities, target->number) == std::end(kCapabilities)) {
      const std::string_view refused = refused_chip(static_cast<int>(target->number));
      reader.fail_at(node,
                     refused.empty()
                         ? fmt::format("no chip has compute capability {}", target->number)
                         : std::string(refused),
                     refused.empty() ? "write sm_80 as 80" : "take another target");
      continue;
    }
    if (!manifest.targets.empty() && target->number <= manifest.targets.back()) {
      reader.fail_at(
          node, fmt::format("{} does not come after {}", target->number, manifest.targets.back()),
          "list targets once each, in increasing order");
      continue;
    }
    manifest.targets.push_back(static_cast<int>(target->number));
    if (target->letter != ' ')
      manifest.specific_targets.emplace(manifest.targets.back(), target->letter);
  }
}

// "bf16", or "{out}" for a field whose words all are formats: there is such a format, or field.
void check_format(TomlReader& reader, const Manifest& manifest, const Text& text) {
  std::vector<std::string_view> names;
  if (text.text.starts_with('{') && text.text.ends_with('}')) {
    const std::string name = text.text.substr(1, text.text.size() - 2);
    for (const Field& field : manifest.schema()) {
      const bool chooses =
          field.kind == FieldKind::word &&
          std::all_of(field.choices.begin(), field.choices.end(),
                      [](std::string_view word) { return format_by_name(word).has_value(); });
      if (!chooses) continue;
      if (field.name == name) return;
      names.push_back(field.name);
    }
    const std::string meant = did_you_mean(name, names);
    reader.fail(advance_position(text.where, 1),
                fmt::format("no field \"{}\" chooses a format", name),
                meant.empty() ? fmt::format("these do: {}", fmt::join(names, ", ")) : meant);
    return;
  }
  if (format_by_name(text.text)) return;
  for (const Format& format : all_formats()) names.push_back(format.name);
  const std::string meant = did_you_mean(text.text, names);
  reader.fail(text.where, fmt::format("there is no format \"{}\"", text.text),
              meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : meant);
}

// The tensor can have all formats that its entry stands for.
void check_possible(TomlReader& reader, const Manifest& manifest, const TensorName& tensor,
                    const Text& text) {
  for (const FormatId id : formats_named(manifest, text.text)) {
    const std::string_view name = format(id).name;
    if (std::ranges::find(tensor.formats, name) != tensor.formats.end()) continue;
    const bool field = name != text.text;
    reader.fail(text.where,
                fmt::format("\"{}\" of {} cannot be {}{}", tensor.name, manifest.operation->name(),
                            name, field ? fmt::format(", as \"{}\" can", text.text) : ""),
                fmt::format("it can be {}", fmt::join(tensor.formats, ", ")));
    return;
  }
}

// [problem] says which formats the kernel has, where the operation has a field for that: what the
// entry names must be these.
void check_agreement(TomlReader& reader, const Manifest& manifest, const TensorName& tensor,
                     const Text& text) {
  const toml::table* problem = reader.table(reader.root(), "problem");
  const std::string chosen = fmt::format("{{{}}}", tensor.field);
  if (tensor.field.empty() || text.text == chosen || !problem || !problem->get(tensor.field))
    return;
  const std::vector<FormatId> fields = formats_named(manifest, chosen);
  if (fields == formats_named(manifest, text.text)) return;
  std::vector<std::string_view> words;
  for (const FormatId id : fields) words.push_back(format(id).name);
  reader.fail(text.where,
              fmt::format("\"{}\" is \"{}\", but [problem] has {} = [\"{}\"]", tensor.name,
                          text.text, tensor.field, fmt::join(words, "\", \"")),
              fmt::format("write {} = \"{}\", and in [problem] every format that the kernel has",
                          tensor.name, chosen));
}

// A tensor that a kernel may lack, and that [formats] does not have: it lacks it.
void check_lacking(TomlReader& reader, const Manifest& manifest) {
  if (reader.error()) return;
  for (const TensorName& tensor : manifest.operation->tensor_names()) {
    if (manifest.formats.contains(std::string(tensor.name))) continue;
    for (const KernelLaunch& launch : manifest.launches) {
      for (const KernelParameter& parameter : launch.parameters) {
        if (parameter.text != fmt::format("ptr {}", tensor.name)) continue;
        return reader.fail(
            parameter.where,
            fmt::format("{0} is not in [formats]: without a format the kernel has no {0}",
                        tensor.name),
            fmt::format("write {} = \"f32\" there, say, or \"u64 0\" here", tensor.name));
      }
    }
  }
}

Result<Manifest> read_checked(TomlReader& reader, const std::string& path, ManifestPart part) {
  Manifest manifest;
  manifest.path = path;
  manifest.name = std::filesystem::path(path).stem();
  const bool plain = std::ranges::all_of(manifest.name, [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  });
  if (!plain || manifest.name.starts_with('-') || manifest.name.starts_with('.')) {
    return bad_input(
        fmt::format("\"{}\" cannot name a kernel: case files, globs and folders need a plain word",
                    manifest.name),
        "use letters, digits, _, - and .", path);
  }
  reader.check_keys(reader.root(), {"computes", "summary", "source",     "flags",     "ptx",
                                    "targets",  "entry",   "parameters", "workspace", "problem",
                                    "launch",   "struct",  "tensor_map", "formats",   "in_place",
                                    "zeroed",   "tile",    "domain",     "known",     "contract"});
  read_operation(reader, manifest);
  if (reader.error()) return *reader.error();
  read_problem(reader, manifest);
  read_summary(reader, manifest);
  read_targets(reader, manifest);
  if (part != ManifestPart::task) {
    read_source(reader, manifest);
    read_launches(reader, manifest);
    read_tensor_maps(reader, manifest);
    read_workspace(reader, manifest);
  }
  read_formats(reader, manifest);
  check_lacking(reader, manifest);
  check_in_place_formats(reader, manifest);
  read_tile(reader, manifest);
  read_domain(reader, manifest);
  read_known(reader, manifest);
  read_contract(reader, manifest);
  if (reader.error()) return *reader.error();
  if (part == ManifestPart::contract) return manifest;
  if (const Status sizes = manifest.operation->check_sizes(manifest); !sizes) return sizes.error();
  return manifest;
}

}  // namespace

std::vector<FormatId> formats_named(const Manifest& manifest, std::string_view entry) {
  if (const auto fixed = format_by_name(entry)) return {*fixed};
  std::vector<FormatId> formats;
  for (const Field& field : manifest.schema()) {
    if (fmt::format("{{{}}}", field.name) != entry) continue;
    for (const std::string_view word : field.choices) formats.push_back(*format_by_name(word));
  }
  return formats;
}

void read_formats(TomlReader& reader, Manifest& manifest) {
  const auto tensors = manifest.operation->tensor_names();
  const bool all_usual =
      std::ranges::none_of(tensors, &std::string_view::empty, &TensorName::format);
  const toml::table none;
  const toml::table* formats = reader.table(reader.root(), "formats");
  if (!formats && all_usual) formats = &none;
  if (!formats)
    formats = reader.required_table(reader.root(), "formats", "[formats] with a format per tensor");
  if (!formats || reader.error()) return;
  std::vector<std::string_view> names;
  for (const TensorName& tensor : tensors) names.push_back(tensor.name);
  reader.check_keys(*formats, names);
  for (const TensorName& tensor : tensors) {
    if (tensor.optional && !formats->get(tensor.name)) continue;
    if (!tensor.in_place_of.empty() && !formats->get(tensor.name)) {
      const std::string input(tensor.in_place_of);
      if (manifest.formats.contains(input))
        manifest.formats.emplace(tensor.name, manifest.formats.at(input));
      continue;
    }
    const bool usual = !tensor.format.empty() && !formats->get(tensor.name);
    const std::string_view named =
        formats->get(tensor.name) || tensor.like.empty() ? tensor.name : tensor.like;
    const Text text =
        usual ? Text{std::string(tensor.format), ""}
              : reader.required_text(*formats, named, fmt::format("{} = \"f32\"", named));
    if (reader.error()) return;
    check_format(reader, manifest, text);
    if (reader.error()) return;
    check_possible(reader, manifest, tensor, text);
    check_agreement(reader, manifest, tensor, text);
    manifest.formats.emplace(tensor.name, text.text);
  }
}

void read_tile(TomlReader& reader, Manifest& manifest) {
  const toml::table* tile = reader.table(reader.root(), "tile");
  if (!tile) return;
  std::vector<std::string_view> sizes;
  for (const Field& field : manifest.schema()) {
    if (field.kind == FieldKind::integer) sizes.push_back(field.name);
  }
  reader.check_keys(*tile, sizes);
  for (const auto& [key, node] : *tile) {
    const std::optional<std::int64_t> size = reader.integer(node, "a tile size");
    if (!size) continue;
    if (*size < 1)
      reader.fail_at(node, fmt::format("{} is not a tile size", *size), "use at least 1");
    manifest.tile.emplace(key.str(), *size);
  }
}

void read_known(TomlReader& reader, Manifest& manifest) {
  const toml::array* findings = reader.array(reader.root(), "known");
  if (!findings) return;
  for (const toml::node& node : *findings) {
    const toml::table* finding = reader.table(node, "a known finding");
    if (!finding) continue;
    reader.check_keys(*finding, {"says", "reason"});
    const Text says = reader.required_text(
        *finding, "says", "says = \"read of unwritten memory\", or more of what verify prints");
    const Text reason = reader.required_text(*finding, "reason", "reason = \"why it is no fault\"");
    if (reader.error()) return;
    if (says.text.empty()) {
      reader.fail(says.where, "every finding would be known",
                  "write words of the finding, as verify prints it");
      return;
    }
    manifest.known.push_back({says.text, reason.text});
  }
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& path, ManifestPart part) {
  Result<TomlReader> reader = TomlReader::parse(text, path);
  if (!reader) return reader.error();
  return read_checked(*reader, path, part);
}

Result<Manifest> read_manifest(const std::string& path, ManifestPart part) {
  const Result<std::string> text =
      read_text_file(path, "name a manifest, a file <kernel>.toml", kLongestManifest);
  if (!text) return text.error();
  return parse_manifest(*text, path, part);
}

}  // namespace plumbline
