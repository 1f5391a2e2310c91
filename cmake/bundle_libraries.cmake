# With PLUMBLINE_BUNDLE_LIBRARIES, as wheels are built, `cmake --install` puts the shared libraries that the program needs into
# lib/ beside bin/, each once under the name that it is looked for by (wheels hold no links), and what they are licensed under
# into share/licenses/. What every Linux has with its C library stays out.
#
# DT_RPATH and not DT_RUNPATH: the libraries' own libraries are looked for in that folder as well.
set_target_properties(plumbline PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
target_link_options(plumbline PRIVATE -Wl,--disable-new-dtags)

install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${CMAKE_INSTALL_PREFIX}/bin/plumbline"
    RESOLVED_DEPENDENCIES_VAR libraries
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so\\.[0-9]+$" "^ld-linux.*" "^linux-vdso.*")
  file(MAKE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/lib" "${CMAKE_INSTALL_PREFIX}/share/licenses")
  foreach(library IN LISTS libraries)
    get_filename_component(name "${library}" NAME)
    file(REAL_PATH "${library}" file)
    file(COPY_FILE "${file}" "${CMAKE_INSTALL_PREFIX}/lib/${name}")
    message(STATUS "Bundled: ${name}")
    # Debian's account of authors and licenses, of the package that the file is from.
    set(owner "")
    foreach(path "${file}" "/usr${file}" "${library}")
      execute_process(COMMAND dpkg-query -S "${path}" OUTPUT_VARIABLE owner ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(owner)
        break()
      endif()
    endforeach()
    string(REGEX REPLACE "[:,].*" "" owner "${owner}")
    if(owner AND EXISTS "/usr/share/doc/${owner}/copyright")
      file(REAL_PATH "/usr/share/doc/${owner}/copyright" notice)
      file(COPY_FILE "${notice}" "${CMAKE_INSTALL_PREFIX}/share/licenses/${owner}")
    else()
      message(WARNING "no license notice was found for ${library}: add it before the wheel is passed on")
    endif()
  endforeach()
]])
