// SPDX-License-Identifier: MIT
// Operation "attention": softmax attention forward, with the log-sum-exp of every row.
#pragma once

#include "kernels/manifest/operation.h"

namespace plumbline {

const Operation& attention_operation();

}  // namespace plumbline
