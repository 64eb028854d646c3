// Exported functions: contexts. Each thread has a stack of current ones.
#include "emulator/driver/Api.h"
#include <algorithm>

namespace weft::emu {

static thread_local std::vector<std::shared_ptr<Context>> contextStack;

std::shared_ptr<Context> currentContext() { return contextStack.empty() ? nullptr : contextStack.back(); }

std::shared_ptr<Context> makeContext(State &state, Device &device) {
  auto context = state.contexts.add(std::make_shared<Context>());
  context->device = &device;
  context->memory = std::make_unique<ContextMemory>(state.memories, state.hostMemory, device.ordinal);
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->id = ++state.nextId;
  context->streams.push_back(context->legacy);
  return context;
}

void destroyContext(State &state, Lock &lock, std::shared_ptr<Context> context) {
  state.contexts.erase(context->handle); // first, so that nothing more is queued
  runContext(state, lock, context);
  state.streams.eraseIf([&](Stream &stream) { return stream.context == context; });
  state.events.eraseIf([&](Event &event) { return event.context.lock() == context; });
  state.functions.eraseIf([&](Function &function) { return function.context.lock() == context; });
  state.modules.eraseIf([&](LoadedModule &module) { return module.context.lock() == context; });
  state.memories[context->device->ordinal]->freeOwnedBy(context.get());
  context->streams.clear(); // streams and contexts name each other
  context->legacy = nullptr;
  context->perThread.clear();
  context->legacy = nullptr;
  if (state.running == 0)
    state.memories[context->device->ordinal]->collect();
}

} // namespace weft::emu

using namespace weft::emu;

#define WEFT_DEVICE(number) WEFT_NEED(number >= 0 && size_t(number) < state.devices.size(), CUDA_ERROR_INVALID_DEVICE)

WEFT_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice number) {
  WEFT_ENTER;
  WEFT_NOT_NULL(context);
  WEFT_DEVICE(number);
  Device &device = *state.devices[number];
  if (!device.primary) {
    device.primary = makeContext(state, device);
    device.primary->primary = true;
    device.primary->flags = device.primaryFlags;
  }
  ++device.retained;
  *context = toHandle<CUcontext>(device.primary->handle);
  return CUDA_SUCCESS;
}

static void dropPrimary(State &state, Lock &lock, Device &device) {
  std::shared_ptr<Context> context = std::move(device.primary);
  device.primary = nullptr;
  if (context)
    destroyContext(state, lock, context);
}

WEFT_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice number) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  Device &device = *state.devices[number];
  WEFT_NEED(device.retained, CUDA_ERROR_INVALID_CONTEXT);
  if (--device.retained == 0)
    dropPrimary(state, lock, device);
  return CUDA_SUCCESS;
}
#undef cuDevicePrimaryCtxRelease
WEFT_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice number) { return cuDevicePrimaryCtxRelease_v2(number); }

WEFT_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice number) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  state.devices[number]->retained = 0;
  dropPrimary(state, lock, *state.devices[number]);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice number, unsigned flags) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  state.devices[number]->primaryFlags = flags;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned *flags, int *active) {
  WEFT_ENTER;
  WEFT_NOT_NULL(flags && active);
  WEFT_DEVICE(number);
  *flags = state.devices[number]->primaryFlags;
  *active = state.devices[number]->primary != nullptr;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice number) {
  WEFT_ENTER;
  WEFT_NOT_NULL(context);
  WEFT_DEVICE(number);
  contextStack.push_back(makeContext(state, *state.devices[number]));
  contextStack.back()->flags = flags;
  *context = toHandle<CUcontext>(contextStack.back()->handle);
  return CUDA_SUCCESS;
}
struct CUctxCreateParams_st;
WEFT_EXPORT CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams_st *params, unsigned flags, CUdevice number) {
  return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, number);
}

WEFT_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle) {
  WEFT_ENTER;
  std::shared_ptr<Context> context = state.contexts.find(handle);
  WEFT_NEED(context && !context->primary, CUDA_ERROR_INVALID_CONTEXT);
  destroyContext(state, lock, context);
  if (currentContext() == context)
    contextStack.pop_back();
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
  WEFT_ENTER;
  std::shared_ptr<Context> context = state.contexts.find(handle);
  WEFT_NEED(context || !handle, CUDA_ERROR_INVALID_CONTEXT);
  if (!contextStack.empty())
    contextStack.pop_back();
  if (context)
    contextStack.push_back(context);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetCurrent(CUcontext *handle) {
  WEFT_ENTER;
  WEFT_NOT_NULL(handle);
  std::shared_ptr<Context> context = currentContext();
  *handle = context ? toHandle<CUcontext>(context->handle) : nullptr;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  WEFT_ENTER;
  std::shared_ptr<Context> context = state.contexts.find(handle);
  WEFT_NEED(context, CUDA_ERROR_INVALID_CONTEXT);
  contextStack.push_back(context);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *handle) {
  WEFT_ENTER;
  WEFT_NEED(!contextStack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  if (handle)
    *handle = toHandle<CUcontext>(contextStack.back()->handle);
  contextStack.pop_back();
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxGetDevice(CUdevice *number) {
  WEFT_ENTER;
  WEFT_NOT_NULL(number);
  std::shared_ptr<Context> context = currentContext();
  WEFT_NEED(context && state.contexts.find(context->handle), CUDA_ERROR_INVALID_CONTEXT);
  *number = int(context->device->ordinal);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetFlags(unsigned *flags) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(flags);
  *flags = context->flags;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  WEFT_ENTER;
  WEFT_NOT_NULL(version);
  WEFT_NEED(!handle || state.contexts.find(handle), CUDA_ERROR_INVALID_CONTEXT);
  *version = 3020;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxSynchronize(void) {
  WEFT_ENTER_CONTEXT;
  for (const std::shared_ptr<Stream> &stream : context->streams)
    if (stream->capture) {
      invalidateCapture(*stream->capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  runContext(state, lock, context);
  return context->sticky;
}

WEFT_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Context> other = state.contexts.find(peer);
  WEFT_NEED(!flags, CUDA_ERROR_INVALID_VALUE);
  WEFT_NEED(other, CUDA_ERROR_INVALID_CONTEXT);
  WEFT_NEED(other->device != context->device, CUDA_ERROR_INVALID_DEVICE);
  WEFT_NEED(!context->memory->reaches(other->device->ordinal), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  context->memory->setPeer(other->device->ordinal, true);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Context> other = state.contexts.find(peer);
  WEFT_NEED(other, CUDA_ERROR_INVALID_CONTEXT);
  bool enabled = other->device != context->device && context->memory->reaches(other->device->ordinal);
  WEFT_NEED(enabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  runContext(state, lock, context);
  context->memory->setPeer(other->device->ordinal, false);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  WEFT_ENTER_CONTEXT;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(value);
  WEFT_NEED(unsigned(limit) < 7, CUDA_ERROR_UNSUPPORTED_LIMIT);
  *value = context->limits[limit];
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  WEFT_ENTER_CONTEXT;
  WEFT_NEED(unsigned(limit) < 7, CUDA_ERROR_UNSUPPORTED_LIMIT);
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  WEFT_ENTER_CONTEXT;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(config);
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}
