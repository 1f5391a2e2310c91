// SPDX-License-Identifier: MIT
#include "harness/cli/text/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plumbline {
namespace {

// What `plumbline list` prints of a kernel begins with its name, two columns in.
constexpr std::string_view kKernelNames =
    "list 2>/dev/null | sed -n 's/^  \\([^ ][^ ]*\\) .*/\\1/p'";

// In single quotes, for bash and zsh.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::vector<std::string> names_of(const std::vector<VerbHelp>& verbs) {
  std::vector<std::string> names;
  for (const VerbHelp& verb : verbs) names.push_back(verb.name);
  return names;
}

// What stands for an operand or the value of a flag.
enum class Kind : std::uint8_t { words, kernels, files, folders, nothing };

struct Source {
  Kind kind = Kind::nothing;
  std::vector<std::string> words = {};
};

Source source_of(std::string_view value, const std::vector<std::string>& choices) {
  if (!choices.empty()) return {Kind::words, choices};
  if (value == "KERNEL") return {Kind::kernels};
  if (value == "DIR") return {Kind::folders};
  if (value == "CHIP")  // those that have models of their tensor cores
    return {Kind::words, {"75", "80", "86", "89", "90", "100", "103", "120"}};
  for (const std::string_view file : {"FILE", "CASE", "DUMP", "RUN"}) {
    if (value == file) return {Kind::files};
  }
  return {};
}

std::vector<std::string> operand_choices(const VerbHelp& verb) {
  if (verb.operands == "WHAT")
    return {"kernels", "operations", "formats", "models", "devices", "classes", "ptx", "text"};
  if (verb.operands == "SHELL") return {kShells.begin(), kShells.end()};
  return {};
}

// Lines of a `case` in bash and zsh: "verify --on) choices='auto emulator' ;;".
std::string shell_cases(const std::vector<VerbHelp>& verbs) {
  std::string text;
  const auto add = [&](const std::string& pattern, const Source& source) {
    const std::string_view kind = source.kind == Kind::kernels   ? "kernels"
                                  : source.kind == Kind::files   ? "files"
                                  : source.kind == Kind::folders ? "folders"
                                                                 : "words";
    text += fmt::format("    {}) kind={} choices={} ;;\n", pattern, kind,
                        shell_quoted(fmt::format("{}", fmt::join(source.words, " "))));
  };
  for (const VerbHelp& verb : verbs) {
    for (const FlagHelp& flag : verb.flags) {
      if (flag.value.empty()) continue;
      for (const std::string& name : flag.names)
        add(fmt::format("'{} {}'", verb.name, name), source_of(flag.value, flag.choices));
    }
  }
  for (const VerbHelp& verb : verbs) {
    add(fmt::format("'{} '*", verb.name), source_of(verb.operands, operand_choices(verb)));
  }
  return text;
}

std::string shell_flags(const std::vector<VerbHelp>& verbs) {
  std::string text;
  for (const VerbHelp& verb : verbs) {
    std::vector<std::string> names;
    for (const FlagHelp& flag : verb.flags)
      names.insert(names.end(), flag.names.begin(), flag.names.end());
    text += fmt::format("    {}) flags='{}' ;;\n", verb.name, fmt::join(names, " "));
  }
  return text;
}

// Both set kind and choices for the word at hand; $program, $verb, $before and $word are given.
std::string choose(const std::vector<VerbHelp>& verbs) {
  return fmt::format(R"sh(  case $verb in
{}  esac
  case "$verb $before" in
{}    *) kind=words choices='' ;;
  esac
  if [ "$kind" = kernels ]; then
    choices=$("$program" {}) kind=words
  fi
  case $word in -*) kind=words choices=$flags ;; esac
)sh",
                     shell_flags(verbs), shell_cases(verbs), kKernelNames);
}

std::string bash_script(const std::vector<VerbHelp>& verbs) {
  return fmt::format(R"sh(# plumbline for bash: eval "$(plumbline completion bash)"
_plumbline() {{
  local program=${{COMP_WORDS[0]}} verb=${{COMP_WORDS[1]}} word=${{COMP_WORDS[COMP_CWORD]}}
  local before=${{COMP_WORDS[COMP_CWORD-1]}} flags='' kind='' choices=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] || {{ [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = help ]; }}; then
    COMPREPLY=($(compgen -W '{} help --help --version' -- "$word"))
    return
  fi
{}  case $kind in
    files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")) ;;
    folders) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$choices" -- "$word")) ;;
  esac
}}
complete -F _plumbline plumbline
)sh",
                     fmt::join(names_of(verbs), " "), choose(verbs));
}

std::string zsh_script(const std::vector<VerbHelp>& verbs) {
  return fmt::format(R"sh(#compdef plumbline
# plumbline for zsh: eval "$(plumbline completion zsh)"
_plumbline() {{
  local program=${{words[1]}} verb=${{words[2]}} word=${{words[CURRENT]}} before=${{words[CURRENT-1]}}
  local flags='' kind='' choices='' position=$CURRENT
  if (( position == 2 )) || {{ (( position == 3 )) && [ "$verb" = help ]; }}; then
    compadd -- {} help --help --version
    return
  fi
{}  case $kind in
    files) _files ;;
    folders) _files -/ ;;
    *) compadd -- ${{=choices}} ;;
  esac
}}
compdef _plumbline plumbline
)sh",
                     fmt::join(names_of(verbs), " "), choose(verbs));
}

std::string fish_script(const std::vector<VerbHelp>& verbs) {
  std::string text =
      "# plumbline for fish: plumbline completion fish | source\n"
      "complete -c plumbline -f\n";
  const auto values = [](const Source& source) -> std::string {
    switch (source.kind) {
      case Kind::words:
        return fmt::format(" -a '{}'", fmt::join(source.words, " "));
      case Kind::kernels:
        return fmt::format(" -a \"(plumbline {})\"", kKernelNames);
      case Kind::files:
      case Kind::folders:
        return " -F";
      case Kind::nothing:
        break;
    }
    return "";
  };
  const auto described = [](std::string help) {
    std::string out;
    for (const char c : help)
      out += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    return fmt::format(" -d '{}'", out);
  };
  for (const VerbHelp& verb : verbs) {
    text += fmt::format("complete -c plumbline -n __fish_use_subcommand -a {}{}\n", verb.name,
                        described(verb.help));
  }
  for (const VerbHelp& verb : verbs) {
    const std::string prefix =
        fmt::format("complete -c plumbline -n '__fish_seen_subcommand_from {}'", verb.name);
    if (const std::string some = values(source_of(verb.operands, operand_choices(verb)));
        !some.empty())
      text += prefix + some + "\n";
    for (const FlagHelp& flag : verb.flags) {
      std::string line = prefix;
      for (const std::string& name : flag.names) {
        line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                       : fmt::format(" -s {}", name.substr(1));
      }
      if (!flag.value.empty()) line += " -r" + values(source_of(flag.value, flag.choices));
      text += line + described(flag.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<VerbHelp>& verbs) {
  if (shell == "zsh") return zsh_script(verbs);
  if (shell == "fish") return fish_script(verbs);
  return bash_script(verbs);
}

}  // namespace plumbline
