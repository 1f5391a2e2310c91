// SPDX-License-Identifier: MIT
// Global memory: exact allocations in an address space of their own, far enough apart that a wrong
// index lands between them, with one shadow byte per byte that says whether it was ever written.
// Workers of one launch read and write it at the same time; allocations change only between
// launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline::emulator {

// Pages from the system, zero and untouched until used.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  std::byte* data() const { return data_; }

  std::size_t size() const { return bytes_; }  // at least what was asked for

  // All zero again, where no more than the first `used` bytes are anything else.
  void clear(std::size_t used);

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Small pages that allocations have given back, all zero: the tensors of a case have about the
// sizes of those before, and to clear them takes less than to get others from the system.
class SparePages {
 public:
  Pages take(std::size_t bytes);
  void give(Pages pages, std::size_t used);

 private:
  std::map<std::size_t, std::vector<Pages>> pages_;  // by size
  std::size_t bytes_ = 0;                            // of all of them
};

// Whether several CTAs used a word; they are kept elsewhere then. Readers: all of them only read,
// and more readers need not be kept.
enum class Crowd : std::uint8_t { none, several, readers };

// Who used a word of global memory in this launch (cta_races.h).
struct AccessMark {
  static constexpr std::uint32_t kInstructions = (1u << 28) - 1;  // more than memory holds

  std::uint32_t cta = 0;  // number in the grid + 1; 0: none
  std::uint32_t inst : 28 = 0;
  // Bytes that the thread of the stamp used then, by plain accesses: within the CTA, too, they need
  // an order.
  std::uint32_t own : 4 = 0;
  std::uint32_t stamp = 0;                          // tick, warp (5 bits), lane (5 bits)
  std::uint8_t read = 0, written = 0, updated = 0;  // its bytes, as masks; updated: by atomics
  Crowd crowd = Crowd::none;

  int warp() const { return static_cast<int>(stamp >> 5 & 31); }

  int lane() const { return static_cast<int>(stamp & 31); }

  // Whether one CTA stored here, and where it did is what the mark says.
  bool stores() const { return cta != 0 && crowd == Crowd::none && (written | updated) != 0; }
};

static_assert(sizeof(AccessMark) == 16);

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::byte* data = nullptr;
  std::uint8_t* written = nullptr;  // 1 per byte that was written
  // All bytes count as written: accesses are not checked, and written[] is not kept up to date. True
  // of the inputs of a launch that it does not write; never of variables of modules, which kernels
  // write.
  bool fully_written = false;
  AccessMark* marks = nullptr;  // of every 4 bytes; all zero before a launch that is watched
  bool may_be_marked = false;
  bool of_module = false;          // a .global variable: survives release_all()
  std::vector<std::byte> initial;  // of a .global variable, without the zeros at its end
  std::string label;
  Pages data_pages, written_pages, mark_pages;

  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base && address - base <= bytes && bytes - (address - base) >= size;
  }
};

class GlobalMemory {
 public:
  Result<std::uint64_t> allocate(std::uint64_t bytes, std::string_view label,
                                 bool of_module = false);
  // Allocations of `kept` bytes, the last one of what is left, each `apart` bytes behind the one
  // before: the address of the first one.
  Result<std::uint64_t> allocate_pieces(std::uint64_t bytes, std::uint64_t kept,
                                        std::uint64_t apart, std::string_view label);
  // Variables of modules stay, and have their initial values again.
  void release_all();
  // Variables of modules stay as they are.
  void release_buffers();

  // Whether a variable of a module has another value than its initial one. One of more than 64 MiB
  // counts as if it had: looking at all of it takes longer than most launches.
  bool has_changed_variables() const;

  // The initial value of a variable of a module, which is also its first.
  Status initialise(std::uint64_t variable, std::span<const std::byte> value);

  // Nothing has been used yet.
  void clear_marks();

  // The allocation that holds the byte, or null.
  const Allocation* find(std::uint64_t address) const;

  Status write(std::uint64_t to, std::span<const std::byte> bytes, bool counts_as_written);
  // What was written there is an input that kernels write over.
  void will_change(std::uint64_t address);
  Status read(std::uint64_t from, std::span<std::byte> bytes) const;
  // For each byte whether it was written. False where that is not kept.
  bool read_written(std::uint64_t from, std::span<std::byte> written) const;

  // "out of every allocation; 32 bytes behind "a" (0x7000.., 4096 bytes)"
  std::string describe(std::uint64_t address) const;

 private:
  Allocation* holding(std::uint64_t address, std::uint64_t size) const;
  Status place(std::uint64_t base, std::uint64_t bytes, std::string_view label, bool of_module);

  std::vector<std::unique_ptr<Allocation>> allocations_;  // in address order
  SparePages spare_;
  std::uint64_t next_global_ = 0, next_module_ = 0;
};

}  // namespace plumbline::emulator
