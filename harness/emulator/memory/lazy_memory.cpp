// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/lazy_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace plumbline::emulator {
namespace {

// Up to here, filling with zeros takes less time than a call of the system.
constexpr std::size_t kFilled = 1 << 16;

}  // namespace

LazyMemory::~LazyMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void LazyMemory::resize(std::size_t bytes) {
  if (bytes == 0) return;
  void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(place);
  bytes_ = bytes;
}

void LazyMemory::clear() {
  if (bytes_ == 0) return;
  if (bytes_ <= kFilled || ::madvise(data_, bytes_, MADV_DONTNEED) != 0)
    std::memset(data_, 0, bytes_);
}

}  // namespace plumbline::emulator
