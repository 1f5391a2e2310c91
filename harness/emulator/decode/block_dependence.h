// SPDX-License-Identifier: MIT
// Whether the blocks of a grid do the same at addresses that only shift from block to block.
//
// Every register is followed through the code, whatever way it takes: a value is the same in all
// blocks, or it grows by one step for each block along an axis (block_axes.h), or nothing is known
// of it (what was loaded). If no guard, no branch and no address is of the last kind, then blocks
// that compare and choose alike take one way, and all that they use of global memory is shifted by
// whole sectors. A comparison of values that grow is true on one side of a plane through the grid:
// where it has the same outcome in all corners of a box of blocks, it has it in all of the box
// (machine/representative_blocks.h). Of a minimum or maximum one operand is chosen by such a
// comparison.
//
// It is assumed that indices of 32 bits do not overflow within a launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/emulator/decode/block_axes.h"
#include "harness/emulator/decode/program.h"

namespace plumbline::emulator {

// How an instruction compares, so that its outcomes have to be alike.
enum class Comparing : std::uint8_t {
  no,
  comparison,  // setp: an order of integers
  choice32,    // min or max of integers
  choice64,
};

// By instruction of Program::code.
std::vector<Comparing> comparing_instructions(const Program& program);

// What was seen of one of the blocks, by instruction.
struct BlockWay {
  std::vector<std::uint64_t> executions;
  std::vector<std::uint8_t> chosen;  // which operands of a choice were taken, by any lane
};

constexpr std::uint8_t kTookFirst = 1, kTookSecond = 2;

// A launch, as far as code may depend on it.
struct BlockLaunch {
  const Program& program;
  std::span<const std::byte> parameters;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
};

struct BlockDependence {
  // What keeps blocks from being alike: "the address of `ld.global.u32 ...` at line 57 of ...".
  // Empty: nothing.
  std::string obstacle;
  // A number that the code divides (BlockAxes::numbers), and by what: with that axis divided it may
  // be no obstacle.
  std::optional<std::pair<std::size_t, std::int64_t>> division;
};

// Of the blocks of a box, if they go the way of one of them.
BlockDependence dependence_on_block(const BlockLaunch& launch, const BlockAxes& axes,
                                    const BlockBox& box, const BlockWay& way);

}  // namespace plumbline::emulator
