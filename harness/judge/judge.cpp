// SPDX-License-Identifier: MIT
#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "harness/judge/figures.h"
#include "harness/launch/device_image.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/output_tally.h"
#include "reports/card.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

// The sample of outputs that are not all bounded (JudgeOptions::most_products): at least 64
// elements of every 128x128 tile. Outputs of 16 bits and less are always judged one and all.
constexpr std::int64_t kElementsPerSample = 256, kLeastSample = 65536;

JudgeOptions options_for(const Case& test_case, const Tensor& got, JudgeOptions options) {
  const bool wide = format(got.layout.format).storage_bits > 16;
  if (options.max_bounded < 0 && wide &&
      test_case.kernel->operation->work(test_case.problem) > options.most_products) {
    options.max_bounded = std::max(kLeastSample, got.layout.count() / kElementsPerSample);
  }
  return options;
}

// Two distances in ulp, with the digits it takes to tell them apart.
std::pair<std::string, std::string> ulp_texts(double x, double y) {
  std::pair<std::string, std::string> texts = {ulp_text(x), ulp_text(y)};
  constexpr int kAll = 17;
  for (int digits = 4; texts.first == texts.second && x != y && digits <= kAll; ++digits)
    texts = {fmt::format("{:.{}g} ulp", x, digits), fmt::format("{:.{}g} ulp", y, digits)};
  return texts;
}

// How far the element is, and how far it may be. Admissible values need not lie on both sides of
// the exact one: then even a near value may not be one of them.
std::string describe_distance(const ElementVerdict& e, const Format& f) {
  const double distance = std::abs(e.error_ulp);
  if (std::isnan(distance)) {
    return fmt::format("{:.4g} where {:.4g} is exact, which no conforming kernel has",
                       to_double(f, e.got), e.exact);
  }
  const bool near = distance != 0 && distance <= e.bound_ulp;
  // Around 0 an ulp is the least number there is.
  const bool from_zero = e.exact == 0 && distance != 0;
  auto [far, bound] = ulp_texts(distance, e.bound_ulp);
  if (from_zero) {
    far = fmt::format("{:.4g}", to_double(f, e.got));
    bound = fmt::format("{:.4g}", largest_admissible(f, e));
  }
  if (distance == 0) {
    far = "the exact value, no value of the contract's accumulator";
  } else {
    far += from_zero ? " where 0 is exact" : " from exact";
  }
  if (e.bound_ulp == 0) return far + "; no other value is admissible";
  if (near)
    return fmt::format("{} on a side where less is admissible ({} on the other)", far, bound);
  return fmt::format("{}, at most {} is admissible", far, bound);
}

// What broke, worst first: the claim's one-line reason.
std::string bound_reason(const OutputRecord& output, const TensorLayout& layout) {
  const OutputVerdict& v = output.verdict;
  const ElementVerdict& e = most_telling(Claim::bound, v);
  const std::string which =
      v.elements == 1 ? fmt::format("the one output of {} is", output.name)
                      : fmt::format("{} of {} of {} {}", v.failed, counted(v.elements, "output"),
                                    output.name, v.failed == 1 ? "is" : "are");
  return fmt::format("{} outside what the contract allows; {} is {}", which,
                     element_name(output.name, layout, e.index),
                     describe_distance(e, format(layout.format)));
}

std::string specials_reason(const OutputRecord& output, const TensorLayout& layout) {
  const OutputVerdict& v = output.verdict;
  const ElementVerdict& e = most_telling(Claim::specials, v);
  if (!e.class_mismatch) {  // none of those that are kept
    return fmt::format("{} outputs of {} are NaN, Inf or finite where another class is due",
                       v.class_mismatches, output.name);
  }
  const Format& f = format(layout.format);
  const auto word = [&](std::uint64_t bits) {
    const Decoded d = decode(f, bits);
    if (d.cls == ValueClass::nan) return "NaN";
    if (d.cls == ValueClass::infinite) return d.negative ? "-Inf" : "Inf";
    return "finite";
  };
  // The exact result may be of the class that no conforming kernel gives.
  const std::string_view got = word(e.got), exact = word(e.expected);
  return fmt::format(
      "{} of {} of {} {} the wrong class; {} is {}, {} is due", v.class_mismatches,
      counted(v.elements, "output"), output.name, v.class_mismatches == 1 ? "has" : "have",
      element_name(output.name, layout, e.index), got, exact == got ? word(e.low) : exact);
}

std::string bits_reason(const OutputRecord& output, const TensorLayout& layout) {
  const OutputVerdict& v = output.verdict;
  const ElementVerdict& e = most_telling(Claim::bits, v);
  const Format& f = format(layout.format);
  const int digits = f.storage_bits / 4;
  return fmt::format(
      "{} of {} outputs of {} are within their bound, but are not what the arithmetic of the "
      "contract gives; {} is {:.9g} (0x{:0{}x}), {:.9g} (0x{:0{}x}) is due",
      v.other_bits, v.modeled, output.name, element_name(output.name, layout, e.index),
      to_double(f, e.got), e.got, digits, to_double(f, e.expected), e.expected, digits);
}

std::string unwritten_reason(const Manifest& kernel, const LaunchResult& launch,
                             const CaseTensors& tensors) {
  std::vector<std::string> places;
  for (const Unwritten& one : launch.unwritten_of) {
    const TensorLayout& layout = tensors.find(one.output)->layout;
    places.push_back(element_name(one.output, layout, one.first));
    if (one.count > 1)
      places.back() += fmt::format(" and {} more of {}", one.count - 1, one.output);
    if (!kernel.hands_over(one.output) && !kernel.in_place.contains(one.output))
      places.back() += fmt::format(" (no parameter in the manifest is \"ptr {}\")", one.output);
  }
  return fmt::format("{} never written: {}",
                     launch.unwritten == 1
                         ? "1 output element was"
                         : fmt::format("{} output elements were", launch.unwritten),
                     fmt::join(places, ", "));
}

Verdict worst(const std::map<Claim, Verdict>& claims) {
  bool failed = false, mistrusted = false;
  for (const auto& [claim, verdict] : claims) {
    failed = failed || verdict == Verdict::fail;
    mistrusted = mistrusted || verdict == Verdict::mistrusted;
  }
  return failed ? Verdict::fail : mistrusted ? Verdict::mistrusted : Verdict::pass;
}

std::optional<OtherAccessRecord> other_access(const Finding& finding) {
  if (!finding.other) return std::nullopt;
  const OtherAccess& o = *finding.other;
  return OtherAccessRecord{o.access_kind, o.text(),      o.warp,        o.lane,      o.ptx_file,
                           o.ptx_line,    o.source_file, o.source_line, o.inlined_at};
}

// The element that has a byte of a tensor's storage; nullopt where that is padding.
std::optional<std::int64_t> element_of_byte(const TensorLayout& layout, std::int64_t byte) {
  std::int64_t left = element_in(layout.format, byte) - layout.offset;
  if (left < 0 || layout.count() == 0) return std::nullopt;
  std::vector<std::size_t> by_stride(layout.shape.size());
  std::iota(by_stride.begin(), by_stride.end(), std::size_t{0});
  std::ranges::stable_sort(by_stride, std::greater<>(),
                           [&](std::size_t d) { return layout.strides[d]; });
  std::vector<std::int64_t> place(layout.shape.size());
  for (const std::size_t d : by_stride) {
    if (layout.shape[d] == 1 || layout.strides[d] == 0) continue;
    place[d] = std::min(left / layout.strides[d], layout.shape[d] - 1);
    left -= place[d] * layout.strides[d];
  }
  if (left != 0) return std::nullopt;
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < place.size(); ++d) linear = linear * layout.shape[d] + place[d];
  return linear;
}

// With the element whose byte it names.
std::string finding_text(const Finding& finding, const CaseTensors& tensors) {
  const Tensor* tensor = finding.buffer_byte < 0 ? nullptr : tensors.find(finding.buffer);
  if (tensor == nullptr) return finding.text();
  const std::optional<std::int64_t> element = element_of_byte(tensor->layout, finding.buffer_byte);
  if (!element) return finding.text();
  return fmt::format("{}; the byte is in {}", finding.text(),
                     element_name(finding.buffer, tensor->layout, *element));
}

}  // namespace

std::string element_name(std::string_view tensor, const TensorLayout& layout, std::int64_t index) {
  std::vector<std::int64_t> place(layout.shape.size());
  for (std::size_t d = layout.shape.size(); d-- > 0;) {
    place[d] = index % layout.shape[d];
    index /= layout.shape[d];
  }
  if (place.size() > 2 && layout.shape[0] == 1) place.erase(place.begin());
  return fmt::format("{}[{}]", tensor, fmt::join(place, ","));
}

const ElementVerdict& most_telling(Claim claim, const OutputVerdict& verdict) {
  if (claim == Claim::bits) return verdict.others.front();
  return furthest(verdict.failures, claim == Claim::specials);
}

CaseRecord judge_case(const Case& test_case, const CaseTensors& tensors, const LaunchResult& launch,
                      const CaseOracle& oracle, const JudgeOptions& options) {
  CaseRecord record = describe_case(test_case);
  record.elapsed_ms = launch.elapsed_ms;
  record.fingerprint = fmt::format("{:016x}", launch.fingerprint);
  for (const Finding& f : launch.findings) {
    record.findings.push_back({name(f.kind), finding_text(f, tensors), f.ptx_file, f.ptx_line,
                               f.source_file, f.source_line, f.inlined_at, other_access(f)});
  }

  record.known = launch.known;
  record.claims[Claim::in_bounds] = Verdict::pass;
  if (!launch.findings.empty()) {
    record.claims[Claim::in_bounds] = Verdict::fail;
    record.reason = record.findings.front().text;
  } else if (launch.unwritten > 0) {
    record.claims[Claim::in_bounds] = Verdict::fail;
    record.reason = unwritten_reason(*test_case.kernel, launch, tensors);
  }
  if (!launch.completed) {
    record.verdict = Verdict::fail;
    return record;
  }

  bool outputs_are_told = false;  // beside a finding: what became of the outputs
  record.claims[Claim::bound] = Verdict::pass;
  record.claims[Claim::specials] = Verdict::pass;
  for (int i = 0; i < oracle.outputs(); ++i) {
    if (std::count(launch.absent.begin(), launch.absent.end(), oracle.output_name(i)) > 0) continue;
    const Tensor* got = tensors.find(oracle.output_name(i));
    OutputRecord output{oracle.output_name(i), std::string(format(got->layout.format).name),
                        oracle.judge(i, *got, options_for(test_case, *got, options))};
    describe_length(test_case, output);
    const OutputVerdict& v = output.verdict;
    const auto note = [&](Claim claim, Verdict verdict, const std::string& reason) {
      if (record.claims[claim] == Verdict::fail) return;
      const bool first_failure = verdict == Verdict::fail && worst(record.claims) != Verdict::fail;
      if (verdict == Verdict::fail && !launch.findings.empty() && !outputs_are_told) {
        record.reason += "; and " + reason;
        outputs_are_told = true;
      }
      record.claims[claim] = verdict;
      if (record.reason.empty() || first_failure) record.reason = reason;
    };
    if (v.class_mismatches > 0)
      note(Claim::specials, Verdict::fail, specials_reason(output, got->layout));
    if (v.failed > v.class_mismatches)
      note(Claim::bound, Verdict::fail, bound_reason(output, got->layout));
    if (v.modeled > 0) record.claims.try_emplace(Claim::bits, Verdict::pass);
    if (v.other_bits > 0) note(Claim::bits, Verdict::fail, bits_reason(output, got->layout));
    if (v.disagreements > 0) {
      note(Claim::bound, Verdict::mistrusted,
           fmt::format("the fast oracle and its referees disagree {} times over {}: a bug in "
                       "plumbline, please report it",
                       v.disagreements, output.name));
    }
    if (v.unresolved > 0) {
      note(Claim::bound, Verdict::mistrusted,
           fmt::format("the oracle could not decide {} outputs of {}", v.unresolved, output.name));
    }
    if (v.elements > 0 && v.compared == 0 && v.open == 0) {
      note(Claim::bound, Verdict::mistrusted,
           fmt::format("no output of {} was compared", output.name));
    }
    record.outputs.push_back(std::move(output));
  }
  record.verdict = worst(record.claims);
  return record;
}

}  // namespace plumbline
