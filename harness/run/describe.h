// SPDX-License-Identifier: MIT
// What a record says before any case has run: plumbline and the machine, the kernels, the devices.
#pragma once

#include <string>
#include <vector>

#include "harness/launch/target.h"
#include "kernels/manifest/manifest.h"
#include "reports/record/record.h"

namespace plumbline {

// Of a file's bytes; empty where it cannot be read.
std::string hash_of_file(const std::string& path);

// Version, machine and libraries. Nothing that may change between two runs on one machine.
void describe_environment(RunRecord& record);

// What `plumbline --version` prints: version and commit, and what this build was made of.
std::string version_text();

// What a kernel is and promises on these targets, with hashes of its source and builds.
KernelRecord describe_kernel(const Manifest& kernel, const std::vector<Target>& targets);

// Lists a kernel and the devices it runs on (with a GPU's driver), once however often it is added.
// Without targets, `skip_reason` says why.
void add_kernel(RunRecord& record, const Manifest& kernel, const std::vector<Target>& targets,
                const std::string& skip_reason);

}  // namespace plumbline
