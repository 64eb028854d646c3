/* The compiler as a C library: what weftc does, without its process. Thread-safe: calls share nothing.
 *
 * Strings are UTF-8. A message that is given back belongs to the caller and is freed by weft_compiler_free. */
#ifndef WEFT_COMPILER_H
#define WEFT_COMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_COMPILER_ABI 1

/* weftc's exit codes. */
typedef enum weft_compiler_status {
  WEFT_COMPILER_DONE = 0,
  WEFT_COMPILER_MODEL_WRONG = 1,
  WEFT_COMPILER_BAD_FLAG = 2,
  WEFT_COMPILER_MACHINE = 3
} weft_compiler_status;

int weft_compiler_abi(void);

/* Runs `weftc` with these arguments (without the program's name). `*output` gets what weftc would print to standard output, `*messages` what it
 * would print to standard error; both may be NULL. */
weft_compiler_status weft_compile(int argc, const char *const *argv, char **output, char **messages);
void weft_compiler_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
