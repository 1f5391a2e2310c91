# The warning set of every target, in one list.
add_library(plumbline_warnings INTERFACE)
target_compile_options(plumbline_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives inside Boost.Multiprecision with GCC 12 at -O3.
  target_compile_options(plumbline_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
if(PLUMBLINE_WERROR)
  target_compile_options(plumbline_warnings INTERFACE -Werror)
endif()
