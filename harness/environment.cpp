// SPDX-License-Identifier: MIT
// What a record says about the machine and the libraries a run used. Nothing here may change
// between two runs on one machine.
#include <fmt/format.h>
#include <mpfr.h>
#include <sys/utsname.h>

#include "harness/build_info.h"
#include "harness/run.h"
#include "oracles/exact/blas.h"
#include "oracles/models/mma.h"

namespace plumbline {

void describe_environment(RunRecord& record) {
  record.plumbline_version = kVersion;
  record.git_hash = kGitHash;
  utsname system{};
  uname(&system);
  record.environment = {
      {"mpfr", mpfr_get_version()},
      {"blas", blas_description()},
      {"vector", mma_fast_target()},
      {"machine", system.machine},
  };
}

}  // namespace plumbline
