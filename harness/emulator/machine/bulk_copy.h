// SPDX-License-Identifier: MIT
// What mbarriers and Cta need to know of bulk copies.
#pragma once

#include "harness/emulator/machine/bulk_copies.h"

namespace plumbline::emulator {

class Cta;
class Warp;
struct Mbarrier;

// The copy of so many bytes is checked, and issued (mbarrier_phases.h).
void issue_copy(BulkLoad load, Mbarrier& barrier, std::uint64_t to, std::uint64_t bytes);

// The CTA of the cluster to whose shared memory it goes.
Cta& destination(const BulkLoad& load);

// The bytes come to shared memory.
void perform(const BulkLoad& load);

// A thread is about to exit: a finding for every copy to global memory that it did not wait for,
// and the copies are made.
void finish_stores(Warp& warp, std::uint32_t lanes);

// The CTA or the mbarrier of the copy ends, and no thread has waited for it.
void report_unfinished(const BulkLoad& load);

}  // namespace plumbline::emulator
