// SPDX-License-Identifier: MIT
// docs/manifest.md stays true: it shows the shipped manifest as it is and explains every word.
// docs/operations.md is made from the operations themselves: PLUMBLINE_APPROVE=1 writes it anew.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>

#include "kernels/manifest/operation.h"
#include "kernels/manifest/real_text.h"
#include "oracles/bounds/contract/describe.h"
#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"

namespace plumbline {
namespace {

const std::string kDocs = std::string(PLUMBLINE_SOURCE_DIR) + "/docs/";

void expect_mentioned(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in docs/manifest.md";
}

std::string values_of(const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return "integer";
    case FieldKind::real:
      return "f32";
    case FieldKind::word:
      break;
  }
  return fmt::format("`{}`", fmt::join(field.choices, "`, `"));
}

std::string default_of(const Field& field) {
  if (must_be_given(field)) return "must be given";
  const std::string value = value_text(field, field.default_value);
  return field.kind == FieldKind::word ? "`" + value + "`" : value;
}

std::string page_of(const Operation& operation) {
  std::string page = fmt::format("## {}\n\n{}\n", operation.name(), operation.about());
  page += "| field | values | default | meaning |\n|---|---|---|---|\n";
  for (const Field& field : operation.schema()) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", field.name, values_of(field),
                        default_of(field), field.help);
  }
  if (!operation.derived().empty()) page += "\n| derived name | is |\n|---|---|\n";
  for (const Derived& name : operation.derived())
    page += fmt::format("| `{}` | {} |\n", name.name, name.help);
  if (!operation.terms().empty())
    page += "\n| term of its contract | values | default | meaning |\n|---|---|---|---|\n";
  for (const Field& term : operation.terms()) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", term.name, values_of(term), default_of(term),
                        term.help);
  }
  page += "\n| tensor | role | logical shape | usual format | can be |\n|---|---|---|---|---|\n";
  for (const TensorName& tensor : operation.tensor_names()) {
    page += fmt::format("| `{}` | {} | {} | {} | `{}` |\n", tensor.name,
                        tensor.role == TensorRole::input ? "input" : "output", tensor.help,
                        tensor.format.empty() ? "" : fmt::format("`{}`", tensor.format),
                        fmt::join(tensor.formats, "`, `"));
  }
  return page;
}

std::string operations_page() {
  std::string page =
      "# The operations that are built in\n\nAn operation that is not listed here is described "
      "by a text of a few lines ([operation_texts.md](operation_texts.md)).\n\nWhat a manifest's "
      "`computes` can name: for "
      "each operation the fields of "
      "a problem in the order of its canonical text (defaults\n"
      "are left out there), the names that expressions can use beside them, and the tensors. A "
      "kernel need not have all of it: its `[problem]`\n"
      "says what it has ([manifest.md](manifest.md)). Beside its own fields every operation has "
      "`offset`, elements before the first of its inputs\nand outputs, so that they do not begin "
      "where an allocation does, and `offset_in`: `all` of them (the default), or the one tensor "
      "that has it.\n\n<!-- Written by "
      "ManifestManual.OperationsPageIsCurrent: run the kernels tests with PLUMBLINE_APPROVE=1. "
      "-->\n";
  for (const Operation* operation : all_operations()) page += "\n" + page_of(*operation);
  return page;
}

TEST(ManifestManual, ShowsTheShippedManifest) {
  expect_mentioned(read_file(kDocs + "manifest.md"),
                   "```toml\n" + read_file(shipped_manifest_path()) + "```\n");
}

TEST(ManifestManual, OperationsPageIsCurrent) {
  const std::string path = kDocs + "operations.md";
  if (std::getenv("PLUMBLINE_APPROVE")) std::ofstream(path) << operations_page();
  EXPECT_EQ(read_file(path), operations_page())
      << "run this test with PLUMBLINE_APPROVE=1 and look at the difference";
}

TEST(ManifestManual, ExplainsEveryWordOfAContract) {
  const std::string text = read_file(kDocs + "manifest.md");
  for (const auto words : {unit_words(), schedule_words(), join_words(), promotion_words(),
                           epilogue_words(), rounding_words(), overflow_words()}) {
    for (const std::string_view word : words)
      expect_mentioned(text, "`\"" + std::string(word) + "\"");
  }
}

}  // namespace
}  // namespace plumbline
