// SPDX-License-Identifier: MIT
// The shards of one run, made one again. With all of them the result is the record of the run
// without --shard, byte for byte but for `circumstances`; without some, it says which are missing.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

struct NamedRecord {
  std::string name;  // where it came from, for messages
  RunRecord record;
};

// One record, or the shards of one run in any order. Kernels are added up, and passes not yet
// weighed (that is the harness's business: weigh_evidence). Errors: records of different runs,
// versions or plans, a shard given twice, several records that are no shards.
Result<RunRecord> merge_records(std::vector<NamedRecord> records);

}  // namespace plumbline
