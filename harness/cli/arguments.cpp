// SPDX-License-Identifier: MIT
#include "harness/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "harness/cli/terminal.h"
#include "harness/cli/verb_table.h"
#include "harness/run/describe.h"
#include "oracles/base/shell_word.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"
#include "oracles/models/generation.h"

namespace plumbline {
namespace {

constexpr int kHelpWidth = 100;  // where there is no terminal

Error wrong(std::string message, std::string hint = "") {
  return Error{ErrorKind::bad_input, std::move(message), "", std::move(hint)};
}

// "90", "90s", "10m", "2h".
std::optional<double> parse_duration(const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (code != std::errc{} || !(value > 0) || !std::isfinite(value)) return std::nullopt;
  if (unit.empty() || unit == "s") return value;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3600;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_seed(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  return parse_number<std::uint64_t>(text, base);
}

// "90", or "sm_90".
std::optional<int> parse_chip(std::string_view text) {
  if (text.starts_with("sm_")) text.remove_prefix(3);
  const std::optional<int> sm = parse_number<int>(text);
  return sm && *sm > 0 ? sm : std::nullopt;
}

Status apply(const RawFlags& raw, Arguments& arguments) {
  const auto choose = [](std::string_view flag, const std::string& given) -> Status {
    const auto words = flag_choices(flag);
    if (std::ranges::find(words, given) != words.end()) return {};
    return wrong(fmt::format("{} {}: not one of {}", flag, given, fmt::join(words, ", ")),
                 did_you_mean(given, {words.begin(), words.end()}));
  };
  for (const Status& status : {choose("--on", raw.on), choose("--profile", raw.profile),
                               choose("--format", raw.format), choose("--color", raw.color)}) {
    if (!status) return status;
  }
  arguments.on = *on_by_name(raw.on);
  if (!raw.sm.empty()) {
    arguments.sm = parse_chip(raw.sm);
    if (!arguments.sm)
      return wrong(fmt::format("--sm {} is no chip", raw.sm), "a number such as 90");
    if (const std::string_view why = refused_chip(*arguments.sm); !why.empty())
      return wrong(std::string(why), "take another chip");
  }
  arguments.profile_name = raw.profile;
  arguments.profile = raw.profile == "quick"  ? Profile::quick
                      : raw.profile == "deep" ? Profile::deep
                                              : Profile::standard;
  arguments.format = raw.format == "line"   ? OutputFormat::line
                     : raw.format == "json" ? OutputFormat::json
                                            : OutputFormat::human;
  arguments.color = raw.color == "always"  ? ColorChoice::always
                    : raw.color == "never" ? ColorChoice::never
                                           : ColorChoice::automatic;
  if (!raw.seed.empty()) {
    arguments.seed = parse_seed(raw.seed);
    if (!arguments.seed)
      return wrong(fmt::format("--seed {} is not a whole number", raw.seed), "decimal or 0x...");
  }
  if (!raw.duration.empty()) {
    const auto seconds = parse_duration(raw.duration);
    if (!seconds)
      return wrong(fmt::format("--for {} is not a duration", raw.duration),
                   "for example 90s, 10m or 2h");
    arguments.seconds = *seconds;
  }
  if (!raw.shard.empty()) {
    const Result<Shard> shard = parse_shard(raw.shard);
    if (!shard) return shard.error();
    arguments.shard = *shard;
  }
  if (raw.oracle != "auto") {
    std::string_view text = raw.oracle;
    arguments.mpfr_bits = 256;
    bool good = text.starts_with("mpfr");
    if (good && text.size() > 4) {
      const auto [end, code] =
          std::from_chars(text.data() + 5, text.data() + text.size(), arguments.mpfr_bits);
      good = text[4] == ':' && code == std::errc{} && end == text.data() + text.size();
    }
    if (!good || arguments.mpfr_bits < 64 || arguments.mpfr_bits > 65536) {
      return wrong(
          fmt::format("--oracle {}: not auto or mpfr[:BITS] with 64 to 65536 bits", raw.oracle));
    }
  }
  return {};
}

// The whole command line description, in the order of the verb table.
struct CommandLine {
  CLI::App app{"", "plumbline"};
  Arguments arguments;
  RawFlags raw;
  std::vector<CLI::App*> verbs;

  CommandLine() {
    app.require_subcommand(0, 1);
    app.set_version_flag("--version", "");
    for (const Verb& verb : verb_table()) {
      CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.help));
      if (!verb.operands.empty()) {
        sub->add_option("names", arguments.names, std::string(verb.operands_help))
            ->type_name(std::string(verb.operands));
      }
      verb.add_flags({*sub, arguments, raw});
      sub->option_defaults()->group(kOutput);
      sub->add_option("--format", raw.format,
                      verb.json ? "human, line (one finding a line) or json (events as they happen)"
                      : verb.lines ? "human or line (one finding a line)"
                                   : "human")
          ->type_name("FORMAT");
      sub->add_option("--color", raw.color, "auto, always, never (NO_COLOR is honored)")
          ->type_name("WHEN");
      sub->add_flag("-q,--quiet", arguments.quiet, "only failures and the closing line");
      sub->add_flag("-v,--verbose", arguments.verbose,
                    "a line per case, and all figures of each kernel");
      sub->set_help_flag("-h,--help", "this text");
      verbs.push_back(sub);
    }
  }
};

FlagHelp described(const CLI::Option& option, const Verb& verb) {
  FlagHelp flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  const std::string type = option.get_type_name();  // "N:INT in [1 - 4096]"
  if (option.get_items_expected_max() > 0) flag.value = type.substr(0, type.find(':'));
  flag.repeats = option.get_items_expected_max() > 1;
  flag.group = option.get_group();
  flag.help = option.get_description();
  for (const std::string_view choice : flag_choices(flag.names.back())) {
    const bool refused = (choice == "json" && !verb.json) || (choice == "line" && !verb.lines);
    if (!refused) flag.choices.emplace_back(choice);
  }
  return flag;
}

VerbHelp described(CLI::App& app, const Verb& verb) {
  VerbHelp help{std::string(verb.name),
                std::string(verb.help),
                std::string(verb.operands),
                std::string(verb.operands_help),
                {},
                {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) help.flags.push_back(described(*option, verb));
  }
  // By the order of the groups, which are beside each other in no verb's list.
  std::ranges::stable_sort(help.flags, {}, [](const FlagHelp& flag) {
    constexpr std::array<std::string_view, 4> kOrder = {kChoosing, kPlace, kJudging, kFailing};
    return std::ranges::find(kOrder, flag.group) - kOrder.begin();
  });
  for (const Example& example : verb.examples)
    help.examples.push_back({std::string(example.command), std::string(example.help)});
  return help;
}

std::vector<VerbHelp> described(CommandLine& line) {
  std::vector<VerbHelp> all;
  for (std::size_t i = 0; i < line.verbs.size(); ++i)
    all.push_back(described(*line.verbs[i], verb_table()[i]));
  return all;
}

// Of the named verb, or of the program.
std::string help_text(CommandLine& line, std::string_view verb) {
  const int width = terminal_width().value_or(kHelpWidth);
  const std::vector<VerbHelp> all = described(line);
  const auto named = std::ranges::find(all, verb, &VerbHelp::name);
  return named == all.end() ? program_help(all, width) : verb_help(*named, width);
}

}  // namespace

Result<Arguments> parse_arguments(int argc, const char* const* argv) {
  CommandLine line;
  const bool asks_for_help = argc > 1 && std::string_view(argv[1]) == "help";
  if (asks_for_help) {
    --argc;
    ++argv;
  }
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string_view> known;
    for (const Verb& verb : verb_table()) known.push_back(verb.name);
    if (std::find(known.begin(), known.end(), std::string_view(argv[1])) == known.end()) {
      const std::string hint = did_you_mean(argv[1], known);
      return wrong(
          fmt::format("no verb \"{}\"", argv[1]),
          (hint.empty() ? "" : hint + " ") + std::string("plumbline --help lists them all"));
    }
  }
  Arguments& arguments = line.arguments;
  if (asks_for_help) {
    arguments.help = help_text(line, argc > 1 ? argv[1] : "");
    return arguments;
  }
  const std::string named_verb = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  const bool is_verb = std::ranges::any_of(
      line.verbs, [&](const CLI::App* verb) { return verb->get_name() == named_verb; });
  const std::string help =
      is_verb ? fmt::format("plumbline {} --help", named_verb) : "plumbline --help";
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.verb.clear();
    const auto verb = std::ranges::find_if(line.verbs, [](CLI::App* v) { return v->parsed(); });
    arguments.help = help_text(line, verb == line.verbs.end() ? "" : (*verb)->get_name());
    return arguments;
  } catch (const CLI::CallForVersion&) {
    arguments.help = version_text();
    return arguments;
  } catch (const CLI::ExtrasError& error) {
    const std::string verb = named_verb.empty() ? "plumbline" : named_verb;
    std::vector<std::string> flags;  // without their dashes, which would count as alike
    if (named_verb.empty()) flags = {"help", "version"};
    for (CLI::App* sub : line.verbs) {
      if (sub->get_name() != verb) continue;
      for (const CLI::Option* option : sub->get_options()) {
        for (const std::string& name : option->get_lnames()) flags.push_back(name);
      }
    }
    std::string bad =
        line.app.remaining(true).empty() ? error.what() : line.app.remaining(true).front();
    std::string_view bare = bad;
    bare = bare.substr(0, bare.find('='));
    bare.remove_prefix(std::min(bare.find_first_not_of('-'), bare.size()));
    const std::vector<std::string_view> views(flags.begin(), flags.end());
    std::optional<std::string> meant = suggestion(bare, views);
    const auto begins = [&](std::string_view flag) { return flag.starts_with(bare); };
    if (!meant && !bare.empty() && std::ranges::count_if(views, begins) == 1)
      meant = *std::ranges::find_if(views, begins);
    return wrong(fmt::format("{} does not know {}", verb, bad),
                 meant ? fmt::format("did you mean \"--{}\"?", *meant) : help);
  } catch (const CLI::ParseError& error) {
    return wrong(error.what(), help);
  }
  for (CLI::App* verb : line.verbs) {
    if (!verb->parsed()) continue;
    arguments.verb = verb->get_name();
    for (const CLI::Option* option : verb->get_options()) {
      const bool is_flag = option->get_type_size() == 0;
      if (!is_flag && std::ranges::count(option->results(), std::string()) > 0)
        return wrong(fmt::format("{} is empty", option->get_name()), help);
    }
  }
  if (arguments.verb.empty()) {
    arguments.help = help_text(line, "");
    return arguments;
  }
  const Status applied = apply(line.raw, arguments);
  if (!applied) return applied.error();
  const auto verb = std::ranges::find(verb_table(), arguments.verb, &Verb::name);
  if (arguments.format == OutputFormat::json && !verb->json) {
    return wrong(fmt::format("{} has no --format json", arguments.verb),
                 "what a run found is in its record.json");
  }
  if (arguments.format == OutputFormat::line && !verb->lines) {
    return wrong(fmt::format("{} has no --format line", arguments.verb),
                 "verify and replay have a line for each finding");
  }
  arguments.command = "plumbline";
  for (int i = 1; i < argc; ++i) arguments.command += " " + shell_word(argv[i]);
  return arguments;
}

std::vector<VerbHelp> described_verbs() {
  CommandLine line;
  return described(line);
}

std::string full_help() {
  const std::vector<VerbHelp> all = described_verbs();
  std::string text = program_help(all, kHelpWidth);
  for (const VerbHelp& verb : all) text += "\n" + verb_help(verb, kHelpWidth);
  return text;
}

}  // namespace plumbline
