// SPDX-License-Identifier: MIT
// What ptxas makes of an entry: registers, spills, stack. The CUDA toolkit has to be there; what it
// says belongs to its version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

struct CompiledEntry {
  std::int64_t registers = 0;  // of a thread
  std::int64_t stack_bytes = 0;
  std::int64_t spill_store_bytes = 0, spill_load_bytes = 0;  // of a thread
  std::int64_t static_shared_bytes = 0;

  bool operator==(const CompiledEntry&) const = default;
};

// What `ptxas -v` says about one entry; nullopt where the text lacks it.
std::optional<CompiledEntry> parse_ptxas(std::string_view text, std::string_view entry);

// The chip that a PTX text is for: "sm_90a"; empty where it does not say.
std::string target_of(std::string_view ptx);

// Runs ptxas beside nvcc (find_nvcc) on a file, whose text is `ptx`. nullopt where there is no
// ptxas, or it does not take the file: `why` says so then.
std::optional<CompiledEntry> compile_entry(const std::string& path, std::string_view ptx,
                                           const std::string& entry, std::string& why);

}  // namespace plumbline
