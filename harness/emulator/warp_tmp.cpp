#include "harness/emulator/families.h"
namespace plumbline::emulator {
std::span<const Family> warp_families() { return {}; }
}
