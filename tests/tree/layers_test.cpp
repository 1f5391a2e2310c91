// SPDX-License-Identifier: MIT
// The rooms and the arrows between them (docs/architecture.md): reads every #include and fails on
// an arrow backwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/folders.h"

namespace fs = std::filesystem;

namespace {

// What each room may include, beside itself: rooms by name, or with all rooms below them ("/...").
// The longest matching folder decides which room a file is in. Operations of one kind do not know
// each other, unless one is made of the other.
// clang-format off
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"oracles/base",                         {}},
    {"oracles/formats",                      {"oracles/base"}},
    {"oracles/exact",                        {"oracles/base", "oracles/formats"}},
    {"oracles/models",                       {"oracles/base", "oracles/formats"}},
    {"oracles/text",                         {"oracles/base", "oracles/formats"}},
    {"oracles/bounds/contract",              {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models"}},
    {"oracles/bounds/accumulator",           {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models",
                                              "oracles/bounds/contract"}},
    {"oracles/bounds",                       {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models",
                                              "oracles/bounds/..."}},
    {"oracles/reference",                    {"oracles/base", "oracles/formats", "oracles/exact", "oracles/bounds/..."}},
    {"oracles/reference/gemm",               {"oracles/base", "oracles/formats", "oracles/exact", "oracles/models",
                                              "oracles/bounds/...", "oracles/reference"}},
    {"oracles/reference/attention",          {"oracles/base", "oracles/formats", "oracles/exact", "oracles/bounds/...",
                                              "oracles/reference"}},
    {"oracles/reference/attention_backward", {"oracles/base", "oracles/formats", "oracles/exact", "oracles/bounds/...",
                                              "oracles/reference", "oracles/reference/attention", "oracles/reference/gemm"}},
    {"oracles/reference/rows",               {"oracles/base", "oracles/formats", "oracles/exact", "oracles/bounds/...",
                                              "oracles/reference"}},
    {"oracles/reference/swiglu",             {"oracles/base", "oracles/formats", "oracles/exact", "oracles/bounds/...",
                                              "oracles/reference", "oracles/reference/gemm"}},
    {"oracles/reference/quantize",           {"oracles/base", "oracles/formats", "oracles/exact", "oracles/reference"}},
    {"oracles/reference/text",               {"oracles/base", "oracles/formats", "oracles/exact", "oracles/text",
                                              "oracles/bounds/...", "oracles/reference"}},
    {"oracles/stages",                       {"oracles/base", "oracles/formats", "oracles/models", "oracles/bounds/...",
                                              "oracles/reference/..."}},
    {"oracles/population",                   {"oracles/base", "oracles/exact", "oracles/models", "oracles/reference/...",
                                              "oracles/stages"}},
    {"kernels/manifest",                     {"oracles/..."}},
    {"kernels/ops",                          {"oracles/...", "kernels/manifest"}},
    {"kernels",                              {"oracles/...", "kernels/manifest", "kernels/ops"}},
    {"fuzz/case",                            {"oracles/...", "kernels/manifest"}},
    {"fuzz/case_file",                       {"oracles/...", "kernels/...", "fuzz/case"}},
    {"fuzz/shrink",                          {"oracles/...", "kernels/manifest", "fuzz/case"}},
    {"fuzz/plan",                            {"oracles/...", "kernels/manifest", "fuzz/case", "fuzz/shrink"}},
    {"fuzz/gemm",                            {"oracles/...", "kernels/...", "fuzz/case"}},
    {"fuzz/grouped",                         {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm"}},
    {"fuzz/linear",                          {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm"}},
    {"fuzz/quantize",                        {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm"}},
    {"fuzz/rows",                            {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm"}},
    {"fuzz/swiglu",                          {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm"}},
    {"fuzz/text",                            {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm", "fuzz/rows"}},
    {"fuzz/attention",                       {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm", "fuzz/grouped",
                                              "fuzz/shrink"}},
    {"fuzz",                                 {"oracles/...", "kernels/...", "fuzz/..."}},
    {"reports/record",                       {"oracles/..."}},
    {"reports",                              {"oracles/...", "reports/record"}},
    {"reports/html",                         {"oracles/...", "reports/record", "reports"}},
    {"harness/device",                       {"oracles/base", "oracles/formats"}},
    {"harness/gpu",                          {"oracles/base", "oracles/formats", "harness/device"}},
    {"harness/emulator/frontend",            {"oracles/base"}},
    {"harness/emulator/memory",              {"oracles/base", "harness/device", "harness/emulator/frontend"}},
    {"harness/emulator/decode",              {"oracles/base", "oracles/formats", "oracles/models", "harness/device",
                                              "harness/emulator/frontend", "harness/emulator/memory"}},
    {"harness/emulator/machine",             {"oracles/base", "oracles/formats", "oracles/models", "harness/device",
                                              "harness/emulator/memory", "harness/emulator/decode"}},
    {"harness/emulator/instructions",        {"oracles/base", "oracles/formats", "oracles/models", "harness/device",
                                              "harness/emulator/memory", "harness/emulator/decode", "harness/emulator/machine"}},
    {"harness/emulator",                     {"oracles/base", "harness/device", "harness/emulator/..."}},
    {"harness/relations",                    {"oracles/...", "kernels/...", "fuzz/case"}},
    {"harness/population",                   {"oracles/...", "kernels/...", "fuzz/case", "fuzz/gemm", "harness/relations"}},
    {"harness/launch",                       {"oracles/...", "kernels/...", "fuzz/case", "harness/device", "harness/emulator",
                                              "harness/emulator/frontend", "harness/gpu"}},
    {"harness/judge",                        {"oracles/...", "kernels/...", "fuzz/case", "reports", "reports/record",
                                              "harness/device", "harness/emulator", "harness/emulator/frontend", "harness/launch",
                                              "harness/relations", "harness/population"}},
    {"harness/explain",                      {"oracles/...", "kernels/...", "fuzz/case", "reports", "reports/record",
                                              "harness/launch", "harness/judge"}},
    {"harness/check",                        {"oracles/...", "kernels/...", "fuzz/case", "fuzz/case_file", "reports", "reports/record",
                                              "harness/launch", "harness/judge"}},
    {"harness",                              {}},
    {"harness/perf",                         {"oracles/base", "kernels/manifest", "reports", "reports/record", "reports/html", "harness/device", "harness/launch"}},
    {"harness/scan",                         {"oracles/base", "oracles/formats", "oracles/exact", "harness/device", "harness/launch"}},
    {"harness/run",                          {"oracles/...", "kernels/...", "fuzz/...", "reports", "reports/record", "harness",
                                              "harness/device", "harness/launch", "harness/judge", "harness/explain"}},
    {"harness/propagation",                  {"oracles/...", "kernels/...", "fuzz/...", "reports", "reports/record",
                                              "harness/emulator", "harness/launch", "harness/judge", "harness/run"}},
    {"harness/mutation",                     {"oracles/...", "kernels/...", "fuzz/...", "reports", "reports/record",
                                              "harness/emulator/...", "harness/launch", "harness/judge", "harness/explain", "harness/run"}},
    {"harness/client",                       {}},
    {"harness/cli/draft",                    {"oracles/base", "kernels/manifest", "harness/emulator"}},
    {"harness/cli/text",                     {"oracles/base", "oracles/formats", "reports", "reports/record"}},
    {"harness/cli/judge",                    {"oracles/...", "kernels/...", "fuzz/...", "reports/...", "harness/..."}},
    {"harness/cli/mutants",                  {"oracles/...", "kernels/...", "fuzz/...", "reports/...", "harness/..."}},
    {"harness/cli",                          {"oracles/...", "kernels/...", "fuzz/...", "reports/...", "harness/..."}},
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
  for (const std::string& room : kMayInclude.at(from)) {
    if (to == room) return true;
    if (room.ends_with("/...") && (to + "/").starts_with(room.substr(0, room.size() - 3)))
      return true;
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
  EXPECT_FALSE(allowed("oracles/formats", "kernels/manifest/problem.h"));
  EXPECT_FALSE(allowed("reports", "harness/run/run.h"));
  EXPECT_FALSE(allowed("harness/emulator/machine", "fuzz/case/case.h"));
  EXPECT_FALSE(allowed("oracles/reference/gemm", "oracles/reference/attention/judge.h"));
  EXPECT_FALSE(allowed("harness/run", "harness/propagation/propagate.h"));
  EXPECT_TRUE(allowed("harness/run", "harness/judge/judge.h"));
  EXPECT_TRUE(allowed("harness/cli", "harness/emulator/frontend/module.h"));
}

TEST(Layers, NoRoomIncludesOneThatIncludesIt) {
  std::map<std::string, std::set<std::string>> includes;
  for (const fs::path& path : sources()) {
    const std::string from = room_of(fs::relative(path, PLUMBLINE_SOURCE_DIR));
    for (const std::string& include : quoted_includes(path)) {
      const std::string to = room_of(include);
      if (!to.empty() && to != from) includes[from].insert(to);
    }
  }
  // Rooms that include nothing that is left go; what cannot go is in a circle.
  for (bool went = true; went;) {
    went = false;
    for (auto room = includes.begin(); room != includes.end();) {
      const bool leaf = std::none_of(room->second.begin(), room->second.end(),
                                     [&](const std::string& to) { return includes.contains(to); });
      room = leaf ? includes.erase(room) : std::next(room);
      went |= leaf;
    }
  }
  for (const auto& [room, others] : includes)
    ADD_FAILURE() << room << " is in a circle of includes";
}

// What a reader can take in at a glance. The planted faults are a list.
TEST(Layers, NoFolderHasMoreThanFortyFiles) {
  std::map<fs::path, int> files;
  for (const char* top : {"oracles", "kernels", "fuzz", "harness", "reports", "tests"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(PLUMBLINE_SOURCE_DIR) / top)) {
      const fs::path kind = entry.path().extension();  // compilers leave PTX beside sources
      if (entry.is_regular_file() && kind != ".ptx" && kind != ".inputs")
        ++files[fs::relative(entry.path().parent_path(), PLUMBLINE_SOURCE_DIR)];
    }
  }
  EXPECT_GT(files.size(), 50u);
  for (const auto& [folder, count] : files) {
    if (folder == "kernels/mutants") continue;
    EXPECT_LE(count, 40) << folder;
  }
}

// What differs from one operation to the next is a member of Operation, or a row of a table.
TEST(Layers, NoOperationIsAskedForItsName) {
  const std::regex compared("\\bname\\(\\) [!=]= \"");
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      EXPECT_FALSE(std::regex_search(line, compared)) << path << ": " << line;
  }
  EXPECT_TRUE(std::regex_search("if (operation->name() == \"gemm\")", compared));
}

// What a new operation needs outside its own files is a row of the table of operations.
TEST(Layers, AnOperationIsNamedInItsOwnFilesAndOneTable) {
  int own = 0;
  for (const fs::path& path : sources()) {
    const std::string relative = fs::relative(path, PLUMBLINE_SOURCE_DIR);
    const bool is_own = relative.find("swiglu") != std::string::npos;
    own += is_own;
    if (is_own || relative == "kernels/operations.cpp") continue;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      EXPECT_EQ(line.find("swiglu_mlp"), std::string::npos) << path << ": " << line;
  }
  EXPECT_GT(own, 10);
}

TEST(Layers, EveryFileStartsWithItsLicense) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "// SPDX-License-Identifier: MIT") << path;
  }
}
