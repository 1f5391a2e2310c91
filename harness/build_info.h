// SPDX-License-Identifier: MIT
// Which plumbline this is. cmake/build_info.cmake writes the values into one file of the build.
#pragma once

namespace plumbline {

extern const char* const kVersion;   // "0.1.0"
extern const char* const kGitHash;   // "0474d4f21c3e-dirty"; empty where there was no repository
extern const char* const kCompiler;  // "GNU 12.2.0, Release"

}  // namespace plumbline
