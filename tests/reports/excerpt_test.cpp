// SPDX-License-Identifier: MIT
// Which lines of source a card shows.
#include "reports/excerpt.h"
#include "reports/places.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "reports/card.h"
#include "reports/record/escape.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Excerpt : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = std::filesystem::temp_directory_path() / ("plumbline_excerpt_" + name);
    std::filesystem::create_directories(root_);
    write("kernel.cu", "one\n  two\n\tthree\n      four \r\n  five\n  six\n");
    write("helper.cuh", "a\nb\n");
    write("kernel.ptx", ".version 9.0\nret;\n");
  }

  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(root_ / file) << text;
  }

  std::string path(const std::string& file) const { return (root_ / file).string(); }

  FindingRecord finding() const {
    return {.kind = "race", .text = "a race", .ptx_file = path("kernel.ptx"), .ptx_line = 2};
  }

  std::vector<SourceExcerpt> excerpts(const Counterexample& card) const {
    return source_excerpts(card, root_.string());
  }

  std::filesystem::path root_;
};

TEST_F(Excerpt, IsTheLineWithThoseAroundIt) {
  Counterexample card;
  card.findings = {finding()};
  card.findings[0].source_file = path("kernel.cu");
  card.findings[0].source_line = 4;
  const std::vector<SourceExcerpt> found = excerpts(card);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(excerpt_lines(found[0]),
              ElementsAre("kernel.cu:4, where it happens", "  2 | two", "  3 |   three",
                          "> 4 |     four", "  5 | five", "  6 | six"));
}

TEST_F(Excerpt, IsTheCallOfWhatWasInlined) {
  Counterexample card;
  card.findings = {finding()};
  card.findings[0].source_file = path("helper.cuh");
  card.findings[0].source_line = 1;
  card.findings[0].inlined_at = path("kernel.cu") + ":1";
  EXPECT_EQ(excerpts(card).at(0).file, "kernel.cu");
  card.findings[0].inlined_at = path("gone.cu") + ":1";
  EXPECT_EQ(excerpts(card).at(0).file, "helper.cuh");
}

TEST_F(Excerpt, ShowsBothSidesOfARace) {
  Counterexample card;
  card.findings = {finding()};
  card.findings[0].other =
      OtherAccessRecord{.access = "write", .source_file = path("kernel.cu"), .source_line = 6};
  const std::vector<SourceExcerpt> found = excerpts(card);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].file, "kernel.ptx");
  EXPECT_THAT(excerpt_lines(found[1]), Contains("> 6 | six"));
  EXPECT_EQ(found[1].what, "the other access");
}

TEST_F(Excerpt, OfAWrongValueIsItsStore) {
  Counterexample card;
  card.store = finding();
  card.store.source_file = path("kernel.cu");
  card.store.source_line = 1;
  EXPECT_EQ(excerpts(card).at(0).what, "which stored it");
  card.excerpts = excerpts(card);
  EXPECT_THAT(card_lines(card), Contains("        > 1 | one"));
}

TEST_F(Excerpt, IsMissingWhereTheSourceIs) {
  Counterexample card;
  EXPECT_TRUE(excerpts(card).empty());
  card.findings = {finding(), finding()};
  card.findings[0].ptx_file = path("gone.ptx");
  EXPECT_EQ(excerpts(card).at(0).file, "kernel.ptx");  // of the second finding
  card.findings.pop_back();
  EXPECT_TRUE(excerpts(card).empty());
  card.findings[0] = finding();
  card.findings[0].ptx_line = 9;  // the file was changed since
  EXPECT_TRUE(excerpts(card).empty());
}

// PTX names its sources itself, and a report is passed on.
TEST_F(Excerpt, QuotesNoFileThatIsNoSourceCode) {
  write("secret.txt", "one\ntwo\n");
  std::filesystem::create_directory(root_ / "folder.cu");
  for (const char* file : {"secret.txt", "folder.cu", "/dev/zero", "/etc/passwd"}) {
    Counterexample card;
    card.store = finding();
    card.store.source_file = file[0] == '/' ? file : path(file);
    card.store.source_line = 1;
    EXPECT_EQ(excerpts(card).at(0).file, "kernel.ptx") << file;
  }
}

TEST_F(Excerpt, HoldsNothingThatATerminalObeys) {
  std::string letters = "z";
  for (int i = 0; i < 200; ++i) letters += "é";  // two bytes each, and the cut is inside of one
  write("evil.cu", "x = 1; // \x1b[2J" + letters + "\n");
  Counterexample card;
  card.store = finding();
  card.store.source_file = path("evil.cu");
  card.store.source_line = 1;
  const std::string line = excerpts(card).at(0).text.at(0);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line, readable(line));
  EXPECT_LE(line.size(), 120u);
  EXPECT_THAT(line, HasSubstr("x = 1;"));
}

// Paths of a person's own folders are named from where the person is, in every text of a report.
TEST(RelativePaths, StandInTextsForAbsoluteOnes) {
  EXPECT_EQ(with_relative_paths("race at /me/k/a.cu:3 (/me/k/b.cu:4), not /x/me/k/c", "/me"),
            "race at k/a.cu:3 (k/b.cu:4), not /x/me/k/c");
  EXPECT_EQ(with_relative_paths("at /me/a", "/"), "at /me/a");
  RunRecord record;
  record.cases.emplace_back().reason = "race at /me/k/a.cu:3";
  EXPECT_FALSE(with_relative_paths(record, "/you"));
  EXPECT_EQ(with_relative_paths(record, "/me")->cases[0].reason, "race at k/a.cu:3");
}

}  // namespace
}  // namespace plumbline
