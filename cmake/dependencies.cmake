# Debian 12 packages; scripts/setup installs them.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(TBB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(pugixml REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(mpfr REQUIRED IMPORTED_TARGET mpfr)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
# Vector code is compiled for SSE2, AVX2 and AVX-512, as the emulator's handlers are, and chosen at run time.
target_compile_definitions(PkgConfig::hwy INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(rapidcheck REQUIRED)
# liblodepng-dev has neither a CMake nor a pkg-config file.
find_library(PLUMBLINE_LODEPNG lodepng REQUIRED DOC "the PNG encoder of liblodepng-dev")
add_library(lodepng INTERFACE IMPORTED)
target_link_libraries(lodepng INTERFACE ${PLUMBLINE_LODEPNG})
# Chart.js in one file, with its license notice at the top, from libjs-chart.js.
find_file(PLUMBLINE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js REQUIRED NO_DEFAULT_PATH
  DOC "Chart.js 3 or later, to be put into report.html")
