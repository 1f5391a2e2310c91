// SPDX-License-Identifier: MIT
// The commands in the documents. If one of these fails, a reader copies a command that plumbline
// does not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/arguments.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  std::vector<fs::path> found = {fs::path(PLUMBLINE_SOURCE_DIR) / "README.md"};
  for (const char* folder : {"docs", "kernels", "fuzz"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(PLUMBLINE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
  }
  return found;
}

// The words of a command as a shell has them, up to a comment, a pipe or another command.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        *word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      if (!word) word.emplace();
    } else if (c == ' ') {
      if (word) words.push_back(*word);
      word.reset();
    } else if (!word && (c == '#' || c == '|' || c == '>' || c == ';' || c == '&')) {
      return words;
    } else {
      if (!word) word.emplace();
      *word += c;
    }
  }
  if (word) words.push_back(*word);
  return words;
}

// The line as a command of plumbline: from the program's name on; empty where it is none.
std::vector<std::string> command_in(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  if (words.size() < 2) return {};
  const std::string program = fs::path(words[0]).filename();
  const std::vector<VerbHelp> verbs = described_verbs();
  const bool known = std::ranges::any_of(
      verbs, [&](const VerbHelp& verb) { return std::string_view(verb.name) == words[1]; });
  if (program != "plumbline" || !known) return {};
  words[0] = program;
  return words;
}

// Lines of code: between fences, or indented.
std::vector<std::string> code_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  bool fenced = false;
  std::string begun;  // of a command that goes on in the next line
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      continue;
    }
    if (!fenced && !line.starts_with("    ")) continue;
    if (line.ends_with('\\')) {
      begun += line.substr(0, line.size() - 1);
      continue;
    }
    lines.push_back(begun + line);
    begun.clear();
  }
  return lines;
}

TEST(Documents, EveryCommandIsTaken) {
  int taken = 0;
  for (const fs::path& path : documents()) {
    for (const std::string& line : code_of(path)) {
      const std::vector<std::string> words = command_in(line);
      if (words.empty()) continue;
      std::vector<const char*> argv;
      for (const std::string& word : words) argv.push_back(word.c_str());
      const Result<Arguments> arguments =
          parse_arguments(static_cast<int>(argv.size()), argv.data());
      EXPECT_TRUE(arguments) << path.string() << ": " << line << "\n"
                             << (arguments ? "" : arguments.error().text());
      ++taken;
    }
  }
  EXPECT_GT(taken, 60);
}

TEST(Documents, ACommandThatIsNotTakenWouldBeSeen) {
  const std::vector<std::string> words = command_in("plumbline verify --kernle mine.toml  # typo");
  ASSERT_EQ(words.size(), 4u);
  const char* argv[] = {"plumbline", "verify", "--kernle", "mine.toml"};
  EXPECT_FALSE(parse_arguments(4, argv));
  EXPECT_TRUE(command_in("plumbline found the fault").empty());
}

}  // namespace
}  // namespace plumbline
