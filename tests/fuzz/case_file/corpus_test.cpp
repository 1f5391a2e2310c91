// SPDX-License-Identifier: MIT
// Case files: what is written reads back, and what is wrong is named with its place.
#include "fuzz/case_file/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/case/literal.h"
#include "fuzz/plan/case_gen.h"
#include "oracles/base/hash.h"
#include "tests/fuzz/kernel_under_test.h"
#include "tests/kernels/manifest/manifest_files.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kCounterexample =
    R"(# plumbline case 1: keep this file and commit it; verify replays it before anything else
# found 2026-11-21 by fuzz, seed 0x5eed0042
# shrunk 64x96x1031 -> 1x2x2
case gemm_bf16 m=1 n=2 k=2 out=f32 bias=row
a bf16[1,1,2]
  3f80 c000  # 1 -2
b bf16[1,2,2]
  3f80 0000  # 1 0
  7fc0 0001  # nan 9e-41
bias f32[1] 3f8ccccd
expect f32[1,1,2] 43e00040 00000000  # exact 448.001953125
got f32[1,1,2] 43e00000 00000000  # emulator sm_90
bound 1 ulp  # broken by 64x
end
)";

Result<CaseFile> parsed(std::string_view text) {
  return parse_case(text, "x.case", shipped_registry());
}

std::string error_of(std::string_view text) {
  const Result<CaseFile> file = parsed(text);
  return file.ok() ? "no error" : file.error().text();
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kCounterexample);
  const std::size_t at = text.find(from);
  PLUMB_ASSERT(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(CaseFile, ReadsLiteralsCommentsAndNotes) {
  const Result<CaseFile> file = parsed(kCounterexample);
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->test_case.problem.text(), "m=1 n=2 k=2 out=f32 bias=row");
  EXPECT_EQ(file->comments.size(), 2u);
  EXPECT_EQ(file->comments[1], "shrunk 64x96x1031 -> 1x2x2");
  ASSERT_EQ(file->notes.size(), 3u);
  EXPECT_EQ(file->notes[2].first, "bound");
  EXPECT_EQ(file->notes[2].second, "1 ulp  # broken by 64x");
  const CaseTensors tensors = tensors_of(file->test_case);
  EXPECT_EQ(tensors.find("a")->bits(1), 0xc000u);
  EXPECT_EQ(tensors.find("b")->bits(3), 0x0001u);
  EXPECT_EQ(tensors.find("bias")->bits(0), 0x3f8ccccdu);
}

TEST(CaseFile, SaysWhichCaseItWasMadeSmallFrom) {
  const std::string line = "gemm_bf16 m=64 n=96 k=1031 out=f32 bias=row value=normal seed=0x7";
  const Result<CaseFile> file =
      parsed(with("shrunk 64x96x1031 -> 1x2x2", std::string(kShrunkFrom) + line));
  ASSERT_TRUE(file.ok()) << file.error().text();
  ASSERT_NE(file->test_case.shrunk_from, nullptr);
  EXPECT_EQ(file->test_case.shrunk_from->text(), line);
  for (const char* comment : {"shrunk 64x96x1031 -> 1x2x2", "shrunk from gemm_bf16 m=4 what=7"}) {
    const Result<CaseFile> other = parsed(with("shrunk 64x96x1031 -> 1x2x2", comment));
    ASSERT_TRUE(other.ok()) << other.error().text();
    EXPECT_EQ(other->test_case.shrunk_from, nullptr) << comment;
  }
}

TEST(CaseFile, WritingIsReadable) {
  const Result<CaseFile> file = parsed(kCounterexample);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(write_case(*file),
              HasSubstr("case gemm_bf16 m=1 n=2 k=2 out=f32 bias=row\n"
                        "a bf16[1,1,2]\n"
                        "  3f80 c000  # 1 -2\n"
                        "b bf16[1,2,2]\n"
                        "  3f80 0000  # 1 0\n"
                        "  7fc0 0001  # nan 9.1835e-41\n"
                        "bias f32[1]\n"
                        "  3f8ccccd  # 1.1\n"
                        "expect f32[1,1,2] 43e00040 00000000  # exact 448.001953125\n"));
}

TEST(CaseFile, TensorsMayHaveTheNamesOfItsLines) {
  const TemporaryFolder folder;
  folder.write("made.op",
               "operation made(value[2], note[2], tensor[2]) -> y[2]\n"
               "  y[i] = value[i] + note[i] + tensor[i]\n");
  const std::string manifest = folder.write(
      "made.toml",
      "computes = \"made.op\"\nsummary = \"a kernel of the tests\"\nsource = \"made.cu\"\n"
      "targets = [80]\nentry = \"made\"\nparameters = []\n[formats]\nvalue = \"f32\"\n"
      "note = \"f32\"\ntensor = \"f32\"\ny = \"f32\"\n[launch]\ngrid = [1]\nblock = [32]\n");
  Registry with_made;
  const Registry* registry = &with_made;
  const Status added = with_made.add(manifest);
  ASSERT_TRUE(added.ok()) << added.error().text();
  const std::string text =
      "# plumbline case 1\ncase made\ntensor value f32[2] 3f800000 00000000\n"
      "tensor note f32[2]\n  3f800000 00000000\ntensor tensor f32[2] 3f800000 00000000\nend\n";
  const Result<CaseFile> file = parse_case(text, "x.case", *registry);
  ASSERT_TRUE(file.ok()) << file.error().text();
  const Result<CaseFile> again = parse_case(write_case(*file), "x.case", *registry);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(tensors_of(again->test_case).find("note")->bits(0), 0x3f800000u);
  EXPECT_THAT(parse_case("# plumbline case 1\ncase made\ntensor\nend\n", "x.case", *registry)
                  .error()
                  .text(),
              HasSubstr("x.case:3:7: the tensor has no name"));
}

TEST(CaseFile, RoundTripsRecipesAndLiterals) {
  EXPECT_TRUE(rc::check("parse(write(file)) == file", [] {
    CaseFile file;
    file.test_case = *case_gen(gemm_kernel());
    const bool literal = *rc::gen::arbitrary<bool>();
    if (literal) {
      RC_PRE(gemm_kernel().operation->work(file.test_case.problem) < 1e5);
      Result<Case> frozen = freeze(file.test_case);
      RC_ASSERT(frozen.ok());
      file.test_case = *frozen;
    }
    file.comments = {"found by a property", "second line"};
    file.notes = {{"got", "f32[1,1,1] 00000000"}, {"bound", "2 ulp"}};
    const std::string text = write_case(file);
    const Result<CaseFile> again = parsed(text);
    RC_ASSERT(again.ok());
    RC_ASSERT(again->test_case.text() == file.test_case.text());
    RC_ASSERT(again->comments == file.comments);
    RC_ASSERT(again->notes == file.notes);
    RC_ASSERT(write_case(*again) == text);
    for (std::size_t i = 0; i < file.test_case.literals.size(); ++i) {
      RC_ASSERT(again->test_case.literals[i].second.storage ==
                file.test_case.literals[i].second.storage);
    }
  }));
}

TEST(CaseFile, ARecipeMayReplaceSomeTensors) {
  const Result<CaseFile> file = parsed(
      "# plumbline case 1\ncase gemm_bf16 m=1 n=1 k=1\nvalue class=ones seed=7\na bf16[1,1,1] "
      "4000\nend\n");
  ASSERT_TRUE(file.ok()) << file.error().text();
  const CaseTensors tensors = tensors_of(file->test_case);
  EXPECT_EQ(tensors.find("a")->bits(0), 0x4000u);
  EXPECT_EQ(tensors.find("b")->bits(0), 0x3f80u);
}

TEST(CaseFile, CutAnywhereIsAnErrorNeverACrash) {
  for (std::size_t length = 0; length + 1 < kCounterexample.size(); ++length) {
    const Result<CaseFile> file = parsed(kCounterexample.substr(0, length));
    ASSERT_FALSE(file.ok()) << length;
    EXPECT_THAT(file.error().where, HasSubstr("x.case:")) << length;
  }
}

TEST(CaseFile, CutInHalfSaysSo) {
  const std::string_view half = kCounterexample.substr(0, kCounterexample.find("7fc0"));
  EXPECT_EQ(error_of(half),
            "x.case:9:1: tensor b has 2 of its 4 elements (the file may be cut short)");
  const std::string_view no_end = kCounterexample.substr(0, kCounterexample.find("end\n"));
  EXPECT_EQ(error_of(no_end),
            "x.case:13:29: the file ends without an \"end\" line (it may be cut short)");
  EXPECT_EQ(error_of("# plumbline case 1\n# only a comment\n"),
            "x.case:2:17: the file ends before its case line (it may be cut short)");
}

TEST(CaseFile, WrongDigitsAreCounted) {
  EXPECT_EQ(
      error_of(with("3f80 c000", "3f80 c00")),
      "x.case:6:8: element 1 of a has 3 hex digits, bf16 has 4 (elements are separated by spaces)");
  EXPECT_EQ(
      error_of(with("3f80 c000", "3f80c000")),
      "x.case:6:3: element 0 of a has 8 hex digits, bf16 has 4 (elements are separated by spaces)");
  EXPECT_EQ(
      error_of(with("3f80 c000", "3f80 c0g0")),
      "x.case:6:8: element 1 of a, \"c0g0\", is not hexadecimal (put decimal values after a #)");
  EXPECT_EQ(
      error_of(with("3f80 c000", "3f80 c000 1234")),
      "x.case:6:13: tensor a has more than its 2 elements (check the shape against the case line)");
  EXPECT_EQ(error_of(with("3f80 c000", "3f80")),
            "x.case:7:1: tensor a has 1 of its 2 elements (the file may be cut short)");
}

TEST(CaseFile, UnknownNamesAreNamed) {
  EXPECT_EQ(error_of(with("case gemm_bf16", "case gemm_bf61")),
            "x.case:4:6: there is no kernel \"gemm_bf61\" (did you mean \"gemm_bf16\"?)");
  EXPECT_THAT(error_of(with("out=f32", "outt=f32")),
              HasSubstr("x.case:4:28: there is no field \"outt\""));
  EXPECT_EQ(error_of(with("bias f32[1]", "bais f32[1]")),
            "x.case:10:1: there is no line or tensor \"bais\" (did you mean \"bias\"?)");
  EXPECT_EQ(error_of(with("bias f32[1]", "d f32[1]")),
            "x.case:10:1: tensor d is not an input (write outputs on expect and got lines)");
  EXPECT_EQ(error_of(with("a bf16[1,1,2]", "a bf61[1,1,2]")),
            "x.case:5:3: there is no format \"bf61\" (did you mean \"bf16\"?)");
  EXPECT_EQ(error_of(with("a bf16[1,1,2]", "a f16[1,1,2]")),
            "x.case:5:3: tensor a is f16, this problem needs bf16 (write bf16[1,1,2])");
  EXPECT_EQ(
      error_of(with("a bf16[1,1,2]", "a bf16[1,2,1]")),
      "x.case:5:7: tensor a has shape [1,2,1], this problem needs [1,1,2] (write bf16[1,1,2])");
  EXPECT_EQ(
      error_of(with("a bf16[1,1,2]", "a bf16[1,1,2")),
      "x.case:5:7: tensor a has shape [1,1,2, this problem needs [1,1,2] (write bf16[1,1,2])");
}

TEST(CaseFile, StructureIsChecked) {
  EXPECT_EQ(error_of(""),
            "x.case:1:1: this is not a case file (the first line must start with \"# plumbline "
            "case 1\")");
  EXPECT_EQ(error_of("# plumbline case 2\n"),
            "x.case:1:18: case format version \"2\" is unknown (this program reads version 1)");
  EXPECT_THAT(error_of("# plumbline case 1\na bf16[1] 0000\n"),
              HasSubstr("x.case:2:1: \"a\" comes before the case line"));
  EXPECT_THAT(error_of(with("bound 1 ulp", "case gemm_bf16 m=1 n=1 k=1")),
              HasSubstr("x.case:13:1: there is a second case line"));
  EXPECT_THAT(error_of(with("end\n", "end\nbound 2\n")),
              HasSubstr("x.case:15:1: there is text after \"end\""));
  EXPECT_THAT(error_of(with("b bf16[1,2,2]", "a bf16[1,1,2]")),
              HasSubstr("x.case:7:1: tensor a is given twice"));
  EXPECT_THAT(error_of(with("bias f32[1] 3f8ccccd\n", "")), HasSubstr("tensor bias has no data"));
  EXPECT_THAT(error_of("# plumbline case 1\ncase gemm_bf16 m=1 n=1 k=1\n  3f80\nend\n"),
              HasSubstr("x.case:3:3: an indented line continues a tensor"));
  EXPECT_THAT(
      error_of("# plumbline case 1\ncase gemm_bf16 m=1 n=1 k=1\nvalue class=nromal seed=1\nend\n"),
      HasSubstr("x.case:3:13: gemm has no value class \"nromal\" (did you mean \"normal\"?)"));
  EXPECT_THAT(error_of("# plumbline case 1\ncase gemm_bf16 m=1 n=1 k=1\nvalue class=normal\nend\n"),
              HasSubstr("x.case:3:19: the value line has no seed"));
  EXPECT_THAT(
      error_of(
          "# plumbline case 1\ncase gemm_bf16 m=1 n=1 k=8 lda=4\nvalue class=normal seed=1\nend\n"),
      HasSubstr("x.case:2:5: lda=4 is shorter"));
}

TEST(CaseFile, LineEndingsOfOtherSystemsAreFine) {
  std::string text;
  for (const char c : kCounterexample) {
    if (c == '\n') text += '\r';
    text += c;
  }
  const Result<CaseFile> file = parsed(text);
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(write_case(*file), write_case(*parsed(kCounterexample)));
}

TEST(CaseFile, NoByteSequenceCrashesTheReader) {
  EXPECT_TRUE(rc::check("any edit is read or refused", [] {
    std::string text(kCounterexample);
    const int edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto kind = *rc::gen::inRange(0, 3);
      const char c = *rc::gen::element('\0', '\n', ' ', '#', '=', '[', ']', ',', '-', '0', '9', 'f',
                                       'x', '\xff');
      if (kind == 0) text[at] = c;
      if (kind == 1) text.insert(at, 1, c);
      if (kind == 2) text.erase(at, *rc::gen::inRange<std::size_t>(0, 30));
      if (text.empty()) text = "x";
    }
    const Result<CaseFile> file = parsed(text);
    if (file.ok()) (void)materialize(file->test_case);
  }));
}

// A folder of its own for each test.
class CorpusFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "plumbline-corpus-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::string read(const std::string& path) const {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
};

using Corpus = CorpusFolder;

CaseFile file_of(const std::string& line) { return {case_of(line), {"a test"}, {}}; }

TEST_F(Corpus, SavesUnderTheKeyAndReadsBackInOrder) {
  const CaseFile one = file_of("m=1 n=2 k=3 value=ones seed=1"),
                 two = file_of("m=4 n=5 k=6 value=wide seed=2");
  const Result<SavedCase> saved = save_case(folder_, one);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  EXPECT_EQ(saved->path, folder_ + "/gemm_bf16/" + short_name(one.test_case.key()) + ".case");
  EXPECT_EQ(read(saved->path), write_case(one));
  ASSERT_TRUE(save_case(folder_, two).ok());
  const auto files = read_corpus(folder_, gemm_kernel(), shipped_registry(), true);
  ASSERT_TRUE(files.ok()) << files.error().text();
  ASSERT_EQ(files->files.size(), 2u);
  EXPECT_EQ(files->files[0].test_case.origin, "corpus");
}

TEST_F(Corpus, TheSameCaseIsNotWrittenTwice) {
  CaseFile file = file_of("m=1 n=2 k=3 value=ones seed=1");
  const Result<SavedCase> first = save_case(folder_, file);
  file.comments = {"found again on another day"};
  file.notes = {{"got", "f32[1,1,1] 00000000"}};
  const Result<SavedCase> second = save_case(folder_, file);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->path, second->path);
  EXPECT_TRUE(first->is_new && !second->is_new);
  EXPECT_THAT(read(first->path), HasSubstr("# a test\n"));
}

TEST_F(Corpus, AnotherSeedOfTheSameProblemGetsANameOfItsOwn) {
  const Result<SavedCase> first = save_case(folder_, file_of("m=1 n=2 k=3 value=normal seed=1"));
  const Result<SavedCase> second = save_case(folder_, file_of("m=1 n=2 k=3 value=normal seed=2"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->path, second->path);
  EXPECT_TRUE(second->is_new);
  EXPECT_THAT(second->path, HasSubstr("-2.case"));
}

TEST_F(Corpus, LeavesNoHalfFilesBehind) {
  ASSERT_TRUE(save_case(folder_, file_of("m=1 n=2 k=3")).ok());
  for (const auto& entry : fs::directory_iterator(folder_ + "/gemm_bf16")) {
    EXPECT_EQ(entry.path().extension(), ".case");
  }
}

TEST_F(Corpus, AMissingFolderIsAnEmptyCorpus) {
  const auto files = read_corpus(folder_ + "/nowhere", gemm_kernel(), shipped_registry(), true);
  ASSERT_TRUE(files.ok());
  EXPECT_TRUE(files->files.empty());
}

TEST_F(Corpus, ABrokenFileIsNamed) {
  fs::create_directories(folder_ + "/gemm_bf16");
  std::ofstream(folder_ + "/gemm_bf16/bad.case") << "# plumbline case 1\ncase gemm_bf16 m=1\nend\n";
  const auto files = read_corpus(folder_, gemm_kernel(), shipped_registry(), true);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().where, HasSubstr("bad.case:2:"));
  // What an earlier run left is no part of a gate.
  ASSERT_TRUE(save_case(folder_, file_of("m=1 n=2 k=3")).ok());
  const auto left = read_corpus(folder_, gemm_kernel(), shipped_registry(), false);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->files.size(), 1u);
  ASSERT_EQ(left->unfit.size(), 1u);
  EXPECT_THAT(left->unfit[0].where, HasSubstr("bad.case:2:"));
}

TEST_F(Corpus, AFolderThatCannotBeWrittenIsAnErrorWithItsName) {
  std::ofstream(folder_ + "/gemm_bf16") << "a file where the folder should be";
  const Result<SavedCase> saved = save_case(folder_, file_of("m=1 n=2 k=3"));
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message, HasSubstr(folder_ + "/gemm_bf16"));
}

TEST_F(Corpus, AMissingFileIsAnErrorWithItsName) {
  const Result<CaseFile> file = read_case(folder_ + "/none.case", shipped_registry());
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().text(), HasSubstr("none.case: cannot be read: No such file"));
  EXPECT_FALSE(read_case(folder_, shipped_registry()).ok());
}

}  // namespace
}  // namespace plumbline
