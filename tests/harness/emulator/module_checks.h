// SPDX-License-Identifier: MIT
// What must hold of every module the parser accepts, and of every error it gives, whatever the text
// was. Used by the fuzzer and by the test that replays its corpus.
#pragma once

#include <string>
#include <string_view>

namespace plumbline::emulator::test {

// Empty, or what is wrong.
std::string check_parse(std::string_view text);

}  // namespace plumbline::emulator::test
