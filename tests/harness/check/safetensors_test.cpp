// SPDX-License-Identifier: MIT
// safetensors files: what is written reads back bit for bit, files laid out by hand as other
// programs lay them out are read, and broken ones are refused with the reason.
#include "harness/check/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/" + name; }

// Eight bytes of length, the header, the data.
std::string write_raw(const std::string& name, const std::string& header, const std::string& data) {
  std::ofstream file(path_of(name), std::ios::binary);
  for (std::size_t i = 0; i < 8; ++i) file.put(static_cast<char>(header.size() >> (8 * i)));
  file << header << data;
  return path_of(name);
}

std::string refused(const std::string& header, const std::string& data) {
  const auto read = read_safetensors(write_raw("broken.safetensors", header, data));
  return read ? "it was read" : read.error().text();
}

TEST(Safetensors, WhatIsWrittenReadsBackWithoutItsStrides) {
  Tensor strided(TensorLayout{FormatId::bf16, {2, 3}, {8, 1}, 4});
  for (std::int64_t i = 0; i < 6; ++i) strided.set_bits(i, 0x7fc0u + static_cast<unsigned>(i));
  Tensor empty(dense_layout(FormatId::e4m3, {0, 5})), scalar(dense_layout(FormatId::f32, {}));
  scalar.set_bits(0, 0x3fc00000);
  const std::string path = path_of("written.safetensors");
  ASSERT_TRUE(write_safetensors(path, {{{"a", strided}, {"nothing", empty}, {"alpha", scalar}},
                                       {{"case", "some \"case\""}}}));
  const auto read = read_safetensors(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->metadata.at("case"), "some \"case\"");
  ASSERT_EQ(read->tensors.size(), 3u);
  EXPECT_EQ(read->find("a")->layout.text(), "bf16[2,3]");
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(read->find("a")->bits(i), 0x7fc0u + static_cast<unsigned>(i));
  EXPECT_EQ(read->find("nothing")->layout.count(), 0);
  EXPECT_EQ(read->find("alpha")->bits(0), 0x3fc00000u);
  EXPECT_EQ(read->find("b"), nullptr);
}

TEST(Safetensors, FilesOfOtherProgramsAreRead) {
  // Order of the header is not order of the data; little endian.
  const auto read = read_safetensors(write_raw(
      "foreign.safetensors",
      R"({"b":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[4,6]},"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}   )",
      std::string("\x01\x02\x03\x84\x3c\xbc", 6)));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->find("a")->bits(0), 0x84030201u);
  EXPECT_EQ(read->find("b")->bits(1), 0xbcu);
}

TEST(Safetensors, BrokenFilesAreRefusedWithTheReason) {
  const auto one = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  const std::string good = R"("dtype":"I8","shape":[2],"data_offsets":[0,2])";
  EXPECT_EQ(refused(one(good), "ab"), "it was read");
  EXPECT_THAT(refused(one(good), "a"), HasSubstr("it may be cut off"));
  EXPECT_THAT(refused(one(good), "abc"), HasSubstr("1 bytes after the last tensor"));
  EXPECT_THAT(refused("{", ""), HasSubstr("no JSON object"));
  EXPECT_THAT(refused("[]", ""), HasSubstr("no JSON object"));
  EXPECT_THAT(refused(one(R"("dtype":"C64","shape":[1],"data_offsets":[0,8])"), "12345678"),
              HasSubstr("dtype C64"));
  EXPECT_THAT(refused(one(R"("dtype":"I8","shape":[-2],"data_offsets":[0,2])"), "ab"),
              HasSubstr("no list of sizes"));
  EXPECT_THAT(refused(one(R"("dtype":"I8","shape":[3],"data_offsets":[0,2])"), "ab"),
              HasSubstr("need 3"));
  EXPECT_THAT(refused(one(R"("dtype":"I8","shape":[2],"data_offsets":[2,0])"), "ab"),
              HasSubstr("no range"));
  EXPECT_THAT(
      refused(one(R"("dtype":"I8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), ""),
      HasSubstr("63 bits"));
  EXPECT_THAT(refused(one(R"("dtype":"I8","shape":[2],"data_offsets":[1,3])"), "abc"),
              HasSubstr("begins at 1"));
  EXPECT_THAT(refused(R"({"__metadata__":{"case":7}})", ""), HasSubstr("\"case\" is no string"));
  std::ofstream(path_of("short.safetensors")) << "abc";
  EXPECT_THAT(read_safetensors(path_of("short.safetensors")).error().text(),
              HasSubstr("shorter than 8 bytes"));
  EXPECT_THAT(read_safetensors(path_of("nowhere.safetensors")).error().text(),
              HasSubstr("cannot read it as a file of tensors: there is no such file"));
}

TEST(Safetensors, FormatsTheFileTypeLacksAreNotWritten) {
  const Tensor tf32(dense_layout(FormatId::tf32, {1}));
  const Status written = write_safetensors(path_of("tf32.safetensors"), {{{"a", tf32}}, {}});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().text(), HasSubstr("no tf32"));
}

}  // namespace
}  // namespace plumbline
