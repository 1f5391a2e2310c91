# Writes OUTPUT, the values of harness/build_info.h, where they changed: what depends on it is compiled again only then.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[// Written by cmake/build_info.cmake; do not edit.
#include "harness/build_info.h"

namespace plumbline {

const char* const kVersion = "@VERSION@";
const char* const kGitHash = "@commit@";
const char* const kCompiler = "@COMPILER@";

}  // namespace plumbline
]])
