# The CUDA headers convert between number formats on the host too; the tests of formats hold them against ours.
# Without them those tests say so and skip. Their directory comes last and as a system directory: nothing else may
# come from it by accident, and its warnings are not ours.
find_path(PLUMBLINE_CUDA_HEADERS cuda_fp8.h
  PATHS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include
  DOC "Directory of cuda_fp8.h, for the tests of oracles/formats")
if(PLUMBLINE_CUDA_HEADERS)
  foreach(target formats_tests formats_exhaustive_tests)
    target_compile_options(${target} PRIVATE -idirafter ${PLUMBLINE_CUDA_HEADERS})
  endforeach()
endif()
