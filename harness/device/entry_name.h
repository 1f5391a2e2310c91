// SPDX-License-Identifier: MIT
// Which of a module's entries a manifest means. Kernels that are templates or live in a namespace
// have mangled names; a manifest may say the C++ name instead.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline {

// The C++ name of an entry without template arguments and parameters: "flash::flash_fwd_kernel" of
// "_ZN5flash16flash_fwd_kernelI...". The entry itself where it is no mangled name.
std::string cpp_name(const std::string& entry);

// With both, "k(float const*, int)"; empty where it is no mangled name, or too long a one.
std::string cpp_signature(const std::string& entry);

// Says which entries of a module a run may launch. Empty: any.
using EntryFilter = std::function<bool(const std::string& entry)>;

// The names after .entry in a PTX text, in its order.
std::vector<std::string> entry_names(std::string_view ptx);

// The entry of that name, or the only one of that C++ name. `file` is for messages. Errors
// (bad_input): there is none, or there are several.
Result<std::string> find_entry(std::span<const std::string> entries, std::string_view name,
                               const std::string& file);

}  // namespace plumbline
