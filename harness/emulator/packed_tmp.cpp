#include "harness/emulator/families.h"
namespace plumbline::emulator {
std::span<const Family> packed_families() { return {}; }
}
namespace plumbline::emulator {
void decode_packed(Decoder&, const Instruction&, Modifiers&, Inst&) {}
}
