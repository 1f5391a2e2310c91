# Most of what a small file costs is reading the headers of the standard library and of fmt. They are compiled once for each set of
# options, and every file begins with them. (Presets that are not built every day leave that off: there a file that lacks an include
# is seen.)
option(PLUMBLINE_PRECOMPILED "Compile the headers of the standard library once" ON)
set(standard_headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring>
  <deque> <filesystem> <fstream> <functional> <iomanip> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional> <random>
  <ranges> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h>)

# plumbline_headers(name headers...): an object library whose headers others begin with.
function(plumbline_headers name)
  if(NOT PLUMBLINE_PRECOMPILED)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE fmt::fmt plumbline_warnings)
  target_precompile_headers(${name} PRIVATE ${standard_headers} ${ARGN})
  # What ccache takes for the contents: the same in every clone, which those of the compiled headers are not.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${fmt_VERSION} ${standard_headers} ${ARGN}\n")
endfunction()

# Every file of the target begins with the headers that the library `name` has compiled, with the same options.
function(plumbline_begin_with target name)
  if(PLUMBLINE_PRECOMPILED)
    set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM ${name})
  endif()
endfunction()
