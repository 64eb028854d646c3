// Commands and graphs of them: see Commands.h.
#include "runtime/Commands.h"

namespace weft {

static std::vector<void *> pointersTo(std::vector<uint64_t> &params) {
  std::vector<void *> pointers;
  for (uint64_t &param : params)
    pointers.push_back(&param);
  return pointers;
}

static CUDA_KERNEL_NODE_PARAMS kernelParams(Command &c, std::vector<void *> &pointers) {
  CUDA_KERNEL_NODE_PARAMS p = {};
  p.func = c.function;
  p.gridDimX = c.grid[0], p.gridDimY = c.grid[1], p.gridDimZ = c.grid[2];
  p.blockDimX = c.block[0], p.blockDimY = c.block[1], p.blockDimZ = c.block[2];
  p.sharedMemBytes = c.shared;
  p.kernelParams = pointers.data();
  return p;
}

static CUDA_MEMCPY3D copyParams(const Command &c) {
  CUDA_MEMCPY3D p = {};
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = c.source;
  p.dstDevice = c.target;
  p.WidthInBytes = c.bytes;
  p.Height = p.Depth = 1;
  return p;
}

static CUDA_MEMSET_NODE_PARAMS fillParams(const Command &c) {
  CUDA_MEMSET_NODE_PARAMS p = {};
  p.dst = c.target;
  p.value = c.byte;
  p.elementSize = 1;
  p.width = c.bytes;
  p.height = 1;
  return p;
}

static Status named(const Command &command, Status status) {
  if (!status.ok() && !command.name.empty())
    status.message = command.name + ": " + status.message;
  return status;
}

Status issue(Device &device, CUstream stream, Command &c) {
  Driver &driver = device.driver();
  switch (c.kind) {
  case Command::kernel: {
    std::vector<void *> pointers = pointersTo(c.params);
    CUresult result = driver.cuLaunchKernel(c.function, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1], c.block[2], c.shared, stream,
                                            pointers.data(), nullptr);
    return named(c, device.explain(driver.check(result, "cuLaunchKernel")));
  }
  case Command::copy: return named(c, driver.check(driver.cuMemcpyDtoDAsync(c.target, c.source, c.bytes, stream), "cuMemcpyDtoDAsync"));
  case Command::fill: return named(c, driver.check(driver.cuMemsetD8Async(c.target, c.byte, c.bytes, stream), "cuMemsetD8Async"));
  }
  return Status::success();
}

void Graph::clear() {
  if (exec)
    (void)device.driver().cuGraphExecDestroy(exec);
  if (graph)
    (void)device.driver().cuGraphDestroy(graph);
  exec = nullptr;
  graph = nullptr;
  nodes.clear();
  ready = false;
}

Status Graph::set(std::vector<Command> wanted) {
  bool same = ready && wanted.size() == commands.size();
  for (size_t i = 0; same && i < wanted.size(); ++i)
    same = wanted[i].kind == commands[i].kind;
  if (!same) {
    clear();
    commands = std::move(wanted);
    Status status = build();
    if (!status.ok())
      clear();
    return status;
  }
  ready = false; // until every node is updated
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!(wanted[i] == commands[i])) {
      WEFT_TRY(named(wanted[i], update(i, wanted[i])));
      commands[i] = std::move(wanted[i]);
    }
  ready = true;
  return Status::success();
}

Status Graph::build() {
  Driver &driver = device.driver();
  WEFT_CUDA(driver, cuGraphCreate, &graph, 0);
  for (Command &c : commands) {
    CUgraphNode node = nullptr, last = nodes.empty() ? nullptr : nodes.back();
    const CUgraphNode *after = last ? &last : nullptr;
    size_t count = last ? 1 : 0;
    CUresult result = CUDA_SUCCESS;
    switch (c.kind) {
    case Command::kernel: {
      std::vector<void *> pointers = pointersTo(c.params);
      CUDA_KERNEL_NODE_PARAMS params = kernelParams(c, pointers);
      result = driver.cuGraphAddKernelNode(&node, graph, after, count, &params);
      break;
    }
    case Command::copy: {
      CUDA_MEMCPY3D params = copyParams(c);
      result = driver.cuGraphAddMemcpyNode(&node, graph, after, count, &params, device.handle());
      break;
    }
    case Command::fill: {
      CUDA_MEMSET_NODE_PARAMS params = fillParams(c);
      result = driver.cuGraphAddMemsetNode(&node, graph, after, count, &params, device.handle());
      break;
    }
    }
    WEFT_TRY(named(c, driver.check(result, "cuGraphAdd*Node")));
    nodes.push_back(node);
  }
  WEFT_CUDA(driver, cuGraphInstantiate, &exec, graph, 0);
  ready = true;
  return Status::success();
}

Status Graph::update(size_t number, Command &c) {
  Driver &driver = device.driver();
  switch (c.kind) {
  case Command::kernel: {
    std::vector<void *> pointers = pointersTo(c.params);
    CUDA_KERNEL_NODE_PARAMS params = kernelParams(c, pointers);
    WEFT_CUDA(driver, cuGraphExecKernelNodeSetParams, exec, nodes[number], &params);
    return Status::success();
  }
  case Command::copy: {
    CUDA_MEMCPY3D params = copyParams(c);
    WEFT_CUDA(driver, cuGraphExecMemcpyNodeSetParams, exec, nodes[number], &params, device.handle());
    return Status::success();
  }
  case Command::fill: {
    CUDA_MEMSET_NODE_PARAMS params = fillParams(c);
    WEFT_CUDA(driver, cuGraphExecMemsetNodeSetParams, exec, nodes[number], &params, device.handle());
    return Status::success();
  }
  }
  return Status::success();
}

Status Graph::launch(CUstream stream) {
  if (commands.empty())
    return Status::success();
  return device.explain(device.driver().check(device.driver().cuGraphLaunch(exec, stream), "cuGraphLaunch"));
}

} // namespace weft
