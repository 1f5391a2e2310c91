// SPDX-License-Identifier: MIT
#include "fuzz/case/classes.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {

std::vector<std::string> every_choice(const Manifest& manifest,
                                      std::span<const std::string_view> fields) {
  std::vector<std::string> texts = {""};
  for (const Field& field : manifest.schema()) {
    if (std::find(fields.begin(), fields.end(), field.name) == fields.end()) continue;
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string_view word : field.choices) {
        longer.push_back(fmt::format("{}{}{}={}", text, text.empty() ? "" : " ", field.name, word));
      }
    }
    texts = std::move(longer);
  }
  return texts;
}

}  // namespace plumbline
