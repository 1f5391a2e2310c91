// SPDX-License-Identifier: MIT
// CodeCoverage: which of a kernel's instructions the cases of a run executed, and which of its
// loops they repeated, on each device that can tell. A fault in an instruction that never ran is
// one that no case can find; so is one in what a turn of a loop leaves to a next one that never
// came.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.h"
#include "harness/launch/launch.h"
#include "reports/record/record.h"

namespace plumbline {

// Workers share one.
class CodeCoverage {
 public:
  void add(const std::string& kernel, const std::string& device, const Module& module,
           const LaunchResult& launch);

  // Of one kernel, by device.
  std::map<std::string, CodeParts> of(const std::string& kernel) const;

  // The same of one device, where cases reached more of it since this was last asked.
  std::optional<CodeParts> growth(const std::string& kernel, const std::string& device);

 private:
  struct Code {
    std::vector<CodePlace> places;
    std::vector<std::string> sources;      // of each place, as it is shown
    std::vector<bool> executed, repeated;  // by PTX line
    bool has_grown = false;                // since it was last asked

    CodeParts parts() const;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Code> codes_;  // by kernel and device
};

}  // namespace plumbline
