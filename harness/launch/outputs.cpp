// SPDX-License-Identifier: MIT
#include "harness/launch/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "oracles/base/hash.h"
#include "oracles/formats/elements.h"

namespace plumbline {
namespace {

// 1 for storage elements that a logical one reaches, 0 for the padding between rows and the gaps
// between batches.
std::vector<std::uint8_t> reached_elements(const TensorLayout& layout) {
  std::vector<std::uint8_t> reached(static_cast<std::size_t>(layout.storage_elements()), 0);
  for_each_row(layout, [&](std::int64_t index, std::int64_t step, std::int64_t count) {
    std::uint8_t* first = reached.data() + index;
    if (step == 1) {
      std::fill_n(first, count, std::uint8_t{1});
    } else {
      for (std::int64_t i = 0; i < count; ++i) first[i * step] = 1;
    }
  });
  return reached;
}

}  // namespace

std::uint64_t poison_code(const Format& f) {
  switch (f.id) {
    case FormatId::f64:
      return 0x7ff5a5a5a5a5a5a5u;
    case FormatId::f32:
    case FormatId::tf32:
      return 0x7fa5a5a5u;
    case FormatId::bf16:
      return 0x7fa5u;
    case FormatId::f16:
      return 0x7d5au;
    case FormatId::e5m2:
      return 0x7eu;
    case FormatId::e4m3:
      return 0xffu;  // conversions give 0x7f
    case FormatId::ue8m0:
      return 0xffu;
    case FormatId::e2m1:
      return 0x5u;
    case FormatId::e2m3:
    case FormatId::e3m2:
    case FormatId::s8:
    case FormatId::u8:
      return 0xa5u;
    case FormatId::s32:
      return 0xa5a5a5a5u;
    case FormatId::s64:
      return 0xa5a5a5a5a5a5a5a5u;
  }
  return 0;
}

std::vector<std::byte> poison_bytes(const TensorLayout& layout) {
  const Format& f = format(layout.format);
  const std::uint64_t code = poison_code(f);
  const auto width = static_cast<std::size_t>(f.storage_bytes());
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.storage_bytes()));
  if (bytes.empty()) return bytes;
  std::size_t filled = width;
  std::memcpy(bytes.data(), &code, filled);
  while (filled < bytes.size()) {  // as much again as there is
    const std::size_t more = std::min(filled, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, bytes.data(), more);
    filled += more;
  }
  return bytes;
}

void check_padding(const Case& test_case, const TensorSpec& spec, std::span<const std::byte> before,
                   const Tensor& got, LaunchResult& result) {
  if (spec.layout.storage_elements() == spec.layout.count()) return;
  const auto width = static_cast<std::size_t>(format(spec.layout.format).storage_bytes());
  const std::vector<std::uint8_t> reached = reached_elements(spec.layout);
  Finding finding;
  finding.kind = FindingKind::write_outside_output;
  finding.kernel = test_case.kernel->name;
  finding.occurrences = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] != 0 || std::memcmp(&before[i * width], &got.storage[i * width], width) == 0)
      continue;
    if (finding.occurrences++ == 0) {
      finding.message = fmt::format(
          "storage element {} of output {} is padding between its rows, and was written", i,
          spec.name);
    }
  }
  if (finding.occurrences > 0) result.findings.push_back(finding);
}

void find_unwritten(const std::string& output, const Tensor& got,
                    const std::function<std::vector<std::byte>()>& written, LaunchResult& result) {
  const Format& f = format(got.layout.format);
  if (!f.has_nan()) return;  // poison cannot be told from a result
  const std::uint64_t poison = poison_code(f);
  const auto width = static_cast<std::size_t>(f.storage_bytes());
  std::optional<std::vector<std::byte>> known;
  const auto was_written = [&](std::int64_t index) {
    if (!known) known = written();
    if (known->empty()) return false;
    const auto bytes = std::span(*known).subspan(static_cast<std::size_t>(index) * width, width);
    return std::ranges::all_of(bytes, [](std::byte one) { return one != std::byte{0}; });
  };
  Unwritten found{output};
  std::int64_t at = 0;
  for_each_element(got.layout, [&](std::int64_t index) {
    if (got.bits_at(index) == poison && !was_written(index) && found.count++ == 0) found.first = at;
    ++at;
  });
  if (found.count == 0) return;
  result.unwritten += found.count;
  result.unwritten_of.push_back(found);
}

std::uint64_t fingerprint_of(const Tensor& tensor) {
  if (tensor.layout.storage_elements() == tensor.layout.count())
    return fingerprint(std::span<const std::byte>(tensor.storage));
  std::vector<std::uint64_t> bits;
  bits.reserve(static_cast<std::size_t>(tensor.layout.count()));
  for_each_element(tensor.layout,
                   [&](std::int64_t index) { bits.push_back(tensor.bits_at(index)); });
  return fingerprint(std::as_bytes(std::span(bits)));
}

}  // namespace plumbline
