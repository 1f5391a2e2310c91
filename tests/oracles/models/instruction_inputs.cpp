// SPDX-License-Identifier: MIT
// Writes the operands that scripts/gpu/instructions.cu runs on a GPU: a file per instruction of
// instruction_rows.h with ROWS rows for each class of values. Usage: instruction_inputs FOLDER ROWS
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/oracles/models/instruction_rows.h"

int main(int argc, char** argv) {
  using namespace plumbline;
  if (argc != 3) {
    std::fprintf(stderr, "usage: instruction_inputs FOLDER ROWS\n");
    return 2;
  }
  for (const FragmentKind& kind : h100_instructions()) {
    const std::string path = std::string(argv[1]) + "/" + kind.name + ".bin";
    std::ofstream file(path, std::ios::binary);
    Random random(1);
    const auto write = [&](const LaneRegister* registers, int count) {
      file.write(reinterpret_cast<const char*>(registers),
                 static_cast<std::streamsize>(sizeof(LaneRegister)) * count);
    };
    for (const ValueMix mix : kValueMixes) {
      for (int row = 0; row < std::atoi(argv[2]); ++row) {
        const Fragments fragments = random_fragments(kind.mma, mix, random);
        write(fragments.a, a_registers(kind.mma));
        write(fragments.b, b_registers(kind.mma));
        write(fragments.c, c_registers(kind.mma));
      }
    }
    if (!file.flush()) {
      std::fprintf(stderr, "%s cannot be written\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
