// SPDX-License-Identifier: MIT
// The sections of a manifest, one function each; manifest_reader.cpp puts them together. Mistakes
// stay in the reader. Heavy (toml++): include it in .cpp files only.
#pragma once

#include "kernels/manifest.h"
#include "kernels/toml_reader.h"

namespace plumbline {

// `parameters`, `entry`, [launch], [[domain]]: everything made of expressions over the operation's
// fields.
void read_parameters(TomlReader& reader, Manifest& manifest);
void read_entry(TomlReader& reader, Manifest& manifest);
void read_launch(TomlReader& reader, Manifest& manifest);
void read_domain(TomlReader& reader, Manifest& manifest);

// [formats], [tile]
void read_formats(TomlReader& reader, Manifest& manifest);
void read_tile(TomlReader& reader, Manifest& manifest);

// [contract]
void read_contract(TomlReader& reader, Manifest& manifest);

}  // namespace plumbline
