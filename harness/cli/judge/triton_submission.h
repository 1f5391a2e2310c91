// SPDX-License-Identifier: MIT
// Submissions in Python: a Triton kernel is compiled by python/plumbline/submission.py in the
// sandbox. Of what that leaves, the PTX and how it is launched are taken, and held against the
// task.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/judge/sandbox.h"
#include "harness/cli/judge/task.h"
#include "oracles/base/result.h"

namespace plumbline {

// The task for each choice of formats that its problems have, whose types a compiled kernel has:
// with y = "{out}" and out = ["bf16", "f32"] these are two.
std::vector<toml::table> typed_tasks(const toml::table& task);

// tasks.json.
std::string json_of(const std::vector<toml::table>& tasks);

// The command that compiles a submission. An Error (cannot_run): there is no Python with Triton.
Result<SandboxCommand> triton_compiler(const std::string& submission, const std::string& tasks);

// A manifest and the PTX of every launch in `folder`/launches.json. An Error says what of it is not
// as it has to be, for a submission may have written it: it has to have a launch of every task for
// every chip.
Status take_launches(const std::filesystem::path& folder, const std::vector<toml::table>& tasks,
                     const std::vector<int>& chips, std::vector<NamedText>& files);

}  // namespace plumbline
