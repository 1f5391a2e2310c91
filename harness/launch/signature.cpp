// SPDX-License-Identifier: MIT
#include "harness/launch/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "harness/device/entry_name.h"
#include "harness/emulator/frontend/module.h"
#include "kernels/manifest/compile.h"
#include "oracles/base/file.h"

namespace plumbline {
namespace {

// "gemm_{layout}" with every word of the field; empty where a number is asked for.
std::vector<std::string> possible_entries(const Manifest& kernel, const std::string& pattern) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}');
  if (open == std::string::npos) return {pattern};
  const std::string name = pattern.substr(open + 1, close - open - 1);
  std::vector<std::string> entries;
  for (const Field& field : kernel.schema()) {
    if (field.name != name) continue;
    for (const std::string_view word : field.choices) {
      const std::string one =
          fmt::format("{}{}{}", pattern.substr(0, open), word, pattern.substr(close + 1));
      for (std::string& entry : possible_entries(kernel, one)) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::vector<ParameterSlot> slots_of(const emulator::Function& function) {
  std::vector<ParameterSlot> slots;
  for (const emulator::Variable& parameter : function.parameters)
    slots.push_back({0, parameter.bytes});
  return slots;
}

Status check_launch(const Manifest& kernel, const KernelLaunch& launch,
                    const emulator::PtxModule& ptx) {
  std::vector<std::string> names;
  for (const emulator::Function& function : ptx.functions) {
    if (function.is_entry && (function.has_body || function.body_skipped))
      names.push_back(function.name);
  }
  const std::vector<std::string> wanted = possible_entries(kernel, launch.entry);
  bool any = wanted.empty();
  for (const std::string& entry : wanted) {
    const Result<std::string> name = find_entry(names, entry, ptx.file);
    if (!name) continue;
    any = true;
    const auto function = std::ranges::find(ptx.functions, *name, &emulator::Function::name);
    if (Status same = check_parameters(launch, entry, slots_of(*function)); !same) return same;
  }
  if (any) return {};
  const Error error = find_entry(names, wanted.front(), ptx.file).error();
  return Error{
      ErrorKind::bad_input,
      fmt::format("{} in {}", error.message, std::filesystem::path(ptx.file).filename().string()),
      launch.entry_where, error.hint};
}

// The first parameter of another width, as a hint where their numbers differ.
std::string first_difference(const KernelLaunch& launch, std::span<const ParameterSlot> slots) {
  for (std::size_t i = 0; i < std::min(slots.size(), launch.parameters.size()); ++i) {
    const KernelParameter& parameter = launch.parameters[i];
    if (slots[i].bytes == parameter.bytes) continue;
    return fmt::format("; the first that differs is number {}, {} bytes there and \"{}\" here",
                       i + 1, slots[i].bytes, parameter.text);
  }
  return "";
}

}  // namespace

Status check_parameters(const KernelLaunch& launch, const std::string& entry,
                        std::span<const ParameterSlot> slots) {
  if (slots.size() != launch.parameters.size()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("entry {} takes {} parameters, the manifest lists {}", entry,
                             slots.size(), launch.parameters.size()),
                 launch.parameters_where,
                 "they must match the kernel's signature in order and type" +
                     first_difference(launch, slots)};
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const KernelParameter& parameter = launch.parameters[i];
    if (slots[i].bytes == parameter.bytes) continue;
    return Error{ErrorKind::bad_input,
                 fmt::format("parameter {} ({}) is {} bytes wide in entry {}, {} in the manifest",
                             i + 1, parameter.text, slots[i].bytes, entry, parameter.bytes),
                 parameter.where, "they must match the kernel's signature in order and type"};
  }
  return {};
}

Status check_signatures(const Manifest& kernel) {
  for (const int target : kernel.targets) {
    if (!is_compiled(kernel, target)) continue;
    const std::string path = kernel.ptx_path(target);
    const Result<std::string> text = read_text_file(path, "");
    if (!text) continue;
    const auto no_body = [](const std::string&) { return false; };
    const auto ptx = emulator::parse_ptx(*text, path, {.wanted = no_body});
    if (!ptx) continue;
    for (const KernelLaunch& launch : kernel.launches) {
      if (Status same = check_launch(kernel, launch, *ptx); !same) return same;
    }
  }
  return {};
}

}  // namespace plumbline
