// SPDX-License-Identifier: MIT
#include "harness/perf/compiled.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "kernels/manifest/command.h"
#include "kernels/manifest/compile.h"
#include "oracles/base/shell_word.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

// The number before `unit`, which begins at its end: "12 bytes spill stores".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view before = line.substr(0, at);
  const std::size_t begin = before.find_last_not_of("0123456789");
  return parse_number<std::int64_t>(before.substr(begin == std::string_view::npos ? 0 : begin + 1));
}

}  // namespace

std::optional<CompiledEntry> parse_ptxas(std::string_view text, std::string_view entry) {
  CompiledEntry found;
  bool own_properties = false, own_entry = false, known = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      own_entry = line.find(fmt::format("'{}'", entry)) != std::string_view::npos;
    }
    if (const std::size_t at = line.find("Function properties for ");
        at != std::string_view::npos) {
      own_properties = line.substr(at + 24) == entry;
      continue;
    }
    if (own_properties) {
      if (const auto stack = number_before(line, " bytes stack frame")) found.stack_bytes = *stack;
      if (const auto bytes = number_before(line, " bytes spill stores"))
        found.spill_store_bytes = *bytes;
      if (const auto bytes = number_before(line, " bytes spill loads"))
        found.spill_load_bytes = *bytes;
      own_properties = false;
    }
    const auto registers = number_before(line, " registers");
    if (!own_entry || !registers) continue;
    found.registers = *registers;
    found.static_shared_bytes = number_before(line, " bytes smem").value_or(0);
    known = true;
  }
  if (!known) return std::nullopt;
  return found;
}

std::string target_of(std::string_view ptx) {
  constexpr std::string_view kTarget = ".target ";
  const std::size_t at = ptx.find(kTarget);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = ptx.substr(at + kTarget.size());
  return std::string(rest.substr(0, rest.find_first_of(", \t\r\n")));
}

std::optional<CompiledEntry> compile_entry(const std::string& path, std::string_view ptx,
                                           const std::string& entry, std::string& why) {
  const std::filesystem::path ptxas = std::filesystem::path(find_nvcc()).parent_path() / "ptxas";
  if (ptxas.parent_path().empty() || ::access(ptxas.c_str(), X_OK) != 0) {
    why = "there is no ptxas here";
    return std::nullopt;
  }
  const CommandOutcome outcome =
      run_command(fmt::format("exec {} -v -arch={} -e {} -o /dev/null {}", shell_word(ptxas),
                              shell_word(target_of(ptx)), shell_word(entry), shell_word(path)));
  std::optional<CompiledEntry> found;
  if (outcome.succeeded) found = parse_ptxas(outcome.output, entry);
  if (!found) {
    why = fmt::format("ptxas does not compile it: {}",
                      outcome.output.substr(0, outcome.output.find('\n')));
  }
  return found;
}

}  // namespace plumbline
