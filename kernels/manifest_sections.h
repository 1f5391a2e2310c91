// SPDX-License-Identifier: MIT
// The sections of a manifest, one function each; manifest_reader.cpp puts them together. Mistakes
// stay in the reader. Heavy (toml++): include it in .cpp files only.
#pragma once

#include "kernels/manifest.h"
#include "kernels/toml_reader.h"

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
// A value of `table` that is an expression or a plain number; nothing when the key is absent.
std::optional<Expression> read_expression(TomlReader& reader, const Manifest& manifest,
                                          const toml::table& table, std::string_view key);

// [formats], [tile]
void read_formats(TomlReader& reader, Manifest& manifest);
void read_tile(TomlReader& reader, Manifest& manifest);

// [contract]
void read_contract(TomlReader& reader, Manifest& manifest);

}  // namespace plumbline
