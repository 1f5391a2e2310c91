// SPDX-License-Identifier: MIT
#include "fuzz/case/free_fields.h"

#include <algorithm>

#include "oracles/base/text.h"

namespace plumbline {

bool is_free(std::span<const Field> schema, std::string_view name) {
  const auto field = std::find_if(schema.begin(), schema.end(),
                                  [&](const Field& one) { return one.name == name; });
  return field != schema.end() && !field->fixed;
}

FreeStrides free_strides(const Manifest& manifest, std::span<const std::string_view> strides,
                         std::string_view text) {
  FreeStrides left;
  bool any = false, any_free = false;
  for (const std::string_view token : split(text, ' ')) {
    const std::string_view name = token.substr(0, token.find('='));
    if (std::find(strides.begin(), strides.end(), name) != strides.end()) {
      any = true;
      if (!is_free(manifest.schema(), name)) continue;
      any_free = true;
    }
    if (!left.text.empty()) left.text += ' ';
    left.text += token;
  }
  left.nothing_left = any && !any_free;
  return left;
}

}  // namespace plumbline
