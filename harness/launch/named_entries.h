// SPDX-License-Identifier: MIT
// The part of a PTX file that a manifest is about: the entries it names, and the functions they
// call. The rest of the file is not read: a library of kernels may have any instruction in
// those that are not launched.
#pragma once

#include <string_view>

#include "harness/device/entry_name.h"
#include "harness/emulator/frontend/module.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

// Whether one of the kernel's launches may mean an entry, by its own name or its C++ name. {field}
// stands for the words of the field, or for a number. The manifest has to outlive the filter.
EntryFilter entries_of(const Manifest& kernel);

// The bodies that the kernel's launches can reach. `file` names the text in messages.
Result<emulator::PtxModule> parse_named_entries(const Manifest& kernel, std::string_view ptx,
                                                std::string_view file);

// Calls visit(instruction) for all of their instructions.
template <typename Visit>
void for_each_instruction(const emulator::PtxModule& ptx, const Visit& visit) {
  for (const emulator::Function& function : ptx.functions) {
    for (const emulator::Instruction& instruction : function.instructions) visit(instruction);
  }
}

}  // namespace plumbline
