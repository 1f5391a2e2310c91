// SPDX-License-Identifier: MIT
#include <torch/extension.h>
