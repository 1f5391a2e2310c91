// SPDX-License-Identifier: MIT
#include "harness/cli/arguments.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/cli/exit_code.h"
#include "harness/cli/terminal.h"
#include "harness/cli/text/wrap.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

Result<Arguments> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "plumbline");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

std::string error(std::vector<const char*> words) {
  const Result<Arguments> arguments = parse(std::move(words));
  EXPECT_FALSE(arguments);
  return arguments ? "" : arguments.error().text();
}

std::string read(const std::string& path) {
  std::ifstream file(std::string(PLUMBLINE_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Arguments, BareProgramShowsHelp) {
  const Result<Arguments> arguments = parse({});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->verb, "");
  EXPECT_THAT(arguments->help, HasSubstr("verify"));
}

TEST(Arguments, ReadsEveryFlag) {
  const Result<Arguments> arguments =
      parse({"verify", "gemm_*",   "--profile", "quick", "--seed",   "0x2a",     "--shard",  "3/8",
             "--on",   "emulator", "--sm",      "90",    "--oracle", "mpfr:512", "--repeat", "3",
             "--jobs", "2",        "--format",  "line",  "--only",   "k>5"});
  ASSERT_TRUE(arguments) << arguments.error().text();
  EXPECT_EQ(arguments->verb, "verify");
  EXPECT_EQ(arguments->names, std::vector<std::string>{"gemm_*"});
  EXPECT_EQ(arguments->profile, Profile::quick);
  EXPECT_EQ(arguments->seed, 42u);
  EXPECT_EQ(arguments->shard->count, 8);
  EXPECT_EQ(arguments->on, On::emulator);
  EXPECT_EQ(arguments->sm, 90);
  EXPECT_EQ(arguments->mpfr_bits, 512);
  EXPECT_EQ(arguments->repeat, 3);
  EXPECT_EQ(arguments->format, OutputFormat::line);
}

TEST(Arguments, HelpOfAVerbIsTheSameBothWays) {
  const std::string text = parse({"help", "verify"})->help;
  EXPECT_EQ(text, parse({"verify", "--help"})->help);
  EXPECT_EQ(parse({"help"})->help, parse({"--help"})->help);
  EXPECT_THAT(error({"help", "verfy"}), HasSubstr("did you mean \"verify\"?"));
  std::size_t before = 0;
  for (const char* heading : {"\nWhat to run\n", "\nWhere\n", "\nJudging\n",
                              "\nWhen something fails\n", "\nOutput\n", "\nExamples\n"}) {
    const std::size_t at = text.find(heading);
    EXPECT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, before) << heading;
    before = at;
  }
}

TEST(Arguments, EveryVerbHasExamplesThatParse) {
  for (const VerbHelp& verb : described_verbs()) {
    EXPECT_GE(verb.examples.size(), 2u) << verb.name;
    EXPECT_LE(verb.examples.size(), 4u) << verb.name;
    for (const ExampleHelp& example : verb.examples) {
      // The words behind the program's name, quotes kept together.
      std::vector<std::string> words(1);
      bool quoted = false;
      for (const char c : example.command.substr(example.command.find("plumbline"))) {
        if (c == '\'') {
          quoted = !quoted;
        } else if ((c == ' ' && !quoted) || c == ')' || c == '|') {
          if (!words.back().empty()) words.emplace_back();
          if (c != ' ') break;
        } else {
          words.back() += c;
        }
      }
      if (words.back().empty()) words.pop_back();
      std::vector<const char*> argv;
      for (const std::string& word : words) argv.push_back(word.c_str());
      const auto parsed = parse_arguments(static_cast<int>(argv.size()), argv.data());
      ASSERT_TRUE(parsed) << example.command << ": " << parsed.error().text();
      EXPECT_EQ(parsed->verb, verb.name) << example.command;
    }
  }
}

TEST(Arguments, ARunMayEndWithItsFailures) {
  EXPECT_EQ(parse({"verify"})->max_failures, 0);
  EXPECT_EQ(parse({"verify", "-x"})->max_failures, 1);
  EXPECT_EQ(parse({"verify", "--fail-fast"})->max_failures, 1);
  EXPECT_EQ(parse({"verify", "--max-fail", "7"})->max_failures, 7);
  EXPECT_THAT(error({"verify", "--max-fail", "0"}), HasSubstr("--max-fail"));
}

TEST(Arguments, TheVersionSaysWhatThisBuildIsMadeOf) {
  const std::string text = parse({"--version"})->help;
  for (const char* words : {"plumbline ", "\ncompiler   ", "\nkernels    ", "\nlibraries  MPFR ",
                            ", GMP ", "\nprocessor  "})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(Arguments, AChipIsANumberWithOrWithoutItsPrefix) {
  EXPECT_EQ(parse({"verify", "--sm", "sm_89"})->sm, 89);
  for (const char* text : {"0", "-80", "sm_", "90a", "hopper"}) {
    EXPECT_THAT(error({"verify", "--sm", text}),
                HasSubstr(std::string("--sm ") + text + " is no chip (a number such as 90)"));
  }
}

TEST(Arguments, JsonIsRefusedWhereThereIsNone) {
  EXPECT_EQ(parse({"verify", "--format", "json"})->format, OutputFormat::json);
  // Of list it hangs on what is listed: tests/cli/bad_input.sh.
  for (const char* verb : {"explain", "report", "doctor"}) {
    EXPECT_THAT(error({verb, "--format", "json"}),
                HasSubstr(std::string(verb) + " has no --format json"));
  }
}

TEST(Arguments, LinesAreRefusedWhereThereAreNone) {
  EXPECT_EQ(parse({"replay", "a.case", "--format", "line"})->format, OutputFormat::line);
  for (const char* verb : {"list", "explain", "doctor"}) {
    EXPECT_THAT(error({verb, "--format", "line"}),
                HasSubstr(std::string(verb) + " has no --format line"));
  }
}

TEST(Arguments, AReplayHasNoFlagsOfACorpus) {
  for (const char* flag : {"--no-corpus", "--no-shrink"}) {
    EXPECT_THAT(error({"replay", "a.case", flag}),
                HasSubstr(std::string("replay does not know ") + flag));
  }
  EXPECT_THAT(error({"replay", "a.case", "--corpus", "there"}),
              HasSubstr("replay does not know --corpus"));
}

TEST(Terminal, NotesLeaveStandardOutputToJson) {
  Arguments arguments;
  arguments.format = OutputFormat::json;
  Terminal terminal(arguments);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  terminal.note("tensors: here");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tensors: here\n");
}

TEST(Arguments, DurationsHaveUnits) {
  EXPECT_DOUBLE_EQ(parse({"fuzz", "--for", "10m"})->seconds, 600);
  EXPECT_DOUBLE_EQ(parse({"fuzz", "--for", "90"})->seconds, 90);
  EXPECT_THAT(error({"fuzz", "--for", "soon"}), HasSubstr("--for soon is not a duration"));
}

TEST(Arguments, AMisspeltVerbIsCorrected) {
  EXPECT_THAT(error({"verfy", "gemm_bf16"}),
              HasSubstr("no verb \"verfy\" (did you mean \"verify\"?"));
}

TEST(Arguments, AMisspeltFlagIsCorrected) {
  EXPECT_THAT(error({"verify", "--profil", "quick"}),
              HasSubstr("verify does not know --profil (did you mean \"--profile\"?)"));
}

TEST(Arguments, AFlagLikeNoOtherIsNotCorrected) {
  EXPECT_THAT(error({"verify", "--bogus"}),
              HasSubstr("verify does not know --bogus (plumbline verify --help)"));
  EXPECT_THAT(error({"--bogus"}), HasSubstr("plumbline does not know --bogus"));
}

TEST(Arguments, BadValuesSayWhatWouldBeGood) {
  EXPECT_THAT(error({"verify", "--profile", "quik"}), HasSubstr("did you mean \"quick\"?"));
  EXPECT_THAT(error({"verify", "--on", "gup"}), HasSubstr("did you mean \"gpu\"?"));
  EXPECT_THAT(error({"verify", "--seed", "many"}), HasSubstr("--seed many is not a whole number"));
  EXPECT_THAT(error({"verify", "--oracle", "mpfr:8"}), HasSubstr("64 to 65536 bits"));
  EXPECT_THAT(error({"verify", "--shard", "9/8"}), HasSubstr("--shard 9/8"));
  EXPECT_THAT(error({"verify", "--repeat", "zero"}), HasSubstr("--repeat"));
}

// docs/cli.md is written from the program: PLUMBLINE_APPROVE=1 writes it again.
TEST(CliDocument, SaysWhatTheProgramSays) {
  std::string text =
      "# Command line\n\n"
      "Written from `plumbline --help` by a test (`PLUMBLINE_APPROVE=1` writes it again); do not "
      "edit.\n\n"
      "## Exit codes\n\n| code | means |\n|---|---|\n";
  for (const ExitCodeInfo& info : kExitCodes) {
    text += "| " + std::to_string(static_cast<int>(info.code)) + " | " + std::string(info.means) +
            " |\n";
  }
  text += "\nSeveral at once: 130, then 70 > 1 > 3 > 5 > 4.\n\n## Verbs and flags\n\n```\n" +
          full_help() + "```\n";
  if (std::getenv("PLUMBLINE_APPROVE"))
    std::ofstream(std::string(PLUMBLINE_SOURCE_DIR) + "/docs/cli.md") << text;
  EXPECT_EQ(read("docs/cli.md"), text);
}

TEST(Wrap, BreaksAtSpacesAndKeepsTheIndent) {
  EXPECT_EQ(wrap("short", 20), "short");
  EXPECT_EQ(wrap("  one two three four", 12), "  one two\n    three\n    four");
  EXPECT_EQ(wrap("averyveryverylongword x", 10), "averyveryverylongword\n  x");
  EXPECT_EQ(wrap("  a  one two three", 12, 5), "  a  one two\n     three");
  EXPECT_EQ(wrap("  a     one two", 12, 8), "  a     one\n    two") << "no room for a column";
}

TEST(Shortened, EndsWithAWholeWord) {
  EXPECT_EQ(shortened("  a  word", 9), "  a  word");
  EXPECT_EQ(shortened("  a  word", 8), "  a");
  EXPECT_EQ(shortened("  a  word", 3), "  a");
  EXPECT_EQ(shortened("  a  word", 2), "");
  EXPECT_EQ(shortened("verylong", 4), "very");
}

}  // namespace
}  // namespace plumbline
