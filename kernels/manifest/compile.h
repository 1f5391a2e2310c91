// SPDX-License-Identifier: MIT
// Compiles kernels from outside the tree (--kernel path/to/mine.toml with source = "mine.cu"), so
// that bringing a kernel takes no build system. Shipped kernels are compiled by the build
// (cmake/cuda_kernel.cmake), with the same flags.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

// The flags both ways of compiling use, for manifests without flags of their own; -arch and files
// follow.
inline constexpr std::string_view kCompilerFlags = "-ptx -std=c++20 -O3 -fmad=false -lineinfo";

// nvcc in CUDA_HOME, PATH, /usr/local/cuda/bin, or build/cuda/bin of the build tree this program is
// in; empty when there is none.
std::string find_nvcc();

// The folder that holds device/, for #include "device/...": the manifest's own, or the first of the
// two above it (kernels/, where shipped/<name>/ and device/ lie). Empty when there is none.
std::filesystem::path include_folder(const Manifest& kernel);

// Writes <kernel>.sm_<target>.ptx beside the manifest for every target whose PTX is missing, older
// than a file it was made from, or made with other flags. What it was made from stands in
// <kernel>.sm_<target>.ptx.inputs; where that is missing (the build made the PTX), the source and
// the shared headers count (include_folder). nvcc runs in the manifest's folder. Does nothing for a
// manifest that names its PTX. With `only`, the other targets are left as they are: their chips may
// lack what the source uses. Errors: no compiler, and what the compiler says.
Status compile_outdated(const Manifest& kernel, std::optional<int> only = std::nullopt);

// Whether the PTX for a target is there, and what the source would compile to.
bool is_compiled(const Manifest& kernel, int target);

}  // namespace plumbline
