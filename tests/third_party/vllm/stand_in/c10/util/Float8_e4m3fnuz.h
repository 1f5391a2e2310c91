// SPDX-License-Identifier: MIT
#include <torch/all.h>
