// SPDX-License-Identifier: MIT
// FlashAttention 2 forward, bf16, head dimension 128: the instances that run_mha_fwd_hdim128
// chooses between on an A100 or H100 without dropout and ALiBi.
#include "flash_fwd_launch_template.h"

namespace FLASH_NAMESPACE {

using Traits = Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>;

// Dropout, causal, local, ALiBi, even m and n, even k, softcap, return of P.
#define FORWARD(causal, local, even, softcap)                                        \
  template __global__ void                                                           \
  flash_fwd_kernel<Traits, false, causal, local, false, even, true, softcap, false>( \
      KERNEL_PARAM_MODIFIER const Flash_fwd_params)

FORWARD(false, false, false, false);
FORWARD(false, false, true, false);
FORWARD(true, false, false, false);
FORWARD(true, false, true, false);
FORWARD(false, true, false, false);
FORWARD(false, false, false, true);
FORWARD(true, false, false, true);
FORWARD(false, true, false, true);

}  // namespace FLASH_NAMESPACE
