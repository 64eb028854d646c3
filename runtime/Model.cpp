// A model on a device: see Model.h.
#include "runtime/Model.h"
#include "runtime/Memory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft {

Status Model::load(const Artifact &artifact, Device &device, std::unique_ptr<Model> &out) {
  WEFT_TRY(device.enter());
  std::unique_ptr<Model> model(new Model(artifact, device));
  WEFT_TRY(model->loadModules());
  WEFT_TRY(model->findFunctions());
  WEFT_TRY(model->uploadConstants());
  out = std::move(model);
  return Status::success();
}

Model::~Model() {
  if (!dev.enter().ok())
    return;
  for (CUmodule module : modules)
    if (module)
      (void)dev.driver().cuModuleUnload(module);
  if (constantsBase)
    (void)dev.driver().cuMemFree(constantsBase);
}

namespace {
struct Candidate {
  const plan::Image *image;
  int rank; // higher is tried first
};
} // namespace

/// How well an image fits a device of this capability; negative: not at all.
static int fitOf(const plan::Image &image, int capability) {
  std::string target = image.target()->str();
  size_t digits = target.find('_');
  int number = digits == std::string::npos ? 0 : std::atoi(target.c_str() + digits + 1);
  bool specific = !target.empty() && target.back() == 'a';
  if (image.kind() == plan::ImageKind::cubin) // same major architecture, not newer than the device
    return number / 10 == capability / 10 && number <= capability && (!specific || number == capability) ? 100000 + number : -1;
  if (specific)
    return number == capability ? 10000 + number + 1 : -1;
  return number <= capability ? number * 10 + (target.rfind("sm_", 0) == 0) : -1;
}

Status Model::loadModules() {
  uint32_t count = 0;
  for (const plan::Image *image : *plan().images())
    count = std::max(count, image->module_() + 1);
  modules.assign(count, nullptr);
  for (uint32_t number = 0; number < count; ++number)
    WEFT_TRY(loadModule(number, modules[number]));
  return Status::success();
}

Status Model::loadModule(uint32_t number, CUmodule &module) {
  std::vector<Candidate> candidates;
  std::string targets;
  for (const plan::Image *image : *plan().images()) {
    if (image->module_() != number)
      continue;
    targets += (targets.empty() ? "" : ", ") + image->target()->str() + (image->kind() == plan::ImageKind::cubin ? " cubin" : " PTX");
    if (int fit = fitOf(*image, dev.capability()); fit >= 0)
      candidates.push_back({image, fit});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) { return a.rank > b.rank; });
  std::string reasons;
  for (const Candidate &candidate : candidates) {
    const plan::Image &image = *candidate.image;
    std::span<const uint8_t> bytes = artifact.image(image);
    WEFT_TRY(artifact.verify(bytes));
    std::vector<uint8_t> text(bytes.begin(), bytes.end());
    text.push_back(0); // PTX is a C string
    char log[2048] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof log))};
    std::string label = image.target()->str() + (image.kind() == plan::ImageKind::cubin ? " cubin" : " PTX");
    Status status = dev.driver().check(dev.driver().cuModuleLoadDataEx(&module, text.data(), 2, options, values), "cuModuleLoadDataEx");
    if (status.ok()) {
      if (used.empty())
        used = label;
      return status;
    }
    module = nullptr;
    reasons += "\n  " + label + ": " + status.message + (log[0] ? std::string(": ") + log : "");
  }
  return Status::machine("no image of the artifact runs on " + dev.description() + " (it has " + (targets.empty() ? "none" : targets) + ")" + reasons);
}

Status Model::findFunctions() {
  for (const plan::Kernel *kernel : *plan().kernels()) {
    auto &variants = functions.emplace_back();
    for (const plan::Variant *variant : *kernel->variants()) {
      if (variant->module_() >= modules.size())
        return Status::invalid("kernel " + variant->entry()->str() + " is in a module that has no image");
      CUfunction function = nullptr;
      CUresult result = dev.driver().cuModuleGetFunction(&function, modules[variant->module_()], variant->entry()->c_str());
      if (result != CUDA_SUCCESS)
        return Status::invalid("the image has no kernel " + variant->entry()->str() + ": " + dev.driver().check(result, "cuModuleGetFunction").message);
      variants.push_back(function);
    }
  }
  return Status::success();
}

Status Model::uploadConstants() {
  uint64_t bytes = artifact.constantBytes();
  if (bytes == 0)
    return Status::success();
  CUresult result = dev.driver().cuMemAlloc(&constantsBase, bytes);
  if (result != CUDA_SUCCESS)
    return Status::machine("no room on the device for " + std::to_string(bytes) + " bytes of constants: " + dev.driver().check(result, "cuMemAlloc").message);
  return upload();
}

/// The whole section in pieces through two page-locked buffers: while one is on its way, the next is verified and filled.
Status Model::upload() {
  constexpr uint64_t piece = artifact::chunkSize;
  std::span<const uint8_t> data = artifact.constants();
  PinnedBuffer staging(dev);
  WEFT_TRY(staging.reserve(2 * std::min<uint64_t>(piece, data.size())));
  CUstream stream = nullptr;
  CUevent sent[2] = {};
  Driver &driver = dev.driver();
  auto all = [&]() -> Status {
    WEFT_CUDA(driver, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    for (CUevent &event : sent)
      WEFT_CUDA(driver, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    for (uint64_t at = 0, number = 0; at < data.size(); at += piece, ++number) {
      std::span<const uint8_t> part = data.subspan(at, std::min<uint64_t>(piece, data.size() - at));
      uint8_t *buffer = staging.data() + (number % 2) * piece;
      if (number >= 2)
        WEFT_CUDA(driver, cuEventSynchronize, sent[number % 2]);
      WEFT_TRY(artifact.verify(part));
      std::memcpy(buffer, part.data(), part.size());
      WEFT_CUDA(driver, cuMemcpyHtoDAsync, constantsBase + at, buffer, part.size(), stream);
      WEFT_CUDA(driver, cuEventRecord, sent[number % 2], stream);
    }
    return Status::success();
  };
  Status status = all();
  if (stream) {
    Status finished = driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    status = status.ok() ? std::move(finished) : std::move(status);
    (void)driver.cuStreamDestroy(stream);
  }
  for (CUevent event : sent)
    if (event)
      (void)driver.cuEventDestroy(event);
  return status;
}

std::string Model::withNode(std::string text) const {
  const plan::Kernel *found = nullptr;
  size_t longest = 0;
  for (const plan::Kernel *kernel : *plan().kernels())
    for (const plan::Variant *variant : *kernel->variants())
      if (size_t length = variant->entry()->size(); length > longest && text.find(variant->entry()->str()) != std::string::npos) {
        found = kernel;
        longest = length;
      }
  if (!found || !found->node() || !found->node()->size() || text.find(found->node()->str()) != std::string::npos)
    return text;
  return text + " (node " + found->node()->str() + ")";
}

} // namespace weft
