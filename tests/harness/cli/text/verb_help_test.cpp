// SPDX-License-Identifier: MIT
#include "harness/cli/text/verb_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cli/text/completion.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

VerbHelp cook() {
  return {
      .name = "cook",
      .help = "makes a meal",
      .operands = "DISH",
      .operands_help = "what to make",
      .flags = {{{"--heat"}, "LEVEL", {"low", "high"}, false, "Where", "of the stove"},
                {{"-q", "--quiet"}, "", {}, false, "Output", "no bell, which is loud, at night"}},
      .examples = {{"plumbline cook soup --heat low", "for an hour"}}};
}

TEST(VerbHelp, HangsTextsUnderTheirColumn) {
  const std::string text =
      "plumbline cook: makes a meal\n"
      "\n"
      "Usage: plumbline cook [OPTIONS] [DISH ...]\n"
      "  DISH ...          what to make\n"
      "\n"
      "Where\n"
      "  --heat LEVEL      of the stove\n"
      "\n"
      "Output\n"
      "  -q, --quiet       no bell, which is loud,\n"
      "                    at night\n"
      "\n"
      "Examples\n"
      "  plumbline cook soup --heat low\n"
      "      for an hour\n"
      "\n"
      "Exit codes\n";
  EXPECT_EQ(verb_help(cook(), 45).substr(0, text.size()), text);
}

TEST(Completion, HasVerbsFlagsAndValuesForEveryShell) {
  for (const std::string_view shell : kShells) {
    const std::string script = completion_script(shell, {cook()});
    for (const char* words : {"cook", "heat", "low high", "quiet"})
      EXPECT_THAT(script, HasSubstr(words)) << shell;
  }
}

TEST(Completion, OffersChips) {
  VerbHelp verb = cook();
  verb.flags[0].value = "CHIP";
  verb.flags[0].choices.clear();
  for (const std::string_view shell : kShells)
    EXPECT_THAT(completion_script(shell, {verb}), HasSubstr("80 86 89 90 100")) << shell;
}

}  // namespace
}  // namespace plumbline
