# Embeds text files into C++: embed_files(OUTPUT HEADER NAME FILE [NAME FILE ...]) writes a source that includes HEADER and
# defines, for each name, a PageFile: the text of its file, and its SHA-256 (a page that names the hashes of its scripts runs no
# others). Runs when CMake configures, which it does again when one of the files changes.
function(embed_files output header)
  set(text "// Written by cmake/embed.cmake; do not edit.\n#include \"${header}\"\n\nnamespace plumbline {\n\n")
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    file(SHA256 ${file} hash)
    string(APPEND text "const PageFile ${name} = {R\"embedded(${content})embedded\",\n    \"${hash}\"};\n\n")
  endwhile()
  string(APPEND text "}  // namespace plumbline\n")
  # Unchanged text keeps its time stamp, so that nothing is compiled again.
  set(old "")
  if(EXISTS ${output})
    file(READ ${output} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${output} "${text}")
  endif()
endfunction()
