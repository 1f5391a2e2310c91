// SPDX-License-Identifier: MIT
// Any bytes as a kernel of valid instructions: decoded and launched on a tiny grid, it gives an
// outcome or an error with a place, the same twice.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/harness/emulator/ptx_program_run.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace plumbline::emulator::test;
  const PtxProgram program = ptx_program({data, size});
  bool decoded = false;
  const std::string first = run_program(program, decoded);
  const bool placed = first.find("program.ptx:") != std::string::npos;
  const bool differs = size % 8 == 0 && run_program(program, decoded) != first;
  if ((!decoded && !placed) || differs) {
    std::fprintf(stderr, "%s\n%s\n%s\n", differs ? "another outcome the second time" : "no place",
                 first.c_str(), program.text.c_str());
    std::abort();
  }
  return 0;
}
