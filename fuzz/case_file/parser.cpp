// SPDX-License-Identifier: MIT
// Reads the text of a .case file (docs/case_format.md), line by line. Every complaint says where: a
// case file is often edited by hand, cut by a terminal, or from another machine.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "fuzz/case/literal.h"
#include "fuzz/case_file/corpus.h"
#include "fuzz/case_file/line.h"
#include "fuzz/case_file/notes.h"
#include "fuzz/case_file/tensor_reader.h"
#include "kernels/manifest/position.h"
#include "oracles/base/suggest.h"

namespace plumbline {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

class CaseParser {
 public:
  CaseParser(std::string_view text, std::string_view file, const Registry& registry)
      : text_(text), file_(file), registry_(registry) {}

  Result<CaseFile> run() {
    if (Status header = read_version(); !header) return header.error();
    while (next_line()) {
      if (Status line = read_line(); !line) return line.error();
    }
    if (Status complete = finish(); !complete) return complete.error();
    return std::move(result_);
  }

 private:
  Error fail(std::size_t column, std::string message, std::string hint = {}) const {
    return {ErrorKind::bad_input, std::move(message), position(column), std::move(hint)};
  }

  std::string position(std::size_t column) const {
    return fmt::format("{}:{}:{}", file_, line_number_, column + 1);
  }

  bool next_line() {
    if (next_ > text_.size() || (next_ == text_.size() && next_ > 0)) return false;
    const std::size_t end = std::min(text_.find('\n', next_), text_.size());
    line_ = text_.substr(next_, end - next_);
    next_ = end + 1;
    ++line_number_;
    return true;
  }

  Status read_version() {
    constexpr std::string_view kPrefix = "# plumbline case ";
    if (!next_line() || !line_.starts_with(kPrefix)) {
      line_number_ = 1;
      return fail(0, "this is not a case file",
                  fmt::format("the first line must start with \"{}1\"", kPrefix));
    }
    int version = 0;
    const std::string_view rest = line_.substr(kPrefix.size());
    const auto [end, error] = std::from_chars(rest.begin(), rest.end(), version);
    if (error != std::errc() || version != 1 ||
        (end != rest.end() && *end != ' ' && *end != ':' && *end != '\r')) {
      return fail(
          kPrefix.size(),
          fmt::format("case format version \"{}\" is unknown", rest.substr(0, rest.find(' '))),
          "this program reads version 1");
    }
    return {};
  }

  Status read_line() {
    const std::string_view content = trimmed(line_);
    if (content.empty()) return {};
    if (content.front() == '#') {
      if (!has_case_) read_comment(trimmed(content.substr(1)));
      return {};
    }
    const std::size_t column = line_.find_first_not_of(kSpaces);
    if (column > 0) {
      if (!tensor_)
        return fail(column, "an indented line continues a tensor, and there is none",
                    "start it in column 1");
      return tensor_->read(line_, column, position(0));
    }
    if (Status closed = close_tensor(); !closed) return closed;
    const std::size_t end = std::min(line_.find_first_of(kSpaces), line_.size());
    const std::string_view word = line_.substr(0, end);
    if (ended_)
      return fail(0, "there is text after \"end\"", "remove it, or move \"end\" to the last line");
    if (word == "case") return read_case_line(end);
    if (!has_case_)
      return fail(0, fmt::format("\"{}\" comes before the case line", word),
                  "start with case <kernel> ...");
    if (word == "value") return read_value_line(end);
    if (word == "end") {
      ended_ = true;
      return trimmed(line_.substr(end)).empty()
                 ? Status()
                 : fail(end, "there is text after \"end\"", "remove it");
    }
    if (is_case_note(word)) {
      result_.notes.emplace_back(word, trimmed(line_.substr(end)));
      return {};
    }
    if (word != "tensor") return read_tensor_line(0, end);
    const std::size_t name = line_.find_first_not_of(kSpaces, end);
    if (name == std::string_view::npos) return fail(end, "the tensor has no name", "write it here");
    return read_tensor_line(name, std::min(line_.find_first_of(kSpaces, name), line_.size()));
  }

  void read_comment(std::string_view comment) {
    result_.comments.emplace_back(comment);
    if (!comment.starts_with(kShrunkFrom)) return;
    // A comment need not be right.
    if (Result<Case> from = parse_case_line(comment.substr(kShrunkFrom.size()), registry_))
      shrunk_from_ = std::make_shared<const Case>(*std::move(from));
  }

  Status read_case_line(std::size_t start) {
    if (has_case_) return fail(0, "there is a second case line", "one file holds one case");
    Result<Case> parsed = parse_kernel_and_problem(line_.substr(start), registry_, position(start));
    if (!parsed) return parsed.error();
    result_.test_case = std::move(*parsed);
    const Case& test_case = result_.test_case;
    Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(test_case.problem);
    if (!specs) return specs.error();
    specs_ = std::move(*specs);
    has_case_ = true;
    return {};
  }

  Status read_value_line(std::size_t start) {
    if (has_value_) return fail(0, "there is a second value line", "keep one of them");
    Recipe recipe;
    bool has_class = false, has_seed = false;
    std::size_t at = line_.find_first_not_of(kSpaces, start);
    while (at != std::string_view::npos && line_[at] != '#') {
      const std::size_t end = std::min(line_.find_first_of(kSpaces, at), line_.size());
      const std::string_view token = line_.substr(at, end - at);
      const std::string_view value = token.substr(std::min(token.find('=') + 1, token.size()));
      const std::string where = position(at + (token.size() - value.size()));
      if (token.starts_with("class=") && !has_class) {
        if (Status known = check_value_class(*result_.test_case.kernel->operation, value, where);
            !known)
          return known;
        recipe.value_class = value;
        has_class = true;
      } else if (token.starts_with("seed=") && !has_seed) {
        Result<std::uint64_t> seed = parse_seed(value, where);
        if (!seed) return seed.error();
        recipe.seed = *seed;
        has_seed = true;
      } else {
        return fail(at, fmt::format("\"{}\" does not belong on a value line", token),
                    "write value class=<class> seed=<seed>");
      }
      at = line_.find_first_not_of(kSpaces, end);
    }
    if (!has_class || !has_seed) {
      return fail(line_.size(),
                  fmt::format("the value line has no {}", has_class ? "seed" : "class"),
                  "write value class=<class> seed=<seed>");
    }
    result_.test_case.recipe = recipe;
    has_value_ = true;
    return {};
  }

  // Its name is in columns `column` to `start`.
  Status read_tensor_line(std::size_t column, std::size_t start) {
    const std::string_view name = line_.substr(column, start - column);
    const auto spec = std::find_if(specs_.begin(), specs_.end(), [&](const TensorSpec& candidate) {
      return candidate.name == name;
    });
    if (spec == specs_.end()) return unknown_word(name, column);
    if (spec->role != TensorRole::input) {
      return fail(column, fmt::format("tensor {} is not an input", name),
                  "write outputs on expect and got lines");
    }
    if (find_literal(result_.test_case.literals, name))
      return fail(column, fmt::format("tensor {} is given twice", name), "keep one of them");

    const std::size_t at = line_.find_first_not_of(kSpaces, start);
    if (at == std::string_view::npos)
      return fail(line_.size(), fmt::format("tensor {} has no format and shape", name),
                  "write " + literal_layout(*spec).text());
    const std::size_t end = std::min(line_.find_first_of(kSpaces, at), line_.size());
    Result<CaseTensorReader> opened =
        CaseTensorReader::open(*spec, line_.substr(at, end - at), position(at));
    if (!opened) return opened.error();
    tensor_.emplace(std::move(*opened));
    return tensor_->read(line_, end, position(0));
  }

  Error unknown_word(std::string_view word, std::size_t column) const {
    std::vector<std::string_view> words = {"value", "tensor", "end"};
    for (const std::string_view note : case_note_words()) words.push_back(note);
    for (const TensorSpec& spec : specs_) words.push_back(spec.name);
    std::string inputs;
    for (const TensorSpec& spec : specs_) {
      if (spec.role == TensorRole::input) inputs += (inputs.empty() ? "" : ", ") + spec.name;
    }
    const std::string meant = did_you_mean(word, words);
    return fail(column, fmt::format("there is no line or tensor \"{}\"", word),
                meant.empty() ? fmt::format("the tensors of this problem are {}", inputs) : meant);
  }

  Status close_tensor() {
    if (!tensor_) return {};
    Result<Tensor> tensor = tensor_->close(position(0));
    if (!tensor) return tensor.error();
    result_.test_case.literals.emplace_back(tensor_->name(), std::move(*tensor));
    tensor_.reset();
    return {};
  }

  Status finish() {
    if (Status closed = close_tensor(); !closed) return closed;
    if (!has_case_)
      return fail(line_.size(), "the file ends before its case line", "it may be cut short");
    if (!ended_)
      return fail(line_.size(), "the file ends without an \"end\" line", "it may be cut short");
    Case& test_case = result_.test_case;
    test_case.shrunk_from = std::move(shrunk_from_);
    if (!has_value_) {
      for (const TensorSpec& spec : specs_) {
        if (spec.role == TensorRole::input && !find_literal(test_case.literals, spec.name)) {
          return fail(0, fmt::format("tensor {} has no data", spec.name),
                      "give its elements, or a line value class=<class> seed=<seed>");
        }
      }
      test_case.recipe = Recipe{std::string(kLiteralValues), 0};
    }
    return {};
  }

  std::string_view text_, file_;
  const Registry& registry_;
  std::size_t next_ = 0;
  std::string_view line_;
  int line_number_ = 0;
  CaseFile result_;
  std::shared_ptr<const Case> shrunk_from_;
  std::vector<TensorSpec> specs_;
  std::optional<CaseTensorReader> tensor_;  // the one whose elements are being read
  bool has_case_ = false, has_value_ = false, ended_ = false;
};

}  // namespace

Result<CaseFile> parse_case(std::string_view text, std::string_view file,
                            const Registry& registry) {
  return CaseParser(text, file, registry).run();
}

}  // namespace plumbline
