// PTX images: which of them a device accepts, loading them into a context, checking launches against them.
#include "emulator/driver/Api.h"
#include <algorithm>
#include <cstring>

namespace weft::emu {

static constexpr uint64_t kSharedWithoutOptIn = 48 << 10;
static constexpr unsigned kNewestPtx = 90; // what a driver of CUDA 13.0 accepts

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// The word after the directive `name`, e.g. "sm_90a" for ".target"; comments are skipped. Empty where there is none.
static std::string directive(std::string_view ptx, std::string_view name) {
  for (size_t at = 0; at < ptx.size();) {
    if (ptx.substr(at, 2) == "//")
      at = std::min(ptx.find('\n', at), ptx.size());
    else if (ptx.substr(at, 2) == "/*")
      at = std::min(ptx.find("*/", at + 2), ptx.size() - 2) + 2;
    else if (ptx.substr(at, name.size()) == name) {
      size_t begin = std::min(ptx.find_first_not_of(" \t\r\n", at + name.size()), ptx.size());
      return std::string(ptx.substr(begin, ptx.find_first_of(", \t\r\n", begin) - begin));
    } else if (ptx[at] == '{') {
      return ""; // bodies come after the header
    } else {
      ++at;
    }
  }
  return "";
}

/// PTX for sm_N runs on every device from N on; for sm_Na only on exactly that; for sm_Nf on its major version from N on.
CUresult checkTarget(const GpuInfo &gpu, const std::string &target) {
  if (target.rfind("sm_", 0) != 0)
    return CUDA_ERROR_INVALID_PTX;
  int number = std::atoi(target.c_str() + 3);
  if (number > gpu.capability())
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (target.back() == 'a' && target != gpu.target)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (target.back() == 'f' && number / 10 != gpu.major)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return CUDA_SUCCESS;
}

static bool isBinary(const char *image) {
  for (const char *magic : {"\x7f" "ELF", "\x50\xed\x55\xba", "\xb1\x43\x62\x46"}) // cubin, fat binary, its wrapper
    if (!std::strncmp(image, magic, 4))
      return true;
  return false;
}

static CUresult checkVersion(const std::string &version, std::string &message) {
  unsigned major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%u.%u", &major, &minor) != 2 || minor > 9) {
    message = "the image is neither PTX (no .version) nor a binary";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (major * 10 + minor <= kNewestPtx)
    return CUDA_SUCCESS;
  message = "PTX version " + version + " is newer than this driver's, 9.0";
  return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

static CUresult checkContents(const Module &code, std::string &message) {
  for (const GlobalInfo &global : code.globals())
    if (global.isExtern) {
      message = "unresolved extern variable '" + global.name + "'";
      return CUDA_ERROR_INVALID_PTX;
    }
  for (const KernelInfo &kernel : code.kernels())
    if (kernel.staticSharedBytes > kSharedWithoutOptIn) {
      message = "kernel '" + kernel.name + "' uses too much shared data (" + std::to_string(kernel.staticSharedBytes) + " bytes, 49152 at most)";
      return CUDA_ERROR_INVALID_PTX;
    }
  return CUDA_SUCCESS;
}

CUresult parseImage(State &state, const void *image, const GpuInfo &gpu, std::shared_ptr<Module> &code, std::string &target, std::string &message) {
  const char *text = static_cast<const char *>(image);
  if (isBinary(text)) {
    message = "the emulator runs PTX only, not cubins or fat binaries";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::string_view ptx(text);
  WEFT_TRY(checkVersion(directive(ptx, ".version"), message));
  target = directive(ptx, ".target");
  if (CUresult bad = checkTarget(gpu, target)) {
    message = "PTX for '" + target + "' does not run on " + gpu.target;
    return bad;
  }
  Diagnostic diagnostic;
  code = parseModule(ptx, gpu.capability(), diagnostic);
  if (!code) {
    message = "line " + std::to_string(diagnostic.line) + ": " + diagnostic.message;
    return CUDA_ERROR_INVALID_PTX;
  }
  return checkContents(*code, message);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Allocates and initialises the module's variables.
static CUresult placeGlobals(DeviceMemory &memory, const Context &context, LoadedModule &module) {
  const std::vector<GlobalInfo> &globals = module.code->globals();
  for (const GlobalInfo &global : globals) {
    CUdeviceptr address = 0;
    if (global.size) {
      WEFT_TRY(memory.allocate(global.size, &context, false, address));
      uint8_t *bytes = memory.host(address, global.size), *written = memory.written(address, global.size);
      size_t given = std::min<size_t>(global.init.size(), global.size);
      std::memset(bytes, 0, global.size);
      if (given)
        std::memcpy(bytes, global.init.data(), given);
      if (written)
        std::memset(written, 1, global.size);
    }
    module.globals.push_back(address);
  }
  for (size_t i = 0; i < globals.size(); ++i)
    for (const Relocation &relocation : globals[i].relocations) {
      uint64_t value = module.globals[relocation.target] + relocation.addend;
      if (uint8_t *bytes = memory.host(module.globals[i] + relocation.offset, relocation.size))
        std::memcpy(bytes, &value, std::min<size_t>(relocation.size, 8));
    }
  return CUDA_SUCCESS;
}

CUresult loadModule(State &state, const std::shared_ptr<Context> &context, std::shared_ptr<Module> code, std::shared_ptr<LoadedModule> &out) {
  auto module = std::make_shared<LoadedModule>();
  module->context = context;
  module->code = std::move(code);
  DeviceMemory &memory = *state.memories[context->device->ordinal];
  if (CUresult bad = placeGlobals(memory, *context, *module)) {
    for (uint64_t address : module->globals)
      memory.free(address);
    return bad;
  }
  out = state.modules.add(std::move(module));
  return CUDA_SUCCESS;
}

std::shared_ptr<Function> functionOf(State &state, const std::shared_ptr<LoadedModule> &module, unsigned kernel) {
  std::shared_ptr<Function> &function = module->functions[kernel];
  if (!function) {
    function = state.functions.add(std::make_shared<Function>());
    function->code = module->code;
    function->module = module;
    function->context = module->context;
    function->globals = module->globals;
    function->kernel = kernel;
    function->maxDynamicShared = int(kSharedWithoutOptIn - function->info().staticSharedBytes);
  }
  return function;
}

/// A library's module in `context`, loaded on first use.
static CUresult moduleOf(State &state, const std::shared_ptr<Context> &context, Library &library, std::shared_ptr<LoadedModule> &out) {
  std::shared_ptr<LoadedModule> &module = library.modules[context->handle];
  if (!module) {
    WEFT_TRY(checkTarget(*context->device->gpu, library.target));
    WEFT_TRY(loadModule(state, context, library.code, module));
  }
  out = module;
  return CUDA_SUCCESS;
}

CUresult findFunction(State &state, const std::shared_ptr<Context> &context, const void *handle, std::shared_ptr<Function> &out) {
  if ((out = state.functions.find(handle)))
    return CUDA_SUCCESS;
  std::shared_ptr<Kernel> kernel = state.kernels.find(handle);
  std::shared_ptr<Library> library = kernel ? kernel->library.lock() : nullptr;
  WEFT_NEED(library, CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<LoadedModule> module;
  WEFT_TRY(moduleOf(state, context, *library, module));
  out = functionOf(state, module, kernel->kernel);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CUresult checkShape(const Function &function, const GpuInfo &gpu, Dim3 grid, Dim3 block, uint32_t shared) {
  const KernelInfo &info = function.info();
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool empty = !grid.x || !grid.y || !grid.z || !threads;
  if (empty || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > info.maxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  Dim3 required{info.reqntid[0], std::max(info.reqntid[1], 1u), std::max(info.reqntid[2], 1u)};
  if (required.x && (required.x != block.x || required.y != block.y || required.z != block.z))
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t limit = std::min<uint64_t>(std::max(function.maxDynamicShared, 0), gpu.sharedPerBlockOptin - info.staticSharedBytes);
  return shared > limit ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// CU_LAUNCH_PARAM_BUFFER_POINTER and ..._SIZE, up to CU_LAUNCH_PARAM_END.
static CUresult packBuffer(void **extra, std::vector<uint8_t> &params) {
  const void *buffer = nullptr;
  size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<size_t *>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  WEFT_NEED(buffer && size >= params.size(), CUDA_ERROR_INVALID_VALUE);
  std::memcpy(params.data(), buffer, params.size());
  return CUDA_SUCCESS;
}

CUresult makeKernelWork(State &state, const std::shared_ptr<Context> &context, const void *handle, Dim3 grid, Dim3 block, uint32_t shared,
                        void **params, void **extra, Work &work) {
  WEFT_TRY(findFunction(state, context, handle, work.function));
  work.context = work.function->context.lock();
  WEFT_NEED(work.context, CUDA_ERROR_INVALID_HANDLE);
  WEFT_TRY(checkShape(*work.function, *work.context->device->gpu, grid, block, shared));
  WEFT_NEED(!params || !extra, CUDA_ERROR_INVALID_VALUE);
  const KernelInfo &info = work.function->info();
  work.kind = Work::Kind::Kernel;
  work.grid = grid;
  work.block = block;
  work.dynamicShared = shared;
  work.params.assign(info.paramBytes, 0);
  if (info.params.empty())
    return CUDA_SUCCESS;
  if (extra)
    return packBuffer(extra, work.params);
  WEFT_NOT_NULL(params);
  for (size_t i = 0; i < info.params.size(); ++i) {
    WEFT_NOT_NULL(params[i]);
    std::memcpy(work.params.data() + info.params[i].offset, params[i], info.params[i].size);
  }
  return CUDA_SUCCESS;
}

} // namespace weft::emu
