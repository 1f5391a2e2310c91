// SPDX-License-Identifier: MIT
// docs/manifest.md stays true: it shows the shipped manifest as it is, and its tables have a row
// for everything there is.
#include "kernels/operation.h"
#include "oracles/bounds/contract_words.h"
#include "tests/kernels/manifest_files.h"

namespace plumbline {
namespace {

std::string manual() { return read_file(std::string(PLUMBLINE_SOURCE_DIR) + "/docs/manifest.md"); }

void expect_mentioned(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in docs/manifest.md";
}

TEST(ManifestManual, ShowsTheShippedManifest) {
  expect_mentioned(manual(), "```toml\n" + read_file(shipped_manifest_path()) + "```\n");
}

TEST(ManifestManual, HasARowForEveryNameOfEveryOperation) {
  const std::string text = manual();
  for (const Operation* operation : all_operations()) {
    for (const Field& field : operation->schema()) {
      expect_mentioned(text, "\n| `" + std::string(field.name) + "` | ");
      expect_mentioned(text, " | " + std::string(field.help) + " |\n");
    }
    for (const Derived& name : operation->derived()) {
      expect_mentioned(text,
                       "\n| `" + std::string(name.name) + "` | " + std::string(name.help) + " |\n");
    }
    for (const TensorName& tensor : operation->tensor_names()) {
      expect_mentioned(text, "\n| `" + std::string(tensor.name) + "` | ");
    }
  }
}

TEST(ManifestManual, ExplainsEveryWordOfAContract) {
  const std::string text = manual();
  for (const auto words : {unit_words(), schedule_words(), join_words(), epilogue_words(),
                           rounding_words(), overflow_words()}) {
    for (const std::string_view word : words)
      expect_mentioned(text, "`\"" + std::string(word) + "\"");
  }
}

}  // namespace
}  // namespace plumbline
