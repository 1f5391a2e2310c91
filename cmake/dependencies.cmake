# Debian 12 packages; scripts/setup installs them. What is missing is said at once, with its package.
set(missing "")
macro(plumbline_needs found package)
  if(NOT ${found})
    string(APPEND missing " ${package}")
  endif()
endmacro()

find_package(PkgConfig QUIET)
plumbline_needs(PkgConfig_FOUND pkg-config)
find_package(Threads REQUIRED)
foreach(pair fmt=libfmt-dev Boost=libboost-dev TBB=libtbb-dev nlohmann_json=nlohmann-json3-dev pugixml=libpugixml-dev CLI11=libcli11-dev
    rapidcheck=librapidcheck-dev)
  string(REGEX REPLACE "=.*" "" name ${pair})
  string(REGEX REPLACE ".*=" "" package ${pair})
  find_package(${name} QUIET)
  plumbline_needs(${name}_FOUND ${package})
endforeach()
if(Boost_FOUND AND Boost_VERSION VERSION_LESS 1.74)
  message(FATAL_ERROR "Boost ${Boost_VERSION} is older than 1.74")
endif()
if(PkgConfig_FOUND)
  foreach(pair mpfr=libmpfr-dev openblas=libopenblas-dev libhwy=libhwy-dev tomlplusplus=libtomlplusplus-dev libxxhash=libxxhash-dev)
    string(REGEX REPLACE "=.*" "" module ${pair})
    string(REGEX REPLACE ".*=" "" package ${pair})
    string(REGEX REPLACE "^lib" "" name ${module})
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    plumbline_needs(${name}_FOUND ${package})
  endforeach()
endif()
# liblodepng-dev has neither a CMake nor a pkg-config file.
find_library(PLUMBLINE_LODEPNG lodepng DOC "the PNG encoder of liblodepng-dev")
plumbline_needs(PLUMBLINE_LODEPNG liblodepng-dev)
# Chart.js in one file, with its license notice at the top, from libjs-chart.js.
find_file(PLUMBLINE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
  DOC "Chart.js 3 or later, to be put into report.html")
plumbline_needs(PLUMBLINE_CHART_JS libjs-chart.js)
if(missing)
  message(FATAL_ERROR "These packages are missing:${missing}\n"
    "On Debian 12 scripts/setup installs them, and all others that building plumbline needs.")
endif()

# Vector code is compiled for SSE2, AVX2 and AVX-512, as the emulator's handlers are, and chosen at run time.
target_compile_definitions(PkgConfig::hwy INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")
add_library(lodepng INTERFACE IMPORTED)
target_link_libraries(lodepng INTERFACE ${PLUMBLINE_LODEPNG})
