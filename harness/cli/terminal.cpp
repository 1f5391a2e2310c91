// SPDX-License-Identifier: MIT
#include "harness/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/cli/console_text.h"

namespace plumbline {
namespace {

// What cannot be printed (a full disk, a closed pipe) stops no run: fmt::print would throw, among
// running workers. The exit code and the record say how it ended.
void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Terminal::Terminal(const Arguments& arguments) {
  const char* term = std::getenv("TERM");
  for_people_ = arguments.format == OutputFormat::human;
  json_ = arguments.format == OutputFormat::json;
  interactive_ =
      isatty(STDOUT_FILENO) != 0 && for_people_ && !(term && std::strcmp(term, "dumb") == 0);
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col >= 20) {
    width_ = size.ws_col;
  } else if (!interactive_) {
    width_ = 120;  // logs wrap by themselves
  }
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

void Terminal::print_wrapped(std::string_view line) { print_lines(wrap(one_line(line), width_)); }

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
  print_lines(wrap(one_line(line), width_, column));
}

void Terminal::status(std::string_view line) {
  if (!for_people_) return;
  const auto now = std::chrono::steady_clock::now();
  if (interactive_) {
    if (has_status_ && now - last_status_ < std::chrono::milliseconds(50)) return;
    put("\r\x1b[K" + console_line(line.substr(0, static_cast<std::size_t>(width_ - 1))));
    has_status_ = true;
  } else {
    if (last_status_ == std::chrono::steady_clock::time_point{}) last_status_ = now;
    if (now - last_status_ < std::chrono::minutes(1)) return;
    put(console_line(line) + "\n");
  }
  last_status_ = now;
}

void Terminal::clear_status() {
  if (!has_status_) return;
  put("\r\x1b[K");
  has_status_ = false;
}

std::string wrap(std::string_view line, int width, std::size_t column) {
  const std::size_t limit = static_cast<std::size_t>(width);
  if (line.size() <= limit) return std::string(line);
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  if (column == 0 || column > limit / 2) column = first + 2;
  const std::string indent(column < limit / 2 ? column : 2, ' ');
  std::string out(line.substr(0, first));
  std::size_t at = first;
  bool fresh = true;
  line.remove_prefix(first);
  while (!line.empty()) {
    const std::size_t gap = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', gap), line.size());
    const std::string_view word = line.substr(gap, end - gap);
    if (!fresh && at + gap + word.size() > limit) {
      out += "\n" + indent;
      at = indent.size();
    } else {
      out += std::string(gap, ' ');
      at += gap;
    }
    out += word;
    at += word.size();
    fresh = false;
    line.remove_prefix(end);
  }
  return out;
}

}  // namespace plumbline
