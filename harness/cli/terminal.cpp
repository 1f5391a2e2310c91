// SPDX-License-Identifier: MIT
#include "harness/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/cli/text/console_text.h"
#include "harness/cli/text/wrap.h"

namespace plumbline {
namespace {

// Of a long run where there is no terminal.
constexpr std::chrono::seconds kBetweenLines{30};

// What cannot be printed (a full disk, a closed pipe) stops no run: fmt::print would throw, among
// running workers. The exit code and the record say how it ended.
void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::optional<int> terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col < 20)
    return std::nullopt;
  return size.ws_col;
}

Terminal::Terminal(const Arguments& arguments) {
  const char* term = std::getenv("TERM");
  for_people_ = arguments.format == OutputFormat::human;
  json_ = arguments.format == OutputFormat::json;
  interactive_ =
      isatty(STDOUT_FILENO) != 0 && for_people_ && !(term && std::strcmp(term, "dumb") == 0);
  width_ = interactive_ ? 80 : 120;  // logs wrap by themselves
  const char* no_color = std::getenv("NO_COLOR");
  color_ = arguments.color == ColorChoice::always ||
           (arguments.color == ColorChoice::automatic && interactive_ && !(no_color && *no_color));
}

std::string Terminal::paint(std::string_view code, std::string_view text) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Terminal::print(std::string_view line) {
  clear_status();
  put(console_line(line) + "\n");
}

void Terminal::print_wrapped(std::string_view line) { print_lines(wrap(one_line(line), width())); }

void Terminal::print_lines(std::string_view lines) {
  clear_status();
  put(console_text(lines) + "\n");
}

void Terminal::print_command(std::string_view command) {
  clear_status();
  put(fmt::format("{}\n", command));
}

void Terminal::note(std::string_view line) {
  if (!json_) return print_wrapped(line);
  const std::string whole = console_line(line) + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

void Terminal::print_entry(std::string_view name, std::string_view text, std::size_t column) {
  const std::string line =
      fmt::format("  {:<{}}{}", name, std::max(name.size() + 1, column - 2), text);
  print_lines(wrap(one_line(line), width(), column));
}

void Terminal::status(std::string_view line) {
  if (!for_people_) return;
  const auto now = std::chrono::steady_clock::now();
  if (interactive_) {
    if (has_status_ && now - last_status_ < std::chrono::milliseconds(50)) return;
    put("\r\x1b[K" + console_line(shortened(line, width() - 1)));
    has_status_ = true;
  } else {
    if (last_status_ == std::chrono::steady_clock::time_point{}) last_status_ = now;
    if (now - last_status_ < kBetweenLines) return;
    put(console_line(line) + "\n");
  }
  last_status_ = now;
}

void Terminal::clear_status() {
  if (!has_status_) return;
  put("\r\x1b[K");
  has_status_ = false;
}

}  // namespace plumbline
