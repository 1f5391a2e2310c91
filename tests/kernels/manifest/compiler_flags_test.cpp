// SPDX-License-Identifier: MIT
#include "kernels/manifest/compiler_flags.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(FlagObjection, LetsThroughWhatKernelsNeed) {
  for (const char* flag :
       {"-O3", "-std=c++20", "-DNDEBUG", "-I../lib/include", "-I../it's here", "-use_fast_math",
        "--use_fast_math", "-fmad=false", "--expt-relaxed-constexpr", "--expt-extended-lambda",
        "--diag-suppress=39,161", "-prec-div=true", "-maxrregcount=128"})
    EXPECT_EQ(flag_objection(flag), "") << flag;
}

TEST(FlagObjection, RefusesWhatRunsPrograms) {
  for (const char* flag : {"-ccbin", "./cc.sh", "--compiler-bindir=x", "-Xcompiler", "-Xptxas",
                           "--options-file=x", "-run", "-o", "-c", "", "-"})
    EXPECT_THAT(flag_objection(flag), HasSubstr("not one that a manifest may set")) << flag;
}

TEST(FlagObjection, RefusesWhatAShellReads) {
  for (const char* flag : {"-DX=$(touch y)", "-DX=`id`", "-DX=\"a\"", "-Ia\\b", "-DX=a\nb"})
    EXPECT_THAT(flag_objection(flag), HasSubstr("shell would read")) << flag;
}

}  // namespace
}  // namespace plumbline
