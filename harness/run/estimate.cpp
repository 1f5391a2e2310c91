// SPDX-License-Identifier: MIT
#include "harness/run/estimate.h"

#include <algorithm>

namespace plumbline {
namespace {

// Measured over the shipped kernels' quick and default plans on one core of a server: what a case
// costs however small it is, and what each product of it does.
constexpr double kSecondsPerCase = 6e-3;
constexpr double kSecondsPerProduct = 1.3e-8;
// A GPU takes no time worth mentioning; the exact results do.
constexpr double kSecondsPerProductOnGpu = 3e-9;

}  // namespace

double estimated_seconds(const Job& job) {
  const double products = job.test_case.kernel->operation->work(job.test_case.problem);
  const bool emulated = !job.target.on_gpu || job.target.compare;
  return kSecondsPerCase + products * (emulated ? kSecondsPerProduct : kSecondsPerProductOnGpu);
}

double estimated_seconds(const std::vector<Job>& jobs, int threads) {
  double sum = 0;
  for (const Job& job : jobs) sum += estimated_seconds(job);
  return sum / std::max(1, threads);
}

}  // namespace plumbline
