// SPDX-License-Identifier: MIT
#include "fuzz/case_file/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "fuzz/case_file/line.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"

namespace plumbline {

namespace {

Error fail(std::string where, std::string message, std::string hint) {
  return {ErrorKind::bad_input, std::move(message), std::move(where), std::move(hint)};
}

Status check_type(const TensorSpec& spec, std::string_view type, std::string_view where) {
  const std::string expected = literal_layout(spec).text();
  if (type == expected) return {};
  const std::string_view name = type.substr(0, type.find('['));
  const Format& needed = format(spec.layout.format);
  if (!format_by_name(name)) {
    std::vector<std::string_view> names;
    for (const Format& known : all_formats()) names.push_back(known.name);
    return fail(std::string(where), fmt::format("there is no format \"{}\"", name),
                did_you_mean(name, names));
  }
  if (name != needed.name) {
    return fail(std::string(where),
                fmt::format("tensor {} is {}, this problem needs {}", spec.name, name, needed.name),
                "write " + expected);
  }
  return fail(advance_position(where, name.size()),
              fmt::format("tensor {} has shape {}, this problem needs {}", spec.name,
                          type.substr(name.size()), expected.substr(name.size())),
              "write " + expected);
}

}  // namespace

TensorLayout literal_layout(const TensorSpec& spec) {
  TensorLayout layout = spec.layout;
  layout.strides = contiguous_strides(layout.shape);
  layout.offset = 0;
  return layout;
}

CaseTensorReader::CaseTensorReader(std::string name, TensorLayout layout)
    : name_(std::move(name)), layout_(std::move(layout)), elements_(layout_.count()) {}

Result<CaseTensorReader> CaseTensorReader::open(const TensorSpec& spec, std::string_view type,
                                                std::string_view where) {
  if (Status checked = check_type(spec, type, where); !checked) return checked.error();
  return CaseTensorReader(spec.name, literal_layout(spec));
}

Status CaseTensorReader::read(std::string_view line, std::size_t start, std::string_view where) {
  const Format& element = format(layout_.format);
  const std::size_t digits = static_cast<std::size_t>(element.storage_bits) / 4;
  std::size_t at = line.find_first_not_of(kSpaces, start);
  while (at != std::string_view::npos && line[at] != '#') {
    const std::size_t end = std::min(line.find_first_of(" \t\r#", at), line.size());
    const std::string_view token = line.substr(at, end - at);
    const std::string here = advance_position(where, at);
    const std::size_t index = bits_.size();
    if (static_cast<std::int64_t>(index) == elements_) {
      return fail(here, fmt::format("tensor {} has more than its {} elements", name_, elements_),
                  "check the shape against the case line");
    }
    std::uint64_t bits = 0;
    const auto [stop, error] = std::from_chars(token.begin(), token.end(), bits, 16);
    const bool too_long = error == std::errc::result_out_of_range;
    if (!too_long && (error != std::errc() || stop != token.end())) {
      return fail(here,
                  fmt::format("element {} of {}, \"{}\", is not hexadecimal", index, name_, token),
                  "put decimal values after a #");
    }
    if (token.size() != digits) {
      return fail(here,
                  fmt::format("element {} of {} has {} hex digits, {} has {}", index, name_,
                              token.size(), element.name, digits),
                  "elements are separated by spaces");
    }
    bits_.push_back(bits);
    at = line.find_first_not_of(kSpaces, end);
  }
  return {};
}

Result<Tensor> CaseTensorReader::close(std::string_view where) const {
  if (static_cast<std::int64_t>(bits_.size()) < elements_) {
    return fail(std::string(where),
                fmt::format("tensor {} has {} of its {} elements", name_, bits_.size(), elements_),
                "the file may be cut short");
  }
  Tensor tensor(layout_);
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    tensor.set_bits_at(static_cast<std::int64_t>(i), bits_[i]);
  }
  return tensor;
}

}  // namespace plumbline
