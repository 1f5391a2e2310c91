// SPDX-License-Identifier: MIT
// What people see: width, color, one live status line. When standard output is not a terminal there
// is no status line and no escape code; long runs print a plain line every half minute instead.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/cli/arguments.h"

namespace plumbline {

// Columns of the terminal that standard output is; nullopt where it is none.
std::optional<int> terminal_width();

class Terminal {
 public:
  explicit Terminal(const Arguments& arguments);

  // Now: people resize windows. 120 where there is no terminal.
  int width() const { return terminal_width().value_or(width_); }

  void print(std::string_view line);         // a line that stays, above the status line
  void print_lines(std::string_view lines);  // several, as they are
  // A workflow command of GitHub, the one kind of line that is not text for people.
  void print_command(std::string_view command);
  // Broken at spaces to the width, continuation lines indented alike.
  void print_wrapped(std::string_view line);
  // Beside the results: wrapped, and on standard error where standard output holds JSON alone.
  void note(std::string_view line);
  // "  name      text", the text in a column of its own, from `column` on.
  void print_entry(std::string_view name, std::string_view text, std::size_t column);
  void status(std::string_view line);  // replaces the live line; none where programs read
  void clear_status();

  std::string red(std::string_view text) const { return paint("31", text); }

  std::string green(std::string_view text) const { return paint("32", text); }

  std::string yellow(std::string_view text) const { return paint("33", text); }

  std::string dim(std::string_view text) const { return paint("2", text); }

  std::string bold(std::string_view text) const { return paint("1", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const;

  bool for_people_ = true;
  bool json_ = false;
  bool interactive_ = false;
  bool color_ = false;
  int width_ = 80;  // where the terminal does not say
  bool has_status_ = false;
  std::chrono::steady_clock::time_point last_status_{};
};

}  // namespace plumbline
