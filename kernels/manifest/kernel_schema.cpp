// SPDX-License-Identifier: MIT
#include "kernels/manifest/kernel_schema.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/manifest/operation.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 1> kOnlyAll = {kAllTensors};

constexpr std::array<Field, 2> kCommon = {
    Field{kOffset,
          FieldKind::integer,
          0,
          0,
          1 << 20,
          {},
          "elements before the first of inputs and outputs"},
    Field{kOffsetIn, FieldKind::word, 0, 0, 0, kOnlyAll,
          "all of them, or the name of the one that has the offset"},
};

}  // namespace

std::span<const Field> common_fields() { return kCommon; }

KernelSchema::KernelSchema(const Operation& operation)
    : operation_(operation),
      fields_(operation.schema().begin(), operation.schema().end()),
      derived_(operation.derived().begin(), operation.derived().end()) {
  fields_.insert(fields_.end(), kCommon.begin(), kCommon.end());
  for (Field& field : fields_) {
    if (must_be_given(field)) continue;
    if (field.kind == FieldKind::word) {
      allow(field.name, {field.choices[static_cast<std::size_t>(field.default_value)]});
    } else {
      field.fixed = true;
    }
  }
}

void KernelSchema::free(std::string_view name) {
  field(name).fixed = false;
  if (name != kOffset) return;
  std::vector<std::string_view> words = {kAllTensors};
  for (const TensorName& tensor : operation_.tensor_names()) words.push_back(tensor.name);
  allow(kOffsetIn, std::move(words));
}

void KernelSchema::allow(std::string_view name, std::vector<std::string_view> words) {
  PLUMB_ASSERT(!words.empty());
  words_.push_back(std::make_unique<std::vector<std::string_view>>(std::move(words)));
  Field& narrowed = field(name);
  narrowed.choices = *words_.back();
  narrowed.default_value = 0;
}

void KernelSchema::leave_out(std::string_view derived) {
  std::erase_if(derived_, [&](const Derived& one) { return one.name == derived; });
}

Field& KernelSchema::field(std::string_view name) {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
  PLUMB_ASSERT(found != fields_.end());
  return *found;
}

}  // namespace plumbline
