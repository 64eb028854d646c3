// What the emulator's library exports beside the CUDA driver API: settings, counters and findings.
#ifndef WEFT_EMULATOR_EMULATOR_H
#define WEFT_EMULATOR_EMULATOR_H
#include <cstddef>
extern "C" {
/// Sets `key` (as in WEFT_EMULATOR_<KEY>, lower case: "devices", "sm", "memory", "check", "counters", "order", "step_limit",
/// "threads", "eager") before cuInit. 0, or 1 for an unknown key or a bad value.
int weftEmuConfigure(const char *key, const char *value);
/// Writes the counters so far as JSON (contract: launches, kernels[]) into `buffer` of *size bytes; *size becomes the size
/// needed, the final 0 included. 1 where the buffer is too small.
int weftEmuCountersJson(char *buffer, size_t *size);
void weftEmuResetCounters(void);
void weftEmuResetFindings(void);
/// The findings of --check so far, one per line, in the same manner.
int weftEmuFindings(char *buffer, size_t *size);
/// Why the last launch failed: kernel, PTX line, block, thread.
int weftEmuLastError(char *buffer, size_t *size);
}
#endif
