#include "harness/emulator/families.h"
namespace plumbline::emulator {
std::span<const Family> atomic_families() { return {}; }
}
