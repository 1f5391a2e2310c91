// SPDX-License-Identifier: MIT
#include "harness/device/entry_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(EntryName, InCppIsWhatTheSourceSays) {
  EXPECT_EQ(cpp_name("gemm_bf16_nn_bf16"), "gemm_bf16_nn_bf16");
  EXPECT_EQ(cpp_name("_Z4axpyPfS_fi"), "axpy");
  EXPECT_EQ(cpp_name("_ZN5flash6kernelEPKv"), "flash::kernel");
  // template <int, typename> __global__ void a::b::tile(T*), with an argument and a parameter that
  // have brackets of their own.
  EXPECT_EQ(cpp_name("_ZN1a1b4tileILi128ENS_4PairILi1EEEEEvPT0_PFvvE"), "a::b::tile");
  EXPECT_EQ(cpp_name("_ZN12_GLOBAL__N_16hiddenEi"), "(anonymous namespace)::hidden");
  EXPECT_EQ(cpp_name("_Znot_mangled"), "_Znot_mangled");
}

TEST(EntryName, IsReadFromPtx) {
  EXPECT_THAT(entry_names(".version 8.0\n.visible .entry one(\n.param .u64 p)\n{ ret; }\n"
                          ".entry\ttwo (.param .u64 p) {}\n.weak .entry three() {}\n.entryway x"),
              ElementsAre("one", "two", "three"));
  EXPECT_TRUE(entry_names("\x7f"
                          "ELF")
                  .empty());
  EXPECT_TRUE(entry_names(".entry ").empty());
}

TEST(EntryName, IsTheMangledOrTheOnlyOneOfItsCppName) {
  const std::vector<std::string> entries = {"plain", "_ZN5flash6kernelILi64EEEvPKv",
                                            "_ZN5flash6kernelILi128EEEvPKv", "_ZN5flash5otherEv"};
  EXPECT_EQ(find_entry(entries, "plain", "k.ptx").value(), "plain");
  EXPECT_EQ(find_entry(entries, "flash::other", "k.ptx").value(), "_ZN5flash5otherEv");
  EXPECT_EQ(find_entry(entries, entries[2], "k.ptx").value(), entries[2]);
  EXPECT_EQ(find_entry(entries, "flash::kernel", "k.ptx").error().text(),
            "k.ptx: there are 2 entries \"flash::kernel\" (write the whole name of one: "
            "_ZN5flash6kernelILi64EEEvPKv, _ZN5flash6kernelILi128EEEvPKv)");
  EXPECT_THAT(find_entry(entries, "flash::kernal", "k.ptx").error().text(),
              HasSubstr("k.ptx: there is no entry \"flash::kernal\" (entries: plain, _ZN5"));
}

}  // namespace
}  // namespace plumbline
