// SPDX-License-Identifier: MIT
// OpenBLAS chooses its kernels as it is loaded, by the model of the processor; on one that it does
// not know yet it takes those of 2004 (Prescott), which have no AVX.
#pragma once

namespace plumbline {

// There, starts the program again with kernels that the processor can run, as OPENBLAS_CORETYPE
// asks for; returns where nothing is to be gained, or where that variable is set.
void restart_with_faster_blas(char** argv);

}  // namespace plumbline
