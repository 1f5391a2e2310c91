// SPDX-License-Identifier: MIT
#include "oracles/text/lexer.h"
#include "oracles/text/words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace plumbline::text {
namespace {

constexpr std::array<std::string_view, 7> kPairs = {"->", "<=", ">=", "==", "!=", "//", ".."};
constexpr std::string_view kSingles = "+-*/%^()[],:=<>?";
// Behind these a step goes on in the next line.
constexpr std::array<std::string_view, 17> kOpen = {
    "->", "=", "+", "-", "*", "/", "//", "%", ",", "<", "<=", ">", ">=", "==", "!=", "^", ".."};
constexpr std::array<std::string_view, 3> kOpenWords = {"and", "or", "not"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view path) : text_(text), path_(path) {}

  Result<Tokens> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        end_line();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        comment();
      } else if (is_letter(c)) {
        name();
      } else if (is_digit(c)) {
        number();
      } else if (!symbol()) {
        const bool printable = c > ' ' && c < '\x7f';
        return error_at(path_, place(),
                        printable ? fmt::format("'{}' has no meaning here", c)
                                  : fmt::format("byte 0x{:02x} has no meaning here",
                                                static_cast<unsigned char>(c)),
                        "a text is names, numbers and + - * / // % ^ ( ) [ ] , : = < > ? ->");
      }
    }
    add(Token::Kind::line_end, 0);
    add(Token::Kind::end, 0);
    return std::move(out_);
  }

 private:
  Place place() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

  void add(Token::Kind kind, std::size_t length) {
    out_.tokens.push_back({kind, std::string(text_.substr(at_, length)), place(), at_});
    at_ += length;
  }

  void end_line() {
    const Token* last = out_.tokens.empty() ? nullptr : &out_.tokens.back();
    const bool goes_on = depth_ > 0 || !last || last->kind == Token::Kind::line_end ||
                         (last->kind == Token::Kind::symbol && contains(kOpen, last->text)) ||
                         (last->kind == Token::Kind::name && contains(kOpenWords, last->text));
    if (!goes_on) {
      add(Token::Kind::line_end, 1);
    } else {
      ++at_;
    }
    ++line_;
    line_start_ = at_;
  }

  void comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const bool alone = text_.substr(line_start_, at_ - line_start_).find_first_not_of(" \t") ==
                       std::string_view::npos;
    std::string_view words = text_.substr(at_ + 1, end - at_ - 1);
    while (!words.empty() && words.front() == ' ') words.remove_prefix(1);
    while (!words.empty() && (words.back() == '\r' || words.back() == ' ')) words.remove_suffix(1);
    if (alone) out_.comments.emplace_back(line_, std::string(words));
    at_ = end;
  }

  void name() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    if (end < text_.size() && text_[end] == '\'') ++end;  // the value at exit
    add(Token::Kind::name, end - at_);
  }

  // "0..4" is 0, .., 4.
  void number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    digits();
    if (end + 1 < text_.size() && text_[end] == '.' && text_[end + 1] != '.') {
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '-' || text_[exponent] == '+')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        end = exponent;
        digits();
      }
    }
    add(Token::Kind::number, end - at_);
  }

  bool symbol() {
    const std::string_view two = text_.substr(at_, 2);
    if (two.size() == 2 && contains(kPairs, two)) {
      add(Token::Kind::symbol, 2);
      return true;
    }
    const char c = text_[at_];
    if (kSingles.find(c) == std::string_view::npos) return false;
    if (c == '(' || c == '[') ++depth_;
    if (c == ')' || c == ']') --depth_;
    add(Token::Kind::symbol, 1);
    return true;
  }

  std::string_view text_, path_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1, depth_ = 0;
  Tokens out_;
};

}  // namespace

std::string position(std::string_view path, Place place) {
  return fmt::format("{}:{}:{}", path, place.line, place.column);
}

Error error_at(std::string_view path, Place place, std::string message, std::string hint) {
  return {ErrorKind::bad_input, std::move(message), position(path, place), std::move(hint)};
}

Result<Tokens> read_tokens(std::string_view text, std::string_view path) {
  return Lexer(text, path).read();
}

}  // namespace plumbline::text
