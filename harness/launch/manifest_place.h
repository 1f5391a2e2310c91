// SPDX-License-Identifier: MIT
// Where a manifest says something: "k.toml:12", for errors that quote it beside the PTX.
#pragma once

#include <string>
#include <string_view>

#include "kernels/manifest/manifest.h"

namespace plumbline {

// The line that gives a key or a term; the manifest's path where it leaves that out.
std::string place_in_manifest(const Manifest& kernel, std::string_view key);

}  // namespace plumbline
