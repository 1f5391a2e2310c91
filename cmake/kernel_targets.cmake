# What the build reads of a manifest: the targets of its line `targets = [80, "90a"]`, as compilers name them: 80 and 90a.
# The whole of a manifest is read by kernels/manifest/manifest_reader.cpp.
function(plumbline_kernel_targets manifest result)
  file(STRINGS ${manifest} flags REGEX "^flags *=")
  if(flags)
    message(FATAL_ERROR "${manifest}: kernels in the tree are all compiled with the flags of cmake/cuda_kernel.cmake. Remove \"flags\".")
  endif()
  file(STRINGS ${manifest} lines REGEX "^targets *=")
  if(NOT "${lines}" MATCHES "\\[([0-9af\", ]+)\\]")
    message(FATAL_ERROR "${manifest}: no line of the form targets = [80, 90]")
  endif()
  string(REGEX MATCHALL "[0-9]+[af]?" targets "${CMAKE_MATCH_1}")
  set(${result} ${targets} PARENT_SCOPE)
endfunction()
