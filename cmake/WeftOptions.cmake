# Flags that every Weft target shares, as the interface library weft_options.
add_library(weft_options INTERFACE)
target_include_directories(weft_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(weft_options INTERFACE
  -fno-exceptions -fno-rtti -fvisibility-inlines-hidden -ffp-contract=off
  -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations -Werror=return-type -Werror=switch)
# Debug info costs link time and disk on small machines; line tables are enough for a backtrace.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -gline-tables-only -DNDEBUG")
if(WEFT_SANITIZE)
  target_compile_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer)
  target_link_options(weft_options INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize=vptr)
endif()
find_program(WEFT_LLD NAMES ld.lld-22 ld.lld)
if(WEFT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(--ld-path=${WEFT_LLD})
endif()
