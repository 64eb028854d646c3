// Exported functions: modules, libraries, functions and their attributes, occupancy.
#include "emulator/driver/Api.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace weft::emu;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Writes `message` into the caller's error log, and the log's size into its slot.
static void writeLog(unsigned count, const CUjit_option *options, void **values, const std::string &message) {
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; options && values && i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = uintptr_t(values[i]) & 0xffffffff; // an unsigned int kept in a pointer
  }
  if (buffer && size)
    std::snprintf(buffer, size, "%s", message.c_str());
  for (unsigned i = 0; options && values && i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      values[i] = reinterpret_cast<void *>(uintptr_t(buffer ? std::min(size, message.size()) : 0));
    if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
      values[i] = nullptr;
  }
}

static CUresult parse(State &state, const void *image, const GpuInfo &gpu, unsigned count, const CUjit_option *options, void **values,
                      std::shared_ptr<Module> &code, std::string &target) {
  std::string message;
  CUresult result = parseImage(state, image, gpu, code, target, message);
  if (result != CUDA_SUCCESS)
    state.lastMessage = message;
  writeLog(count, options, values, message);
  return result;
}

WEFT_EXPORT CUresult cuModuleLoadDataEx(CUmodule *result, const void *image, unsigned count, CUjit_option *options, void **values) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result && image);
  std::shared_ptr<Module> code;
  std::shared_ptr<LoadedModule> module;
  std::string target;
  WEFT_TRY(parse(state, image, *context->device->gpu, count, options, values, code, target));
  WEFT_TRY(loadModule(state, context, code, module));
  *result = toHandle<CUmodule>(module->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
WEFT_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }

WEFT_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path) {
  WEFT_NOT_NULL(module && path);
  std::ifstream file(path, std::ios::binary);
  WEFT_NEED(file, CUDA_ERROR_FILE_NOT_FOUND);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return cuModuleLoadData(module, text.c_str());
}

/// Forgets a module; queued launches keep its code, and its variables go when they have run.
static void unload(State &state, Lock &lock, LoadedModule &module) {
  std::shared_ptr<Context> context = module.context.lock();
  if (!context || !state.contexts.find(context->handle))
    return;
  runContext(state, lock, context);
  for (auto &[number, function] : module.functions)
    state.functions.erase(function->handle);
  for (uint64_t address : module.globals)
    state.memories[context->device->ordinal]->free(address);
  state.modules.erase(module.handle);
}

WEFT_EXPORT CUresult cuModuleUnload(CUmodule handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<LoadedModule> module = state.modules.find(handle);
  WEFT_NEED(module, CUDA_ERROR_INVALID_HANDLE);
  unload(state, lock, *module);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(function && name);
  std::shared_ptr<LoadedModule> module = state.modules.find(handle);
  WEFT_NEED(module, CUDA_ERROR_INVALID_HANDLE);
  int kernel = module->code->findKernel(name);
  WEFT_NEED(kernel >= 0, CUDA_ERROR_NOT_FOUND);
  *function = toHandle<CUfunction>(functionOf(state, module, kernel)->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(count);
  std::shared_ptr<LoadedModule> module = state.modules.find(handle);
  WEFT_NEED(module, CUDA_ERROR_INVALID_HANDLE);
  *count = module->code->kernels().size();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(name && (address || bytes));
  std::shared_ptr<LoadedModule> module = state.modules.find(handle);
  WEFT_NEED(module, CUDA_ERROR_INVALID_HANDLE);
  int global = module->code->findGlobal(name);
  WEFT_NEED(global >= 0, CUDA_ERROR_NOT_FOUND);
  if (address)
    *address = module->globals[global];
  if (bytes)
    *bytes = module->code->globals()[global].size;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Libraries: parsed once, loaded into each context that launches from them
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuLibraryLoadData(CUlibrary *result, const void *image, CUjit_option *options, void **values, unsigned count, CUlibraryOption *,
                                       void **, unsigned) {
  WEFT_ENTER;
  WEFT_NOT_NULL(result && image);
  std::shared_ptr<Context> context = currentContext();
  const GpuInfo &gpu = *(context ? context->device : state.devices[0].get())->gpu;
  auto library = std::make_shared<Library>();
  WEFT_TRY(parse(state, image, gpu, count, options, values, library->code, library->target));
  *result = toHandle<CUlibrary>(state.libraries.add(library)->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuLibraryUnload(CUlibrary handle) {
  WEFT_ENTER;
  std::shared_ptr<Library> library = state.libraries.find(handle);
  WEFT_NEED(library, CUDA_ERROR_INVALID_HANDLE);
  state.libraries.erase(handle);
  state.kernels.eraseIf([&](Kernel &kernel) { return kernel.library.lock() == library; });
  for (auto &[context, module] : library->modules)
    if (module)
      unload(state, lock, *module);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name) {
  WEFT_ENTER;
  WEFT_NOT_NULL(kernel && name);
  std::shared_ptr<Library> library = state.libraries.find(handle);
  WEFT_NEED(library, CUDA_ERROR_INVALID_HANDLE);
  int number = library->code->findKernel(name);
  WEFT_NEED(number >= 0, CUDA_ERROR_NOT_FOUND);
  *kernel = toHandle<CUkernel>(state.kernels.add(std::make_shared<Kernel>(Kernel{nullptr, library, unsigned(number)}))->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(function);
  WEFT_NEED(state.kernels.find(kernel), CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<Function> found;
  WEFT_TRY(findFunction(state, context, kernel, found));
  *function = toHandle<CUfunction>(found->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuLibraryGetModule(CUmodule *result, CUlibrary handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result);
  std::shared_ptr<Library> library = state.libraries.find(handle);
  WEFT_NEED(library, CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<LoadedModule> &module = library->modules[context->handle];
  if (!module) {
    WEFT_TRY(checkTarget(*context->device->gpu, library->target));
    WEFT_TRY(loadModule(state, context, library->code, module));
  }
  *result = toHandle<CUmodule>(module->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name) {
  CUmodule module;
  WEFT_TRY(cuLibraryGetModule(&module, library));
  return cuModuleGetGlobal_v2(address, bytes, module, name);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static bool attributeOf(const Function &function, CUfunction_attribute attribute, int &value) {
  const KernelInfo &info = function.info();
  switch (int(attribute)) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = int(info.maxThreads); return true;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = int(info.staticSharedBytes); return true;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: value = int(info.localBytes); return true;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: value = int(std::clamp(info.numRegs, 16u, 255u)); return true; // an estimate
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = int(function.code->target()); return true;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: value = function.maxDynamicShared; return true;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: value = function.carveout; return true;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: value = int(info.reqnctapercluster[0]); return true;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: value = int(info.reqnctapercluster[1]); return true;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: value = int(info.reqnctapercluster[2]); return true;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: value = 0; return true;
  }
  return false;
}

WEFT_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(value);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  return attributeOf(*function, attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEFT_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    WEFT_NEED(value >= -1 && value <= 100, CUDA_ERROR_INVALID_VALUE);
    function->carveout = value;
    return CUDA_SUCCESS;
  }
  WEFT_NEED(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE);
  int64_t most = int64_t(context->device->gpu->sharedPerBlockOptin) - function->info().staticSharedBytes;
  WEFT_NEED(value >= 0 && value <= most, CUDA_ERROR_INVALID_VALUE);
  function->maxDynamicShared = value;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}
WEFT_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}
WEFT_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Function> function;
  return findFunction(state, context, handle, function);
}
WEFT_EXPORT CUresult cuFuncGetModule(CUmodule *result, CUfunction handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  std::shared_ptr<LoadedModule> module = function->module.lock();
  WEFT_NEED(module, CUDA_ERROR_INVALID_HANDLE);
  *result = toHandle<CUmodule>(module->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuFuncGetName(const char **name, CUfunction handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(name);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  *name = function->info().name.c_str();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(offset);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  const std::vector<ParamInfo> &params = function->info().params;
  WEFT_NEED(index < params.size(), CUDA_ERROR_INVALID_VALUE);
  *offset = params[index].offset;
  if (size)
    *size = params[index].size;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Occupancy
//===----------------------------------------------------------------------===//

/// Blocks that fit one multiprocessor by threads, registers (256 per warp at a time) and shared memory (1 KiB reserved each).
static int blocksPerSm(const GpuInfo &gpu, const Function &function, int threads, size_t dynamicShared) {
  const KernelInfo &info = function.info();
  uint64_t shared = info.staticSharedBytes + dynamicShared;
  if (threads <= 0 || unsigned(threads) > info.maxThreads || shared > gpu.sharedPerBlockOptin)
    return 0;
  uint64_t warps = (threads + 31) / 32, regs = std::clamp(info.numRegs, 16u, 255u);
  uint64_t warpRegs = (regs * 32 + 255) / 256 * 256;
  uint64_t byShared = gpu.sharedPerSm / ((shared + 1024 + 127) / 128 * 128);
  return int(std::min({uint64_t(gpu.blocksPerSm), gpu.threadsPerSm / (warps * 32), gpu.registersPerSm / (warpRegs * warps), byShared}));
}

WEFT_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t shared) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(blocks && threads > 0);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  *blocks = blocksPerSm(*context->device->gpu, *function, threads, shared);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads, size_t shared, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
/// The block size, a multiple of 32, that keeps the most threads on a multiprocessor.
WEFT_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize sharedOf, size_t shared, int limit) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(grid && block);
  std::shared_ptr<Function> function;
  WEFT_TRY(findFunction(state, context, handle, function));
  const GpuInfo &gpu = *context->device->gpu;
  int most = std::min<int>(function->info().maxThreads, limit > 0 ? limit : 1024);
  *grid = *block = 0;
  for (int best = 0, threads = most / 32 * 32; threads > 0; threads -= 32) {
    int blocks = blocksPerSm(gpu, *function, threads, sharedOf ? sharedOf(threads) : shared);
    if (blocks * threads <= best)
      continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * gpu.sms;
  }
  return CUDA_SUCCESS;
}
