# Compiles every shipped kernel (kernels/shipped/<name>/<name>.toml with its .cu) to PTX, one file per target of its manifest, and
# puts manifest, source and PTX side by side into build and install trees: kernels/shipped/<name>/<name>.sm_80.ptx, ...
# A new kernel needs no line here: folders are found by their manifest. kernels/device holds the headers kernels share; it is
# put in both trees as well, so that a shipped kernel can be compiled again where it lies.

include(${CMAKE_CURRENT_LIST_DIR}/kernel_targets.cmake)

find_program(PLUMBLINE_NVCC nvcc
  HINTS $ENV{CUDA_HOME}/bin
  PATHS /usr/local/cuda/bin ${PROJECT_SOURCE_DIR}/build/cuda/bin
  DOC "the CUDA compiler for the shipped kernels")
if(NOT PLUMBLINE_NVCC AND NOT PLUMBLINE_PTX)
  message(FATAL_ERROR "no nvcc found in CUDA_HOME, PATH, /usr/local/cuda/bin or build/cuda/bin. "
    "Run scripts/setup: it fetches the CUDA compiler into build/cuda. "
    "(Or set PLUMBLINE_NVCC to an nvcc of CUDA 12 or 13, or build without kernels: -DPLUMBLINE_KERNELS=OFF. "
    "PTX that another build made of these sources is taken from its kernel folder: -DPLUMBLINE_PTX=build/release/kernels.)")
endif()
get_filename_component(nvcc_folder ${PLUMBLINE_NVCC} DIRECTORY)
find_program(PLUMBLINE_PTXAS ptxas HINTS ${nvcc_folder} DOC "the PTX assembler: checks the kernels' PTX in the tests")

# -fmad=false: the PTX must fix the bits, so nothing may be fused behind our back; kernels call fmaf where they mean it.
# -lineinfo: findings of the emulator name source lines.
set(PLUMBLINE_NVCC_FLAGS -ptx -std=c++20 -O3 -fmad=false -lineinfo)

# All of the kernels, with their PTX; and what the program needs to make the PTX of one when it is asked for.
add_custom_target(kernels ALL)
add_custom_target(kernel_sources)

# The shared headers, beside the kernels.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/kernels/device ${PROJECT_SOURCE_DIR}/kernels/device/*.cuh)
set(PLUMBLINE_DEVICE_HEADERS "")
foreach(header ${headers})
  set(original ${PROJECT_SOURCE_DIR}/kernels/device/${header})
  set(copy ${PROJECT_BINARY_DIR}/kernels/device/${header})
  add_custom_command(OUTPUT ${copy} DEPENDS ${original} COMMAND ${CMAKE_COMMAND} -E copy ${original} ${copy} VERBATIM)
  list(APPEND PLUMBLINE_DEVICE_HEADERS ${copy})
endforeach()
add_custom_target(kernel_headers DEPENDS ${PLUMBLINE_DEVICE_HEADERS})
add_dependencies(kernels kernel_headers)
add_dependencies(kernel_sources kernel_headers)
install(DIRECTORY kernels/device DESTINATION share/plumbline/kernels FILES_MATCHING PATTERN "*.cuh")

# The planted faults of `plumbline mutants`, beside them too.
file(GLOB patches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/mutants/*.patch)
set(PLUMBLINE_PATCHES "")
foreach(patch ${patches})
  get_filename_component(file ${patch} NAME)
  set(copy ${PROJECT_BINARY_DIR}/kernels/mutants/${file})
  add_custom_command(OUTPUT ${copy} DEPENDS ${patch} COMMAND ${CMAKE_COMMAND} -E copy ${patch} ${copy} VERBATIM)
  list(APPEND PLUMBLINE_PATCHES ${copy})
endforeach()
add_custom_target(kernel_mutants DEPENDS ${PLUMBLINE_PATCHES})
add_dependencies(kernels kernel_mutants)
add_dependencies(kernel_sources kernel_mutants)
install(FILES ${patches} DESTINATION share/plumbline/kernels/mutants)

# add_kernel(name): the kernel of kernels/shipped/<name>/.
function(add_kernel name)
  set(source_folder ${PROJECT_SOURCE_DIR}/kernels/shipped/${name})
  set(folder ${PROJECT_BINARY_DIR}/kernels/shipped/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source_folder}/${name}.toml)
  set(outputs "")

  # Beside the manifest: the source, or PTX that came from elsewhere.
  file(GLOB originals CONFIGURE_DEPENDS ${source_folder}/*.toml ${source_folder}/*.cu ${source_folder}/*.ptx ${source_folder}/*.op)
  foreach(original ${originals})
    get_filename_component(file ${original} NAME)
    add_custom_command(OUTPUT ${folder}/${file} DEPENDS ${original}
      COMMAND ${CMAKE_COMMAND} -E copy ${original} ${folder}/${file} VERBATIM)
    list(APPEND outputs ${folder}/${file})
  endforeach()
  add_custom_target(kernel_source_${name} DEPENDS ${outputs})
  add_dependencies(kernel_sources kernel_source_${name})

  if(EXISTS ${source_folder}/${name}.cu)
    plumbline_kernel_targets(${source_folder}/${name}.toml targets)
    foreach(target ${targets})
      string(REGEX MATCH "[0-9]+" number ${target})
      set(ptx ${folder}/${name}.sm_${number}.ptx)
      if(PLUMBLINE_PTX)
        get_filename_component(made ${PLUMBLINE_PTX}/shipped/${name}/${name}.sm_${number}.ptx ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
        add_custom_command(OUTPUT ${ptx} DEPENDS ${made} COMMAND ${CMAKE_COMMAND} -E copy ${made} ${ptx} VERBATIM)
        list(APPEND outputs ${ptx})
        continue()
      endif()
      # Which headers it includes, the compiler says (DEPFILE).
      add_custom_command(OUTPUT ${ptx} DEPENDS ${source_folder}/${name}.cu DEPFILE ${ptx}.d
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${PLUMBLINE_NVCC} ${PLUMBLINE_NVCC_FLAGS} -arch=compute_${target} -I ${PROJECT_SOURCE_DIR}/kernels -MD -MF ${ptx}.d -MT ${ptx}
          -o ${ptx} ${source_folder}/${name}.cu
        COMMENT "Compiling kernel ${name} for sm_${target}" VERBATIM)
      list(APPEND outputs ${ptx})
      if(PLUMBLINE_TESTS AND PLUMBLINE_PTXAS)
        # With -O0: the question is whether this is valid PTX, not how fast it is.
        add_test(NAME kernels.ptxas.${name}.sm_${target}
          COMMAND ${PLUMBLINE_PTXAS} -O0 -arch=sm_${target} ${ptx} -o ${ptx}.cubin)
        set_tests_properties(kernels.ptxas.${name}.sm_${target} PROPERTIES LABELS quick)
      endif()
    endforeach()
  endif()

  add_custom_target(kernel_${name} DEPENDS ${outputs})
  add_dependencies(kernels kernel_${name})
  install(FILES ${outputs} DESTINATION share/plumbline/kernels/shipped/${name})
endfunction()

if(PLUMBLINE_TESTS)
  enable_testing()
endif()
file(GLOB manifests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/shipped/*/*.toml)
foreach(manifest ${manifests})
  get_filename_component(name ${manifest} NAME_WE)
  add_kernel(${name})
endforeach()
