// SPDX-License-Identifier: MIT
#include "kernels/kernel_schema.h"

#include <algorithm>
#include <utility>

#include "oracles/base/assert.h"

namespace plumbline {

KernelSchema::KernelSchema(std::span<const Field> operation)
    : operation_(operation), fields_(operation.begin(), operation.end()) {
  for (Field& field : fields_) {
    if (must_be_given(field)) continue;
    if (field.kind == FieldKind::word) {
      allow(field.name, {field.choices[static_cast<std::size_t>(field.default_value)]});
    } else {
      field.fixed = true;
    }
  }
}

void KernelSchema::free(std::string_view name) { field(name).fixed = false; }

void KernelSchema::allow(std::string_view name, std::vector<std::string_view> words) {
  PLUMB_ASSERT(!words.empty());
  words_.push_back(std::make_unique<std::vector<std::string_view>>(std::move(words)));
  Field& narrowed = field(name);
  narrowed.choices = *words_.back();
  narrowed.default_value = 0;
}

Field& KernelSchema::field(std::string_view name) {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
  PLUMB_ASSERT(found != fields_.end());
  return *found;
}

}  // namespace plumbline
