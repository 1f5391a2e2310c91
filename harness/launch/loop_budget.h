// SPDX-License-Identifier: MIT
// LoopBudget: how long the emulator follows the loops of a kernel before it calls one endless. A
// kernel with an endless loop would otherwise cost the full patience in every case of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace plumbline {

class LoopBudget {
 public:
  // Warp instructions that one warp may execute in loops; 0: the device's own number, as long as
  // fewer than two cases of the kernel were endless. After that, a multiple of what the longest
  // case that completed took. May be called from any thread, as the others.
  std::uint64_t of(const std::string& kernel) const;

  // A case completed, and all its warps together executed so many instructions.
  void completed(const std::string& kernel, std::uint64_t instructions);

  void endless(const std::string& kernel);

 private:
  struct Seen {
    std::uint64_t longest = 0;
    int endless = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

}  // namespace plumbline
