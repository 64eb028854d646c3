// A model on a device: its kernels loaded, its constants uploaded. Immutable after loading; shared by sessions and threads.
#ifndef WEFT_RUNTIME_MODEL_H
#define WEFT_RUNTIME_MODEL_H

#include "runtime/Device.h"
#include "runtime/artifact/Reader.h"
#include <string>
#include <vector>

namespace weft {

class Model {
public:
  /// `artifact` and `device` must outlive the model. Takes, for each module, the first image that loads: the cubin of this
  /// architecture, PTX of the newest architecture not above it, compute_80 PTX.
  static Status load(const Artifact &artifact, Device &device, std::unique_ptr<Model> &out);
  ~Model();
  Model(const Model &) = delete;

  const plan::Plan &plan() const { return artifact.plan(); }
  /// The bytes of a constant in the artifact, checked against their hash.
  Status readConstant(uint32_t number, std::span<const uint8_t> &bytes) const {
    bytes = artifact.constant(number);
    return artifact.verify(bytes);
  }
  Device &device() const { return dev; }
  CUdeviceptr constant(uint32_t number) const { return constantsBase + plan().constants()->Get(number)->offset(); }
  CUfunction function(uint32_t kernel, uint32_t variant) const { return functions[kernel][variant]; }
  /// Adds the ONNX nodes of the kernel that `text` (an account of a failure) names.
  std::string withNode(std::string text) const;
  /// "sm_80 PTX", "sm_90a cubin": what the first module uses.
  const std::string &imageUsed() const { return used; }

private:
  Model(const Artifact &artifact, Device &device) : artifact(artifact), dev(device) {}
  Status loadModules();
  Status loadModule(uint32_t number, CUmodule &module);
  Status findFunctions();
  Status uploadConstants();
  Status upload();

  const Artifact &artifact;
  Device &dev;
  std::vector<CUmodule> modules;
  std::vector<std::vector<CUfunction>> functions;
  CUdeviceptr constantsBase = 0;
  std::string used;
};

} // namespace weft
#endif
