// Shared by the files that define exported functions: entering the driver.
#ifndef WEFT_EMULATOR_DRIVER_API_H
#define WEFT_EMULATOR_DRIVER_API_H
#include "emulator/driver/State.h"

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

/// Takes the lock, as `lock`, for the rest of the function; returns where cuInit was not called, or from a host function.
#define WEFT_ENTER                                                                                                     \
  if (insideHostFunction())                                                                                            \
    return CUDA_ERROR_NOT_PERMITTED;                                                                                   \
  State &state = State::get();                                                                                         \
  Lock lock(state.mutex);                                                                                              \
  if (!state.initialized)                                                                                              \
  return CUDA_ERROR_NOT_INITIALIZED

/// The same, and needs a current context, as `context`, that is not poisoned.
#define WEFT_ENTER_CONTEXT                                                                                             \
  WEFT_ENTER;                                                                                                          \
  std::shared_ptr<Context> context = currentContext();                                                                 \
  if (!context || !state.contexts.find(context->handle))                                                               \
    return CUDA_ERROR_INVALID_CONTEXT;                                                                                 \
  if (context->sticky != CUDA_SUCCESS)                                                                                 \
  return context->sticky

#define WEFT_NEED(condition, error)                                                                                    \
  if (!(condition))                                                                                                    \
  return error
#define WEFT_NOT_NULL(pointer) WEFT_NEED(pointer, CUDA_ERROR_INVALID_VALUE)
#define WEFT_TRY(call)                                                                                                 \
  if (CUresult bad = (call))                                                                                           \
  return bad

namespace weft::emu {
template <class H> H toHandle(const void *handle) { return reinterpret_cast<H>(const_cast<void *>(handle)); }
} // namespace weft::emu
#endif
