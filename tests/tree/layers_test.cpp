// SPDX-License-Identifier: MIT
// The rooms and the arrows between them (docs/architecture.md): reads every #include and fails on
// an arrow backwards.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// What each room may include, beside itself. The longest matching folder decides which room a file
// is in.
// clang-format off
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"oracles/base",      {}},
    {"oracles/formats",   {"oracles/base"}},
    {"oracles/exact",     {"oracles/base", "oracles/formats"}},
    {"oracles/models",    {"oracles/base", "oracles/formats"}},
    {"oracles/bounds",    {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models"}},
    {"oracles/reference", {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models", "oracles/bounds"}},
    {"kernels",           {"oracles"}},
    {"fuzz",              {"oracles", "kernels"}},
    {"reports",           {"oracles"}},
    {"harness/device",    {"oracles/base", "oracles/formats"}},
    {"harness/emulator",  {"oracles/base", "oracles/formats", "oracles/models", "harness/device"}},
    {"harness/mutation",  {"oracles/base", "harness/emulator"}},
    {"harness/gpu",       {"oracles/base", "oracles/formats", "harness/device"}},
    {"harness",           {"oracles", "kernels", "fuzz", "reports"}},
};

// clang-format on

std::string room_of(const std::string& path) {
  std::string best;
  for (const auto& [room, allowed] : kMayInclude) {
    if (path.starts_with(room + "/") && room.size() > best.size()) best = room;
  }
  return best;
}

bool allowed(const std::string& from, const std::string& to_path) {
  const std::string to = room_of(to_path);
  if (to.empty() || to == from) return true;
  // The harness sits on top of its own sub-rooms.
  if (from == "harness" && to.starts_with("harness")) return true;
  for (const std::string& room : kMayInclude.at(from)) {
    if (to == room || to.starts_with(room + "/")) return true;
  }
  return false;
}

std::vector<std::string> quoted_includes(const fs::path& path) {
  std::vector<std::string> includes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#include \"")) continue;
    includes.push_back(line.substr(10, line.rfind('"') - 10));
  }
  return includes;
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const char* top : {"oracles", "kernels", "fuzz", "harness", "reports"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(PLUMBLINE_SOURCE_DIR) / top)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp") found.push_back(entry.path());
    }
  }
  return found;
}

}  // namespace

TEST(Layers, NoIncludePointsBackwards) {
  int checked = 0;
  for (const fs::path& path : sources()) {
    const std::string relative = fs::relative(path, PLUMBLINE_SOURCE_DIR);
    const std::string room = room_of(relative);
    ASSERT_FALSE(room.empty()) << relative << " is in no room";
    for (const std::string& include : quoted_includes(path)) {
      ++checked;
      EXPECT_TRUE(allowed(room, include))
          << relative << " includes " << include << ": " << room << " must not know it";
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(Layers, TheTableItselfForbidsSomething) {
  EXPECT_FALSE(allowed("oracles/formats", "kernels/problem.h"));
  EXPECT_FALSE(allowed("reports", "harness/run.h"));
  EXPECT_FALSE(allowed("harness/emulator", "fuzz/case.h"));
  EXPECT_TRUE(allowed("harness", "harness/emulator/module.h"));
}

TEST(Layers, EveryFileStartsWithItsLicense) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "// SPDX-License-Identifier: MIT") << path;
  }
}
