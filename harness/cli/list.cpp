// SPDX-License-Identifier: MIT
// plumbline list: what there is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "fuzz/case/generator.h"
#include "fuzz/case/values.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/device/entry_name.h"
#include "harness/emulator/ptx_survey.h"
#include "harness/launch/signature.h"
#include "kernels/ops/text_operation.h"
#include "oracles/base/file.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"
#include "oracles/models/generation.h"
#include "oracles/text/program.h"
#include "reports/record/json_archive.h"

namespace plumbline {
namespace {

// Where the texts of a list begin: behind its longest name.
template <typename Entries, typename NameOf>
std::size_t text_column(const Entries& entries, const NameOf& name_of) {
  std::size_t longest = 0;
  for (const auto& entry : entries) longest = std::max(longest, name_of(entry).size());
  return longest + 4;
}

// Against their PTX, where it is there. Kernels of --kernel were checked when they were read.
Status check_shipped_kernels(const Registry& registry) {
  for (const Manifest& kernel : registry.all()) {
    if (kernel.added) continue;
    if (Status same = check_signatures(kernel); !same) return same;
  }
  return {};
}

// Those that are built in, then those that texts of kernels say.
std::vector<const Operation*> operations_of(const Registry& registry) {
  std::vector<const Operation*> operations = all_operations();
  for (const Manifest& kernel : registry.all()) {
    if (std::ranges::count(operations, kernel.operation) == 0)
      operations.push_back(kernel.operation);
  }
  return operations;
}

void list_kernels(const Registry& registry, Terminal& terminal) {
  const std::size_t column =
      text_column(registry.all(), [](const Manifest& kernel) { return kernel.name; });
  for (const Operation* operation : operations_of(registry)) {
    bool any = false;
    for (const Manifest& kernel : registry.all()) {
      if (kernel.operation != operation) continue;
      if (!std::exchange(any, true)) terminal.print(operation->name());
      terminal.print_entry(
          kernel.name,
          fmt::format("{} (sm_{})", kernel.summary, fmt::join(kernel.targets, ", sm_")), column);
    }
  }
}

void list_fields(std::span<const Field> fields, Terminal& terminal) {
  const std::size_t column = text_column(fields, [](const Field& field) { return field.name; });
  for (const Field& field : fields) terminal.print_entry(field.name, field.help, column);
}

void list_operations(const Registry& registry, Terminal& terminal) {
  for (const Operation* operation : operations_of(registry)) {
    terminal.print(operation->name());
    list_fields(operation->schema(), terminal);
  }
  terminal.print("every one");
  list_fields(common_fields(), terminal);
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
  terminal.print("Two elements of e2m1 share a byte of a kernel's memory.");
}

// p of docs/bounds/accumulator.md: the bits that are left of a node's sum.
int result_bits(NodeOutput output) {
  switch (output) {
    case NodeOutput::f32_toward_zero:
      return 24;
    case NodeOutput::e8m13_toward_zero:
      return 14;
    case NodeOutput::f16_nearest_even:
      return 11;
  }
  return 0;
}

void list_models(const Registry&, Terminal& terminal) {
  static constexpr std::array<std::string_view, 3> kInstructions = {"mma.sync", "wgmma", "tcgen05"};
  terminal.print_wrapped(
      "  A node adds L products with F fraction bits and gives p bits "
      "(docs/bounds/accumulator.md). What a sum of zeros takes for its exponent is MMA-Sim's "
      "wherever results are f16, and of wgmma and tcgen05: no output of a GPU decides it.");
  terminal.print("  chips       instruction  inputs  out   L   F   p  evidence");
  for (const GenerationRow& row : generation_table()) {
    const NodeModel& node = row.model.node;
    terminal.print_wrapped(
        fmt::format("  sm_{:<3}..{:<3} {:<11}  {:<6}  {:<3}  {:>2}  {:>2}  {:>2}  {}", row.sm_low,
                    row.sm_high, kInstructions[static_cast<std::size_t>(row.instruction)],
                    row.inputs, format(row.output).name, node.products, node.fraction_bits,
                    result_bits(node.output), row.evidence));
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

template <typename Classes>
void list_purposes(const Classes& classes, Terminal& terminal) {
  const std::size_t column = text_column(classes, [](const auto& info) { return info.name; });
  for (const auto& info : classes) terminal.print_entry(info.name, info.purpose, column);
}

void list_classes(const Registry& registry, Terminal& terminal) {
  terminal.print("values");
  list_purposes(value_classes(), terminal);
  for (const Operation* operation : operations_of(registry)) {
    terminal.print(fmt::format("shapes of {}", operation->name()));
    list_purposes(shape_classes(*operation), terminal);
    terminal.print(fmt::format("layouts of {}", operation->name()));
    list_purposes(layout_classes(*operation), terminal);
  }
}

constexpr std::array<std::pair<std::string_view, void (*)(const Registry&, Terminal&)>, 6> kLists =
    {{
        {"kernels", list_kernels},
        {"operations", list_operations},
        {"formats", list_formats},
        {"models", list_models},
        {"devices", list_devices},
        {"classes", list_classes},
    }};

// --- list ptx FILE ---

using emulator::EntrySurvey;
using emulator::MissingInstruction;

std::string extent(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{} x {} x {}", size[0], size[1], size[2]);
}

std::string times(int count) {
  return count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{} times", count);
}

std::string parameters_text(const EntrySurvey& entry) {
  if (entry.parameters.empty()) return "none";
  std::vector<std::int64_t> bytes;
  for (const emulator::ParameterSurvey& parameter : entry.parameters)
    bytes.push_back(parameter.bytes);
  return fmt::format("{}, of {} bytes", bytes.size(), fmt::join(bytes, ", "));
}

std::string shared_text(const EntrySurvey& entry) {
  const std::string fixed = fmt::format("{} bytes", entry.static_shared_bytes);
  return entry.dynamic_shared ? fixed + ", and what the launch gives it" : fixed;
}

std::string bounds_text(const EntrySurvey& entry) {
  std::string text = "none";
  if (entry.threads[0] > 0) {
    text = fmt::format("{} {} threads", entry.exact_threads ? "exactly" : "at most",
                       extent(entry.threads));
  }
  if (entry.cluster[0] > 0) text += fmt::format(", clusters of {}", extent(entry.cluster));
  return text;
}

void print_missing(const MissingInstruction& one, Terminal& terminal) {
  std::string text =
      fmt::format("      {}  {}, first at line {}", one.form, times(one.count), one.first_line);
  if (!one.reason.empty()) text += ": " + one.reason;
  terminal.print_wrapped(text);
}

void print_entry(const EntrySurvey& entry, Terminal& terminal) {
  const std::string readable = cpp_name(entry.name);
  terminal.print_wrapped(fmt::format("  {}{}  line {}", entry.name,
                                     readable == entry.name ? "" : fmt::format(" ({})", readable),
                                     entry.line));
  terminal.print_wrapped("    parameters     " + parameters_text(entry));
  if (entry.unreadable) {
    terminal.print_wrapped("    is no PTX      " + entry.unreadable->text());
    return;
  }
  terminal.print_wrapped("    shared memory  " + shared_text(entry));
  terminal.print_wrapped("    launch bounds  " + bounds_text(entry));
  for (const auto& [unit, count] : entry.units)
    terminal.print_wrapped(fmt::format("    tensor cores   {}, {}", unit, times(count)));
  if (entry.units.empty()) terminal.print("    tensor cores   not used");
  if (entry.asks_for_cooperation) {
    terminal.print_wrapped(
        "    cooperative    reads %envreg1 or %envreg2, which are 0 as in any launch that is not "
        "cooperative: grid.sync() traps");
  }
  if (!entry.refused.empty()) terminal.print_wrapped("    does not run   " + entry.refused);
  if (entry.missing.empty()) {
    if (entry.refused.empty())
      terminal.print("    runs           the emulator has every instruction");
    return;
  }
  const int all =
      std::accumulate(entry.missing.begin(), entry.missing.end(), 0,
                      [](int sum, const MissingInstruction& one) { return sum + one.count; });
  terminal.print(fmt::format("    does not run   the emulator lacks {} instruction{}:", all,
                             all == 1 ? "" : "s"));
  for (const MissingInstruction& one : entry.missing) print_missing(one, terminal);
}

ExitCode list_ptx(std::span<const std::string> files, Terminal& terminal) {
  if (files.empty()) {
    return report_error(
        {ErrorKind::bad_input, "no PTX file is named", "", "plumbline list ptx FILE"});
  }
  ExitCode code = ExitCode::held;
  for (const std::string& file : files) {
    const Result<std::string> text = read_text_file(file, "");
    const Result<emulator::PtxSurvey> survey =
        text ? emulator::survey_ptx(*text, file) : Result<emulator::PtxSurvey>(text.error());
    if (!survey) {
      code = report_error(survey.error());
      continue;
    }
    terminal.print_wrapped(fmt::format("{}: PTX {} for {}, {} entr{}", file, survey->version,
                                       survey->target, survey->entries.size(),
                                       survey->entries.size() == 1 ? "y" : "ies"));
    for (EntrySurvey entry : survey->entries) {
      if (const std::string_view why = refused_chip(survey->target_sm); !why.empty())
        entry.refused = why;
      print_entry(entry, terminal);
      if (entry.unreadable) code = ExitCode::wrong_input;
    }
  }
  return code;
}

// --- list text FILE ---

// Fields of problems and terms of contracts, as other programs need them.
Json as_json(std::span<const Field> fields) {
  constexpr std::array<std::string_view, 3> kKinds = {"integer", "f32", "word"};
  Json list = Json::array();
  for (const Field& field : fields) {
    Json one{{"name", field.name},
             {"kind", kKinds[static_cast<std::size_t>(field.kind)]},
             {"words", field.choices},
             {"default", nullptr},
             {"meaning", field.help}};
    if (!must_be_given(field)) one["default"] = value_text(field, field.default_value);
    list.push_back(std::move(one));
  }
  return list;
}

Json as_json(const TextOperation& operation) {
  Json tensors = Json::array();
  for (const TensorName& tensor : operation.tensor_names())
    tensors.push_back({{"name", tensor.name},
                       {"role", tensor.role == TensorRole::input ? "input" : "output"},
                       {"usual", tensor.format},
                       {"formats", tensor.formats},
                       {"shape", tensor.help},
                       {"optional", tensor.optional}});
  return {{"name", operation.text().name},
          {"fields", as_json(operation.schema())},
          {"terms", as_json(operation.terms())},
          {"tensors", std::move(tensors)}};
}

// The operations of texts as they are read: gradients as what they stand for.
ExitCode list_text(std::span<const std::string> files, OutputFormat format, Terminal& terminal) {
  if (files.empty()) {
    return report_error(
        {ErrorKind::bad_input, "no operation text is named", "", "plumbline list text FILE.op"});
  }
  Json described = Json::array();
  for (const std::string& file : files) {
    const Result<std::string> text = read_text_file(file, "");
    if (!text) return report_error(text.error());
    const Result<std::vector<text::OperationText>> operations = text::parse_operations(*text, file);
    if (!operations) return report_error(operations.error());
    for (const text::OperationText& operation : *operations) {
      const auto checked = text_operation(operation);
      if (!checked) return report_error(checked.error());
      if (format == OutputFormat::json) {
        described.push_back(as_json(**checked));
        continue;
      }
      for (const std::string_view line : split(operation.about, '\n'))
        if (!line.empty()) terminal.print(fmt::format("# {}", line));
      for (const std::string_view line : split(operation.source, '\n')) terminal.print(line);
    }
  }
  if (format == OutputFormat::json) terminal.print(Json{{"operations", described}}.dump());
  return ExitCode::held;
}

}  // namespace

ExitCode list(const Arguments& arguments, Terminal& terminal) {
  const bool is_text = !arguments.names.empty() && arguments.names.front() == "text";
  if (arguments.format == OutputFormat::json && !is_text)
    return report_error({ErrorKind::bad_input, "list has no --format json", "",
                         "only texts have it: plumbline list text FILE.op --format json"});
  if (!arguments.names.empty() && arguments.names.front() == "ptx") {
    return list_ptx(std::span(arguments.names).subspan(1), terminal);
  }
  if (is_text) {
    return list_text(std::span(arguments.names).subspan(1), arguments.format, terminal);
  }
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const std::vector<std::string> names =
      arguments.names.empty() ? std::vector<std::string>{"kernels"} : arguments.names;
  for (const std::string& wanted : names) {
    const auto found = std::find_if(kLists.begin(), kLists.end(),
                                    [&](const auto& l) { return l.first == wanted; });
    if (found == kLists.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, print] : kLists) known.push_back(name);
      known.insert(known.end(), {"ptx", "text"});
      const std::string hint = did_you_mean(wanted, known);
      return report_error({ErrorKind::bad_input, fmt::format("cannot list \"{}\"", wanted), "",
                           hint.empty() ? fmt::format("one of {}", fmt::join(known, ", ")) : hint});
    }
    if (wanted == "kernels") {
      const Status checked = check_shipped_kernels(*registry);
      if (!checked) return report_error(checked.error());
    }
    found->second(*registry, terminal);
  }
  return ExitCode::held;
}

}  // namespace plumbline
