// SPDX-License-Identifier: MIT
// docs/environment.md names every variable that the program reads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/folders.h"

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Environment, EveryVariableIsDocumented) {
  const fs::path root = PLUMBLINE_SOURCE_DIR;
  const std::string page = text_of(root / "docs/environment.md");
  const std::regex read("getenv\\(\"([A-Z_]+)\"\\)");
  int found = 0;
  for (const char* room : {"harness", "kernels", "fuzz", "oracles", "reports"}) {
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(root / room)) {
      if (file.path().extension() != ".cpp") continue;
      const std::string code = text_of(file);
      for (std::sregex_iterator at(code.begin(), code.end(), read), end; at != end; ++at, ++found)
        EXPECT_NE(page.find("| `" + at->str(1) + "` |"), std::string::npos) << at->str(1);
    }
  }
  EXPECT_GE(found, 7) << "the expression no longer fits the code";
}

}  // namespace
