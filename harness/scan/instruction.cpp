// SPDX-License-Identifier: MIT
#include "harness/scan/instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

using enum FormatId;

constexpr ScalarType kTypes[] = {
    {"f32", f32},
    {"tf32", tf32},
    {"f16", f16},
    {"bf16", bf16},
    {"f16x2", f16, 0, true, 2},
    {"bf16x2", bf16, 0, true, 2},
    {"e4m3x2", e4m3, 0, true, 2},
    {"e5m2x2", e5m2, 0, true, 2},
    {"e2m1x2", e2m1, 0, true, 2},
    {"e2m3x2", e2m3, 0, true, 2},
    {"e3m2x2", e3m2, 0, true, 2},
    {"ue8m0x2", ue8m0, 0, true, 2},
    {"s8", s8, 8, true},
    {"u8", u8, 8, false},
    {"s16", s32, 16, true},
    {"u16", s32, 16, false},
    {"s32", s32, 32, true},
    {"u32", s32, 32, false},
};

constexpr std::pair<std::string_view, ScanFunction> kFunctions[] = {
    {"cvt", ScanFunction::identity}, {"ex2", ScanFunction::ex2},     {"lg2", ScanFunction::lg2},
    {"rcp", ScanFunction::rcp},      {"rsqrt", ScanFunction::rsqrt}, {"sqrt", ScanFunction::sqrt},
    {"sin", ScanFunction::sin},      {"cos", ScanFunction::cos},     {"tanh", ScanFunction::tanh},
    {"div", ScanFunction::div},
};

struct RoundingWord {
  std::string_view word;
  Rounding rounding;
  bool to_integral = false;
};

constexpr RoundingWord kRoundings[] = {
    {"rn", Rounding::nearest_even},
    {"rz", Rounding::toward_zero},
    {"rm", Rounding::down},
    {"rp", Rounding::up},
    {"rna", Rounding::nearest_away},
    {"rni", Rounding::nearest_even, true},
    {"rzi", Rounding::toward_zero, true},
    {"rmi", Rounding::down, true},
    {"rpi", Rounding::up, true},
};

constexpr std::string_view kKnown[] = {
    "cvt.f32.f16",
    "cvt.f32.bf16",
    "cvt.rn.f16.f32",
    "cvt.rz.f16.f32",
    "cvt.rn.bf16.f32",
    "cvt.rz.bf16.f32",
    "cvt.rn.relu.bf16.f32",
    "cvt.rna.tf32.f32",
    "cvt.rn.f16x2.f32",
    "cvt.rz.f16x2.f32",
    "cvt.rn.bf16x2.f32",
    "cvt.rz.bf16x2.f32",
    "cvt.rn.relu.bf16x2.f32",
    "cvt.rn.satfinite.e4m3x2.f32",
    "cvt.rn.satfinite.e5m2x2.f32",
    "cvt.rn.satfinite.relu.e4m3x2.f32",
    "cvt.rn.satfinite.e4m3x2.f16x2",
    "cvt.rn.satfinite.e5m2x2.f16x2",
    "cvt.rn.f16x2.e4m3x2",
    "cvt.rn.f16x2.e5m2x2",
    "cvt.rn.satfinite.e2m1x2.f32",
    "cvt.rn.satfinite.e2m3x2.f32",
    "cvt.rn.satfinite.e3m2x2.f32",
    "cvt.rn.f16x2.e2m1x2",
    "cvt.rn.f16x2.e2m3x2",
    "cvt.rn.f16x2.e3m2x2",
    "cvt.rz.satfinite.ue8m0x2.f32",
    "cvt.rp.satfinite.ue8m0x2.f32",
    "cvt.rn.bf16x2.ue8m0x2",
    "cvt.rni.f32.f32",
    "cvt.rzi.f32.f32",
    "cvt.rmi.f32.f32",
    "cvt.rpi.f32.f32",
    "cvt.sat.f32.f32",
    "cvt.rni.s32.f32",
    "cvt.rzi.s32.f32",
    "cvt.rmi.s32.f32",
    "cvt.rpi.s32.f32",
    "cvt.rni.u32.f32",
    "cvt.rzi.u32.f32",
    "cvt.rni.s8.f32",
    "cvt.rzi.s8.f32",
    "cvt.rni.u8.f32",
    "cvt.rn.f32.s32",
    "cvt.rn.f32.u32",
    "cvt.rn.f32.s8",
    "cvt.rn.f32.u8",
    "cvt.rn.f32.s16",
    "cvt.rn.f32.u16",
    "cvt.rn.f16.s8",
    "cvt.rn.f16.s16",
    "cvt.sat.s8.s32",
    "cvt.sat.u8.s32",
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "ex2.approx.f16",
    "ex2.approx.f16x2",
    "ex2.approx.ftz.bf16",
    "ex2.approx.ftz.bf16x2",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "rcp.approx.f32",
    "rcp.approx.ftz.f32",
    "rcp.rn.f32",
    "rcp.rz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "sqrt.approx.f32",
    "sqrt.approx.ftz.f32",
    "sqrt.rn.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "tanh.approx.f32",
    "tanh.approx.f16",
    "tanh.approx.f16x2",
    "tanh.approx.bf16",
    "tanh.approx.bf16x2",
    "div.approx.f32",
    "div.approx.ftz.f32",
    "div.full.f32",
    "div.full.ftz.f32",
    "div.rn.f32",
};

Error refusal(std::string_view spelling, std::string why, std::string hint = "") {
  return {ErrorKind::bad_input, fmt::format("{} cannot be scanned: {}", spelling, why), "",
          std::move(hint)};
}

// The words of a spelling, taken one by one from the front.
class Words {
 public:
  explicit Words(std::string_view spelling) {
    for (const std::string_view word : split(spelling, '.')) words_.emplace_back(word);
  }

  bool empty() const { return next_ == words_.size(); }

  std::string_view front() const { return empty() ? std::string_view() : words_[next_]; }

  bool take(std::string_view word) {
    if (front() != word || empty()) return false;
    ++next_;
    return true;
  }

  std::optional<ScalarType> take_type() {
    for (const ScalarType& type : kTypes)
      if (take(type.name)) return type;
    return std::nullopt;
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

bool take_rounding(Words& words, ScanInstruction& out) {
  for (const RoundingWord& one : kRoundings) {
    if (!words.take(one.word)) continue;
    out.rounding = one.rounding;
    out.to_integral = one.to_integral;
    return true;
  }
  return false;
}

// What is wrong with the rounding, as ptxas sees it; empty where nothing is.
std::string_view bad_rounding(const ScanInstruction& one, bool given) {
  if (one.function != ScanFunction::identity)
    return given || one.approximate ? "" : "it says neither how it rounds nor .approx";
  const bool from_float = !one.from.is_integer(), to_float = !one.to.is_integer();
  if (!to_float && from_float)
    return given && one.to_integral ? "" : "it rounds to an integer: .rni, .rzi, .rmi or .rpi";
  if (!to_float) return given ? "integers are not rounded" : "";
  if (!from_float)
    return given && !one.to_integral ? "" : "an integer is rounded by .rn, .rz, .rm or .rp";
  const bool pairs = one.to.elements == 2;
  const int to_bits = one.to.element_bits(), from_bits = one.from.element_bits();
  if (to_bits > from_bits && !pairs) return given ? "nothing is lost that could be rounded" : "";
  if (one.to.format == one.from.format)
    return !given || one.to_integral ? "" : "a format becomes itself by .rni, .rzi, .rmi or .rpi";
  if (!given || one.to_integral) return "it does not say how it rounds";
  if (one.rounding == Rounding::nearest_away && one.to.format != FormatId::tf32)
    return ".rna is of tf32 alone";
  return "";
}

}  // namespace

int ScalarType::element_bits() const {
  if (is_integer()) return integer_bits;
  if (format == FormatId::e2m1) return 4;  // of a pair in 8 bits
  return plumbline::format(format).storage_bits;
}

int ScanInstruction::sources() const {
  return function == ScanFunction::div || to.elements > from.elements ? 2 : 1;
}

bool is_scalar_function(std::string_view spelling) {
  const std::string_view opcode = spelling.substr(0, spelling.find('.'));
  const std::string_view type = spelling.substr(spelling.rfind('.') + 1);
  // Division is one of integers, too.
  const bool of_floats = opcode == "cvt" || type.find('f') != std::string_view::npos;
  return of_floats &&
         std::ranges::any_of(kFunctions, [&](const auto& one) { return one.first == opcode; });
}

Result<ScanInstruction> parse_scan_instruction(std::string_view spelling) {
  ScanInstruction out;
  out.spelling = spelling;
  Words words(spelling);
  const auto function =
      std::ranges::find_if(kFunctions, [&](const auto& one) { return words.take(one.first); });
  if (function == std::end(kFunctions))
    return refusal(spelling, "it is no conversion and no function",
                   did_you_mean(spelling, known_scan_instructions()));
  out.function = function->second;
  const bool converts = out.function == ScanFunction::identity;
  out.full = out.function == ScanFunction::div && words.take("full");
  out.approximate = out.full || (!converts && words.take("approx"));
  const bool rounds = !out.approximate && take_rounding(words, out);
  for (bool any = true; any;) {
    any = false;
    for (const auto& [word, flag] :
         {std::pair{"ftz", &out.ftz}, std::pair{"sat", &out.sat},
          std::pair{"satfinite", &out.satfinite}, std::pair{"relu", &out.relu}}) {
      if (!words.take(word)) continue;
      *flag = any = true;
    }
  }
  const std::optional<ScalarType> to = words.take_type();
  const std::optional<ScalarType> from = converts && to ? words.take_type() : to;
  if (!to || !from || !words.empty()) {
    const std::string_view at = words.front();
    if (at == "f64" || at == "s64" || at == "u64")
      return refusal(spelling, "it has operands of 64 bits, which are too many to try all of");
    return refusal(spelling,
                   at.empty() ? "its types are missing" : fmt::format("\"{}\" is not known", at),
                   did_you_mean(spelling, known_scan_instructions()));
  }
  out.to = *to;
  out.from = *from;
  if (out.to.elements < out.from.elements) return refusal(spelling, "a pair becomes no scalar");
  if (!converts && out.to.is_integer()) return refusal(spelling, "it is of integers");
  if (const std::string_view why = bad_rounding(out, rounds); !why.empty())
    return refusal(spelling, std::string(why), did_you_mean(spelling, known_scan_instructions()));
  return out;
}

std::span<const std::string_view> known_scan_instructions() { return kKnown; }

}  // namespace plumbline
