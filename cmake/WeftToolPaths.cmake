# Where ptxas and libdevice were found when Weft was configured: the interface target weft_tool_paths carries the macros
# WEFT_DEFAULT_PTXAS and WEFT_DEFAULT_LIBDEVICE. They are the last resort of the search at run time, which is: --cuda-path,
# the environment (WEFT_PTXAS, WEFT_LIBDEVICE), beside the executable, these.
file(GLOB _ptxas ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/bin/ptxas)
file(GLOB _libdevice ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/nvvm/libdevice/libdevice.10.bc)
foreach(_tool IN ITEMS _ptxas _libdevice)
  if(${_tool}) # none where no .venv has been made: the runtime alone builds without
    list(GET ${_tool} 0 ${_tool})
    file(REAL_PATH ${${_tool}} ${_tool}) # the same text in every work tree: ccache's key
  endif()
endforeach()
set(WEFT_PTXAS "${_ptxas}" CACHE FILEPATH "ptxas that makes the cubins (PyPI: nvidia-cuda-nvcc)")
set(WEFT_LIBDEVICE "${_libdevice}" CACHE FILEPATH "libdevice.10.bc (PyPI: nvidia-nvvm)")
add_library(weft_tool_paths INTERFACE)
target_compile_definitions(weft_tool_paths INTERFACE
  WEFT_DEFAULT_PTXAS="${WEFT_PTXAS}" WEFT_DEFAULT_LIBDEVICE="${WEFT_LIBDEVICE}")
