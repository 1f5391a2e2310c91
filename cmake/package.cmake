# cmake --install build/release --prefix DIR, and packages: cpack -G DEB (or TGZ) in build/release. Both take what has been built:
# scripts/build release plumbline kernels.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages do not wait for the tests
install(DIRECTORY docs DESTINATION share/doc/plumbline)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/plumbline)
# find_package(plumbline) of other projects. The headers run the program, so they fit any version of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(DIRECTORY harness/client/plumbline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(config_folder ${CMAKE_INSTALL_DATADIR}/cmake/plumbline)
configure_package_config_file(cmake/plumblineConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/plumblineConfig.cmake
  INSTALL_DESTINATION ${config_folder} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/plumblineConfigVersion.cmake
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/generated/plumblineConfig.cmake ${PROJECT_BINARY_DIR}/generated/plumblineConfigVersion.cmake
  DESTINATION ${config_folder})
if(PLUMBLINE_BUNDLE_LIBRARIES)
  include(${CMAKE_CURRENT_LIST_DIR}/bundle_libraries.cmake)
endif()

set(CPACK_PACKAGE_NAME plumbline)
set(CPACK_PACKAGE_CONTACT "plumbline")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Tells rounding from bugs in low-precision GPU kernels, without a GPU")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Which packages the program's libraries are in, dpkg-shlibdeps of dpkg-dev knows.
find_program(PLUMBLINE_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(PLUMBLINE_SHLIBDEPS)
if(PLUMBLINE_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
