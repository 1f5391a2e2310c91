// SPDX-License-Identifier: MIT
#include "harness/judge/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include "fuzz/case/memory.h"
#include "harness/judge/case_tensor_map.h"
#include "harness/judge/signature.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"
#include "oracles/formats/elements.h"

namespace plumbline {
namespace {

std::vector<std::byte> poison_bytes(const TensorLayout& layout) {
  const Format& f = format(layout.format);
  const std::uint64_t code = poison_code(f);
  const auto width = static_cast<std::size_t>(f.storage_bytes());
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.storage_bytes()));
  for (std::size_t at = 0; at < bytes.size(); at += width) std::memcpy(&bytes[at], &code, width);
  return bytes;
}

// A tensor on the device.
struct Placed {
  DeviceAddress first = 0;  // the address of its first element
  FormatId format = FormatId::f32;
};

using Placement = std::map<std::string, Placed>;

// What the kernel gets for a map: zeros where the problem lacks its tensor.
Result<EncodedTensorMap> encoded_map(const Case& test_case, const std::string& name,
                                     const Placement& placement, Device& device) {
  const Manifest& kernel = *test_case.kernel;
  const auto placed = placement.find(kernel.tensor_maps.at(name).tensor);
  if (placed == placement.end()) return EncodedTensorMap{};
  const Result<TensorMap> map =
      case_tensor_map(kernel, name, test_case.problem, placed->second.format, placed->second.first);
  if (!map) return map.error();
  Result<EncodedTensorMap> encoded = device.encode(*map);
  if (encoded) return encoded;
  Error error = encoded.error();
  error.message = fmt::format("tensor map {}: {}", name, error.message);
  if (error.where.empty()) error.where = kernel.path;
  return error;
}

// Where a launch's parameters come from.
struct ParameterSource {
  const Case& test_case;
  const Placement& placement;
  Device& device;
  bool runs;  // tensor maps are made only for a launch that runs: an empty problem may have none
};

template <typename T>
void put(std::span<std::byte> bytes, T value) {
  PLUMB_ASSERT(bytes.size() == sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
}

// Whether an integer can be stored in so many bytes; 64 bits hold any.
bool fits(std::int64_t value, const ValueType& type) {
  if (type.bytes == 8) return type.is_signed || value >= 0;
  const std::int64_t count = std::int64_t{1} << 8 * type.bytes;
  return type.is_signed ? value >= -count / 2 && value < count / 2 : value >= 0 && value < count;
}

Status put_integer(std::span<std::byte> bytes, const KernelValue& parameter,
                   const ParameterSource& source) {
  const Result<std::int64_t> value = parameter.expression.evaluate(source.test_case.problem);
  if (!value) return value.error();
  if (!fits(*value, *parameter.type)) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("parameter {} = {} does not fit {}", parameter.name, *value,
                             parameter.type->word),
                 source.test_case.kernel->path, "keep such problems out with a [[domain]] rule"};
  }
  std::memcpy(bytes.data(), &*value, bytes.size());  // little endian: the low bytes
  return {};
}

Status put_value(std::span<std::byte> bytes, const KernelValue& parameter,
                 const ParameterSource& source) {
  switch (parameter.type->kind) {
    case ValueType::Kind::pointer: {
      const auto found = source.placement.find(parameter.name);
      put(bytes, found == source.placement.end() ? DeviceAddress{0} : found->second.first);
      return {};
    }
    case ValueType::Kind::tensor_map: {
      if (!source.runs) return {};
      const Result<EncodedTensorMap> map =
          encoded_map(source.test_case, parameter.name, source.placement, source.device);
      if (!map) return map.error();
      put(bytes, *map);
      return {};
    }
    case ValueType::Kind::real: {
      const Result<double> value = parameter.expression.evaluate_real(source.test_case.problem);
      if (!value) return value.error();
      if (bytes.size() == sizeof(double)) {
        put(bytes, *value);
      } else {
        put(bytes, static_cast<float>(*value));
      }
      return {};
    }
    case ValueType::Kind::integer:
      return put_integer(bytes, parameter, source);
  }
  PLUMB_ASSERT(false);
}

// The parameter block as the entry declares it, from the launch's parameter list.
Result<std::vector<std::byte>> pack_parameters(const KernelLaunch& launch, const std::string& entry,
                                               const std::vector<ParameterSlot>& slots,
                                               const ParameterSource& source) {
  if (const Status same = check_parameters(launch, entry, slots); !same) return same.error();
  std::int64_t total = 0;
  for (const ParameterSlot& slot : slots) total = std::max(total, slot.offset + slot.bytes);
  std::vector<std::byte> block(static_cast<std::size_t>(total));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const KernelParameter& parameter = launch.parameters[i];
    for (const KernelValue& value : parameter.values) {
      const std::span<std::byte> bytes =
          std::span(block).subspan(static_cast<std::size_t>(slots[i].offset + value.offset),
                                   static_cast<std::size_t>(value.type->bytes));
      if (const Status done = put_value(bytes, value, source); !done) return done.error();
    }
  }
  return block;
}

// Grid or block of a launch.
Result<std::array<std::int64_t, 3>> dimensions(const Case& test_case, const char* key,
                                               const std::array<Expression, 3>& expressions,
                                               std::int64_t least) {
  std::array<std::int64_t, 3> values{};
  for (std::size_t d = 0; d < values.size(); ++d) {
    const Result<std::int64_t> value = expressions[d].evaluate(test_case.problem);
    if (!value) return value.error();
    if (*value < least) {
      return Error{ErrorKind::bad_input,
                   fmt::format("`{}` is {} for {}", key, *value, test_case.text()),
                   expressions[d].where(), fmt::format("it has to be at least {}", least)};
    }
    values[d] = *value;
  }
  return values;
}

// Of a case for which nothing was launched: an Error where outputs have elements all the same, at
// the grid that is 0, or else the `when`.
Status check_outputs_are_empty(const Case& test_case, const CaseTensors& tensors) {
  const auto output = std::ranges::find_if(tensors.specs, [](const TensorSpec& spec) {
    return spec.role == TensorRole::output && spec.layout.count() > 0;
  });
  if (output == tensors.specs.end()) return {};
  const Expression* zero = nullptr;
  std::string_view key = "when";
  for (const KernelLaunch& launch : test_case.kernel->launches) {
    if (launch.when && *launch.when->evaluate(test_case.problem) == 0) {
      zero = &*launch.when;
      continue;
    }
    zero = &*std::ranges::find_if(launch.grid, [&](const Expression& dimension) {
      return *dimension.evaluate(test_case.problem) == 0;
    });
    key = "grid";
    break;
  }
  return Error{ErrorKind::bad_input,
               fmt::format("`{}` is 0 for {}: nothing is launched, and {} has {} elements", key,
                           test_case.text(), output->name, output->layout.count()),
               zero == nullptr ? test_case.kernel->path : zero->where(),
               "give it at least 1 there, or exclude such problems by `domain`"};
}

// A launch as the device wants it; nothing when this problem goes without it or its grid is empty.
Result<std::optional<LaunchRequest>> request_for(const Case& test_case, const KernelLaunch& launch,
                                                 const Module& module, const Placement& placement,
                                                 Device& device) {
  const Problem& problem = test_case.problem;
  if (launch.when) {
    const Result<std::int64_t> wanted = launch.when->evaluate(problem);
    if (!wanted) return wanted.error();
    if (*wanted == 0) return std::optional<LaunchRequest>();
  }
  LaunchRequest request;
  request.entry = test_case.kernel->entry(launch, problem);
  const auto grid = dimensions(test_case, "grid", launch.grid, 0);
  if (!grid) return grid.error();
  const bool empty_grid = std::ranges::find(*grid, 0) != grid->end();
  const auto threads = dimensions(test_case, "block", launch.block, empty_grid ? 0 : 1);
  if (!threads) return threads.error();
  request.grid = *grid;
  request.block = *threads;
  const Result<std::int64_t> shared = launch.shared_bytes.evaluate(problem);
  if (!shared) return shared.error();
  request.dynamic_shared_bytes = *shared;
  const Result<std::vector<ParameterSlot>> slots = module.parameters(request.entry);
  if (!slots) return slots.error();
  Result<std::vector<std::byte>> block =
      pack_parameters(launch, request.entry, *slots, {test_case, placement, device, !empty_grid});
  if (!block) return block.error();
  request.parameters = *std::move(block);
  if (empty_grid) return std::optional<LaunchRequest>();
  return std::optional(std::move(request));
}

// Adds the findings of an outcome, those that the manifest knows apart. A launch that was stopped
// has no outputs, so there all are findings.
void add_findings(const Manifest& kernel, const LaunchOutcome& outcome, LaunchResult& result) {
  for (const Finding& finding : outcome.findings) {
    const std::string text = finding.text();
    const auto known = std::ranges::find_if(kernel.known, [&](const KnownFinding& one) {
      return text.find(one.says) != std::string::npos;
    });
    if (!outcome.completed || known == kernel.known.end()) {
      result.findings.push_back(finding);
    } else if (std::ranges::find(result.known, known->says) == result.known.end()) {
      result.known.push_back(known->says);
    }
  }
}

// What may become findings, without those that the manifest knows.
void add_unwritten_registers(const Manifest& kernel, const LaunchOutcome& outcome,
                             LaunchResult& result) {
  for (const Finding& finding : outcome.unwritten_registers) {
    const std::string text = finding.text();
    const bool known = std::ranges::any_of(kernel.known, [&](const KnownFinding& one) {
      return text.find(one.says) != std::string::npos;
    });
    if (!known) result.unwritten_registers.push_back(finding);
  }
}

// Bytes of a tensor's storage.
struct ByteRange {
  std::int64_t begin = 0, count = 0;

  std::span<std::byte> of(std::vector<std::byte>& storage) const {
    return std::span(storage).subspan(static_cast<std::size_t>(begin),
                                      static_cast<std::size_t>(count));
  }
};

// Calls body(address, bytes) for each stretch of storage that lies in one place of the device, up
// to the first one that goes wrong.
template <typename Body>
Status for_each_stretch(const TensorSpec& spec, DeviceAddress base, const Body& body) {
  const std::int64_t width = format(spec.layout.format).storage_bytes(),
                     bytes = spec.layout.storage_bytes();
  if (spec.pieces.apart == 0) return body(base, ByteRange{0, bytes});
  const std::int64_t kept = spec.pieces.kept * width;
  for (std::int64_t begin = 0; begin < bytes; begin += kept) {
    const Status done = body(base, ByteRange{begin, std::min(kept, bytes - begin)});
    if (!done) return done;
    base += static_cast<DeviceAddress>(spec.pieces.apart * width);
  }
  return {};
}

Result<DeviceAddress> allocate(const TensorSpec& spec, Device& device) {
  const std::int64_t width = format(spec.layout.format).storage_bytes(),
                     bytes = spec.layout.storage_bytes();
  if (spec.pieces.apart == 0) return device.allocate(bytes, spec.name);
  return device.allocate_pieces(bytes, spec.pieces.kept * width, spec.pieces.apart * width,
                                spec.name);
}

// A stretch of an output whose writers are kept, and where it begins in the output's storage.
struct Watched {
  std::string output;
  std::int64_t first_byte = 0;
  MemoryRange range;
};

// A later launch stores over an earlier one.
void add_writers(const std::vector<Watched>& watched, const LaunchOutcome& outcome,
                 LaunchResult& result) {
  for (std::size_t i = 0; i < outcome.writers.size(); ++i) {
    std::vector<Writer>& all = result.writers[watched[i].output];
    const auto first = static_cast<std::size_t>(watched[i].first_byte / 4);
    all.resize(std::max(all.size(), first + outcome.writers[i].size()));
    for (std::size_t word = 0; word < outcome.writers[i].size(); ++word)
      if (outcome.writers[i][word].known()) all[first + word] = outcome.writers[i][word];
  }
  for (const CodePlace& place : outcome.stores) result.stores[place.ptx_line] = place;
}

// All launches in order, up to one that does not complete: how many ran.
Result<int> run_launches(const Case& test_case, Device& device, const Module& module,
                         const Placement& placement, const std::vector<Watched>& watched,
                         const LaunchChoices& choices, LaunchResult& result) {
  int ran = 0;
  for (const KernelLaunch& launch : test_case.kernel->launches) {
    Result<std::optional<LaunchRequest>> request =
        request_for(test_case, launch, module, placement, device);
    if (!request) return request.error();
    if (!*request) {
      result.executions.emplace_back();  // an empty grid runs nothing
      continue;
    }
    ++ran;
    (*request)->cta_order = choices.cta_order;
    if (choices.garbage) (*request)->shared_garbage = *choices.garbage;
    (*request)->register_garbage = choices.register_garbage;
    (*request)->instruction_budget = choices.instruction_budget;
    for (const Watched& one : watched) (*request)->watched.push_back(one.range);
    (*request)->traced = choices.traced;
    (*request)->one_worker = choices.one_worker;
    (*request)->approximation = choices.approximation;
    (*request)->rounding_seed = Random(choices.rounding_seed).fork(result.executions.size()).next();
    Result<LaunchOutcome> outcome = device.launch(module, **request);
    if (!outcome) {
      Error error = outcome.error();
      if (error.where.empty()) error.where = test_case.kernel->path;
      return error;
    }
    add_findings(*test_case.kernel, *outcome, result);
    add_unwritten_registers(*test_case.kernel, *outcome, result);
    add_writers(watched, *outcome, result);
    result.completed = outcome->completed;
    result.communicates = result.communicates || outcome->communicates;
    result.undecided = result.undecided || outcome->undecided;
    result.elapsed_ms += outcome->elapsed_ms;
    result.instructions += outcome->instructions;
    result.executions.push_back(std::move(outcome->executions));
    if (!result.completed) break;
  }
  return ran;
}

// Storage elements no logical element reaches: padding between rows, gaps between batches.
std::vector<bool> reached_elements(const TensorLayout& layout) {
  std::vector<bool> reached(static_cast<std::size_t>(layout.storage_elements()), false);
  for_each_element(layout,
                   [&](std::int64_t index) { reached[static_cast<std::size_t>(index)] = true; });
  return reached;
}

// `before`: the bytes that the storage of `got` had before the launch.
void check_padding(const Case& test_case, const TensorSpec& spec, std::span<const std::byte> before,
                   const Tensor& got, LaunchResult& result) {
  if (spec.layout.storage_elements() == spec.layout.count()) return;
  const auto width = static_cast<std::size_t>(format(spec.layout.format).storage_bytes());
  const std::vector<bool> reached = reached_elements(spec.layout);
  Finding finding;
  finding.kind = FindingKind::write_outside_output;
  finding.kernel = test_case.kernel->name;
  finding.occurrences = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] || std::memcmp(&before[i * width], &got.storage[i * width], width) == 0)
      continue;
    if (finding.occurrences++ == 0) {
      finding.message = fmt::format(
          "storage element {} of output {} is padding between its rows, and was written", i,
          spec.name);
    }
  }
  if (finding.occurrences > 0) result.findings.push_back(finding);
}

void find_unwritten(const std::string& output, const Tensor& got, LaunchResult& result) {
  const Format& f = format(got.layout.format);
  if (!f.has_nan()) return;  // poison cannot be told from a result
  const std::uint64_t poison = poison_code(f);
  Unwritten found{output};
  std::int64_t at = 0;
  for_each_element(got.layout, [&](std::int64_t index) {
    if (got.bits_at(index) == poison && found.count++ == 0) found.first = at;
    ++at;
  });
  if (found.count == 0) return;
  result.unwritten += found.count;
  result.unwritten_of.push_back(found);
}

// Of the elements: what lies between rows is whatever the launch found there.
std::uint64_t fingerprint_of(const Tensor& tensor) {
  if (tensor.layout.storage_elements() == tensor.layout.count())
    return fingerprint(std::span<const std::byte>(tensor.storage));
  std::vector<std::uint64_t> bits;
  bits.reserve(static_cast<std::size_t>(tensor.layout.count()));
  for_each_element(tensor.layout,
                   [&](std::int64_t index) { bits.push_back(tensor.bits_at(index)); });
  return fingerprint(std::as_bytes(std::span(bits)));
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
    case FormatId::s8:
    case FormatId::u8:
      return 0xa5u;
    case FormatId::s32:
      return 0xa5a5a5a5u;
  }
  return 0;
}

std::vector<int> executed_lines(const LaunchResult& launch) {
  std::vector<int> lines;
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions > 0) lines.push_back(count.ptx_line);
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

std::vector<std::uint32_t> reached_codes(const LaunchResult& launch, int sm) {
  std::vector<std::uint32_t> codes;
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions == 0) continue;
      const auto magnitude = static_cast<std::uint32_t>(std::bit_width(count.executions) / 3);
      codes.push_back(static_cast<std::uint32_t>(sm) << 25 |
                      static_cast<std::uint32_t>(count.ptx_line) << 5 | magnitude);
    }
  }
  return codes;
}

const Writer* writer_of(const LaunchResult& launch, const std::string& output,
                        const TensorLayout& layout, std::int64_t index) {
  const auto found = launch.writers.find(output);
  if (found == launch.writers.end()) return nullptr;
  const std::int64_t byte = layout.storage_index(index) * format(layout.format).storage_bytes();
  const Writer& writer = found->second[static_cast<std::size_t>(byte / 4)];
  return writer.known() ? &writer : nullptr;
}

Status check_memory(const Case& test_case, int copies) {
  const Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(test_case.problem);
  if (!specs) return specs.error();
  const double bytes = copies * memory_of(*specs);
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  double kib = 0;
  while (meminfo >> key >> kib) {
    std::getline(meminfo, unit);
    if (key != "MemAvailable:") continue;
    if (bytes > kib * 1024) {
      return Error{ErrorKind::out_of_memory,
                   fmt::format("{} {} needs about {:.1f} GiB of memory, {:.1f} GiB are free",
                               test_case.kernel->name, test_case.problem.text(), bytes / 0x1p30,
                               kib / 0x1p20),
                   "", "use a smaller shape"};
    }
  }
  return {};
}

Result<LaunchResult> launch_case(const Case& test_case, CaseTensors& tensors, Device& device,
                                 const Module& module, const LaunchChoices& choices) {
  choices.keep_variables ? device.release_buffers() : device.release_all();
  std::map<std::string, DeviceAddress> storage;  // of the allocations, or of their first pieces
  Placement placement;
  std::vector<Watched> watched;
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const TensorSpec& spec = tensors.specs[i];
    Tensor& tensor = tensors.tensors[i];
    const Result<DeviceAddress> address = allocate(spec, device);
    if (!address) return address.error();
    storage[spec.name] = *address;
    placement[spec.name] = {
        *address + static_cast<DeviceAddress>(spec.layout.offset *
                                              format(spec.layout.format).storage_bytes()),
        spec.layout.format};
    Status copied;
    if (spec.role == TensorRole::input) {
      copied = for_each_stretch(spec, *address, [&](DeviceAddress to, ByteRange bytes) {
        return device.write(to, bytes.of(tensor.storage));
      });
    } else {
      tensor.storage = poison_bytes(spec.layout);
      if (choices.garbage)
        std::fill(tensor.storage.begin(), tensor.storage.end(), std::byte{*choices.garbage});
      copied = for_each_stretch(spec, *address, [&](DeviceAddress to, ByteRange bytes) {
        return device.poison(to, bytes.of(tensor.storage));
      });
    }
    if (!copied) return copied.error();
    if (choices.keep_writers && spec.role == TensorRole::output) {
      copied = for_each_stretch(spec, *address, [&](DeviceAddress at, ByteRange bytes) -> Status {
        watched.push_back({spec.name, bytes.begin, {at, bytes.count}});
        return {};
      });
    }
  }
  LaunchResult result;
  const Result<int> ran =
      run_launches(test_case, device, module, placement, watched, choices, result);
  if (!ran) return ran.error();
  if (result.undecided && !choices.one_worker) {
    LaunchChoices certain = choices;
    certain.one_worker = true;
    return launch_case(test_case, tensors, device, module, certain);
  }
  result.changed_variables = device.has_changed_variables();
  if (*ran == 0) {
    if (Status empty = check_outputs_are_empty(test_case, tensors); !empty) return empty.error();
  }
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const TensorSpec& spec = tensors.specs[i];
    Tensor& tensor = tensors.tensors[i];
    if (spec.role == TensorRole::workspace) continue;
    std::vector<std::byte> bytes(tensor.storage.size());
    const Status read = for_each_stretch(
        spec, storage[spec.name],
        [&](DeviceAddress from, ByteRange range) { return device.read(from, range.of(bytes)); });
    if (!read) return read.error();
    if (spec.role == TensorRole::input) {
      if (device.is_gpu() && !result.completed) continue;  // gone with the context
      if (bytes == tensor.storage) continue;
      Finding finding;
      finding.kind = FindingKind::write_outside_output;
      finding.kernel = test_case.kernel->name;
      finding.message = fmt::format("input {} was changed by the kernel", spec.name);
      result.findings.push_back(finding);
      continue;
    }
    std::swap(tensor.storage, bytes);
    result.fingerprint ^= fingerprint_of(tensor) + i;
    if (!result.completed) continue;
    check_padding(test_case, spec, bytes, tensor, result);
    find_unwritten(spec.name, tensor, result);
  }
  order_by_consequence(result.findings);
  return result;
}

}  // namespace plumbline
