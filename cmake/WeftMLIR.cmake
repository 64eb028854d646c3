# LLVM and MLIR for the compiler's rooms: weft_mlir carries include paths, libraries and the precompiled header.
#
# The header is compiled once into a folder that does not depend on the checkout, so that ccache finds the same objects
# from any work tree. A pass of 15 lines costs 11 CPU-seconds without it.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/llvm)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(weft_mlir INTERFACE)
target_link_libraries(weft_mlir INTERFACE weft_options)
target_include_directories(weft_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(WEFT_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(weft_mlir INTERFACE ${WEFT_LLVM_DEFINITIONS})
if(WEFT_STATIC_MLIR)
  get_property(_mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
  target_link_libraries(weft_mlir INTERFACE ${_mlir_libs})
else()
  target_link_libraries(weft_mlir INTERFACE MLIR LLVM)
endif()

set(WEFT_PCH_DIR "$ENV{HOME}/.cache/weft/pch" CACHE PATH "Where the shared precompiled header lives")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  file(READ ${PROJECT_SOURCE_DIR}/cmake/pch.h _pch_text)
  set(_pch_flags -x c++-header -std=c++20 -fPIC -O2 -gline-tables-only -DNDEBUG -fno-exceptions -fno-rtti
    -fvisibility-inlines-hidden -ffp-contract=off -Xclang -fno-pch-timestamp -fpch-instantiate-templates)
  if(WEFT_SANITIZE)
    list(APPEND _pch_flags -fsanitize=${WEFT_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer)
  endif()
  foreach(_dir IN LISTS MLIR_INCLUDE_DIRS LLVM_INCLUDE_DIRS)
    list(APPEND _pch_flags -isystem ${_dir})
  endforeach()
  list(APPEND _pch_flags ${WEFT_LLVM_DEFINITIONS})
  string(SHA256 _pch_key "${_pch_text}|${_pch_flags}|${CMAKE_CXX_COMPILER}|${CMAKE_CXX_COMPILER_VERSION}|${LLVM_PACKAGE_VERSION}")
  string(SUBSTRING ${_pch_key} 0 16 _pch_key)
  set(_pch_base ${WEFT_PCH_DIR}/${_pch_key})
  set(WEFT_PCH ${_pch_base}/mlir.pch)
  if(NOT EXISTS ${WEFT_PCH})
    message(STATUS "Compiling the MLIR precompiled header (once per machine): ${WEFT_PCH}")
    file(MAKE_DIRECTORY ${_pch_base})
    file(WRITE ${_pch_base}/mlir.h "${_pch_text}")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${_pch_flags} ${_pch_base}/mlir.h -o ${WEFT_PCH}.new
      RESULT_VARIABLE _pch_result)
    if(NOT _pch_result EQUAL 0)
      message(FATAL_ERROR "the MLIR precompiled header does not compile; see the errors above")
    endif()
    file(RENAME ${WEFT_PCH}.new ${WEFT_PCH})
  endif()
  target_compile_options(weft_mlir INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -include-pch -Xclang ${WEFT_PCH}>"
    -fpch-instantiate-templates -fPIC) # executables too: the header was compiled with -fPIC, and -fPIE differs
endif()

# weft_add_library(NAME SOURCES... DEPENDS tablegen-targets... LINK libs...): a static library of the compiler.
function(weft_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC weft_mlir ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
