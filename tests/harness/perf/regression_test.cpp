// SPDX-License-Identifier: MIT
// perf.json and what is compared with it. If one of these fails, a counter can grow unseen, or a
// moved line fails a build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/perf/regression.h"

namespace plumbline {
namespace {

using enum Counter;
using ::testing::HasSubstr;

PerfRecord record(std::uint64_t wavefronts, const std::string& at = "tile.cuh:31") {
  PerfEntry entry{
      .kernel = "gemm", .sm = 90, .problem = "m=8 n=8 k=8", .useful_macs = 512.0, .launches = {}};
  PerfLaunch& launch = entry.launches.emplace_back();
  launch.entry = "gemm_nn";
  launch.grid = {3, 2, 1};
  launch.block = {128, 1, 1};
  launch.shared_bytes = 4096;
  launch.sectors_only_read = 16;
  launch.sectors_written = 8;
  launch.compiled = CompiledEntry{.registers = 96};
  PerfLine& line = launch.lines.emplace_back();
  line.at = at;
  line.inlined_at = "gemm.cu:40";
  line.instruction = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
  line.access = Access::load;
  line.bytes = 16;
  line.ptx_line = 118;
  line.counts[shared_wavefronts] = wavefronts;
  line.counts[shared_requests] = 10;
  launch.totals = line.counts;
  return {{entry}};
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string path = folder_ / "perf.json";
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

using PerfFile = Files;

TEST_F(PerfFile, ReadsBackWhatWasWritten) {
  const std::string text = perf_json(record(40));
  const Result<PerfRecord> read = read_perf(write(text));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(perf_json(*read), text);
  EXPECT_EQ(read->entries[0].launches[0].lines[0].counts[shared_wavefronts], 40u);
  EXPECT_EQ(read->entries[0].launches[0].compiled->registers, 96);
}

TEST_F(PerfFile, HoldsNamesThatAreNoUtf8) {
  const PerfRecord strange = record(40, "t\xff\xfe.cu:3");
  const Result<PerfRecord> read = read_perf(write(perf_json(strange)));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(compare_perf(*read, strange).changes.empty());
}

TEST_F(PerfFile, SaysWhatIsWrongWithAnother) {
  const auto error = [&](const std::string& text) { return read_perf(write(text)).error().text(); };
  EXPECT_THAT(error("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("not of plumbline perf"));
  EXPECT_THAT(error(R"({"kind": "plumbline perf 2", "entries": []})"),
              HasSubstr("another version: \"plumbline perf 2\""));
  EXPECT_THAT(error(R"({"kind": "plumbline perf 1"})"), HasSubstr("entry 1 is not complete"));
  EXPECT_THAT(error(R"({"kind": "plumbline perf 1", "entries": [{"kernel": "k", "sm": "x"}]})"),
              HasSubstr("entry 1 is not complete"));
}

TEST(PerfComparison, FindsNothingWhereNothingChanged) {
  const PerfComparison same = compare_perf(record(40), record(40));
  EXPECT_FALSE(same.grew());
  EXPECT_TRUE(same.changes.empty());
  EXPECT_TRUE(same.unclear.empty());
  EXPECT_EQ(same.same, 1);
}

TEST(PerfComparison, NamesTheLineThatGrew) {
  const PerfComparison worse = compare_perf(record(40), record(80));
  EXPECT_TRUE(worse.grew());
  ASSERT_EQ(worse.changes.size(), 1u);
  EXPECT_EQ(worse.changes[0].text(),
            "gemm sm_90 m=8 n=8 k=8: wavefronts of shared memory: 40 before, 80 now (+100.0 %); "
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 at tile.cuh:31 (inlined at gemm.cu:40): 40 "
            "before, 80 now");
}

TEST(PerfComparison, KnowsTheFileOfTheLine) {
  PerfRecord now = record(80);
  now.entries[0].launches[0].lines[0].file = "/checkout/tile.cuh";
  now.entries[0].launches[0].lines[0].file_line = 31;
  const PerfComparison worse = compare_perf(record(40), now);
  EXPECT_EQ(worse.changes.at(0).lines.at(0).file, "/checkout/tile.cuh");
  EXPECT_EQ(worse.changes.at(0).lines.at(0).line, 31);
}

TEST(PerfComparison, ShrinkingIsNoFailure) {
  const PerfComparison better = compare_perf(record(80), record(40));
  EXPECT_FALSE(better.grew());
  EXPECT_EQ(better.changes.size(), 1u);
}

TEST(PerfComparison, LinesMayMove) {
  EXPECT_TRUE(compare_perf(record(40), record(40, "tile.cuh:33")).changes.empty());
  const PerfComparison worse = compare_perf(record(40), record(41, "tile.cuh:33"));
  ASSERT_TRUE(worse.grew());
  EXPECT_THAT(worse.changes[0].text(), HasSubstr("tile.cuh:33 (inlined at gemm.cu:40): 41, a new"));
}

TEST(PerfComparison, RegistersAndSpillsCountWhereBothAreKnown) {
  PerfRecord more = record(40);
  more.entries[0].launches[0].compiled->registers = 128;
  EXPECT_THAT(compare_perf(record(40), more).changes.at(0).text(),
              HasSubstr("registers of a thread: 96 before, 128 now"));
  more.entries[0].launches[0].compiled.reset();
  EXPECT_FALSE(compare_perf(record(40), more).unclear.empty());
  EXPECT_TRUE(compare_perf(more, record(40)).unclear.empty());
}

TEST(PerfComparison, SaysThatAnotherCompilerWasAtWork) {
  EXPECT_EQ(compiler_of("//\n// Cuda compilation tools, release 13.0, V13.0.88\n//\n.version 9.0"),
            "Cuda compilation tools, release 13.0, V13.0.88");
  EXPECT_EQ(compiler_of(".version 9.0\n// Cuda compilation tools, release 1\n"), "");
  PerfRecord before = record(40), after = record(41);
  before.entries[0].compiler = "Cuda compilation tools, release 12.8, V12.8.61";
  EXPECT_TRUE(compare_perf(before, after).unclear.empty());  // one does not say
  after.entries[0].compiler = "Cuda compilation tools, release 13.0, V13.0.88";
  const PerfComparison comparison = compare_perf(before, after);
  EXPECT_THAT(comparison.unclear.at(0), HasSubstr("another compiler"));
  EXPECT_TRUE(comparison.grew());
}

TEST(PerfComparison, SaysWhatCannotBeCompared) {
  PerfRecord other = record(40);
  other.entries[0].problem = "m=16 n=8 k=8";
  const PerfComparison comparison = compare_perf(record(40), other);
  ASSERT_EQ(comparison.unclear.size(), 2u);
  EXPECT_THAT(comparison.unclear[0], HasSubstr("another problem of this kernel"));
  EXPECT_THAT(comparison.unclear[1], HasSubstr("it did not run"));
  EXPECT_THAT(compare_perf({}, record(40)).unclear.at(0), HasSubstr("no such kernel"));
  PerfRecord pair = record(40);
  pair.entries[0].launches.push_back(record(40).entries[0].launches[0]);
  PerfRecord grown = pair;
  grown.entries[0].launches[1].totals[shared_wavefronts] = 50;
  EXPECT_THAT(compare_perf(pair, grown).changes.at(0).text(),
              HasSubstr("gemm sm_90 m=8 n=8 k=8 launch 2: wavefronts of shared memory: 40 before"));
  PerfRecord two = record(40);
  two.entries[0].launches.push_back(two.entries[0].launches[0]);
  EXPECT_THAT(compare_perf(record(40), two).unclear.at(0), HasSubstr("2 launches"));
}

}  // namespace
}  // namespace plumbline
