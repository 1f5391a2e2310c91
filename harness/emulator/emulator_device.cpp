// SPDX-License-Identifier: MIT
#include "harness/emulator/emulator_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "harness/device/entry_name.h"
#include "harness/device/launch_shape.h"
#include "harness/emulator/decode/decode.h"
#include "harness/emulator/decode/inline_calls.h"
#include "harness/emulator/decode/loops.h"
#include "harness/emulator/frontend/module.h"
#include "harness/emulator/frontend/reachable_variables.h"
#include "harness/emulator/machine/launch.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"
#include "harness/emulator/memory/tensor_map_code.h"
#include "oracles/base/memory.h"

namespace plumbline::emulator {
namespace {

// The oldest PTX ISA this emulator was written for.
constexpr int kFirstMajor = 6;

// The most shared memory a CTA may have (CUDA C++ Programming Guide 13.0, table of technical
// specifications), less the 1 KiB the system reserves from sm_80 on.
struct SharedLimit {
  int sm;
  std::int64_t bytes;
};

constexpr SharedLimit kSharedLimits[] = {
    {70, 98304},  {75, 65536},   {80, 166912},  {86, 101376},  {87, 166912},  {89, 101376},
    {90, 232448}, {100, 232448}, {103, 232448}, {110, 232448}, {120, 101376}, {121, 101376}};

// Of .const variables (the same table).
constexpr std::size_t kMostConstantBytes = 64 * 1024;

std::int64_t shared_limit(int sm) {
  std::int64_t bytes = kSharedLimits[0].bytes;
  for (const SharedLimit& limit : kSharedLimits) {
    if (limit.sm <= sm) bytes = limit.bytes;
  }
  return bytes;
}

Status check_versions(const PtxModule& module, int sm) {
  const auto refuse = [&](std::string message, std::string hint) {
    return Error{ErrorKind::cannot_run, std::move(message), module.file, std::move(hint)};
  };
  // Newer ones than today's only add instructions; those are refused where they stand.
  if (module.version_major < kFirstMajor) {
    return refuse(fmt::format("PTX .version {}.{} is not emulated; {}.0 and later are",
                              module.version_major, module.version_minor, kFirstMajor),
                  "");
  }
  if (module.address_size != 64)
    return refuse(fmt::format(".address_size {} is not emulated", module.address_size), "");
  const bool specific = !module.target_text.empty() &&
                        (module.target_text.back() == 'a' || module.target_text.back() == 'f');
  if (module.target_sm > sm || (specific && module.target_sm / 10 != sm / 10)) {
    return refuse(fmt::format("PTX for .target {} does not run on sm_{}", module.target_text, sm),
                  fmt::format("emulate sm_{}, or compile for sm_{}", module.target_sm, sm));
  }
  return {};
}

class EmulatorModule final : public Module {
 public:
  EmulatorModule(PtxModule ptx, ModuleLayout layout)
      : ptx_(std::move(ptx)), layout_(std::move(layout)) {}

  Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const override {
    const Result<const Program*> found = program(entry);
    if (!found) return found.error();
    std::vector<ParameterSlot> slots;
    for (const Parameter& parameter : (*found)->parameters)
      slots.push_back({parameter.offset, parameter.bytes});
    return slots;
  }

  Result<const Program*> program(std::string_view entry) const {
    if (const auto exact = programs_.find(entry); exact != programs_.end()) return &exact->second;
    std::vector<std::string> entries;
    for (const Function& function : ptx_.functions) {
      if (function.is_entry && (function.has_body || function.body_skipped))
        entries.push_back(function.name);
    }
    const Result<std::string> name = find_entry(entries, entry, ptx_.file);
    if (!name) return name.error();
    const auto decoded = programs_.find(*name);
    if (decoded == programs_.end()) {
      return Error{ErrorKind::bad_input, fmt::format("entry {} was not among those to load", *name),
                   ptx_.file, ""};
    }
    return &decoded->second;
  }

  // Every wanted entry is decoded at load: what cannot run is refused before anything runs. The
  // bodies of the others were not parsed.
  Status decode(int sm, RandomRounding random_rounding) {
    for (const Function& function : ptx_.functions) {
      if (!function.is_entry || !function.has_body) continue;
      const Function* flat = &function;
      if (has_calls(function)) {
        Result<Function> inlined = inline_calls(ptx_, function);
        if (!inlined) return inlined.error();
        flat = &inlined_.emplace_back(std::move(*inlined));
      }
      Result<Program> program = Decoder(ptx_, *flat, layout_, sm, random_rounding).decode();
      if (!program) return program.error();
      programs_.emplace(function.name, std::move(*program));
    }
    return {};
  }

  std::vector<CodePlace> code() const override {
    std::map<int, CodePlace> places;
    for (const auto& [name, program] : programs_) {
      const std::vector<bool> loops = loop_branches(program);
      for (std::size_t i = 0; i < program.code.size(); ++i) {
        CodePlace place = program.place(i);
        place.repeats_loop = loops[i];
        if (place.ptx_line > 0) places[place.ptx_line] = std::move(place);
      }
    }
    std::vector<CodePlace> in_order;
    for (auto& [line, place] : places) in_order.push_back(std::move(place));
    return in_order;
  }

  const ModuleLayout& layout() const { return layout_; }

 private:
  PtxModule ptx_;
  std::deque<Function> inlined_;  // programs point into these
  ModuleLayout layout_;
  std::map<std::string, Program, std::less<>> programs_;
};

class EmulatorDevice final : public Device {
 public:
  explicit EmulatorDevice(const EmulatorOptions& options) : options_(options) {}

  std::string name() const override { return fmt::format("emulator sm_{}", options_.sm); }

  int sm() const override { return options_.sm; }

  bool is_gpu() const override { return false; }

  using Device::load;

  Result<std::unique_ptr<Module>> load(std::string_view image, std::string_view file,
                                       const EntryFilter& wanted) override {
    Result<PtxModule> ptx = parse_ptx(image, file, {.wanted = wanted});
    if (!ptx) return ptx.error();
    if (Status status = check_versions(*ptx, options_.sm); !status) return status.error();
    Result<ModuleLayout> layout = lay_out(*ptx);
    if (!layout) return layout.error();
    auto module = std::make_unique<EmulatorModule>(std::move(*ptx), std::move(*layout));
    if (Status status = module->decode(options_.sm, options_.random_rounding); !status)
      return status.error();
    return std::unique_ptr<Module>(std::move(module));
  }

  Result<DeviceAddress> allocate(std::int64_t bytes, std::string_view label) override {
    if (bytes < 0)
      return Error{ErrorKind::bad_input, fmt::format("cannot allocate {} bytes", bytes), "", ""};
    return global_.allocate(static_cast<std::uint64_t>(bytes), label);
  }

  Result<DeviceAddress> allocate_pieces(std::int64_t bytes, std::int64_t kept, std::int64_t apart,
                                        std::string_view label) override {
    return global_.allocate_pieces(static_cast<std::uint64_t>(bytes),
                                   static_cast<std::uint64_t>(kept),
                                   static_cast<std::uint64_t>(apart), label);
  }

  void release_all() override { global_.release_all(); }

  void release_buffers() override { global_.release_buffers(); }

  bool has_changed_variables() const override { return global_.has_changed_variables(); }

  Status write(DeviceAddress to, std::span<const std::byte> bytes) override {
    return global_.write(to, bytes, true);
  }

  Status poison(DeviceAddress to, std::span<const std::byte> bytes) override {
    return global_.write(to, bytes, false);
  }

  void will_change(DeviceAddress at) override { global_.will_change(at); }

  Status read(DeviceAddress from, std::span<std::byte> bytes) override {
    return global_.read(from, bytes);
  }

  bool read_written(DeviceAddress from, std::span<std::byte> written) const override {
    return global_.read_written(from, written);
  }

  Result<EncodedTensorMap> encode(const TensorMap& map) override {
    if (Status exist = check_tensor_maps_exist(options_.sm); !exist) return exist.error();
    if (Status possible = check_tensor_map(map); !possible) return possible.error();
    const std::int64_t row = map.bytes(map.box[0]);
    const auto swizzle = static_cast<std::int64_t>(map.swizzle);
    // The manual asks for room of the full width then, and does not say where rows lie in it.
    if (row < swizzle) {
      return Error{ErrorKind::cannot_run,
                   fmt::format("a row of the box is {} bytes under swizzle {}B; the emulator knows "
                               "only rows that fill it",
                               row, swizzle),
                   "", ""};
    }
    return encode_tensor_map(map);
  }

  Result<LaunchOutcome> launch(const Module& module, const LaunchRequest& request) override {
    const auto* own = dynamic_cast<const EmulatorModule*>(&module);
    if (own == nullptr)
      return Error{ErrorKind::bad_input, "the module was loaded by another device", "", ""};
    Result<const Program*> program = own->program(request.entry);
    if (!program) return program.error();
    if (Status status = check_request(**program, request); !status) return status.error();
    EmulatorOptions options = options_;
    if (request.instruction_budget != 0) options.instruction_budget = request.instruction_budget;
    const Result<std::array<std::int64_t, 3>> cluster = cluster_of(request, (*program)->cluster);
    if (!cluster) return cluster.error();
    const bool has_cluster = (*cluster)[0] > 0;
    if (has_cluster && options_.sm < 90) {
      return Error{ErrorKind::cannot_run,
                   fmt::format("kernel {} asks for clusters, which sm_{} has not", request.entry,
                               options_.sm),
                   "", "emulate sm_90 or a later chip"};
    }
    return run({**program,
                global_,
                own->layout().constants,
                request.parameters,
                request.grid,
                request.block,
                has_cluster ? *cluster : std::array<std::int64_t, 3>{1, 1, 1},
                has_cluster,
                request.dynamic_shared_bytes,
                request.cta_order,
                request.rounding_seed,
                request.approximation,
                request.shared_garbage,
                request.register_garbage,
                options,
                request.watched,
                request.traced,
                request.one_worker,
                request.older_values,
                request.count_traffic,
                request.count_representatives});
  }

 private:
  // Whether this machine can hold the module's .global variables at all: each byte with its value,
  // its initial value and whether it was written.
  static Status check_variables_fit(const PtxModule& ptx, const std::vector<bool>& used) {
    constexpr double kBytesPerByte = 3;
    const double memory = physical_memory_bytes();
    double bytes = 0;
    for (std::size_t i = 0; i < ptx.variables.size(); ++i) {
      const Variable& variable = ptx.variables[i];
      if (!used[i] || variable.is_extern || variable.space != Space::global) continue;
      bytes += kBytesPerByte * static_cast<double>(variable.bytes);
      if (bytes > memory) {
        return Error{ErrorKind::out_of_memory,
                     fmt::format("the .global variables up to {} need {:.1f} GiB to emulate, more "
                                 "than this machine has",
                                 variable.name, bytes / 0x1p30),
                     fmt::format("{}:{}:1", ptx.file, variable.line),
                     "make the variable smaller, or pass the memory as a workspace"};
      }
    }
    return {};
  }

  // Places .global variables in memory and .const variables in their bank, then fills in the
  // addresses that initialisers name. What no parsed function can reach is left out.
  Result<ModuleLayout> lay_out(const PtxModule& ptx) {
    const std::vector<bool> used = reachable_variables(ptx);
    if (Status fits = check_variables_fit(ptx, used); !fits) return fits.error();
    ModuleLayout layout;
    layout.address.assign(ptx.variables.size(), 0);
    for (std::size_t i = 0; i < ptx.variables.size(); ++i) {
      const Variable& variable = ptx.variables[i];
      if (!used[i] || variable.is_extern) continue;
      const auto bytes = static_cast<std::size_t>(variable.bytes);
      if (variable.space == Space::constant) {
        const auto alignment =
            static_cast<std::size_t>(std::max<std::int64_t>(variable.alignment, 1));
        layout.address[i] = (layout.constants.size() + alignment - 1) / alignment * alignment;
        if (layout.address[i] + bytes > kMostConstantBytes) {
          return Error{ErrorKind::cannot_run,
                       fmt::format("{} bytes of .const variables up to {}; {} are the most",
                                   layout.address[i] + bytes, variable.name, kMostConstantBytes),
                       fmt::format("{}:{}:1", ptx.file, variable.line), ""};
        }
        layout.constants.resize(layout.address[i] + bytes);
      } else if (variable.space == Space::global) {
        const Result<std::uint64_t> address = global_.allocate(bytes, variable.name, true);
        if (!address) return address.error();
        layout.address[i] = *address;
      }
    }
    for (std::size_t i = 0; i < ptx.variables.size(); ++i) {
      const Variable& variable = ptx.variables[i];
      if (!used[i] || variable.is_extern) continue;
      // Zero where there is no initialiser: CUDA C++ Programming Guide, __device__ variables.
      std::vector<std::byte> initial(static_cast<std::size_t>(variable.bytes));
      std::copy(variable.initial.begin(), variable.initial.end(), initial.begin());
      if (Status status = relocate(ptx, layout, variable, initial); !status) return status.error();
      if (variable.space == Space::constant) {
        std::copy(initial.begin(), initial.end(),
                  layout.constants.begin() + static_cast<std::ptrdiff_t>(layout.address[i]));
      } else if (variable.space == Space::global) {
        if (Status status = global_.initialise(layout.address[i], initial); !status)
          return status.error();
      }
    }
    return layout;
  }

  static Status relocate(const PtxModule& ptx, const ModuleLayout& layout, const Variable& variable,
                         std::vector<std::byte>& initial) {
    for (const Relocation& relocation : variable.relocations) {
      const Variable* meant = relocation.is_function
                                  ? nullptr
                                  : &ptx.variables[static_cast<std::size_t>(relocation.index)];
      if (meant == nullptr || meant->is_extern ||
          (meant->space != Space::global && meant->space != Space::constant)) {
        return Error{ErrorKind::cannot_run,
                     fmt::format("the address of {} in the initialiser of {} is not known",
                                 relocation.name, variable.name),
                     fmt::format("{}:{}:{}", ptx.file, relocation.line, relocation.column), ""};
      }
      const std::uint64_t window = relocation.generic ? window_of(meant->space) : 0;
      const std::uint64_t address = layout.address[static_cast<std::size_t>(relocation.index)] +
                                    window + static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(initial.data() + relocation.offset, &address,
                  static_cast<std::size_t>(std::min(relocation.bytes, 8)));
    }
    return {};
  }

  Status check_request(const Program& program, const LaunchRequest& request) const {
    const auto refuse = [&](std::string message) {
      return Error{ErrorKind::cannot_run,
                   fmt::format("cannot launch {}: {}", program.kernel, message), "", ""};
    };
    if (Status good = check_dimensions(request); !good) return good;
    // Far more than anybody waits for.
    constexpr std::int64_t kMostBlocks = std::int64_t{1} << 24;
    const std::int64_t threads = request.block[0] * request.block[1] * request.block[2];
    // Both factors are below 2^32.
    const auto blocks = static_cast<double>(request.grid[0]) *
                        static_cast<double>(request.grid[1] * request.grid[2]);
    if (blocks > kMostBlocks) {
      return refuse(fmt::format("a grid of {:.0f} blocks; the emulator runs {} at most", blocks,
                                kMostBlocks));
    }
    const std::array<std::int64_t, 3>& most = program.max_threads;
    const std::int64_t declared = std::max<std::int64_t>(most[0], 1) *
                                  std::max<std::int64_t>(most[1], 1) *
                                  std::max<std::int64_t>(most[2], 1);
    if (program.exact_threads && threads != declared) {
      return refuse(
          fmt::format("a block of {} threads; the kernel declares exactly {}", threads, declared));
    }
    if (most[0] > 0 && threads > declared) {
      return refuse(
          fmt::format("a block of {} threads; the kernel declares at most {}", threads, declared));
    }
    const std::int64_t shared = program.static_shared_bytes + request.dynamic_shared_bytes;
    if (shared > shared_limit(options_.sm)) {
      return refuse(fmt::format("{} bytes of shared memory; sm_{} has {} for a block", shared,
                                options_.sm, shared_limit(options_.sm)));
    }
    if (static_cast<std::int64_t>(request.parameters.size()) != program.parameter_bytes) {
      return refuse(fmt::format("{} bytes of parameters; the kernel declares {}",
                                request.parameters.size(), program.parameter_bytes));
    }
    return {};
  }

  EmulatorOptions options_;
  GlobalMemory global_;
};

}  // namespace
}  // namespace plumbline::emulator

namespace plumbline {

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options) {
  return std::make_unique<emulator::EmulatorDevice>(options);
}

}  // namespace plumbline
