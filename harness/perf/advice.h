// SPDX-License-Identifier: MIT
// Advice: what of a kernel's traffic is more than its data need, in words, with the line. Only what
// matters is said: a line has to make a twentieth of what its kind adds up to, and to be beyond a
// threshold below.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/perf/perf_record.h"

namespace plumbline {

struct Advice {
  std::string_view rule;  // "uncoalesced"
  std::string words;      // a whole sentence
  // Where it is in the source, or in the PTX; empty where it is about the launch.
  std::string file{};
  int line = 0;
};

namespace advice_limits {
inline constexpr double kShare = 0.05;       // of a launch's sectors, wavefronts or requests
inline constexpr double kSectors = 2.5;      // sectors by those that would hold the bytes
inline constexpr double kWideSectors = 1.9;  // the same of 16-byte accesses, of which 2 is the most
inline constexpr double kConflicts = 1.5;    // wavefronts by those without conflicts
inline constexpr double kSplit = 0.5;        // accesses right behind the one before
inline constexpr double kNarrowShare = 0.1;  // of requests
inline constexpr double kRepeated = 0.75;    // sectors that the line had used before
inline constexpr double kRepeatedShare = 0.2;
inline constexpr double kPadding = 0.25;       // of all products
inline constexpr double kFill = 0.25;          // of the bytes of bulk copies
inline constexpr double kIdle = 0.45;          // barriers with nothing between, of all at one line
inline constexpr double kExposed = 0.5;        // waits right behind their copies
inline constexpr std::uint64_t kFewWaits = 4;  // of a warp
inline constexpr double kFilled = 0.75;        // of the last wave and those before it
// Of the warps that a multiprocessor has room for, of kernels without tensor-core products: those
// with them keep their sums in registers, and few warps suffice.
inline constexpr double kFewWarps = 0.25;
}  // namespace advice_limits

std::vector<Advice> advice(const PerfEntry& entry);

}  // namespace plumbline
