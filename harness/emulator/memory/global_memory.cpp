// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/global_memory.h"

#include <sys/mman.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "harness/emulator/memory/address_space.h"
#include "oracles/base/large_pages.h"

namespace plumbline::emulator {
namespace {

constexpr std::uint64_t kAlignment = 256;
// Of a variable that has_changed_variables() looks at.
constexpr std::uint64_t kLargeVariable = std::uint64_t{64} << 20;
// What lies between two allocations at least: an index that is off by rows, not only by elements,
// still misses.
constexpr std::uint64_t kGap = std::uint64_t{16} << 20;

// Of all spare pages of one memory: a bound on what a worker holds.
constexpr std::size_t kMostSpare = std::size_t{64} << 20;
constexpr std::size_t kSmallest = 4096;  // also of an empty allocation

// Addresses below this are those of a null pointer.
constexpr std::uint64_t kNullPage = 4096;

// Linux gives a mapping of whole large pages an address that fits them. Smaller ones are powers of
// two, so that they fit others later.
std::size_t mapped(std::size_t bytes) {
  return bytes < kLargePage ? std::bit_ceil(std::max(bytes, kSmallest))
                            : (bytes + kLargePage - 1) / kLargePage * kLargePage;
}

std::size_t bytes_of_marks(std::size_t bytes) { return (bytes / 4 + 1) * sizeof(AccessMark); }

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(mapped(bytes)) {
  void* pages = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(pages);
  // Workers touch these pages for the first time, and wait for each other to get one.
  prefer_large_pages(pages, static_cast<std::int64_t>(bytes_));
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void Pages::clear(std::size_t used) {
  if (data_ == nullptr) return;
  if (bytes_ <= kLargePage) {
    std::memset(data_, 0, used);
  } else {
    ::madvise(data_, bytes_, MADV_DONTNEED);
  }
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages SparePages::take(std::size_t bytes) {
  const auto found = pages_.find(mapped(bytes));
  if (found == pages_.end() || found->second.empty()) return Pages(bytes);
  Pages pages = std::move(found->second.back());
  found->second.pop_back();
  bytes_ -= pages.size();
  return pages;
}

void SparePages::give(Pages pages, std::size_t used) {
  if (pages.size() > kLargePage || bytes_ + pages.size() > kMostSpare) return;
  pages.clear(used);
  bytes_ += pages.size();
  pages_[pages.size()].push_back(std::move(pages));
}

Status GlobalMemory::place(std::uint64_t base, std::uint64_t bytes, std::string_view label,
                           bool of_module) {
  auto allocation = std::make_unique<Allocation>();
  // Vector accesses of the handlers stay inside the allocation, so no slack is needed.
  allocation->data_pages = spare_.take(bytes);
  allocation->written_pages = spare_.take(bytes);
  allocation->mark_pages = spare_.take(bytes_of_marks(bytes));
  allocation->data = allocation->data_pages.data();
  allocation->written = reinterpret_cast<std::uint8_t*>(allocation->written_pages.data());
  allocation->marks = reinterpret_cast<AccessMark*>(allocation->mark_pages.data());
  if (allocation->data == nullptr || allocation->written == nullptr ||
      allocation->marks == nullptr) {
    return Error{ErrorKind::out_of_memory,
                 fmt::format("cannot allocate {} bytes for \"{}\"", bytes, label), "", ""};
  }
  allocation->base = base;
  allocation->bytes = bytes;
  allocation->label = label;
  allocation->of_module = of_module;
  allocations_.push_back(std::move(allocation));
  std::sort(allocations_.begin(), allocations_.end(),
            [](const auto& a, const auto& b) { return a->base < b->base; });
  return {};
}

Result<std::uint64_t> GlobalMemory::allocate(std::uint64_t bytes, std::string_view label,
                                             bool of_module) {
  std::uint64_t& next = of_module ? next_module_ : next_global_;
  const std::uint64_t base = (of_module ? kModuleBase : kGlobalBase) + next;
  if (Status placed = place(base, bytes, label, of_module); !placed) return placed.error();
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment +
          std::max(kGap, bytes / kAlignment * kAlignment);
  return base;
}

Result<std::uint64_t> GlobalMemory::allocate_pieces(std::uint64_t bytes, std::uint64_t kept,
                                                    std::uint64_t apart, std::string_view label) {
  const std::uint64_t base = kGlobalBase + next_global_;
  std::uint64_t at = 0;
  for (std::uint64_t begin = 0; begin < bytes; begin += kept, at += apart) {
    const std::string name =
        at == 0 ? std::string(label) : fmt::format("{} from its byte {} on", label, at);
    if (Status placed = place(base + at, std::min(kept, bytes - begin), name, false); !placed)
      return placed.error();
  }
  next_global_ += (at + kAlignment - 1) / kAlignment * kAlignment + kGap;
  return base;
}

void GlobalMemory::release_buffers() {
  for (const auto& allocation : allocations_) {
    if (allocation->of_module) continue;
    const auto bytes = static_cast<std::size_t>(allocation->bytes);
    spare_.give(std::move(allocation->data_pages), bytes);
    spare_.give(std::move(allocation->written_pages), bytes);
    spare_.give(std::move(allocation->mark_pages),
                allocation->may_be_marked ? bytes_of_marks(bytes) : 0);
  }
  std::erase_if(allocations_, [](const auto& allocation) { return !allocation->of_module; });
  next_global_ = 0;
}

bool GlobalMemory::has_changed_variables() const {
  return std::ranges::any_of(allocations_, [](const auto& allocation) {
    if (!allocation->of_module) return false;
    if (allocation->bytes > kLargeVariable) return true;
    const std::span<const std::byte> value(allocation->data, allocation->bytes);
    const std::size_t given = allocation->initial.size();
    return !std::ranges::equal(value.first(given), allocation->initial) ||
           std::ranges::any_of(value.subspan(given),
                               [](std::byte byte) { return byte != std::byte{0}; });
  });
}

void GlobalMemory::release_all() {
  release_buffers();
  for (const auto& allocation : allocations_) {
    allocation->data_pages.clear(allocation->bytes);
    std::ranges::copy(allocation->initial, allocation->data);
  }
}

Status GlobalMemory::initialise(std::uint64_t variable, std::span<const std::byte> value) {
  if (Status status = write(variable, value, true); !status || value.empty()) return status;
  const auto last = std::find_if(value.rbegin(), value.rend(),
                                 [](std::byte byte) { return byte != std::byte{0}; });
  holding(variable, value.size())->initial.assign(value.begin(), last.base());
  return {};
}

void GlobalMemory::clear_marks() {
  for (const auto& allocation : allocations_) {
    if (allocation->may_be_marked) allocation->mark_pages.clear(bytes_of_marks(allocation->bytes));
    allocation->may_be_marked = !allocation->fully_written;
  }
}

const Allocation* GlobalMemory::find(std::uint64_t address) const {
  auto after = std::upper_bound(
      allocations_.begin(), allocations_.end(), address,
      [](std::uint64_t value, const auto& allocation) { return value < allocation->base; });
  if (after == allocations_.begin()) return nullptr;
  const Allocation* candidate = std::prev(after)->get();
  return candidate->holds(address, 1) ? candidate : nullptr;
}

Allocation* GlobalMemory::holding(std::uint64_t address, std::uint64_t size) const {
  for (const auto& allocation : allocations_) {
    if (allocation->holds(address, size)) return allocation.get();
  }
  return nullptr;
}

Status GlobalMemory::write(std::uint64_t to, std::span<const std::byte> bytes,
                           bool counts_as_written) {
  if (bytes.empty()) return {};
  Allocation* allocation = holding(to, bytes.size());
  if (allocation == nullptr) {
    return Error{ErrorKind::bad_input,
                 fmt::format("cannot write {} bytes: {}", bytes.size(), describe(to)), "", ""};
  }
  const std::uint64_t offset = to - allocation->base;
  std::memcpy(allocation->data + offset, bytes.data(), bytes.size());
  const bool covers_all = bytes.size() == allocation->bytes;
  if (!counts_as_written && allocation->fully_written && !covers_all) {
    std::memset(allocation->written, 1, allocation->bytes);
  }
  if (!covers_all) {
    if (!allocation->fully_written || !counts_as_written) {
      std::memset(allocation->written + offset, counts_as_written ? 1 : 0, bytes.size());
    }
    allocation->fully_written = allocation->fully_written && counts_as_written;
    return {};
  }
  allocation->fully_written = counts_as_written && !allocation->of_module;
  if (!allocation->fully_written)
    std::memset(allocation->written, counts_as_written ? 1 : 0, allocation->bytes);
  return {};
}

void GlobalMemory::will_change(std::uint64_t address) {
  Allocation* allocation = holding(address, 1);
  if (allocation == nullptr || !allocation->fully_written) return;
  allocation->fully_written = false;
  std::memset(allocation->written, 1, allocation->bytes);
}

Status GlobalMemory::read(std::uint64_t from, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  const Allocation* allocation = holding(from, bytes.size());
  if (allocation == nullptr) {
    return Error{ErrorKind::bad_input,
                 fmt::format("cannot read {} bytes: {}", bytes.size(), describe(from)), "", ""};
  }
  std::memcpy(bytes.data(), allocation->data + (from - allocation->base), bytes.size());
  return {};
}

bool GlobalMemory::read_written(std::uint64_t from, std::span<std::byte> written) const {
  if (written.empty()) return true;
  const Allocation* allocation = holding(from, written.size());
  if (allocation == nullptr || allocation->fully_written) return false;
  std::memcpy(written.data(), allocation->written + (from - allocation->base), written.size());
  return true;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  if (address < kNullPage)
    return fmt::format("address {:#x} is no memory: a null pointer, or counted from one", address);
  const Allocation* nearest = nullptr;
  std::uint64_t distance = 0;
  bool behind = false;
  for (const auto& allocation : allocations_) {
    const std::uint64_t end = allocation->base + allocation->bytes;
    const bool is_behind = address >= end;
    const std::uint64_t gap =
        is_behind ? address - end : (address < allocation->base ? allocation->base - address : 0);
    if (nearest == nullptr || gap < distance) {
      nearest = allocation.get();
      distance = gap;
      behind = is_behind;
    }
  }
  if (nearest == nullptr) return fmt::format("address {:#x} is in no allocation", address);
  if (address >= nearest->base && !behind) {
    return fmt::format("address {:#x} is at byte {} of the {} bytes of \"{}\"", address,
                       address - nearest->base, nearest->bytes, nearest->label);
  }
  return fmt::format("address {:#x} is in no allocation; {} bytes {} the {} bytes of \"{}\"",
                     address, distance, behind ? "behind" : "before", nearest->bytes,
                     nearest->label);
}

}  // namespace plumbline::emulator
