// SPDX-License-Identifier: MIT
#include "harness/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include "harness/launch/device_image.h"
#include "harness/launch/outputs.h"
#include "harness/launch/parameters.h"
#include "oracles/base/random.h"
#include "oracles/formats/elements.h"

namespace plumbline {
namespace {

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

// Of a case for which nothing was launched: an Error where outputs have elements that nothing has
// written, at the grid that is 0, or else the `when`. What is written over an input keeps its
// values.
Status check_outputs_are_empty(const Case& test_case, const CaseTensors& tensors) {
  const auto output = std::ranges::find_if(tensors.specs, [](const TensorSpec& spec) {
    return spec.role == TensorRole::output && spec.in_place_of.empty() && spec.layout.count() > 0;
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

// A launch as the device wants it; nullopt when this problem goes without it or its grid is empty.
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
  if (launch.cluster) {
    const auto cluster = dimensions(test_case, "cluster", *launch.cluster, 1);
    if (!cluster) return cluster.error();
    request.cluster = *cluster;
  }
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

// Adds what may become findings, without those that the manifest knows.
void add_candidates(const Manifest& kernel, const std::vector<Finding>& candidates,
                    std::vector<Finding>& all) {
  for (const Finding& finding : candidates) {
    const std::string text = finding.text();
    const bool known = std::ranges::any_of(kernel.known, [&](const KnownFinding& one) {
      return text.find(one.says) != std::string::npos;
    });
    if (!known) all.push_back(finding);
  }
}

// Bytes of a tensor's image on the device.
struct ByteRange {
  std::int64_t begin = 0, count = 0;

  std::span<std::byte> of(std::vector<std::byte>& storage) const {
    return std::span(storage).subspan(static_cast<std::size_t>(begin),
                                      static_cast<std::size_t>(count));
  }
};

// Calls body(address, bytes) for each piece of a tensor that lies in one place of the device, up to
// the first one that goes wrong.
template <typename Body>
Status for_each_piece(const TensorSpec& spec, DeviceAddress base, const Body& body) {
  const FormatId id = spec.layout.format;
  const std::int64_t bytes = device_bytes(id, spec.layout.storage_elements());
  if (spec.pieces.apart == 0) return body(base, ByteRange{0, bytes});
  const std::int64_t kept = device_bytes(id, spec.pieces.kept);
  for (std::int64_t begin = 0; begin < bytes; begin += kept) {
    const Status done = body(base, ByteRange{begin, std::min(kept, bytes - begin)});
    if (!done) return done;
    base += static_cast<DeviceAddress>(device_bytes(id, spec.pieces.apart));
  }
  return {};
}

Result<DeviceAddress> allocate(const TensorSpec& spec, Device& device) {
  const FormatId id = spec.layout.format;
  if (device_bytes(id, spec.layout.offset) != byte_of(id, spec.layout.offset)) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{} begins at element {}, in the middle of a byte", spec.name,
                             spec.layout.offset),
                 "", "a [[domain]] rule should exclude such problems"};
  }
  const std::int64_t bytes = device_bytes(id, spec.layout.storage_elements());
  if (spec.pieces.apart == 0) return device.allocate(bytes, spec.name);
  return device.allocate_pieces(bytes, device_bytes(id, spec.pieces.kept),
                                device_bytes(id, spec.pieces.apart), spec.name);
}

// A range of an output whose writers are kept, and where it begins in the output's storage.
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
    (*request)->older_values = choices.older_values;
    (*request)->count_traffic = choices.count_traffic;
    (*request)->count_representatives = choices.count_representatives;
    (*request)->approximation = choices.approximation;
    (*request)->rounding_seed = Random(choices.rounding_seed).fork(result.executions.size()).next();
    Result<LaunchOutcome> outcome = device.launch(module, **request);
    if (!outcome) {
      Error error = outcome.error();
      if (error.where.empty()) error.where = test_case.kernel->path;
      return error;
    }
    add_findings(*test_case.kernel, *outcome, result);
    add_candidates(*test_case.kernel, outcome->unwritten_registers, result.unwritten_registers);
    add_candidates(*test_case.kernel, outcome->older_values, result.older_values);
    add_writers(watched, *outcome, result);
    result.completed = outcome->completed;
    result.communicates = result.communicates || outcome->communicates;
    result.undecided = result.undecided || outcome->undecided;
    result.elapsed_ms += outcome->elapsed_ms;
    result.instructions += outcome->instructions;
    result.executions.push_back(std::move(outcome->executions));
    if (choices.count_traffic) {
      result.traffic.push_back({(*request)->grid, (*request)->block,
                                (*request)->dynamic_shared_bytes, std::move(outcome->traffic)});
    }
    if (!result.completed) break;
  }
  return ran;
}

bool is_written_over(const CaseTensors& tensors, const TensorSpec& input) {
  return std::ranges::any_of(
      tensors.specs, [&](const TensorSpec& other) { return other.in_place_of == input.name; });
}

}  // namespace

Result<LaunchResult> launch_case(const Case& test_case, CaseTensors& tensors, Device& device,
                                 const Module& module, const LaunchChoices& choices) {
  const std::shared_ptr<void> turn = device.turn();
  choices.keep_variables ? device.release_buffers() : device.release_all();
  std::map<std::string, DeviceAddress> storage;  // of the allocations, or of their first pieces
  Placement placement;
  std::vector<Watched> watched;
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const TensorSpec& spec = tensors.specs[i];
    Tensor& tensor = tensors.tensors[i];
    const bool in_place = !spec.in_place_of.empty();
    const Result<DeviceAddress> address =
        in_place ? Result<DeviceAddress>(storage.at(spec.in_place_of)) : allocate(spec, device);
    if (!address) return address.error();
    storage[spec.name] = *address;
    placement[spec.name] = {
        *address + static_cast<DeviceAddress>(byte_of(spec.layout.format, spec.layout.offset)),
        spec.layout.format};
    Status copied;
    std::vector<std::byte> image;  // of a packed tensor
    const auto on_device = [&]() -> std::vector<std::byte>& {
      if (!is_packed(spec.layout.format)) return tensor.storage;
      image = packed(tensor.storage);
      return image;
    };
    if (spec.role == TensorRole::input) {
      std::vector<std::byte>& given = on_device();
      copied = for_each_piece(spec, *address, [&](DeviceAddress to, ByteRange bytes) {
        return device.write(to, bytes.of(given));
      });
    } else if (in_place) {
      tensor.storage = tensors.find(spec.in_place_of)->storage;
      copied = for_each_piece(spec, *address, [&](DeviceAddress at, ByteRange) -> Status {
        device.will_change(at);
        return {};
      });
    } else if (std::ranges::count(test_case.kernel->zeroed, spec.name) > 0) {
      tensor.storage = poison_bytes(spec.layout);  // between the rows
      for_each_element(tensor.layout, [&](std::int64_t index) { tensor.set_bits_at(index, 0); });
      std::vector<std::byte>& zeros = on_device();
      copied = for_each_piece(spec, *address, [&](DeviceAddress to, ByteRange bytes) {
        return device.write(to, bytes.of(zeros));
      });
    } else {
      tensor.storage = poison_bytes(spec.layout);
      if (choices.garbage)
        std::fill(tensor.storage.begin(), tensor.storage.end(), std::byte{*choices.garbage});
      std::vector<std::byte>& poison = on_device();
      copied = for_each_piece(spec, *address, [&](DeviceAddress to, ByteRange bytes) {
        return device.poison(to, bytes.of(poison));
      });
    }
    if (!copied) return copied.error();
    if (choices.keep_writers && spec.role == TensorRole::output) {
      copied = for_each_piece(spec, *address, [&](DeviceAddress at, ByteRange bytes) -> Status {
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
    if (spec.role == TensorRole::workspace || is_written_over(tensors, spec)) continue;
    const FormatId id = spec.layout.format;
    std::vector<std::byte> bytes(static_cast<std::size_t>(
        device_bytes(id, std::ssize(tensor.storage) / format(id).storage_bytes())));
    const Status read = for_each_piece(
        spec, storage[spec.name],
        [&](DeviceAddress from, ByteRange range) { return device.read(from, range.of(bytes)); });
    if (!read) return read.error();
    if (spec.role == TensorRole::input) {
      if (device.is_gpu() && !result.completed) continue;  // gone with the context
      if (bytes == (is_packed(id) ? packed(tensor.storage) : tensor.storage)) continue;
      Finding finding;
      finding.kind = FindingKind::write_outside_output;
      finding.kernel = test_case.kernel->name;
      finding.message = fmt::format("input {} was changed by the kernel", spec.name);
      result.findings.push_back(finding);
      continue;
    }
    if (is_packed(id)) bytes = unpacked(bytes, tensor.storage.size());
    std::swap(tensor.storage, bytes);
    result.fingerprint ^= fingerprint_of(tensor) + i;
    if (!result.completed) continue;
    check_padding(test_case, spec, bytes, tensor, result);
    if (!spec.in_place_of.empty()) continue;
    const auto written = [&] {
      std::vector<std::byte> bytes_written(tensor.storage.size());
      bool known = true;
      (void)for_each_piece(spec, storage[spec.name], [&](DeviceAddress from, ByteRange range) {
        known = known && device.read_written(from, range.of(bytes_written));
        return Status();
      });
      return known ? bytes_written : std::vector<std::byte>();
    };
    find_unwritten(spec.name, tensor, written, result);
  }
  order_by_consequence(result.findings);
  return result;
}

}  // namespace plumbline
