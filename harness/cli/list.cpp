// SPDX-License-Identifier: MIT
// plumbline list: what there is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "fuzz/plan.h"
#include "fuzz/values.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "oracles/base/suggest.h"
#include "oracles/models/generation.h"

namespace plumbline {
namespace {

void list_kernels(const Registry& registry, Terminal& terminal) {
  std::size_t name = 0, operation = 0, chips = 0;
  const auto chips_of = [](const Manifest& kernel) {
    return fmt::format("sm_{}", fmt::join(kernel.targets, ", sm_"));
  };
  for (const Manifest& kernel : registry.all()) {
    name = std::max(name, kernel.name.size());
    operation = std::max(operation, kernel.operation->name().size());
    chips = std::max(chips, chips_of(kernel).size());
  }
  for (const Manifest& kernel : registry.all()) {
    terminal.print_wrapped(fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}", kernel.name, name,
                                       kernel.operation->name(), operation, chips_of(kernel), chips,
                                       kernel.summary));
  }
}

void list_oracles(const Registry&, Terminal& terminal) {
  for (const Operation* operation : all_operations()) {
    terminal.print_wrapped(fmt::format("  {}", operation->name()));
    for (const Field& field : operation->schema()) {
      terminal.print_wrapped(fmt::format("      {:<12} {}", field.name, field.help));
    }
  }
  terminal.print("  every one");
  for (const Field& field : common_fields())
    terminal.print_wrapped(fmt::format("      {:<12} {}", field.name, field.help));
}

void list_formats(const Registry&, Terminal& terminal) {
  terminal.print("  format  stored bits  exponent  mantissa  emin  emax  specials");
  for (const Format& f : all_formats()) {
    const std::string_view specials = f.has_infinity() ? "Inf, NaN" : f.has_nan() ? "NaN" : "none";
    if (f.is_integer) {
      terminal.print(fmt::format("  {:<6}  {:>11}  integer", f.name, f.storage_bits));
    } else {
      terminal.print(fmt::format("  {:<6}  {:>11}  {:>8}  {:>8}  {:>4}  {:>4}  {}", f.name,
                                 f.storage_bits, f.exponent_bits, f.mantissa_bits, f.emin(),
                                 f.emax(), specials));
    }
  }
}

void list_models(const Registry&, Terminal& terminal) {
  static constexpr std::array<std::string_view, 3> kInstructions = {"mma.sync", "wgmma", "tcgen05"};
  terminal.print("  chips        instruction  inputs  out   products  fraction bits  evidence");
  for (const GenerationRow& row : generation_table()) {
    terminal.print_wrapped(fmt::format("  sm_{:<3}..{:<3}  {:<11}  {:<6}  {:<4}  {:>8}  {:>13}  {}",
                                       row.sm_low, row.sm_high,
                                       kInstructions[static_cast<std::size_t>(row.instruction)],
                                       row.inputs, format(row.output).name, row.model.node.products,
                                       row.model.node.fraction_bits, row.evidence));
  }
}

void list_devices(const Registry& registry, Terminal& terminal) {
  std::vector<int> chips;
  for (const Manifest& kernel : registry.all())
    chips.insert(chips.end(), kernel.targets.begin(), kernel.targets.end());
  std::sort(chips.begin(), chips.end());
  chips.erase(std::unique(chips.begin(), chips.end()), chips.end());
  for (const int sm : chips) terminal.print(fmt::format("  emulator sm_{}", sm));
  const Result<Target> gpu = probe_gpu();
  terminal.print_wrapped(gpu ? "  " + gpu->name() : "  no GPU: " + gpu.error().text());
}

void list_classes(const Registry&, Terminal& terminal) {
  terminal.print("values");
  for (const ValueClassInfo& info : value_classes()) {
    terminal.print_wrapped(fmt::format("  {:<16} {}", info.name, info.purpose));
  }
  for (const Operation* operation : all_operations()) {
    terminal.print(fmt::format("shapes of {}", operation->name()));
    for (const ClassInfo& info : shape_classes(*operation)) {
      terminal.print_wrapped(fmt::format("  {:<16} {}", info.name, info.purpose));
    }
    terminal.print(fmt::format("layouts of {}", operation->name()));
    for (const ClassInfo& info : layout_classes(*operation)) {
      terminal.print_wrapped(fmt::format("  {:<16} {}", info.name, info.purpose));
    }
  }
}

constexpr std::array<std::pair<std::string_view, void (*)(const Registry&, Terminal&)>, 6> kLists =
    {{
        {"kernels", list_kernels},
        {"oracles", list_oracles},
        {"formats", list_formats},
        {"models", list_models},
        {"devices", list_devices},
        {"classes", list_classes},
    }};

}  // namespace

ExitCode list(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments);
  if (!registry) return report_error(registry.error());
  const std::vector<std::string> names =
      arguments.names.empty() ? std::vector<std::string>{"kernels"} : arguments.names;
  for (const std::string& wanted : names) {
    const auto found = std::find_if(kLists.begin(), kLists.end(),
                                    [&](const auto& l) { return l.first == wanted; });
    if (found == kLists.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, print] : kLists) known.push_back(name);
      const std::string hint = did_you_mean(wanted, known);
      return report_error({ErrorKind::bad_input, fmt::format("cannot list \"{}\"", wanted), "",
                           hint.empty() ? fmt::format("one of {}", fmt::join(known, ", ")) : hint});
    }
    found->second(*registry, terminal);
  }
  return ExitCode::held;
}

}  // namespace plumbline
