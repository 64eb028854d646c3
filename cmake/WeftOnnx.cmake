# ONNX's own C++ library, as the interface target weft_onnx; only frontends/onnx links it.
#
# ./dev builds it once per machine. Debian's protobuf has no CMake package of its own, which ONNXConfig.cmake asks for, so
# the exported targets are read directly, after CMake's FindProtobuf. ONNX throws: a file that calls it is built with
# exceptions, and therefore without the precompiled header (weft_use_exceptions).
set(WEFT_ONNX_PREFIX "$ENV{HOME}/.cache/weft/onnx-1.23.2" CACHE PATH "Where ONNX's C++ library is installed")
if(NOT EXISTS ${WEFT_ONNX_PREFIX}/lib/cmake/ONNX/ONNXTargets.cmake)
  message(FATAL_ERROR "ONNX's C++ library is not in ${WEFT_ONNX_PREFIX}: run ./dev setup, or set WEFT_ONNX_PREFIX")
endif()
find_package(Protobuf MODULE REQUIRED)
include(${WEFT_ONNX_PREFIX}/lib/cmake/ONNX/ONNXTargets.cmake)

add_library(weft_onnx INTERFACE)
target_link_libraries(weft_onnx INTERFACE ONNX::onnx ONNX::onnx_proto protobuf::libprotobuf)
target_include_directories(weft_onnx SYSTEM INTERFACE ${WEFT_ONNX_PREFIX}/include ${Protobuf_INCLUDE_DIRS})

# weft_use_exceptions(TARGET): builds a target (an object or static library of its own) with exceptions and RTTI. It must
# link weft_onnx and weft_options, not weft_mlir, whose precompiled header has neither.
function(weft_use_exceptions target)
  get_target_property(_sources ${target} SOURCES)
  # Options of the source stand behind those that weft_options brings.
  set_source_files_properties(${_sources} PROPERTIES COMPILE_OPTIONS "-fexceptions;-frtti")
endfunction()
