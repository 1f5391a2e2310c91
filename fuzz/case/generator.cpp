// SPDX-License-Identifier: MIT
#include "fuzz/case/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/case/draw.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

// A tensor that follows from a word, of which this kernel only has "none".
bool is_never_there(const Manifest& manifest, std::string_view tensor) {
  const auto schema = manifest.schema();
  return std::any_of(schema.begin(), schema.end(), [&](const Field& field) {
    return field.name == tensor && field.kind == FieldKind::word && field.choices.size() == 1 &&
           field.choices[0] == "none";
  });
}

// Bases that miss the alignment of wide accesses: all of them, by one element and by half of 16
// bytes, and each that wide accesses are likely for alone: elements of less than 32 bits, and every
// input, as vectors of bias or scales are. A kernel may look at some and not at others.
std::vector<std::string> offset_fragments(const Manifest& manifest) {
  std::vector<std::string> fragments = {"offset=0"};
  const auto field = std::find_if(manifest.schema().begin(), manifest.schema().end(),
                                  [](const Field& one) { return one.name == kOffset; });
  if (field->fixed) return fragments;
  fragments.insert(fragments.end(), {"offset=1", "offset=4"});
  for (const TensorName& tensor : manifest.operation->tensor_names()) {
    const bool wide = tensor.format == "f32" || tensor.format == "s32";
    if (wide && (tensor.role != TensorRole::input || is_never_there(manifest, tensor.name)))
      continue;
    fragments.push_back(fmt::format("offset=1 offset_in={}", tensor.name));
  }
  return fragments;
}

// As likely between 1 and 2 as between 64 and 128: integers and powers of two only, so that all
// machines draw the same.
double draw_magnitude(const Spread& spread, Random& random) {
  if (spread.scale == Spread::Scale::linear)
    return spread.least + (spread.most - spread.least) * random.unit();
  const std::int64_t exponent = random.between(std::ilogb(spread.least), std::ilogb(spread.most));
  const double drawn = std::ldexp(1 + random.unit(), static_cast<int>(exponent));
  return std::clamp(drawn, spread.least, spread.most);
}

std::string drawn_number(const Spread& spread, Random random) {
  double number = draw_magnitude(spread, random);
  if (spread.either_sign) number *= draw_sign(random);
  return spread.whole ? fmt::format("{}", static_cast<std::int64_t>(std::floor(number)))
                      : fmt::format("{}", static_cast<float>(number));
}

}  // namespace

std::string drawn_fragments_text(const std::vector<Feature>& features, const Choice& choice,
                                 const Random& random) {
  std::string text = fragments_text(features, choice);
  for (const Feature& feature : features) {
    if (!feature.spread) continue;
    const std::string drawn = fmt::format("{}=*", feature.spread->field);
    const std::size_t at = text.find(drawn);
    if (at == text.npos) continue;
    text.replace(at + drawn.size() - 1, 1,
                 drawn_number(*feature.spread, random.fork(fingerprint(feature.name))));
  }
  return text;
}

std::vector<Feature> schema_features(const Manifest& manifest,
                                     std::span<const std::string_view> except,
                                     std::span<const Feature> numbers) {
  std::vector<Feature> features;
  for (const Field& field : manifest.schema()) {
    if (field.kind != FieldKind::word || field.choices.size() < 2) continue;
    if (field.name == kOffsetIn) continue;
    if (std::find(except.begin(), except.end(), field.name) != except.end()) continue;
    Feature feature{std::string(field.name), {}};
    for (const std::string_view word : field.choices) {
      feature.fragments.push_back(fmt::format("{}={}", field.name, word));
    }
    features.push_back(std::move(feature));
  }
  for (const Feature& number : numbers) {
    const auto field = std::find_if(manifest.schema().begin(), manifest.schema().end(),
                                    [&](const Field& one) { return one.name == number.name; });
    PLUMB_ASSERT(field != manifest.schema().end());
    if (!field->fixed) features.push_back(number);
  }
  const std::vector<std::string> offsets = offset_fragments(manifest);
  if (offsets.size() > 1) features.push_back({std::string(kOffset), offsets, true});
  return features;
}

std::string fragments_text(const std::vector<Feature>& features, const Choice& choice) {
  std::string text;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (i > 0) text += ' ';
    text += features[i].fragments[static_cast<std::size_t>(choice.features[i])];
  }
  return text;
}

std::vector<ClassInfo> shape_classes(const Operation& operation) {
  const auto classes = generator_of(operation).shape_classes();
  return {classes.begin(), classes.end()};
}

std::vector<ClassInfo> layout_classes(const Operation& operation) {
  const auto classes = generator_of(operation).layout_classes();
  return {classes.begin(), classes.end()};
}

}  // namespace plumbline
