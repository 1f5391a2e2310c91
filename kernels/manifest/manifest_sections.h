// SPDX-License-Identifier: MIT
// The sections of a manifest, one function each; manifest_reader.cpp puts them together. Mistakes
// stay in the reader. Heavy (toml++): include it in .cpp files only.
#pragma once

#include "kernels/manifest/manifest.h"
#include "kernels/manifest/toml_reader.h"

namespace plumbline {

// [problem]: the fields as this kernel has them. All names in expressions are checked against it,
// so it comes first.
void read_problem(TomlReader& reader, Manifest& manifest);

// Everything made of expressions over the kernel's fields. read_launches: `entry`, `parameters` and
// [launch] or
// [[launch]].
void read_launches(TomlReader& reader, Manifest& manifest);
void read_workspace(TomlReader& reader, Manifest& manifest);
void read_domain(TomlReader& reader, Manifest& manifest);
// A value of `table` that is an expression or a plain number; nullopt when the key is absent.
std::optional<Expression> read_expression(TomlReader& reader, const Manifest& manifest,
                                          const toml::table& table, std::string_view key);
// The same of a text, empty after an error, and of an element of an array; `what` names it in
// messages.
Expression read_expression(TomlReader& reader, const Manifest& manifest,
                           const TomlReader::Text& text);
Expression read_real_expression(TomlReader& reader, const Manifest& manifest,
                                const TomlReader::Text& text);
std::optional<Expression> read_expression(TomlReader& reader, const Manifest& manifest,
                                          const toml::node& node, std::string_view what);
// The operation must have a tensor of this name, or it is the workspace.
void check_tensor_name(TomlReader& reader, const Manifest& manifest, const TomlReader::Text& name);

// [tensor_map.<name>]. It comes after the launches: each table has to be a parameter of one.
void read_tensor_maps(TomlReader& reader, Manifest& manifest);
// What a parameter "tensor_map <name>" names must have a table.
void check_tensor_map_name(TomlReader& reader, const TomlReader::Text& name);

// [formats], [tile]
void read_formats(TomlReader& reader, Manifest& manifest);
// What an entry of [formats] stands for: "bf16", or the words of a field, "{out}".
std::vector<FormatId> formats_named(const Manifest& manifest, std::string_view entry);
void read_tile(TomlReader& reader, Manifest& manifest);

// in_place = {d = "c"}, part of the schema; and whether the formats agree, after [formats].
void read_in_place(TomlReader& reader, Manifest& manifest, KernelSchema& schema);
// zeroed = ["d"], after in_place.
void read_zeroed(TomlReader& reader, Manifest& manifest);
void check_in_place_formats(TomlReader& reader, const Manifest& manifest);

// [[known]]
void read_known(TomlReader& reader, Manifest& manifest);

// [contract]
void read_contract(TomlReader& reader, Manifest& manifest);

}  // namespace plumbline
