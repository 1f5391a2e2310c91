// SPDX-License-Identifier: MIT
#include "harness/propagation/stack_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/propagation/step_curve.h"
#include "oracles/base/assert.h"
#include "oracles/base/memory.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

constexpr FieldKind kInteger = FieldKind::integer, kWord = FieldKind::word;

constexpr std::array<std::string_view, 2> kFactors = {"bf16", "e4m3"}, kStreams = {"bf16", "f32"},
                                          kCasts = {"nearest", "truncate"};
constexpr std::array<std::string_view, 3> kScales = {"row", "tensor", "block"},
                                          kCaches = {"bf16", "e4m3", "e5m2"};

constexpr std::int64_t kMostLayers = 1024, kMostTokens = 4096, kWidest = 16384, kMostHidden = 65536;

// Numbers are sizes, whose defaults mean nothing; words are the arithmetic.
// clang-format off
constexpr std::array kFields = {
    Field{"layers",    kInteger, 1, 1, kMostLayers, {}, "blocks of --decode and --denoise"},
    Field{"tokens",    kInteger, 1, 1, kMostTokens, {}, "rows of x in --depth and --denoise"},
    Field{"width",     kInteger, 1, 1, kWidest, {},     "of the residual stream"},
    Field{"heads",     kInteger, 1, 1, kWidest, {},     "of attention; they divide the width"},
    Field{"hidden",    kInteger, 1, 1, kMostHidden, {}, "width of the MLP"},
    Field{"qkv",       kWord, 0, 0, 0, kFactors,        "factors of the products that make Q, K and V"},
    Field{"out",       kWord, 0, 0, 0, kFactors,        "factors of attention's output projection"},
    Field{"up",        kWord, 0, 0, 0, kFactors,        "factors of the MLP's gate and up projections"},
    Field{"down",      kWord, 0, 0, 0, kFactors,        "factors of the MLP's down projection"},
    Field{"scales",    kWord, 0, 0, 0, kScales,         "what e4m3 factors have one scale for"},
    Field{"attention", kWord, 0, 0, 0, kFactors,        "what Q, K, V and P meet in"},
    Field{"cache",     kWord, 0, 0, 0, kCaches,         "what keys and values are kept in"},
    Field{"residual",  kWord, 0, 0, 0, kStreams,        "what x is stored in between layers"},
    Field{"casts",     kWord, 0, 0, 0, kCasts,          "how f32 becomes bf16"},
};
// clang-format on

// A weight: f32 in the stack; a double and an exponent as factors, forward and backward.
constexpr double kStackBytes = 4, kFactorBytes = 24;

Error wrong(std::string message, std::string hint) {
  return {ErrorKind::bad_input, std::move(message), "--model", std::move(hint)};
}

}  // namespace

StackModel::StackModel() : words_(kFields) {}

bool StackModel::gives(std::string_view field) const {
  return std::ranges::find(given_, field, &Field::name) != given_.end();
}

bool StackModel::gives_factors() const {
  return std::ranges::any_of(std::array{"qkv", "out", "up", "down"},
                             [&](const char* factors) { return gives(factors); });
}

Result<StackShape> StackModel::shape(StackShape usual, int threads) const {
  const auto set = [&](std::string_view field, std::int64_t& size) {
    if (gives(field)) size = words_.integer(field);
  };
  set("layers", usual.layers);
  set("tokens", usual.tokens);
  set("width", usual.width);
  set("heads", usual.heads);
  set("hidden", usual.hidden);
  if (usual.width % usual.heads != 0) {
    return wrong(
        fmt::format("{} heads do not divide the width of {}", usual.heads, usual.width),
        fmt::format("width={} makes heads of {}", usual.heads * usual.head_width() + usual.heads,
                    usual.head_width() + 1));
  }
  const auto layers = static_cast<double>(usual.layers), width = static_cast<double>(usual.width),
             hidden = static_cast<double>(usual.hidden);
  const double weights = layers * (4 * width * width + 3 * width * hidden),
               bytes = weights * (kStackBytes + kFactorBytes * threads);
  if (bytes > physical_memory_bytes()) {
    Error error = wrong(fmt::format("the weights of {:.0f} layers need {:.1f} GiB on {} threads, "
                                    "more than this machine has",
                                    layers, bytes / 0x1p30, threads),
                        "smaller sizes, fewer layers or --jobs 1");
    error.kind = ErrorKind::out_of_memory;
    return error;
  }
  return usual;
}

std::optional<StackArithmetic> StackModel::arithmetic() const {
  const auto is_word = [](const Field& field) { return field.kind == kWord; };
  if (std::ranges::none_of(given_, is_word)) return std::nullopt;
  const auto format_of = [&](std::string_view field) {
    const std::optional<FormatId> id = format_by_name(words_.word(field));
    PLUMB_ASSERT(id.has_value());
    return *id;
  };
  const std::string_view scales = words_.word("scales");
  return StackArithmetic{
      .residual = format_of("residual"),
      .factors = {format_of("qkv"), format_of("out"), format_of("up"), format_of("down")},
      .scales = scales == "row"      ? StackScales::row
                : scales == "tensor" ? StackScales::tensor
                                     : StackScales::block,
      .attention = format_of("attention"),
      .conversion =
          words_.word("casts") == "truncate" ? Rounding::toward_zero : Rounding::nearest_even,
      .cache = format_of("cache")};
}

std::string StackModel::describe(std::string_view blocks,
                                 std::initializer_list<std::string_view> sizes,
                                 const StackShape& shape) const {
  Problem all = words_;
  all.set_integer("layers", shape.layers);
  all.set_integer("tokens", shape.tokens);
  all.set_integer("width", shape.width);
  all.set_integer("heads", shape.heads);
  all.set_integer("hidden", shape.hidden);
  std::string text = fmt::format("{}:", blocks);
  for (const std::string_view size : sizes) text += fmt::format(" {}={}", size, all.integer(size));
  for (const Field& field : given_) {
    if (field.kind == kWord) text += fmt::format(" {}={}", field.name, all.word(field.name));
  }
  return text;
}

void StackModel::tell(DepthRecord& record, std::string_view beside) const {
  const double ratio = end_ratio(record, kGivenArithmetic, beside);
  if (ratio > 0) {
    record.findings.push_back(
        fmt::format("{}: the error in the end is {:.2g} times that of \"{}\".", kGivenArithmetic,
                    ratio, beside));
  }
}

Result<StackModel> parse_stack_model(std::string_view text, std::string_view where) {
  StackModel model;
  Result<Problem> words = parse_problem(kFields, text, where);
  if (!words) return words.error();
  model.words_ = std::move(*words);
  for (const std::string_view word : split(text, ' ')) {
    const auto field = std::ranges::find(kFields, word.substr(0, word.find('=')), &Field::name);
    if (field != kFields.end()) model.given_.push_back(*field);
  }
  return model;
}

}  // namespace plumbline
