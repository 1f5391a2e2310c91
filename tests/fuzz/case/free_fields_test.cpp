// SPDX-License-Identifier: MIT
// What a manifest frees is varied: every free number has another value than its default in some
// quick case in which that can show, whichever other numbers the kernel has.
#include "fuzz/case/free_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fuzz/plan/plan.h"
#include "tests/fuzz/kernel_under_test.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

using Fields = std::vector<std::string>;

Fields free_numbers(const Manifest& kernel) {
  Fields fields;
  for (const Field& field : kernel.schema()) {
    if (field.kind != FieldKind::word && !field.fixed && !must_be_given(field))
      fields.emplace_back(field.name);
  }
  return fields;
}

bool is_stride(std::string_view field) {
  return field.starts_with("ld") || field.starts_with("stride_") || field == "pad";
}

// Whether a kernel that takes a stride's default for granted reads or writes elsewhere: a dimension
// of more than one element lies otherwise.
bool shows(const Case& test_case, std::string_view field) {
  if (test_case.problem.is_default(field)) return false;
  if (!is_stride(field)) return true;
  Problem plain = test_case.problem;
  plain.reset(field);
  const auto real = test_case.kernel->tensors(test_case.problem),
             taken = test_case.kernel->tensors(plain);
  if (!taken) return true;
  for (std::size_t i = 0; i < real->size(); ++i) {
    const TensorLayout &a = (*real)[i].layout, &b = (*taken)[i].layout;
    for (std::size_t at = 0; a.count() > 0 && at < a.shape.size(); ++at) {
      if (a.shape[at] > 1 && a.strides[at] != b.strides[at]) return true;
    }
  }
  return false;
}

// The free numbers of a kernel that no quick case shows.
Fields never_shown(const Manifest& kernel) {
  Fields left = free_numbers(kernel);
  for (const Case& test_case : plan_cases(kernel, {Profile::quick, 1})) {
    if (left.empty()) break;
    std::erase_if(left, [&](const std::string& field) { return shows(test_case, field); });
  }
  return left;
}

// A shipped kernel with another line or two of its manifest.
Manifest changed(const Manifest& shipped, const std::string& key, const std::string& value) {
  std::ifstream file(shipped.path);
  std::string text, line;
  while (std::getline(file, line)) {
    const bool is_key = line.starts_with(key) && line.find_first_of(" =") == key.size();
    text += (is_key ? fmt::format("{} = [{}]", key, value) : line) + "\n";
  }
  return manifest_of(text, std::filesystem::path(shipped.path).replace_extension());
}

TEST(FreeFields, EveryNumberOfEveryShippedKernelIsVaried) {
  for (const Manifest& kernel : shipped_registry().all())
    EXPECT_EQ(never_shown(kernel), Fields{}) << kernel.name;
}

// Each alone, with what it needs to show at all.
TEST(FreeFields, EveryNumberIsVariedAlthoughTheKernelLacksTheOthers) {
  std::set<std::string_view> operations;
  int schemas = 0;
  for (const Manifest& kernel : shipped_registry().all()) {
    if (!operations.insert(kernel.operation->name()).second) continue;
    for (const std::string& field : free_numbers(kernel)) {
      std::string free = fmt::format("\"{}\"", field);
      if (field.starts_with("stride_")) free += ", \"batch\"";
      if (field == "ldc" || field == "stride_c") free += ", \"beta\"";
      if (field == "kv_heads") free += ", \"heads\"";
      const Manifest narrow = changed(kernel, "free", free);
      EXPECT_EQ(never_shown(narrow), Fields{}) << kernel.name << " with " << free;
      ++schemas;
    }
  }
  EXPECT_GE(operations.size(), 13u);
  EXPECT_GE(schemas, 40);
}

TEST(FreeFields, StridesOfOneStoredLayoutAreVariedOneByOne) {
  const Manifest shipped = changed(gemm_kernel(), "layout", "\"nt\"");
  EXPECT_EQ(never_shown(shipped), Fields{});
  for (const std::string field : {"lda", "ldb", "ldd"}) {
    Manifest narrow = shipped;
    auto schema = std::make_shared<KernelSchema>(*narrow.operation);
    schema->free(field);
    schema->allow("layout", {"nt"});
    narrow.own_schema = schema;
    EXPECT_EQ(never_shown(narrow), Fields{}) << field;
  }
}

// A class of strides that a kernel has none of is none of its classes.
TEST(FreeFields, ClassesOfWhichNothingIsLeftAreDropped) {
  const auto classes = [](const std::string& free) {
    std::set<std::string> layouts;
    const Manifest narrow = changed(gemm_kernel(), "free", free);
    for (const Case& test_case : plan_cases(narrow, {Profile::quick, 1}))
      if (test_case.origin == "planned") layouts.insert(test_case.layout_class);
    return layouts;
  };
  const std::set<std::string> tight = {"nn", "nt", "tn", "tt"};
  EXPECT_EQ(classes(""), tight);
  std::set<std::string> leading = tight;
  leading.insert({"padded_8", "padded_odd", "absurd_strides"});
  EXPECT_EQ(classes("\"ldd\""), leading);
  EXPECT_FALSE(classes("\"batch\", \"stride_d\"").contains("interleaved"));
  EXPECT_TRUE(classes("\"batch\", \"ldd\", \"stride_d\"").contains("interleaved"));
}

TEST(FreeFields, StridesThatAKernelLacksAreTakenOutOfText) {
  const Manifest narrow = changed(gemm_kernel(), "free", "\"ldd\"");
  constexpr std::array<std::string_view, 2> kStrides = {"lda", "ldd"};
  const FreeStrides some = free_strides(narrow, kStrides, "m=1 lda=8 ldd=9 alpha=2");
  EXPECT_EQ(some.text, "m=1 ldd=9 alpha=2");
  EXPECT_FALSE(some.nothing_left);
  const FreeStrides none = free_strides(narrow, kStrides, "m=1 lda=8");
  EXPECT_EQ(none.text, "m=1");
  EXPECT_TRUE(none.nothing_left);
  EXPECT_FALSE(free_strides(narrow, kStrides, "m=1").nothing_left);
}

}  // namespace
}  // namespace plumbline
