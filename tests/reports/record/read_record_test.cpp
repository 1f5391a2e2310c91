// SPDX-License-Identifier: MIT
// What is written can be read, and what cannot be trusted is refused with the place in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

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

// A kernel that passes costs a few bytes for each case and figure.
TEST_F(ReadRecord, KeepsPassingCasesInColumns) {
  RunRecord r = sample_record();
  r.cases.clear();
  r.counterexamples.clear();
  constexpr int kCases = 1000;
  for (int i = 0; i < kCases; ++i) {
    r.cases.push_back(sample_case(fmt::format("gemm_bf16 m={} n=8 k=8 value=normal", i),
                                  Verdict::pass, "normal"));
    r.cases.back().position = i;
    r.cases.back().outputs[0].verdict.worst.index = i;
    r.cases.back().elapsed_ms = 0.25;
  }
  r.cases[7].outputs[0].verdict.worst_share = 0.75;
  r.planned = kCases;
  r.kernels = {without_cases(r.kernels[0])};
  summarize(r);
  const std::string text = record_json(r);
  EXPECT_LT(text.size(), 100u * kCases);
  const Json json = Json::parse(text);
  ASSERT_EQ(json["cases"].size(), 1u);  // the one closest to what the contract allows
  EXPECT_EQ(json["cases"][0]["outputs"][0]["worst"]["index"], 7);
  ASSERT_EQ(json["passed"].size(), 1u);
  EXPECT_EQ(json["passed"][0]["count"], kCases - 1);
  const Result<RunRecord> back = read_record(write(text));
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->cases.size(), r.cases.size());
  for (int i = 0; i < kCases; ++i) {
    const CaseRecord &was = r.cases[static_cast<std::size_t>(i)],
                     &is = back->cases[static_cast<std::size_t>(i)];
    EXPECT_EQ(is.text, was.text);
    EXPECT_EQ(is.elapsed_ms, was.elapsed_ms);
    EXPECT_EQ(is.outputs[0].verdict.histogram, was.outputs[0].verdict.histogram);
    EXPECT_EQ(is.outputs[0].verdict.magnitudes, was.outputs[0].verdict.magnitudes);
  }
  EXPECT_EQ(record_json(*back), text);
}

TEST_F(ReadRecord, RefusesTablesThatStandForTooMuch) {
  Json json = Json::parse(record_json(full_record()));
  json["passed"] = 3;
  EXPECT_THAT(refusal(json.dump()), HasSubstr("passed: a list is due"));
  json["passed"] = Json::array({{{"count", 2}}});
  EXPECT_THAT(refusal(json.dump()), HasSubstr("passed[0].cases: missing"));
  json["passed"] = Json::array({{{"count", 1LL << 60}, {"cases", {{"case", {{"all", "x"}}}}}}});
  EXPECT_THAT(refusal(json.dump()), HasSubstr("more than any run has"));
  json["passed"] = Json::array({{{"count", 2}, {"cases", {{"case", {{"each", {1}}}}}}}});
  EXPECT_THAT(refusal(json.dump()), HasSubstr("passed[0].cases.case: a column is due"));
  json["passed"] = Json::array({{{"count", 2}, {"cases", {{"case", {{"all", 1}}}}}}});
  EXPECT_THAT(refusal(json.dump()), HasSubstr("passed[0], case 1 of 2.case: a text is due"));
}

TEST_F(ReadRecord, SaysThatAnotherVersionWroteIt) {
  Json json = Json::parse(record_json(full_record()));
  for (const bool lines : {false, true}) {
    const std::string name = lines ? "record.jsonl" : "record.json";
    json["format"] = 4;
    const Result<RunRecord> newer = read_record(write(json.dump(), name));
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().message,
              "plumbline 0.1.0 wrote this record in format 4, and this program reads format 3");
    EXPECT_EQ(newer.error().where, folder_ + "/" + name);
    EXPECT_THAT(newer.error().hint, HasSubstr("run again"));
    json.erase("format");  // the first versions had none
    EXPECT_THAT(refusal(json.dump(), name), HasSubstr("in format 1"));
  }
}

TEST_F(ReadRecord, TellsWhereARunWasMade) {
  RunRecord r = full_record();
  r.command = "plumbline verify";
  r.places = {{"2026-11-25T19:16:21Z", "a processor", "x86_64, AVX3", "1234abcd", true}};
  const Json json = Json::parse(record_json(r));
  EXPECT_EQ(json["circumstances"]["places"][0]["processor"], "a processor");
  EXPECT_EQ(json["circumstances"]["places"][0]["uncommitted_changes"], true);
  const Result<RunRecord> whole = read_record(write(record_json(r)));
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->places, r.places);
  const Result<RunRecord> lines = read_record(write(run_json_line(r) + "\n", "record.jsonl"));
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_EQ(lines->places, r.places);
  EXPECT_EQ(lines->command, r.command);
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

// A resumed run's first line has what its first part reached of the code.
TEST_F(ReadRecord, OfAKilledRunAddsUpWhatItReachedOfTheCode) {
  RunRecord r = full_record();
  const CaseRecord& c = r.cases[0];
  const auto kernel = std::ranges::find(r.kernels, c.kernel, &KernelRecord::name);
  ASSERT_NE(kernel, r.kernels.end());
  kernel->code_parts = {{c.device, {10, {{"a.cu:1", {4, 5}}, {"a.cu:2", {8}}}}}};
  CaseRecord more = c;
  more.code_parts = {10, {{"a.cu:1", {5, 6}}}};
  write(run_json_line(r) + "\n" + case_log_line(more) + "\n", "record.jsonl");
  const Result<RunRecord> back = read_record(folder_);
  ASSERT_TRUE(back) << back.error().text();
  const auto read = std::ranges::find(back->kernels, c.kernel, &KernelRecord::name);
  const std::map<std::string, CodeParts> both = {{c.device, {10, {{"a.cu:1", {5}}}}}};
  EXPECT_EQ(read->code_parts, both);
  EXPECT_EQ(case_json_line(more).find("code_parts"), std::string::npos);
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
    if (pointer.starts_with("/circumstances")) continue;
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
  r.cases[2].outputs[0].verdict.histogram.resize(99, 1);
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("histogram: a histogram of 64 cells is due"));
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
  r = full_record();
  r.cases[0].claims = {};
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("has the verdict pass, but no claim was judged"));
  r = full_record();
  r.cases[0].claims[Claim::bound] = Verdict::mistrusted;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("verdict pass, but bound has mistrusted"));
  r = full_record();
  r.cases[0].outputs[0].verdict.other_bits = 1;
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("verdict pass, but outputs of d failed"));
  r = full_record();
  r.cases[0].outputs[0].verdict.disagreements = 1;
  EXPECT_THAT(refusal(record_json(r)),
              HasSubstr("verdict pass, but outputs of d could not be judged"));
  // No verb's rules would hold.
  r = full_record();
  r.verb = "verifi";
  EXPECT_THAT(refusal(record_json(r)), HasSubstr("verb: no run of plumbline is called \"verifi\""));
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
