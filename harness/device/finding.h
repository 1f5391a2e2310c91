// SPDX-License-Identifier: MIT
// A Finding: something a device saw a kernel do that no correct kernel does, with the place where
// it happened. Findings are facts about memory and synchronization; wrong numbers are the judge's
// business.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

enum class FindingKind : std::uint8_t {
  out_of_bounds,      // access outside every allocation, or outside its space
  misaligned,         // address not a multiple of the access size
  read_of_unwritten,  // global or shared memory that nothing wrote
  race,               // two lanes, or two CTAs, one writing, and nothing orders them
  missing_wait,       // destination of an asynchronous copy read before it was waited for
  missing_fence,      // an asynchronous unit reads what a thread wrote, with no proxy fence between
  divergent_barrier,  // .aligned instruction or barrier reached by part of a warp
  deadlock,           // no warp can run; the message names every waiting warp
  trap,               // trap, or an assertion inside the kernel
  device_exception,   // a GPU stopped the kernel and does not say why
  endless_loop,       // instruction budget exhausted
  division_by_zero,   // of integers: the ISA leaves the result open
  unwritten_register,    // outputs depend on a register that nothing wrote
  bad_operand,           // shuffle from a lane that takes no part, bad barrier id, ...
  write_outside_output,  // guard band or padding changed (found after the launch)
};

const char* name(FindingKind kind);

// The second access of a finding that two accesses make: the earlier one of a race, the copy that
// no thread waited for.
struct OtherAccess {
  std::string access_kind;  // "read", "write", "atomic", "cp.async", "bulk copy"
  std::array<std::int64_t, 3> cta{};
  int warp = -1;
  int lane = -1;
  std::string ptx_file;  // as those of a Finding
  int ptx_line = 0;
  std::string ptx;
  std::string source_file;
  int source_line = 0;
  std::string inlined_at;

  // "write by warp 1, lane 3 at k.ptx:118 `st.shared.u32 ...` (gemm.cu:86)"
  std::string text() const;
};

struct Finding {
  FindingKind kind = FindingKind::out_of_bounds;
  std::string message;  // one sentence, lower case
  std::string kernel;
  std::array<std::int64_t, 3> cta{};
  int warp = -1;  // -1 where not known
  int lane = -1;
  std::string ptx_file;     // as given to Device::load
  int ptx_line = 0;         // 0 where not known
  std::string ptx;          // the instruction's text
  std::string source_file;  // from .loc, empty without -lineinfo
  int source_line = 0;
  std::string inlined_at;  // as in CodePlace
  std::uint64_t occurrences =
      1;  // later ones of the same kind at the same instruction are only counted
  std::optional<OtherAccess> other;  // where there is one, and it is known
  // The byte of global memory that the message names, and the label of its allocation.
  std::string buffer;
  std::int64_t buffer_byte = -1;  // -1: it names none
  // Where two accesses of shared memory met: what LaunchRequest::traced takes, so that `other` is
  // known next time.
  std::optional<std::uint64_t> shared_address;

  // A long list of registers is cut.
  // "race: message [kernel, cta 0,0,0, warp 1, lane 3] at k.ptx:120 `ld.shared.u32 ...`
  // (gemm.cu:88)" and where it is known "; the other access: write by warp 1, ..."
  std::string text() const;
};

// By consequence, those of one rank as they were found: first accesses outside memory or alignment,
// then what kept the kernel from its end, then what may have made outputs wrong, and last reads of
// memory that nothing wrote, which are often idle.
void order_by_consequence(std::vector<Finding>& findings);

}  // namespace plumbline
