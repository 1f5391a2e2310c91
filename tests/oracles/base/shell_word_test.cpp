// SPDX-License-Identifier: MIT
// What a shell makes of a quoted word is the word, for every content.
#include "oracles/base/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace plumbline {
namespace {

// What printf gets from a shell that reads the line.
std::string read_by_a_shell(const std::string& words) {
  const std::string command = "printf '%s|' " + words;
  std::FILE* const shell = popen(command.c_str(), "r");
  EXPECT_NE(shell, nullptr);
  if (shell == nullptr) return {};
  std::string out;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), shell) != nullptr) out += part.data();
  pclose(shell);
  return out;
}

TEST(ShellWord, IsOneWordToAShell) {
  for (const std::string text : {"a.case",
                                 "my kernel/a b.toml",
                                 "gemm m=4 n=4",
                                 "it's",
                                 "say \"so\"",
                                 "$HOME",
                                 "`id`",
                                 "a\\b",
                                 "*",
                                 "~",
                                 "a;b",
                                 "a&b",
                                 "(a)",
                                 "wow!",
                                 "a\tb",
                                 "#a",
                                 "",
                                 "<a>",
                                 "{a,b}",
                                 "ü"})
    EXPECT_EQ(read_by_a_shell(shell_word(text)), text + "|") << shell_word(text);
}

TEST(ShellWord, StandsAsItIsWhereNothingIsSpecial) {
  EXPECT_EQ(shell_word("fuzz/corpus/gemm_bf16/621ceb.case"), "fuzz/corpus/gemm_bf16/621ceb.case");
  EXPECT_EQ(shell_word("gemm m=4 n=4"), "\"gemm m=4 n=4\"");
}

}  // namespace
}  // namespace plumbline
