// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/header_parser.h"

#include <fmt/format.h>

#include <charconv>

#include "harness/emulator/frontend/literal.h"
#include "oracles/base/text.h"

namespace plumbline::emulator {
namespace {

// Versions whose syntax is known; what an instruction of a newer one means is for decode to refuse.
constexpr int kOldestVersion = 3;
constexpr int kNewestVersion = 9;

}  // namespace

void parse_version(Cursor& cursor, const Token& directive, PtxModule& module) {
  const Token number = cursor.current();
  if (number.kind != TokenKind::number) return cursor.expected("a version such as 9.0");
  cursor.take();
  const std::size_t dot = number.text.find('.');
  const auto part = [](std::string_view text) { return parse_number<int>(text).value_or(-1); };
  const int major = dot == std::string_view::npos ? -1 : part(number.text.substr(0, dot));
  const int minor = dot == std::string_view::npos ? -1 : part(number.text.substr(dot + 1));
  if (major < 0 || minor < 0) {
    cursor.fail(number, fmt::format("{} is not a PTX version such as 9.0", in_quotes(number.text)));
  } else if (major < kOldestVersion || major > kNewestVersion) {
    cursor.fail(number, fmt::format("PTX version {}.{} is not supported", major, minor),
                fmt::format("versions {}.x to {}.x are", kOldestVersion, kNewestVersion));
  } else if (module.version_major != 0) {
    cursor.fail(directive, "a second .version", "one PTX module per file");
  }
  if (cursor.failed()) return;
  module.version_major = major;
  module.version_minor = minor;
}

// .target sm_90a, texmode_independent
void parse_target(Cursor& cursor, PtxModule& module) {
  do {
    const Token word = cursor.expect_word("a target such as sm_80");
    if (!word.text.starts_with("sm_") || cursor.failed()) continue;  // debug, texmode_...
    const std::string_view number = word.text.substr(3);
    int sm = 0;
    std::from_chars(number.data(), number.data() + number.size(), sm);
    if (sm <= 0) {
      cursor.fail(word, fmt::format("{} is not a target such as sm_80", in_quotes(word.text)));
    }
    if (module.target_sm != 0) cursor.fail(word, "a second target");
    module.target_sm = sm;
    module.target_text = word.text;
  } while (cursor.accept(','));
}

void parse_address_size(Cursor& cursor, PtxModule& module) {
  const Token at = cursor.current();
  const std::int64_t size = parse_integer(cursor, "an address size", 32, 64);
  if (size != 64) cursor.fail(at, "only 64-bit addresses are supported", "compile for 64 bits");
  module.address_size = static_cast<int>(size);
}

bool require_header(Cursor& cursor, const Token& at, const PtxModule& module) {
  if (module.version_major == 0) {
    cursor.fail(at, "there is no .version before this",
                "PTX begins with .version, .target and .address_size");
  } else if (module.target_sm == 0) {
    cursor.fail(at, "there is no .target before this", "such as .target sm_80");
  }
  return !cursor.failed();
}

}  // namespace plumbline::emulator
