// SPDX-License-Identifier: MIT
// A decoded kernel: one Inst per PTX instruction, every operand reduced to a slot of the warp's
// register file. Registers, constants and special registers all live in slots, so a handler never
// asks what kind of operand it has.
//
//   slot                     32 lanes x 32 bits; a 64-bit register takes two neighboring slots and
//                            is an array of 32 u64
//   register file of a warp  [sink 2][registers ...][special registers ...][constants ...]
//   predicates               one 32-bit mask each; 0 is always true, 1 is the sink
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.h"
#include "harness/device/launch_shape.h"
#include "harness/emulator/decode/convert_exact.h"
#include "harness/emulator/decode/isa.h"
#include "harness/emulator/frontend/module.h"
#include "oracles/models/mma_plan.h"

namespace plumbline::emulator {

using Slot = std::uint32_t;

constexpr Slot kSinkSlot = 0;
constexpr Slot kFirstRegisterSlot = 2;

// A predicate as an operand: its index, and the top bit when it is negated.
using PredicateUse = std::uint16_t;
constexpr PredicateUse kAlways = 0;
constexpr PredicateUse kSinkPredicate = 1;
constexpr PredicateUse kFirstPredicate = 2;
constexpr PredicateUse kNegated = 0x8000;

// One cache line.
struct alignas(64) Inst {
  Handler execute = nullptr;
  Handler helper = nullptr;  // a half of the instruction that `execute` leaves to another function
  Slot d = kSinkSlot, a = kSinkSlot, b = kSinkSlot, c = kSinkSlot, e = kSinkSlot;
  PredicateUse guard = kAlways;
  PredicateUse p = kAlways;    // predicate operand, source or destination
  std::uint32_t index = 0;     // in Program::code
  std::uint32_t flags = 0;     // meaning belongs to the instruction family
  std::int64_t immediate = 0;  // address offset, branch target, table, ...
  const Slot* list = nullptr;  // registers of vector operands, where d, a, b, c, e do not suffice
};

static_assert(sizeof(Inst) == 64);

// Inst::flags bits that several families share.
constexpr std::uint32_t kAddress32 = 1u << 31;  // the address register has 32 bits
constexpr std::uint32_t kSomeBytes =
    1u << 30;  // only the bytes in the mask Inst::e of each access matter

constexpr std::uint32_t kReleases = 1u << 29;  // .release or .acq_rel, beyond the CTA
constexpr std::uint32_t kAcquires = 1u << 25;  // .acquire or .acq_rel, beyond the CTA
constexpr std::uint32_t kData = 1u << 28;      // adds floats: data, never a flag
constexpr std::uint32_t kReadOnly = 1u << 26;  // ld.global.nc: by the cache of read-only data
constexpr std::uint32_t kUnread = 1u << 24;    // an atomic whose result nothing reads: no flag
constexpr std::uint32_t kCtaScope = 1u << 27;  // strong among the threads of its CTA alone

struct ConstantSlot {
  Slot slot = 0;
  bool wide = false;
  std::uint64_t value = 0;
};

// Special registers that keep one value per lane for the life of a CTA.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  laneid,
  warpid,
  nwarpid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  zero,
  one,
};

struct SpecialSlot {
  Slot slot = 0;
  Special special = Special::zero;
};

// One decoded mma: the arithmetic, and where its fragments d, a, b, c lie. What every execution
// reads comes first, in one cache line.
struct alignas(64) MmaOperation {
  static constexpr int kMostRegisters = 8;  // of one fragment

  struct Fragment {
    int count = 0;
    std::array<Slot, kMostRegisters> slot{};
  };

  const MmaPlan* plan = nullptr;
  bool same_a =
      false;  // the instruction before is an mma with the same A, and always executed first
  // Fragments whose registers lie in slots that follow each other are used in place: the first
  // slot; else kSinkSlot.
  std::array<Slot, 4> in_place{};
  std::array<Fragment, 4> fragments;

  // Of .block_scale: the words of A's and of B's scales, and the selectors (MmaScales).
  struct Scale {
    Slot slot = kSinkSlot;
    int byte = 0, thread = 0;
    std::optional<std::array<Slot, 2>> ids{};  // registers with both
    int bytes = 1, threads = 4;                // taken together; there are so many
  };

  std::array<Scale, 2> scales{};
};

// One decoded wgmma.mma_async, as a warp sees it: its 16 rows of D, in pieces of m16n8 along n.
struct WarpgroupProduct {
  const MmaPlan* plan = nullptr;  // of a piece
  int n = 0;
  std::vector<Slot> d;                           // of all pieces, one after the other
  std::vector<Slot> a;                           // four registers, or the descriptor
  Slot b = kSinkSlot;                            // the descriptor
  PredicateUse adds = kAlways;                   // scale-d
  bool a_by_columns = false, b_by_rows = false;  // imm-trans: m, or n, is what lies side by side
  std::uint32_t flip_a = 0, flip_b = 0;          // sign bits, where imm-scale is -1
};

// One decoded wmma.load or wmma.store: in which order its accesses fill the registers of a
// fragment.
struct WmmaAccess {
  struct Place {
    std::uint8_t row = 0, column = 0;  // of .col layouts the other way round
  };

  int bits = 0;              // of an element
  std::size_t natural = 0;   // registers that hold all elements once; others hold them again
  Slot leading = kSinkSlot;  // how many elements rows lie apart
  std::vector<Slot> slots;
  std::vector<std::array<Place, 32>> places;  // of each access, by lane: its first element
};

// [base + offset] as an operand.
struct AddressOperand {
  Slot base = kSinkSlot;
  bool wide = true;  // the base has 64 bits
  std::int64_t offset = 0;
};

// One decoded cp.async.bulk or cp.async.bulk.tensor; or st.async, which has no more than the first
// and the third address.
struct BulkCopy {
  AddressOperand shared;
  AddressOperand global;          // the bytes, which may be in shared memory, or the tensor map
  AddressOperand barrier;         // of a load
  std::vector<Slot> coordinates;  // of a tensor, innermost first; empty: plain bytes
  Slot bytes = kSinkSlot;         // how many plain bytes
  bool pair = false;              // .cta_group::2: the mbarrier may be in the pair's other CTA
  bool multicast = false;
  Slot ctas = kSinkSlot;  // of a multicast, as a mask
  // Of a store: elements are added to those in global memory. Of plain bytes, numbers of this
  // format; of a tensor, of the map's.
  bool adds = false;
  FormatId added = FormatId::f32;
};

struct Parameter {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct Program {
  std::string kernel;
  std::string file;                        // PTX file, for messages
  std::vector<Inst> code;                  // ends with an exit that no PTX line wrote
  std::vector<const Instruction*> origin;  // code[i] was decoded from this; null for the last one
  std::vector<std::string> source_files;   // by .loc file number
  std::vector<std::unique_ptr<Slot[]>> lists;

  Slot slots = kFirstRegisterSlot;  // size of the register file
  Slot register_slots = 0;          // of which registers, after the sink; zeroed when a CTA starts
  int predicates = kFirstPredicate;
  std::vector<ConstantSlot> constants;
  // Addresses of shared memory where there may be clusters: the CTA's window is added.
  std::vector<ConstantSlot> shared_addresses;
  std::vector<SpecialSlot> specials;
  std::vector<std::unique_ptr<const MmaPlan>> mma_plans;  // one for each kind of mma
  std::vector<MmaOperation> mma;                          // Inst::immediate of an mma indexes this

  std::vector<std::unique_ptr<const WarpgroupProduct>> warpgroup_products;  // the same of a wgmma
  std::vector<std::unique_ptr<const BulkCopy>> bulk_copies;                 // and of a bulk copy

  std::vector<WmmaAccess> wmma_accesses;

  std::vector<Conversion> conversions;  // of the cvt forms without a vector handler

  // Registers that some way through the code reads before it writes them, and the instruction that
  // reads them first. Compilers leave such ways where what comes of them is dropped.
  struct UnwrittenRegister {
    std::string name;
    std::uint32_t reader = 0;
  };

  std::vector<UnwrittenRegister> unwritten_registers;

  std::vector<Parameter> parameters;
  std::int64_t parameter_bytes = 0;
  std::int64_t static_shared_bytes = 0;       // from kSharedStart
  std::int64_t dynamic_shared_alignment = 0;  // 0: no dynamic shared memory is named
  std::int64_t local_bytes = 0;
  std::array<std::int64_t, 3> max_threads{0, 0, 0};
  bool exact_threads = false;  // .reqntid
  DeclaredCluster cluster;
  bool reads_only = false;  // has loads of read-only data (kReadOnly)
  // Atomics or synchronising loads on global memory: CTAs may wait for each other, and their order
  // matters.
  bool communicates = false;
  int tensor_group = 0;  // of tcgen05: 1 or 2, as .cta_group says
  // Loads of global memory that are volatile, relaxed or acquire.
  bool loads_strongly = false;
  bool takes_clusters = false;  // clusterlaunchcontrol: one may do another's work

  // Where code[index] comes from; line 0 where no PTX line wrote it.
  CodePlace place(std::size_t index) const;

  // Where dynamic shared memory begins: as on a chip, behind the static part, aligned as declared
  // and to 16 bytes at least.
  std::int64_t dynamic_shared_offset() const;
};

}  // namespace plumbline::emulator
