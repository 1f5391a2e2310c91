// SPDX-License-Identifier: MIT
// The grammar (docs/operation_texts.md), one function a rule.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "oracles/base/suggest.h"
#include "oracles/text/gradient.h"
#include "oracles/text/lexer.h"
#include "oracles/text/words.h"

namespace plumbline::text {
namespace {

// No real operation has more, and deeper trees would overflow the stack.
constexpr int kDeepest = 200, kRulesOfABracket = 3, kDeepestTree = 1000;
constexpr std::size_t kMostNodes = 100000;

std::shared_ptr<Node> node(Kind kind, Place place) {
  auto made = std::make_shared<Node>();
  made->kind = kind;
  made->place = place;
  return made;
}

// An error ends the parse: it is kept, and what is left of the rules unwinds.
class Parser {
 public:
  Parser(const Tokens& tokens, std::string_view text, std::string_view path)
      : tokens_(tokens.tokens), comments_(tokens.comments), text_(text), path_(path) {}

  Result<std::vector<OperationText>> file() {
    skip_lines();
    while (!error_ && now().kind != Token::Kind::end) {
      operation();
      skip_lines();
    }
    if (error_) return *error_;
    if (operations_.empty())
      return error_at(path_, {1, 1}, "there is no operation here",
                      "begin with operation name(x[m, n]) -> y[m, n]");
    return std::move(operations_);
  }

 private:
  const Token& now() const { return tokens_[at_]; }

  bool is(std::string_view text) const {
    return now().text == text && (now().kind == Token::Kind::symbol || is_word(text));
  }

  bool take(std::string_view text) {
    if (error_ || !is(text)) return false;
    ++at_;
    return true;
  }

  std::string found() const {
    if (now().kind == Token::Kind::end) return "the end of the text";
    if (now().kind == Token::Kind::line_end) return "the end of the line";
    return fmt::format("'{}'", now().text);
  }

  void fail(Place place, std::string message, std::string hint = "") {
    fail(error_at(path_, place, std::move(message), std::move(hint)));
  }

  void fail(Error error) {
    if (error_) return;
    error_ = std::move(error);
    at_ = tokens_.size() - 1;  // every rule stops at the end
  }

  void expected(std::string_view what, std::string hint = "") {
    fail(now().place, fmt::format("expected {}, not {}", what, found()), std::move(hint));
  }

  void need(std::string_view text) {
    if (!take(text)) expected(fmt::format("'{}'", text));
  }

  std::string name(std::string_view what) {
    if (now().kind != Token::Kind::name) {
      expected(what);
      return {};
    }
    if (is_word(now().text)) {
      fail(now().place, fmt::format("'{}' is a word of the language, and no name", now().text),
           "use another name");
      return {};
    }
    return tokens_[at_++].text;
  }

  void skip_lines() {
    while (now().kind == Token::Kind::line_end) ++at_;
  }

  // The comment in the lines right above.
  std::string comment_above(int line) const {
    std::string about;
    for (auto one = comments_.rbegin(); one != comments_.rend(); ++one) {
      if (one->first >= line) continue;
      if (one->first != line - 1) break;
      about = about.empty() ? one->second : one->second + "\n" + about;
      --line;
    }
    return about;
  }

  void operation() {
    OperationText out;
    out.path = path_;
    const Token& first = now();
    if (!is("operation")) expected("'operation'", "a text is operation name(...) and its steps");
    need("operation");
    out.place = now().place;
    out.about = comment_above(first.place.line);
    out.name = name("the operation's name");
    if (take("=")) return gradient(out);
    need("(");
    if (!take(")")) {
      do {
        out.parameters.push_back(parameter(false));
      } while (!error_ && take(","));
      need(")");
    }
    if (take("->")) {
      do {
        out.parameters.push_back(parameter(true));
      } while (!error_ && take(","));
    }
    if (!error_ && now().kind != Token::Kind::line_end)
      expected("the end of the line, or '->' and the outputs");
    skip_lines();
    std::size_t end = now().offset;
    while (!error_ && !is("operation") && now().kind != Token::Kind::end) {
      out.steps.push_back(step());
      end = now().offset;
      skip_lines();
    }
    if (!error_) out.source = std::string(text_.substr(first.offset, end - first.offset));
    add(std::move(out));
  }

  void add(OperationText one) {
    if (!error_ && std::ranges::count(operations_, one.name, &OperationText::name) > 0)
      fail(one.place, fmt::format("there is an operation '{}' above", one.name),
           "give one of them another name");
    operations_.push_back(std::move(one));
  }

  // operation g = gradient of f wrt x, y saving z: what that is, as a text.
  void gradient(const OperationText& header) {
    GradientStatement statement{{header.name, header.place}, {}, {}, {}};
    const auto word = [&](std::string_view text) {
      if (now().kind != Token::Kind::name || now().text != text)
        return expected(fmt::format("'{}'", text),
                        "write operation g = gradient of f wrt x, y saving z");
      ++at_;
    };
    const auto names = [&](std::string_view what) {
      std::vector<GradientStatement::Name> out;
      do {
        const Place place = now().place;
        out.push_back({name(what), place});
      } while (!error_ && take(","));
      return out;
    };
    word("gradient");
    word("of");
    statement.of = {"", now().place};
    statement.of.text = name("an operation");
    word("wrt");
    statement.wrt = names("an input");
    if (!error_ && now().kind == Token::Kind::name && now().text == "saving") {
      ++at_;
      statement.saved = names("a step or an output");
    }
    if (!error_ && now().kind != Token::Kind::line_end) expected("the end of the line");
    if (error_) return;
    const auto forward = std::ranges::find(operations_, statement.of.text, &OperationText::name);
    if (forward == operations_.end())
      return fail(statement.of.place,
                  fmt::format("there is no operation '{}' above", statement.of.text),
                  "write it above its gradient, in the same file");
    const Result<std::string> text = gradient_text(statement, *forward, std::string(path_));
    if (!text) return fail(text.error());
    Result<std::vector<OperationText>> read =
        parse_operations(*text, fmt::format("the gradient {} in {}", header.name, path_));
    if (!read) return fail(read.error());
    read->front().about = header.about;
    read->front().place = header.place;
    add(std::move(read->front()));
  }

  Parameter parameter(bool output) {
    Parameter out;
    out.place = now().place;
    out.output = output;
    out.name = name("a tensor or a scalar");
    if (is_function(out.name) || is_reducer(out.name))
      fail(out.place, fmt::format("'{}' is a function", out.name), "use another name");
    if (take("[")) {
      out.is_tensor = true;
      out.sizes = expressions("]");
    }
    while (!error_) {
      if (take(":")) {
        const Place place = now().place;
        out.type = name("a type");
        if (!error_ && !is_type(out.type)) {
          fail(place, fmt::format("there is no type '{}'", out.type),
               "types are " + list_of(type_words()));
        }
      } else if (take("inout")) {
        out.inout = true;
      } else if (take("=")) {
        out.otherwise = sum();
      } else if (take("?")) {
        out.optional = true;
      } else if (take("in")) {
        out.low = sum();
        need("..");
        out.high = sum();
        while (take("or")) out.others.push_back(sum());
      } else {
        break;
      }
    }
    return out;
  }

  std::vector<NodePtr> expressions(std::string_view end) {
    std::vector<NodePtr> out;
    do {
      out.push_back(expression());
    } while (!error_ && take(","));
    need(end);
    return out;
  }

  Step step() {
    Step out;
    out.place = now().place;
    if (is("for"))
      fail(out.place, "a step begins here, and 'for' cannot begin one",
           "a line goes on in the next one behind an operator or a comma, or inside brackets");
    out.name = name("a step, name[i, j] = ...");
    if (take("[")) out.subscripts = expressions("]");
    need("=");
    out.value = expression();
    if (take("for")) {
      do {
        out.bounds.push_back(index());
      } while (!error_ && take(","));
    }
    if (!error_ && now().kind != Token::Kind::line_end) {
      const bool real = now().text == "(" || now().kind == Token::Kind::name;
      const bool behind_brackets = at_ > 0 && tokens_[at_ - 1].text == "]";  // argmax[j] x
      expected("the end of the line, or 'for' and the steps' indices",
               !real ? ""
               : behind_brackets
                   ? "a product is written with *; reductions are sum, max, min, count "
                     "and top"
                   : "a product is written with *");
    }
    return out;
  }

  Index index() {
    Index out;
    out.place = now().place;
    out.name = name("an index");
    if (take("<")) {
      out.high = sum();
    } else if (is("<=")) {
      const Place place = now().place;
      ++at_;
      auto one = node(Kind::number, place);
      one->number = 1;
      one->whole = true;
      out.high = binary(Kind::add, place, sum(), one);
    } else if (take("in")) {
      out.low = sum();
      need("..");
      out.high = sum();
    }
    return out;
  }

  // A rule that nests; counts depth and nodes.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kDeepest * kRulesOfABracket)
        parser.fail(parser.now().place, fmt::format("more than {} levels of brackets", kDeepest),
                    "give parts of the expression names, as steps of their own");
      if (++parser.nodes_ > kMostNodes)
        parser.fail(parser.now().place, "the text is too long", "split it into several operations");
    }

    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

    ~Deeper() { --parser.depth_; }

    Parser& parser;
  };

  // Sums of many terms are deep trees without any brackets.
  void adopt(Node& parent, std::vector<NodePtr> children) {
    for (const NodePtr& child : children) {
      if (child) parent.depth = std::max(parent.depth, child->depth + 1);
    }
    parent.children = std::move(children);
    if (parent.depth > kDeepestTree)
      fail(parent.place, fmt::format("more than {} operations one within another", kDeepestTree),
           "give parts of the expression names, as steps of their own");
  }

  NodePtr binary(Kind kind, Place place, NodePtr a, NodePtr b) {
    auto made = node(kind, place);
    adopt(*made, {std::move(a), std::move(b)});
    return made;
  }

  NodePtr expression() {
    const Deeper deeper(*this);
    NodePtr a = conjunction();
    while (!error_ && is("or")) {
      const Place place = tokens_[at_++].place;
      a = binary(Kind::logical_or, place, a, conjunction());
    }
    return a;
  }

  NodePtr conjunction() {
    NodePtr a = test();
    while (!error_ && is("and")) {
      const Place place = tokens_[at_++].place;
      a = binary(Kind::logical_and, place, a, test());
    }
    return a;
  }

  NodePtr test() {
    const Deeper deeper(*this);
    if (error_) return nullptr;
    if (is("not")) {
      auto made = node(Kind::logical_not, tokens_[at_++].place);
      adopt(*made, {test()});
      return made;
    }
    NodePtr a = sum();
    for (const std::string_view op : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (error_ || !is(op)) continue;
      auto made = node(Kind::compare, tokens_[at_++].place);
      made->name = op;
      adopt(*made, {a, sum()});
      return made;
    }
    return a;
  }

  NodePtr sum() {
    NodePtr a = product();
    while (!error_ && (is("+") || is("-"))) {
      const Kind kind = is("+") ? Kind::add : Kind::subtract;
      const Place place = tokens_[at_++].place;
      a = binary(kind, place, a, product());
    }
    return a;
  }

  NodePtr product() {
    NodePtr a = unary();
    while (!error_) {
      const Place place = now().place;
      if (take("*")) {
        a = binary(Kind::multiply, place, a, unary());
      } else if (take("/")) {
        a = binary(Kind::divide, place, a, unary());
      } else if (take("//")) {
        a = binary(Kind::floor_divide, place, a, unary());
      } else if (take("%")) {
        a = binary(Kind::remainder, place, a, unary());
      } else if (a && a->kind == Kind::number && now().kind == Token::Kind::name &&
                 !is_word(now().text)) {
        a = binary(Kind::multiply, place, a, unary());  // 2 n
      } else {
        return a;
      }
    }
    return a;
  }

  NodePtr unary() {
    const Deeper deeper(*this);
    if (error_) return nullptr;
    if (!is("-")) return power();
    auto made = node(Kind::negate, tokens_[at_++].place);
    adopt(*made, {unary()});
    return made;
  }

  NodePtr power() {
    NodePtr a = atom();
    if (error_ || !is("^")) return a;
    auto made = node(Kind::square, tokens_[at_++].place);
    adopt(*made, {a});
    if (now().text != "2")
      expected("2", "other powers are products, or exp(log(a) * b)");
    else
      ++at_;
    return made;
  }

  NodePtr number() {
    const Token& token = tokens_[at_++];
    auto made = node(Kind::number, token.place);
    const char* end = token.text.data() + token.text.size();
    const auto [stop, failure] = std::from_chars(token.text.data(), end, made->number);
    made->whole = std::ranges::all_of(token.text, [](char c) { return c >= '0' && c <= '9'; });
    if (failure != std::errc() || stop != end || (made->whole && made->number > 0x1p53))
      fail(token.place, fmt::format("{} is no number that f64 can hold", token.text));
    return made;
  }

  NodePtr atom() {
    if (error_) return nullptr;
    if (now().kind == Token::Kind::number) return number();
    if (take("(")) {
      NodePtr inner = expression();
      need(")");
      return inner;
    }
    const Place place = now().place;
    if (now().kind == Token::Kind::name && is_reducer(now().text)) return reduction();
    std::string word = name("a number, a name or '('");
    if (error_) return nullptr;
    if (take("[")) {
      auto made = node(Kind::reference, place);
      made->name = std::move(word);
      adopt(*made, expressions("]"));
      return made;
    }
    if (take("(")) {
      auto made = node(Kind::call, place);
      made->name = std::move(word);
      if (!is_function(made->name)) {
        const std::vector<std::string_view> names = function_words();
        const std::string meant = did_you_mean(made->name, names);
        fail(place, fmt::format("there is no function '{}'", made->name),
             meant.empty() ? "functions are " + list_of(names) : meant);
        return nullptr;
      }
      adopt(*made, expressions(")"));
      if (error_) return nullptr;
      const auto [least, most] = arguments_of(made->name);
      const auto count = static_cast<int>(made->children.size());
      if (count < least || count > most)
        fail(place, fmt::format("{} takes {} argument{}, not {}", made->name, least,
                                least == 1 ? "" : "s", count));
      return made;
    }
    auto made = node(Kind::name, place);
    made->name = std::move(word);
    return made;
  }

  // sum[j < n if c] a: the body is the next atom or square. Of count there is none.
  NodePtr reduction() {
    auto made = node(Kind::reduce, now().place);
    made->name = tokens_[at_++].text;
    if (!is("[") && (made->name == "max" || made->name == "min") && is("(")) {
      ++at_;
      made->kind = Kind::call;
      adopt(*made, expressions(")"));
      if (!error_ && made->children.size() < 2)
        fail(made->place, fmt::format("{} takes two arguments or more", made->name));
      return made;
    }
    if (!take("["))
      fail(made->place, fmt::format("'{}' is a function, which an index follows", made->name),
           fmt::format("{}[j] x[j]; if a size or a step is meant, use another name", made->name));
    NodePtr rank;
    if (made->name == "top") {
      made->indices.push_back(index());
      if (!error_ && !is(",")) expected("',' and a rank", "top[j, 0] x[j] is where the largest is");
      need(",");
      rank = sum();
    } else {
      do {
        made->indices.push_back(index());
      } while (!error_ && take(","));
    }
    if (take("if")) made->condition = expression();
    need("]");
    if (made->name == "count") return made;
    const Deeper deeper(*this);
    const NodePtr body = power();
    adopt(*made, rank ? std::vector{body, rank} : std::vector{body});
    return made;
  }

  const std::vector<Token>& tokens_;
  const std::vector<std::pair<int, std::string>>& comments_;
  std::string_view text_, path_;
  std::vector<OperationText> operations_;
  std::size_t at_ = 0, nodes_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
};

int binding_of(const Node& node) {
  switch (node.kind) {
    case Kind::logical_or:
      return 0;
    case Kind::logical_and:
      return 1;
    case Kind::logical_not:
    case Kind::compare:
      return 2;
    case Kind::add:
    case Kind::subtract:
      return 3;
    case Kind::multiply:
    case Kind::divide:
    case Kind::floor_divide:
    case Kind::remainder:
      return 4;
    case Kind::negate:
      return 5;
    case Kind::reduce:
    case Kind::square:
      return 6;
    default:
      return 7;
  }
}

std::string within(const Node& node, int least) {
  const std::string text = text_of(node);
  return binding_of(node) < least ? "(" + text + ")" : text;
}

std::string joined(const std::vector<NodePtr>& nodes) {
  std::string text;
  for (const NodePtr& one : nodes) text += (text.empty() ? "" : ", ") + text_of(*one);
  return text;
}

// With a point or an exponent: 2.0 is no integer.
std::string real_text(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string infix(const Node& node, std::string_view op) {
  const int own = binding_of(node);
  return fmt::format("{} {} {}", within(*node.children[0], own), op,
                     within(*node.children[1], own + 1));
}

}  // namespace

std::string text_of(const Index& index) {
  if (index.low)
    return fmt::format("{} in {} .. {}", index.name, text_of(*index.low), text_of(*index.high));
  if (index.high) return fmt::format("{} < {}", index.name, text_of(*index.high));
  return index.name;
}

std::string text_of(const Node& node) {
  switch (node.kind) {
    case Kind::number:
      return node.whole ? fmt::format("{}", static_cast<std::int64_t>(node.number))
                        : real_text(node.number);
    case Kind::name:
      return node.name;
    case Kind::reference:
      return fmt::format("{}[{}]", node.name, joined(node.children));
    case Kind::negate:
      return "-" + within(*node.children[0], 5);
    case Kind::add:
      return infix(node, "+");
    case Kind::subtract:
      return infix(node, "-");
    case Kind::multiply:
      return infix(node, "*");
    case Kind::divide:
      return infix(node, "/");
    case Kind::floor_divide:
      return infix(node, "//");
    case Kind::remainder:
      return infix(node, "%");
    case Kind::square:
      return within(*node.children[0], 7) + "^2";
    case Kind::call:
      return fmt::format("{}({})", node.name, joined(node.children));
    case Kind::compare:
      return infix(node, node.name);
    case Kind::logical_and:
      return infix(node, "and");
    case Kind::logical_or:
      return infix(node, "or");
    case Kind::logical_not:
      return "not " + within(*node.children[0], 2);
    case Kind::reduce:
      break;
  }
  std::string indices;
  for (const Index& one : node.indices) indices += (indices.empty() ? "" : ", ") + text_of(one);
  if (node.children.size() > 1) indices += ", " + text_of(*node.children[1]);
  if (node.condition) indices += " if " + text_of(*node.condition);
  if (node.children.empty()) return fmt::format("{}[{}]", node.name, indices);
  return fmt::format("{}[{}] {}", node.name, indices, within(*node.children[0], 6));
}

const Parameter* OperationText::find(std::string_view wanted) const {
  const auto found = std::ranges::find(parameters, wanted, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

Result<std::vector<OperationText>> parse_operations(std::string_view text, std::string_view path) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const Result<Tokens> tokens = read_tokens(text, path);
  if (!tokens) return tokens.error();
  return Parser(*tokens, text, path).file();
}

}  // namespace plumbline::text
