# The warning set of every target, in one list.
add_library(plumbline_warnings INTERFACE)
target_compile_options(plumbline_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual)
if(PLUMBLINE_WERROR)
  target_compile_options(plumbline_warnings INTERFACE -Werror)
endif()
