// Shared by the files that define the exported functions.
#ifndef WEFT_EMULATOR_DRIVER_API_H
#define WEFT_EMULATOR_DRIVER_API_H
#include "emulator/driver/State.h"

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

/// Takes the lock for the rest of the function; returns where cuInit was not called.
#define WEFT_ENTER                                                                                                     \
  State &state = State::get();                                                                                         \
  std::lock_guard<std::recursive_mutex> lock(state.mutex);                                                             \
  if (!state.initialized)                                                                                              \
    return CUDA_ERROR_NOT_INITIALIZED;                                                                                 \
  (void)state

/// The same, and needs a current context, as `device`, that is not poisoned.
#define WEFT_ENTER_CONTEXT                                                                                             \
  WEFT_ENTER;                                                                                                          \
  Device *device = currentDevice();                                                                                    \
  if (!device || !state.contexts.count(device))                                                                        \
    return CUDA_ERROR_INVALID_CONTEXT;                                                                                 \
  if (device->sticky != CUDA_SUCCESS)                                                                                  \
    return device->sticky

#define WEFT_NOT_NULL(pointer)                                                                                         \
  if (!(pointer))                                                                                                      \
  return CUDA_ERROR_INVALID_VALUE

#endif
