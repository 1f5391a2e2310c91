// SPDX-License-Identifier: MIT
// What is written can be read, and what cannot be trusted is refused with the place in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/record/json.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class ReadRecord : public testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "record.json") {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string refusal(const std::string& text, const std::string& name = "record.json") {
    const std::string path = write(text, name);
    const Result<RunRecord> record = read_record(path);
    if (record) return "accepted";
    EXPECT_EQ(record.error().where, path);
    EXPECT_EQ(record.error().kind, ErrorKind::bad_input);
    return record.error().message;
  }

  std::string folder_ = testing::TempDir() + "/read_record_" +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

RunRecord full_record() {
  RunRecord r = sample_record();
  r.shard = {2, 4, 400, "0123"};
  r.kernels[0].mistrusted_because = {"too little"};
  r.kernels[0].failing = "all 3 have k > 64, and no other case does";
  r.kernels[0].code["emulator sm_90"].unrepeated = {"k.cu:20"};
  r.kernels[0].contracts = {{"sm_90", "words"}};
  r.cases[2].findings = {sample_finding(88), sample_finding(90)};
  r.cases[2].findings[1].other = {
      "read", "read by warp 1, lane 3 at k.ptx:90", 1, 3, "k.ptx", 90, "b.cu", 61, "c.cu:7"};
  r.cases[2].length_name = "k";
  r.cases[2].length = 33;
  r.counterexamples[0].findings = {sample_finding(88)};
  r.counterexamples[0].differences = {0, -0.5, 13};
  r.counterexamples[0].difference_stride = 1;
  r.error_maps = {{"gemm_bf16",
                   r.cases[2].text,
                   "emulator sm_90",
                   "d",
                   2,
                   2,
                   2,
                   2,
                   {".a", "z."},
                   {"01", "0."},
                   {std::string(32, 'z'), std::string(32, ' ')},
                   {{-3, 4, 0.5, 12}}}};
  ElementVerdict failure;
  failure.got = 0x7fc0;
  failure.class_mismatch = true;
  failure.error_ulp = std::nan("");
  r.cases[2].outputs[0].verdict.failures = {failure};
  return r;
}

TEST_F(ReadRecord, GivesBackEveryByteThatWasWritten) {
  const std::string text = record_json(full_record());
  const Result<RunRecord> back = read_record(write(text));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->cases[2].findings, full_record().cases[2].findings);
  EXPECT_EQ(back->kernels[0].failing, full_record().kernels[0].failing);
  EXPECT_EQ(back->kernels[0].code, full_record().kernels[0].code);
  EXPECT_EQ(record_json(*back), text);
}

TEST_F(ReadRecord, TakesAFolder) {
  write(record_json(full_record()));
  EXPECT_TRUE(read_record(folder_));
}

TEST_F(ReadRecord, OfARunThatStoppedAtItsFailures) {
  RunRecord r = full_record();
  r.stopped_after = 2;
  r.planned = 90;
  write(record_json(r));
  const Result<RunRecord> back = read_record(folder_);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->stopped_after, 2);
  EXPECT_TRUE(back->ended_early());
}

TEST_F(ReadRecord, OfAKilledRunReadsItsLines) {
  const RunRecord r = full_record();
  std::string lines = run_json_line(r) + "\n";
  for (const std::size_t i : {2u, 0u, 1u}) lines += case_json_line(r.cases[i]) + "\n";
  lines += case_json_line(r.cases[3]).substr(0, 100);  // killed while it wrote this one
  write(lines, "record.jsonl");
  const Result<RunRecord> back = read_record(folder_);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(back->interrupted);
  ASSERT_EQ(back->cases.size(), 3u);
  EXPECT_EQ(back->cases[0].text, r.cases[0].text);  // in the order of the plan
  EXPECT_EQ(back->kernels[0].failed, 1);
}

// A kernel is known when its turn comes, and its faults are lines as well.
TEST_F(ReadRecord, OfAKilledRunOfMutantsReadsThem) {
  RunRecord r = full_record();
  RunRecord first = r;
  first.kernels.resize(1);
  MutantRecord fault;
  fault.kernel = r.kernels[0].name;
  fault.id = "a1";
  fault.outcome = MutantOutcome::caught;
  MutantRecord other = fault;
  other.id = "b2";
  write(run_json_line(first) + "\n" + case_json_line(r.cases[0]) + "\n" + mutant_json_line(fault) +
            "\n" + run_json_line(r) + "\n" + mutant_json_line(other) + "\n{\"ker",
        "record.jsonl");
  const Result<RunRecord> back = read_record(folder_);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->kernels.size(), r.kernels.size());
  EXPECT_EQ(back->cases.size(), 1u);
  ASSERT_EQ(back->mutants.size(), 2u);
  EXPECT_EQ(back->mutants[0].id, "a1");
  EXPECT_EQ(back->mutants[1].id, "b2");
  EXPECT_EQ(back->mutants[1].outcome, MutantOutcome::caught);
}

TEST_F(ReadRecord, RefusesTruncatedFiles) {
  const std::string text = record_json(full_record());
  for (const std::size_t part : {0u, 1u, 100u, 5000u})
    EXPECT_THAT(refusal(text.substr(0, part)), HasSubstr("cut short"));
  EXPECT_THAT(refusal("", "record.jsonl"), HasSubstr("empty"));
  const std::string lines = run_json_line(full_record()) + "\n{\"case\": 1\n{}\n";
  EXPECT_THAT(refusal(lines, "record.jsonl"), HasSubstr("line 2"));
}

TEST_F(ReadRecord, RefusesForeignFilesSayingWhatIsMissing) {
  EXPECT_THAT(refusal("[]"), HasSubstr("an object is due"));
  EXPECT_THAT(refusal("{\"cases\": 3}"), HasSubstr("plumbline: missing"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("cut short"));
}

// Every value of a whole record, replaced by something else: refused or harmless, and never a
// crash.
TEST_F(ReadRecord, RefusesEveryKindOfWrongValue) {
  const Json good = Json::parse(record_json(full_record()));
  const std::vector<Json> strange = {
      nullptr, -1, 1e300, "<script>", Json::array({1}), true, Json{{"bits", "0xzz"}}};
  int refused = 0, tried = 0;
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.starts_with("/timing")) continue;
    const std::string_view last = std::string_view(pointer).substr(pointer.rfind('/'));
    const bool counter = pointer.find("/histogram/") != std::string::npos ||
                         pointer.find("/magnitudes/") != std::string::npos;
    if (counter && last != "/0") continue;  // one of a hundred alike
    const Json& wrong = strange[static_cast<std::size_t>(++tried) % strange.size()];
    Json broken = good;
    broken[Json::json_pointer(pointer)] = wrong;
    const Result<RunRecord> record = read_record(write(broken.dump()));
    refused += !record;
    if (record) {
      EXPECT_FALSE(record_json(*record).empty());
    }
  }
  EXPECT_GT(refused, tried / 2);
}

TEST_F(ReadRecord, RefusesWhatDoesNotFitTogether) {
  RunRecord r = full_record();
  r.cases[1].kernel = "another";
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("not in the record"));
  r = full_record();
  r.cases[1].position = 0;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("two cases have the position 0"));
  r = full_record();
  r.cases.pop_back();
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("it has 3 of 4 planned cases"));
  r = full_record();
  r.run_id = "../../etc";
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("letters and digits"));
  r = full_record();
  r.shard = {5, 4, 400};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("no shard 5/4"));
  r = full_record();
  r.cases[0].outputs[0].verdict.histogram.resize(3);
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("histogram"));
  r = full_record();
  r.error_maps[0].heat = {"...", "."};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("no rectangle"));
  r = full_record();
  r.error_maps[0].warps = {"0"};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("no rectangle"));
  r = full_record();
  r.error_maps[0].threads = {"abc"};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("32 warps of 32 lanes"));
}

// A gate must not believe what is said of a kernel over what is said of its cases.
TEST_F(ReadRecord, RefusesWhatItsCasesContradict) {
  RunRecord r = full_record();
  r.kernels[0].verdict = Verdict::pass;
  EXPECT_THAT(refusal(record_json(r)),
              HasSubstr("kernel gemm_bf16 says verdict pass, its cases give fail"));
  r = full_record();
  r.kernels[0].failed = 0;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("says failed 0, its cases give 1"));
  r = full_record();
  r.kernels[0].compared += 1000;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("says compared"));
  r = full_record();
  r.cases[2].verdict = Verdict::pass;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("has the verdict pass, but bound failed"));
  r = full_record();
  r.cases[0].outputs[0].verdict.failed = 1;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("has the verdict pass, but outputs of d failed"));
  r = full_record();
  r.cases[0].verdict = Verdict::fail;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("has the verdict fail, but no claim failed"));
}

TEST_F(ReadRecord, RefusesMoreShardsThanMachines) {
  RunRecord r = full_record();
  r.shard = {1, 2147483647, 400};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("no shard 1/2147483647"));
}

TEST_F(ReadRecord, KeepsTextThatIsNoUtf8Readable) {
  RunRecord r = full_record();
  r.cases[0].reason = "\xff\xfe broken";
  EXPECT_TRUE(read_record(write(record_json(r))));
}

}  // namespace
}  // namespace plumbline
