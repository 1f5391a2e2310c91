// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/prepared.h"

namespace plumbline {
namespace {

// Of all inputs together. Each is held in several forms, about 40 bytes: 700 MB.
constexpr std::int64_t kMostElements = 1 << 24;

}  // namespace

const GradientSurvey& GradientWork::survey(int threads) const {
  std::call_once(surveyed_, [&] {
    survey_ = std::make_unique<const GradientSurvey>(operands_, weights_, threads);
  });
  return *survey_;
}

std::shared_ptr<const GradientWork> PreparedAttentionBackward::work(std::size_t group) const {
  {
    const std::scoped_lock lock(mutex_);
    prepared_.resize(groups.size());
    if (prepared_[group]) return prepared_[group];
  }
  // Not under the lock: groups are prepared side by side.
  auto made = std::make_shared<const GradientWork>(problem, contract, sm, groups[group]);
  const std::scoped_lock lock(mutex_);
  std::int64_t elements = 0;
  for (const Tensor* input :
       {problem.attention.q, problem.attention.k, problem.attention.v, problem.d_o}) {
    elements += input->layout.count();
  }
  if (elements > kMostElements) prepared_.assign(groups.size(), nullptr);
  std::shared_ptr<const GradientWork>& kept = prepared_[group];
  if (!kept) kept = std::move(made);
  return kept;
}

}  // namespace plumbline
