// SPDX-License-Identifier: MIT
#include "harness/cli/text/verb_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/cli/text/wrap.h"

namespace plumbline {
namespace {

// Texts begin here, behind the names.
constexpr std::size_t kColumn = 26, kNarrowColumn = 20;

class Page {
 public:
  explicit Page(int width) : width_(width) {}

  void heading(const std::string& text) { text_ += (text_.empty() ? "" : "\n") + text + "\n"; }

  void line(const std::string& text, std::size_t column = 0) {
    text_ += wrap(text, width_, column) + "\n";
  }

  // A name and what it is; a long name has a line of its own.
  void entry(const std::string& name, const std::string& help) {
    const std::size_t column = width_ >= 72 ? kColumn : kNarrowColumn;
    if (name.size() + 4 > column) {
      text_ += "  " + name + "\n";
      line(std::string(column, ' ') + help, column);
    } else {
      line(fmt::format("  {:<{}}{}", name, column - 2, help), column);
    }
  }

  std::string text() { return std::move(text_); }

 private:
  int width_;
  std::string text_;
};

void add_exit_codes(Page& page) {
  page.heading("Exit codes");
  page.line(
      "  0 every promise held, 1 a promise was broken, 2 wrong input, 3 could not run, 4 nothing "
      "selected, 5 passed but mistrusted, 70 a bug in plumbline, 130 interrupted",
      2);
}

std::string names_of(const FlagHelp& flag) {
  std::string text = fmt::format("{}", fmt::join(flag.names, ", "));
  if (!flag.value.empty()) text += " " + flag.value;
  return flag.repeats ? text + " ..." : text;
}

}  // namespace

std::string program_help(const std::vector<VerbHelp>& verbs, int width) {
  Page page(width);
  page.line("plumbline: numerical verification of low-precision GPU kernels");
  page.heading("Usage: plumbline VERB [OPTIONS] [OPERANDS]");
  page.heading("Verbs");
  for (const VerbHelp& verb : verbs) page.entry(verb.name, verb.help);
  page.entry("help VERB", "a verb's options, with examples; as plumbline VERB --help");
  page.heading("Options");
  page.entry("-h, --help", "this text");
  page.entry("--version", "this build: version, commit, compiler, CUDA toolkit, libraries");
  add_exit_codes(page);
  return page.text();
}

std::string verb_help(const VerbHelp& verb, int width) {
  Page page(width);
  page.line(fmt::format("plumbline {}: {}", verb.name, verb.help));
  page.heading(fmt::format("Usage: plumbline {} [OPTIONS]{}", verb.name,
                           verb.operands.empty() ? "" : " [" + verb.operands + " ...]"));
  if (!verb.operands.empty()) page.entry(verb.operands + " ...", verb.operands_help);
  std::vector<std::string> groups;
  for (const FlagHelp& flag : verb.flags) {
    if (std::ranges::count(groups, flag.group) == 0) groups.push_back(flag.group);
  }
  for (const std::string& group : groups) {
    page.heading(group);
    for (const FlagHelp& flag : verb.flags) {
      if (flag.group == group) page.entry(names_of(flag), flag.help);
    }
  }
  if (!verb.examples.empty()) page.heading("Examples");
  for (const ExampleHelp& example : verb.examples) {
    page.line("  " + example.command, 6);
    page.line("      " + example.help, 6);
  }
  add_exit_codes(page);
  return page.text();
}

}  // namespace plumbline
