// SPDX-License-Identifier: MIT
// Tensor memory of a CTA (PTX ISA 9.0 section 9.7.16.1): 128 lanes of 512 columns of 32 bits. An
// address is lane << 16 | column. Columns are allocated in powers of two, 32 at least; what lies in
// them is unwritten then. Warp w of the CTA reaches the quarter w % 4 of the lanes.
//
// Words lie column by column, so that a quarter of a column is what one register of a warp holds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace plumbline::emulator {

// The last access: by tcgen05.ld or tcgen05.st, or by a product or copy when it is issued. Tick 0:
// there was none.
struct TensorAccess {
  std::uint32_t tick = 0;
  std::uint32_t cta = 0;  // CtaClock::cta()
  int warp = 0;
  int lane = -1;  // -1: all of them
};

class TensorMemory {
 public:
  static constexpr int kRows = 128;  // the manual's lanes
  static constexpr int kColumns = 512;
  static constexpr int kQuarter = 32;  // rows that one warp reaches
  static constexpr int kLeastColumns = 32;

  // A CTA begins. Columns are full of the byte where nothing has written since their allocation.
  // Allocations begin as low as they can, or as high: other CTAs may have columns before them.
  void start(std::uint8_t garbage, bool from_above);

  struct Allocation {
    int column = 0, columns = 0;
  };

  // False: an earlier request was for fewer columns, which the manual forbids.
  bool note_request(int columns) {
    const bool fine = columns <= requested_;
    requested_ = columns;
    return fine;
  }

  // The first column; nullopt where there is no room.
  std::optional<int> allocate(int columns);

  // The other CTA of a pair has allocated for both; the own alloc is still to come. Its allocation,
  // or nothing where there is none to come.
  void expect_alloc(const Allocation& made) { expected_.push_back(made); }

  std::optional<Allocation> take_expected();
  // False: there is no such allocation.
  bool release(int column, int columns);
  bool is_allocated(int column, int columns) const;
  // All columns that are allocated.
  int allocated() const;

  bool permits_allocation() const { return permits_; }

  void give_up_permit() { permits_ = false; }

  std::uint32_t& word(int row, int column) { return words_[index(row, column)]; }

  // The 32 words of a quarter of a column.
  std::uint32_t* quarter(int quarter, int column) { return &word(kQuarter * quarter, column); }

  // The rows of a quarter that were written, as a mask.
  std::uint32_t& written(int quarter, int column) { return state(quarter, column).written; }

  // Those that a tcgen05.st has yet to write.
  std::uint32_t& stored(int quarter, int column) { return state(quarter, column).stored; }

  // Of 16 rows: 64 rows of D have half of each quarter.
  struct Accesses {
    TensorAccess load, write;
    std::uint32_t loading = 0;  // warps that may still read: tcgen05.wait::ld is to come, as a mask
  };

  Accesses& accesses(int quarter, int column, int half) {
    return state(quarter, column).halves[static_cast<std::size_t>(half)];
  }

 private:
  struct Quarter {
    std::uint32_t written = 0, stored = 0;
    std::array<Accesses, 2> halves;
  };

  static std::size_t index(int row, int column) {
    return static_cast<std::size_t>(column) * kRows + static_cast<std::size_t>(row);
  }

  Quarter& state(int quarter, int column) {
    return states_[static_cast<std::size_t>(column) * 4 + static_cast<std::size_t>(quarter)];
  }

  std::vector<std::uint32_t> words_;  // from the first allocation on
  std::vector<Quarter> states_;
  std::vector<Allocation> allocations_, expected_;
  bool permits_ = true;
  bool from_above_ = false;
  int requested_ = kColumns;
  std::uint32_t garbage_ = 0;
};

}  // namespace plumbline::emulator
