// SPDX-License-Identifier: MIT
#include "harness/cli/draft/draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/cli/draft/source_names.h"
#include "kernels/manifest/compile.h"
#include "kernels/manifest/problem.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

using emulator::EntrySurvey;
using emulator::ParameterSurvey;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// How many letters of these words a name has; 0: it lacks one of them.
std::size_t letters(std::string_view name, std::string_view words) {
  std::size_t count = 0;
  for (const std::string_view word : split(words, ' ')) {
    if (name.find(word) == std::string_view::npos) return 0;
    count += word.size();
  }
  return count;
}

// The tensors of a kernel that takes so many addresses.
std::vector<std::string_view> tensors_of(const Operation& operation, std::size_t count) {
  std::vector<std::string_view> names;
  for (const std::string_view list : operation.usual().tensors) {
    names = split(list, ' ');
    if (names.size() >= count) break;
  }
  if (names.size() > count) names.resize(count);
  for (const TensorName& tensor : operation.tensor_names()) {
    if (names.size() >= count) break;
    if (tensor.in_place_of.empty() && std::ranges::count(names, tensor.name) == 0)
      names.push_back(tensor.name);
  }
  return names;
}

bool is_text(const Operation& operation) { return operation.name().ends_with(".op"); }

// Sizes first, then what expressions can use of layouts.
std::vector<std::string> integers_of(const Operation& operation) {
  std::vector<std::string> names;
  for (const Field& field : operation.schema()) {
    if (field.kind == FieldKind::integer && must_be_given(field)) names.emplace_back(field.name);
  }
  if (is_text(operation)) {  // its scalars
    for (const Field& field : operation.schema()) {
      if (field.kind == FieldKind::integer && !must_be_given(field) &&
          !field.name.starts_with("pad_"))
        names.emplace_back(field.name);
    }
  }
  for (const Derived& derived : operation.derived()) {
    if (derived.name.starts_with("ld")) names.emplace_back(derived.name);
  }
  return names;
}

std::vector<std::string> reals_of(const Operation& operation) {
  std::vector<std::string> names;
  for (const Field& field : operation.schema()) {
    if (field.kind == FieldKind::real) names.emplace_back(field.name);
  }
  return names;
}

// What sources often call tensors and sizes: the first that the operation has is meant.
constexpr std::pair<std::string_view, std::array<std::string_view, 4>> kUsualNames[] = {
    {"out output dst result", {"y", "d", "o", "q"}},
    {"in inp input src", {"x", "a"}},
    {"weight weights w", {"gamma", "b"}},
    {"bias b", {"bias", "beta"}},
    {"c", {"d"}},
    {"query", {"q"}},
    {"key", {"k"}},
    {"value", {"v"}},
    {"hidden hidden_size cols n_cols num_cols columns dim width", {"n"}},
    {"rows n_rows num_rows tokens num_tokens height", {"m"}},
};

// The operation's names for those of the source; a name that tells nothing stays.
std::vector<std::string> understood(std::vector<std::string> said, const Operation& operation,
                                    const std::vector<bool>& is_address) {
  const std::vector<std::string> integers = integers_of(operation);
  std::vector<std::string> tensors;
  for (const TensorName& tensor : operation.tensor_names()) tensors.emplace_back(tensor.name);
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::count(names, name) > 0;
  };
  for (std::size_t i = 0; i < said.size(); ++i) {
    std::string& name = said[i];
    const std::vector<std::string>& known = is_address[i] ? tensors : integers;
    if (has(known, name)) continue;
    std::string plain = lower(name);
    for (const std::string_view end : {"_ptr", "_gmem"})
      if (plain.ends_with(end)) plain.resize(plain.size() - end.size());
    std::vector<std::string_view> meant = {plain};
    for (const auto& [usual, names] : kUsualNames) {
      if (fmt::format(" {} ", usual).find(fmt::format(" {} ", plain)) == std::string::npos)
        continue;
      meant.insert(meant.end(), names.begin(), names.end());
    }
    const auto found = std::ranges::find_if(
        meant, [&](std::string_view one) { return has(known, one) && !has(said, one); });
    if (found != meant.end()) name = std::string(*found);
  }
  return said;
}

bool is_float(const ParameterSurvey& parameter) { return parameter.type.starts_with('f'); }

// PTX of older compilers does not mark addresses: then the leading words of 64 bits are taken for
// them.
std::vector<bool> addresses(const EntrySurvey& entry) {
  const bool marked = std::ranges::any_of(entry.parameters, &ParameterSurvey::is_pointer);
  std::vector<bool> out;
  bool leading = true;
  for (const ParameterSurvey& parameter : entry.parameters) {
    const bool wide = parameter.bytes == 8 && !is_float(parameter);
    leading = leading && wide;
    out.push_back(marked ? parameter.is_pointer : leading);
  }
  return out;
}

struct Line {
  std::string text, comment;
};

// Lines with their comments in one column.
std::string aligned(const std::vector<Line>& lines, std::string_view indent = "") {
  std::size_t widest = 0;
  for (const Line& line : lines) widest = std::max(widest, line.text.size());
  std::string out;
  for (const Line& line : lines) {
    out += line.comment.empty()
               ? fmt::format("{}{}\n", indent, line.text)
               : fmt::format("{}{:<{}}  # {}\n", indent, line.text, widest, line.comment);
  }
  return out;
}

// "bf16", "bf16" of "mma m16n8k16 f32.bf16.bf16.f32"; none where it does not say.
std::optional<std::pair<std::string, std::string>> factor_formats(const EntrySurvey& entry) {
  for (const auto& [unit, count] : entry.units) {
    const std::string types = unit.substr(unit.rfind(' ') + 1);
    std::vector<std::string> parts(1);
    for (const char c : types) {
      if (c == '.') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts[0].starts_with("kind::")) parts.erase(parts.begin());
    if (parts.size() >= 3) return std::pair(parts[1], parts[2]);
  }
  return std::nullopt;
}

std::string unit_word(const EntrySurvey& entry) {
  if (entry.units.empty()) return "fma.f32";
  const std::string& unit = entry.units.begin()->first;
  const std::string_view scaled = unit.find("kind::mx") != unit.npos ? ".block_scale" : "";
  for (const std::string_view own : {"wgmma", "tcgen05"})
    if (unit.starts_with(own)) return fmt::format("{}{}", own, scaled);
  return fmt::format("mma.sync{}", scaled);
}

// Of "mma m16n8k16 f16.f16.f16.f16" and the like, in all tensor-core instructions.
bool has_f16_sums(const EntrySurvey& entry) {
  return !entry.units.empty() && std::ranges::all_of(entry.units, [](const auto& unit) {
    return unit.first.find(" f16.") != std::string::npos;
  });
}

std::string all_units(const EntrySurvey& entry) {
  std::vector<std::string> units;
  for (const auto& [unit, count] : entry.units) units.push_back(unit);
  return fmt::format("{}", fmt::join(units, "; "));
}

std::string toml_string(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string choices_text(std::span<const std::string_view> choices) {
  return fmt::format("one of {}", fmt::join(choices, ", "));
}

// Names of the operation for parameters of one kind: the one that the source says, else the next
// that it does not say of any parameter.
class NamesLeft {
 public:
  NamesLeft(std::vector<std::string> names, std::span<const std::string> said)
      : known_(names), left_(std::move(names)) {
    std::erase_if(left_,
                  [&](const std::string& name) { return std::ranges::count(said, name) > 0; });
  }

  bool has(const std::string& said) const { return std::ranges::count(known_, said) > 0; }

  // `otherwise`: where none is left.
  std::string take(const std::string& said, const std::string& otherwise) {
    if (has(said)) return said;
    if (next_ == left_.size()) return otherwise;
    return left_[next_++];
  }

 private:
  std::vector<std::string> known_, left_;
  std::size_t next_ = 0;
};

// A parameter that is neither an address nor a number.
bool is_struct(const EntrySurvey& entry, std::size_t i) {
  return entry.parameters[i].bytes > 8 && !addresses(entry)[i];
}

// The source's name of it; else "params", with its number where there are several.
std::string struct_name(const EntrySurvey& entry, std::span<const std::string> source_names,
                        std::size_t i) {
  if (source_names.size() == entry.parameters.size()) return source_names[i];
  int all = 0;
  for (std::size_t other = 0; other < entry.parameters.size(); ++other)
    all += is_struct(entry, other) ? 1 : 0;
  return all == 1 ? "params" : fmt::format("params{}", i + 1);
}

std::string struct_tables(const EntrySurvey& entry, std::span<const std::string> source_names) {
  std::string text;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    if (!is_struct(entry, i)) continue;
    text += fmt::format(
        "\n[struct.{}]\nsize   = {}\nfields = [\"u32 0\"]  # TODO: its fields in order "
        "(docs/manifest.md, structs); \"tensor_map NAME\" is a parameter of its own\n",
        struct_name(entry, source_names, i), entry.parameters[i].bytes);
  }
  return text;
}

// The parameters with what they are in the operation.
struct Named {
  std::vector<bool> is_address;
  std::vector<std::string> source;   // names in the source; empty: not known
  std::vector<std::string> said;     // the operation's for them; empty: not known
  std::vector<std::string> tensors;  // of every address, the tensor that is guessed; else empty
  std::map<std::string, std::string> formats;  // of tensors, where their types tell
};

Named name_parameters(const EntrySurvey& entry, const Operation& operation,
                      const DraftSource& source) {
  Named named;
  named.is_address = addresses(entry);
  if (source.parameters.size() == entry.parameters.size()) {
    named.source = source.parameters;
    named.said = understood(named.source, operation, named.is_address);
  }
  const std::vector<std::string>& said = named.said;
  const std::vector<bool>& is_address = named.is_address;
  std::vector<std::string> all;
  for (const std::string_view tensor :
       tensors_of(operation, static_cast<std::size_t>(std::ranges::count(is_address, true))))
    all.emplace_back(tensor);
  for (const TensorName& tensor : operation.tensor_names()) {
    const std::string name(tensor.name);
    if (std::ranges::count(said, name) > 0 && std::ranges::count(all, name) == 0)
      all.push_back(name);
  }
  NamesLeft tensors(std::move(all), said);
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    named.tensors.push_back(is_address[i] ? tensors.take(said.empty() ? "" : said[i], "") : "");
    if (named.tensors[i].empty() || source.types.size() != entry.parameters.size()) continue;
    if (const std::string format = format_of_type(source.types[i]); !format.empty())
      named.formats.emplace(named.tensors[i], format);
  }
  return named;
}

std::string parameter_lines(const EntrySurvey& entry, const Operation& operation,
                            const Named& parameters) {
  const bool named = !parameters.source.empty();
  const std::vector<std::string>&source_names = parameters.source, &said = parameters.said;
  const std::vector<bool>& is_address = parameters.is_address;
  NamesLeft integers(integers_of(operation), said), reals(reals_of(operation), said);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const ParameterSurvey& parameter = entry.parameters[i];
    const std::string name = named ? source_names[i] : "", meant = named ? said[i] : "";
    const std::string known = fmt::format("{}: {} bytes{}", i + 1, parameter.bytes,
                                          named ? fmt::format(", {} in the source", name) : "");
    const std::string bits = fmt::format("{}", 8 * parameter.bytes);
    const auto add = [&](NamesLeft& names, const std::string& type, const std::string& otherwise,
                         const char* what, const char* todo) {
      const std::string guess = names.take(meant, otherwise);
      lines.push_back({toml_string(type + " " + guess) + ",",
                       fmt::format("{}, {}{}", known, what,
                                   guess == name ? "" : fmt::format("; TODO: {}", todo))});
    };
    if (is_address[i]) {
      const std::string& guess = parameters.tensors[i];
      lines.push_back(guess.empty()
                          ? Line{"\"u64 0\",", known + ", an address; TODO: which tensor, or none"}
                          : Line{toml_string("ptr " + guess) + ",",
                                 known + (guess == name ? ", an address"
                                                        : ", an address; TODO: which tensor")});
    } else if (parameter.bytes > 8) {
      lines.push_back({toml_string("struct " + struct_name(entry, source_names, i)) + ",",
                       known + ": a struct (below) or a tensor map by value"});
    } else if (is_float(parameter)) {
      add(reals, "f" + bits, "1", "a float", "which factor");
    } else {
      add(integers, "s" + bits, "0", "an integer", "which size or stride");
    }
  }
  return aligned(lines, "  ");
}

// The format of a tensor by the type of its parameter, else by the products of tensor cores.
std::string known_format(const Named& parameters, const EntrySurvey& entry,
                         std::string_view tensor) {
  const auto typed = parameters.formats.find(std::string(tensor));
  if (typed != parameters.formats.end()) return typed->second;
  const auto factors = factor_formats(entry);
  if (!factors) return "";
  if (tensor == "a" || tensor == "q") return factors->first;
  return tensor == "b" || tensor == "k" || tensor == "v" ? factors->second : "";
}

std::string problem_lines(const Operation& operation, const EntrySurvey& entry,
                          const Named& parameters) {
  std::vector<Line> lines;
  for (const Field& field : operation.schema()) {
    if (field.kind != FieldKind::word || is_text(operation)) continue;
    const auto has = [&](std::string_view word) {
      return std::ranges::count(field.choices, word) > 0;
    };
    std::string word;
    bool is_typed = false;
    if (field.name == "a" || field.name == "b") {
      word = known_format(parameters, entry, field.name);
      if (!has(word)) continue;
      is_typed = parameters.formats.contains(std::string(field.name));
    } else if (has("none") && std::ranges::count(parameters.tensors, field.name) > 0) {
      // A tensor that a problem may lack, and this kernel takes.
      word = has("column")  // a bias as in a linear layer
                 ? "column"
                 : *std::ranges::find_if(field.choices, [](auto one) { return one != "none"; });
    } else if (field.name == "out" || field.name == "layout" || must_be_given(field)) {
      word = std::string(field.choices.front());
      for (const TensorName& tensor : operation.tensor_names()) {
        const std::string format = known_format(parameters, entry, tensor.name);
        if (tensor.field != field.name || !has(format)) continue;
        word = format;
        is_typed = parameters.formats.contains(std::string(tensor.name));
      }
    } else {
      continue;
    }
    lines.push_back({fmt::format("{} = [\"{}\"]", field.name, word),
                     is_typed
                         ? fmt::format("{}: by the type of the parameter", field.help)
                         : fmt::format("TODO: {}; {}", field.help, choices_text(field.choices))});
  }
  return aligned(lines);
}

std::string format_lines(const Operation& operation, const EntrySurvey& entry,
                         const Named& parameters) {
  std::vector<Line> lines;
  std::map<std::string_view, std::string> chosen;
  for (const TensorName& tensor : operation.tensor_names()) {
    // Outputs mostly have the format that a word of the problem says.
    const bool usual = !tensor.format.empty();
    if (tensor.formats.empty() ||
        (usual && (tensor.role != TensorRole::input || tensor.formats.size() == 1)))
      continue;
    if (!tensor.like.empty() && std::ranges::count(parameters.tensors, tensor.name) == 0) continue;
    std::string format(usual ? tensor.format : tensor.formats.front());
    const std::string known = known_format(parameters, entry, tensor.name);
    const bool is_known = std::ranges::count(tensor.formats, known) > 0;
    if (is_known) format = known;
    // What a field says is not said twice.
    if (!tensor.field.empty() && tensor.role == TensorRole::output)
      format = fmt::format("{{{}}}", tensor.field);
    const bool is_typed = is_known && parameters.formats.contains(std::string(tensor.name));
    if (const auto same = chosen.find(tensor.in_place_of); same != chosen.end()) {
      lines.push_back({fmt::format("{} = \"{}\"", tensor.name, same->second),
                       fmt::format("written over {}, so as {}", tensor.in_place_of, same->first)});
      continue;
    }
    chosen[tensor.name] = format;
    lines.push_back(
        {fmt::format("{} = \"{}\"", tensor.name, format),
         is_typed ? "by the type of the parameter" : "TODO: " + choices_text(tensor.formats)});
  }
  return aligned(lines);
}

std::string contract_lines(const Operation& operation, const EntrySurvey& entry) {
  std::vector<Line> lines;
  const bool sums = operation.terms().empty();
  const bool has_unit = std::ranges::count(operation.terms(), "unit", &Field::name) > 0;
  if (sums || (has_unit && !entry.units.empty())) {
    lines.push_back(
        {fmt::format("unit = \"{}\"", unit_word(entry)),
         entry.units.empty() ? "the PTX uses no tensor cores" : "of the PTX: " + all_units(entry)});
  }
  if (sums && has_f16_sums(entry)) {
    lines.push_back({"accumulator = \"f16\"", "of the PTX"});
    lines.push_back({"schedule = \"sequential\"", "TODO: or \"promote\", \"split_k\""});
  }
  if (sums) {
    lines.push_back({"epilogue = []",
                     "TODO: what is done to each sum, in order (docs/manifest.md). The order of "
                     "additions is left out: the orders that kernels use are admissible"});
  }
  for (const Field& term : operation.terms()) {
    if (term.name == "unit" && !entry.units.empty()) continue;  // said above
    // What a text's contract leaves out has its default.
    if (is_text(operation) && !must_be_given(term)) continue;
    if (term.kind == FieldKind::word) {
      const std::size_t usual =
          must_be_given(term) ? 0 : static_cast<std::size_t>(term.default_value);
      lines.push_back({fmt::format("{} = \"{}\"", term.name, term.choices[usual]),
                       fmt::format("TODO: {}; {}", term.help, choices_text(term.choices))});
    } else if (must_be_given(term)) {
      const std::int64_t threads = std::max<std::int64_t>(1, entry.threads[0]);
      lines.push_back({fmt::format("{} = {}", term.name, term.name == "lanes" ? threads : 32),
                       fmt::format("TODO: {}", term.help)});
    }
  }
  return aligned(lines);
}

std::string target_text(const std::string& target) {
  const std::string chip = target.starts_with("sm_") ? target.substr(3) : target;
  const bool plain = std::ranges::all_of(
      chip, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return plain ? chip : toml_string(chip);
}

std::string launch_lines(const EntrySurvey& entry) {
  std::vector<Line> lines;
  lines.push_back(
      {"grid = [1]", "TODO: blocks in x, y, z, for example ['ceil_div(m, 128)', 1, 1]"});
  if (entry.threads[0] > 0) {
    lines.push_back(
        {fmt::format("block = [{}, {}, {}]", entry.threads[0],
                     std::max<std::int64_t>(1, entry.threads[1]),
                     std::max<std::int64_t>(1, entry.threads[2])),
         entry.exact_threads ? "as the PTX says" : "TODO: the PTX says at most so many"});
  } else {
    lines.push_back({"block = [128]", "TODO: the PTX does not say"});
  }
  if (entry.dynamic_shared) {
    lines.push_back({"shared = 49152", "TODO: bytes of dynamic shared memory"});
  }
  return aligned(lines);
}

}  // namespace

OperationGuess guess_operation(const EntrySurvey& entry) {
  const std::string name = lower(entry.name);
  const Operation* best = nullptr;
  std::string_view words;
  for (const Operation* operation : all_operations()) {
    for (const std::string_view usual : operation->usual().names) {
      if (letters(name, usual) <= letters(name, words)) continue;
      best = operation;
      words = usual;
    }
  }
  if (best != nullptr) {
    return {best, fmt::format("its name has \"{}\"", fmt::join(split(words, ' '), "\" and \"")),
            ""};
  }
  if (!entry.units.empty()) return {find_operation("gemm"), "it uses " + all_units(entry), ""};
  return {};
}

std::string draft_manifest(const EntrySurvey& entry, const OperationGuess& guess,
                           const DraftSource& source) {
  const Operation& operation = *guess.operation;
  const bool is_source = !source.file.ends_with(".ptx");
  std::string text = fmt::format(
      "# A draft from {} (PTX {} for {}). Look at every line with TODO, then\n"
      "#   plumbline verify --kernel <this file> --profile quick\n"
      "# docs/manifest.md explains the keys, docs/{}.md the fields and tensors of {}.\n",
      source.file, source.version, source.target,
      is_text(operation) ? "operation_texts" : "operations", operation.name());
  std::vector<Line> head = {
      {fmt::format("computes = \"{}\"",
                   guess.text.empty() ? std::string(operation.name()) : guess.text),
       is_text(operation) ? "" : "TODO: guessed, since " + guess.reason},
      {fmt::format("summary = \"{} from {}\"", operation.name(), source.file), ""},
      {fmt::format("{} = \"{}\"", is_source ? "source" : "ptx", source.file), ""},
      {fmt::format("targets = [{}]", target_text(source.target)), ""},
      {fmt::format("entry = \"{}\"", entry.name), ""},
  };
  if (is_source) {
    head.insert(head.begin() + 3,
                {"# flags = [\"-std=c++20\", \"-O3\"]",
                 fmt::format("TODO: those of your build; without them {}", kCompilerFlags)});
  }
  text += aligned(head);
  const Named parameters = name_parameters(entry, operation, source);
  text += fmt::format("parameters = [\n{}]\n", parameter_lines(entry, operation, parameters));
  text += struct_tables(entry, source.parameters);
  text += fmt::format("\n[problem]\n{}", problem_lines(operation, entry, parameters));
  text += "# TODO: free = [...] names the fields that the kernel takes at any value.\n";
  text += fmt::format("\n[launch]\n{}", launch_lines(entry));
  if (const std::string formats = format_lines(operation, entry, parameters); !formats.empty())
    text += fmt::format("\n[formats]\n{}", formats);
  text +=
      "\n# TODO: what the kernel does not accept, a table for each rule:\n"
      "# [[domain]]\n"
      "# require = 'k % 8 == 0'\n"
      "# reason  = \"rows are read 16 bytes at a time\"\n";
  text += fmt::format("\n[contract]{}\n{}",
                      is_text(operation) && !operation.terms().empty()
                          ? "  # what is left out has its default (docs/operation_texts.md)"
                          : "",
                      contract_lines(operation, entry));
  if (!entry.refused.empty())
    text += fmt::format("\n# The emulator does not run this entry: {}\n", entry.refused);
  if (!entry.missing.empty()) {
    text += fmt::format("\n# The emulator lacks {} of its instructions: plumbline list ptx {}\n",
                        entry.missing.size(), source.file);
  }
  return text;
}

}  // namespace plumbline
