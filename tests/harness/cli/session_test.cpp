// SPDX-License-Identifier: MIT
#include "harness/cli/session.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const RunRecord& record) {
  const Arguments arguments;
  Terminal terminal(arguments);
  testing::internal::CaptureStdout();
  print_cards(record, arguments, terminal);
  print_record(record, arguments, terminal);
  return testing::internal::GetCapturedStdout();
}

TEST(PrintRecord, CommandsToCopyAreNotWrapped) {
  RunRecord record;
  Counterexample& card = record.counterexamples.emplace_back();
  card.case_file = "fuzz/corpus/mine/9a41c7.case";
  card.manifest = std::string(200, 'f') + "/mine.toml";
  card.explanation = {std::string(100, 'a') + " " + std::string(100, 'b')};
  const std::string text = printed(record);
  EXPECT_THAT(text, HasSubstr("\n      replay   plumbline replay  " + card.case_file +
                              " --kernel " + card.manifest + "\n"));
  EXPECT_THAT(text, Not(HasSubstr(card.explanation.front()))) << "sentences are";
}

// The cases that once failed are part of every gate that runs in the project's folder.
TEST(RunOptions, TakeTheCorpusOfTheFolderTheyRunIn) {
  const std::filesystem::path before = std::filesystem::current_path();
  const auto corpus_in = [&](const std::filesystem::path& folder) {
    std::filesystem::current_path(folder);
    const Result<RunOptions> options = run_options(Arguments(), {});
    std::filesystem::current_path(before);
    return options.ok() ? options->corpus_folder : options.error().text();
  };
  const std::string project = PLUMBLINE_SOURCE_DIR;
  const std::string shipped = corpus_in(project);
  EXPECT_TRUE(std::filesystem::exists(project + "/" + shipped + "/gemm_bf16/kills_G01.case"))
      << shipped;
  EXPECT_EQ(corpus_in(::testing::TempDir()), "plumbline-out/corpus");
}

// All that decides the results of a run is in its name: else two runs share a folder.
TEST(RunId, ChangesWithWhatDecidesTheResults) {
  const std::string folder = ::testing::TempDir();
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder + "/" + name) << text;
  };
  write("named.toml", "name");
  write("named.sm_80.ptx", ".version");
  Manifest kernel;
  kernel.name = "named";
  kernel.path = folder + "/named.toml";
  kernel.targets = {80};
  Arguments arguments;
  std::set<std::string> names;
  const auto is_new = [&] { return names.insert(run_id(arguments, {&kernel}, 1)).second; };
  EXPECT_TRUE(is_new());
  EXPECT_FALSE(is_new());
  write("named.toml", "another contract");
  EXPECT_TRUE(is_new());
  write("named.sm_80.ptx", ".version 8.0");
  EXPECT_TRUE(is_new());
  arguments.corpus = "mine";
  EXPECT_FALSE(is_new()) << "shards on other machines may have it elsewhere";
  arguments.no_corpus = true;
  EXPECT_TRUE(is_new());
  arguments.stateless = true;
  EXPECT_TRUE(is_new());
  EXPECT_NE(run_id(arguments, {}, 1, {"a"}), run_id(arguments, {}, 1, {"b"}));
}

TEST(WorkerThreads, OneForEachCoreUnlessTheCommandLineSaysOtherwise) {
  Arguments arguments;
  EXPECT_EQ(worker_threads(arguments),
            std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  arguments.jobs = 3;
  EXPECT_EQ(worker_threads(arguments), 3);
}

TEST(PrintRecord, AKernelThatNeverRanHasNoWorstError) {
  RunRecord record;
  KernelRecord& kernel = record.kernels.emplace_back();
  kernel.name = "k";
  kernel.verdict = Verdict::error;
  kernel.cases = kernel.errors = 2;
  EXPECT_THAT(printed(record), HasSubstr("nothing could be judged"));
  kernel.errors = 1;
  EXPECT_THAT(printed(record), Not(HasSubstr("nothing could be judged")));
}

TEST(PrintRecord, FiguresStandBelowEachOtherForAllNames) {
  RunRecord record;
  for (const char* name : {"short", "a_kernel_with_a_name_of_34_letters"}) {
    KernelRecord& kernel = record.kernels.emplace_back();
    kernel.name = name;
    kernel.verdict = Verdict::pass;
    kernel.cases = 2;
    kernel.compared = 7;
  }
  record.kernels.front().worst_share = std::numeric_limits<double>::infinity();
  const std::string text = printed(record);
  const std::size_t first = text.find("2 cases"), second = text.find("2 cases", first + 1);
  const std::size_t line = text.rfind('\n', second) + 1;
  EXPECT_EQ(first, second - line);
  const std::size_t compared = text.find("7 outputs compared");
  EXPECT_EQ(compared, text.find("7 outputs compared", compared + 1) - line);
}

TEST(PrintRecord, ARunThatStoppedSaysWhatItLeftOut) {
  RunRecord record;
  record.verb = "verify";
  record.planned = 9;
  record.stopped_after = 1;
  record.elapsed_ms = 2340;
  record.cases.resize(2);
  for (const char* name : {"ran", "waited"}) record.kernels.emplace_back().name = name;
  record.kernels.front().cases = 2;
  const std::string text = printed(record);
  EXPECT_THAT(text,
              HasSubstr("\nthe run stopped at its first failure, after 2 of 9 cases; they are "
                        "in the record\nnot reached: waited\n"));
  EXPECT_THAT(text, HasSubstr("verify: 2 passed, 0 failed, 0 skipped in 2.3 s\n"));
}

}  // namespace
}  // namespace plumbline
