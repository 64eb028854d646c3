// Loading the CUDA driver: see Driver.h.
#include "runtime/driver/Driver.h"
#include <dlfcn.h>

namespace weft {

Status Driver::load(const std::string &library, std::unique_ptr<Driver> &out) {
  std::unique_ptr<Driver> driver(new Driver);
  driver->path = library;
  // Local: two drivers (a GPU's and the emulator's) may live in one process.
  driver->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!driver->handle) {
    const char *why = ::dlerror();
    return Status::machine("cannot load the CUDA driver: " + std::string(why ? why : library));
  }
#define WEFT_CUDA_SYMBOL(name, exported, ...)                                                                          \
  driver->name = reinterpret_cast<CUresult (*)(__VA_ARGS__)>(::dlsym(driver->handle, exported));                       \
  if (!driver->name)                                                                                                   \
    return Status::machine(library + " has no function " exported ": the driver is too old");
#include "runtime/driver/CudaSymbols.def"
  out = std::move(driver);
  return Status::success();
}

Status Driver::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return Status::success();
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "unknown error";
  return Status::machine(std::string(call) + " failed: " + name + " (" + std::to_string(int(result)) + ")");
}

void *Driver::find(const char *name) const { return ::dlsym(handle, name); }

} // namespace weft
