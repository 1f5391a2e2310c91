// SPDX-License-Identifier: MIT
// The verbs and their flags as data: what help prints and shells complete.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct FlagHelp {
  std::vector<std::string> names;    // "-j", "--jobs"
  std::string value;                 // "N"; empty: a switch
  std::vector<std::string> choices;  // its values, where they are few
  bool repeats = false;
  std::string group, help;
};

struct ExampleHelp {
  std::string command, help;
};

struct VerbHelp {
  std::string name, help;
  std::string operands, operands_help;  // "KERNEL"; both empty: none
  std::vector<FlagHelp> flags;
  std::vector<ExampleHelp> examples;
};

// Of the program and of one verb, in lines of at most `width` columns where words allow it.
std::string program_help(const std::vector<VerbHelp>& verbs, int width);
std::string verb_help(const VerbHelp& verb, int width);

}  // namespace plumbline
