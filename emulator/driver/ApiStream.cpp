// Exported functions: launches, streams, events, captures. When queued work runs: Queue.cpp.
#include "emulator/driver/Api.h"
#include <algorithm>

using namespace weft::emu;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CUresult launchOn(const void *function, Dim3 grid, Dim3 block, unsigned shared, CUstream handle, void **params, void **extra) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  Work work;
  WEFT_TRY(makeKernelWork(state, context, function, grid, block, shared, params, extra, work));
  WEFT_NEED(work.context == stream->context, CUDA_ERROR_INVALID_HANDLE);
  return enqueue(state, stream, std::move(work));
}

WEFT_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                    unsigned shared, CUstream stream, void **params, void **extra) {
  return launchOn(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra);
}

WEFT_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
  WEFT_NOT_NULL(config && (config->attrs || !config->numAttrs));
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative)
      return CUDA_ERROR_NOT_SUPPORTED;
    auto &cluster = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && uint64_t(cluster.x) * cluster.y * cluster.z > 1)
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return launchOn(function, {config->gridDimX, config->gridDimY, config->gridDimZ}, {config->blockDimX, config->blockDimY, config->blockDimZ},
                  config->sharedMemBytes, config->hStream, params, extra);
}

static CUresult queueHost(CUstream handle, std::function<void(CUresult)> function, CUDA_HOST_NODE_PARAMS params) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  Work work;
  work.kind = Work::Kind::Host;
  work.host = std::move(function);
  work.hostParams = params;
  return enqueue(state, stream, std::move(work));
}
WEFT_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  WEFT_NOT_NULL(function);
  auto call = [=](CUresult status) {
    if (status == CUDA_SUCCESS)
      function(data);
  };
  return queueHost(stream, call, {function, data});
}
WEFT_EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags) {
  WEFT_NOT_NULL(callback && !flags);
  return queueHost(stream, [=](CUresult status) { callback(stream, status, data); }, {});
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(handle && flags <= CU_STREAM_NON_BLOCKING);
  auto stream = state.streams.add(std::make_shared<Stream>());
  stream->context = context;
  stream->flags = flags;
  stream->blocking = flags != CU_STREAM_NON_BLOCKING;
  stream->priority = std::clamp(priority, -5, 0);
  stream->id = ++state.nextId;
  context->streams.push_back(stream);
  *handle = toHandle<CUstream>(stream->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

/// What is queued will still run, when something waits for it.
WEFT_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  WEFT_ENTER;
  std::shared_ptr<Stream> stream = state.streams.find(handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  if (stream->capture)
    invalidateCapture(*stream->capture);
  state.streams.erase(handle);
  if (stream->idle())
    std::erase(stream->context->streams, stream);
  return CUDA_SUCCESS;
}

/// The stream behind `handle`; an error, and the end of the capture, where it captures.
static CUresult uncaptured(State &state, const std::shared_ptr<Context> &context, CUstream handle, std::shared_ptr<Stream> &stream) {
  stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  if (!stream->capture)
    return CUDA_SUCCESS;
  invalidateCapture(*stream->capture);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

WEFT_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream;
  WEFT_TRY(uncaptured(state, context, handle, stream));
  runStream(state, lock, stream);
  return stream->context->sticky;
}
WEFT_EXPORT CUresult cuStreamQuery(CUstream handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream;
  WEFT_TRY(uncaptured(state, context, handle, stream));
  bool idle = stream->idle();
  runStream(state, lock, stream);
  WEFT_TRY(stream->context->sticky);
  return idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

template <class F> static CUresult askStream(CUstream handle, F answer) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  answer(*stream);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuStreamGetPriority(CUstream stream, int *priority) {
  WEFT_NOT_NULL(priority);
  return askStream(stream, [=](Stream &s) { *priority = s.priority; });
}
WEFT_EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
  WEFT_NOT_NULL(flags);
  return askStream(stream, [=](Stream &s) { *flags = s.flags; });
}
WEFT_EXPORT CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
  WEFT_NOT_NULL(id);
  return askStream(stream, [=](Stream &s) { *id = s.id; });
}
WEFT_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
  WEFT_NOT_NULL(context);
  return askStream(stream, [=](Stream &s) { *context = toHandle<CUcontext>(s.context->handle); });
}
WEFT_EXPORT CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) {
  WEFT_NOT_NULL(device);
  return askStream(stream, [=](Stream &s) { *device = int(s.context->device->ordinal); });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(handle && flags <= 7);
  auto event = state.events.add(std::make_shared<Event>());
  event->context = context;
  event->flags = flags;
  *handle = toHandle<CUevent>(event->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  WEFT_ENTER;
  return state.events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static bool isRunning(State &state, const std::shared_ptr<Capture> &capture) {
  return std::find(state.captures.begin(), state.captures.end(), capture) != state.captures.end();
}

WEFT_EXPORT CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Event> event = state.events.find(handle);
  std::shared_ptr<Stream> stream = findStream(state, context, streamHandle);
  WEFT_NEED(event && stream && event->context.lock() == stream->context, CUDA_ERROR_INVALID_HANDLE);
  if (stream->capture) {
    WEFT_NEED(!stream->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    event->capture = stream->capture;
    event->tips = stream->tips;
    return CUDA_SUCCESS;
  }
  Work work;
  work.kind = Work::Kind::Record;
  work.stamp = std::make_shared<Stamp>();
  std::shared_ptr<Stamp> stamp = work.stamp;
  Moment moment;
  WEFT_TRY(enqueue(state, stream, std::move(work), {}, &moment));
  event->capture = nullptr;
  event->stamp = stamp;
  event->moment = moment;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }

static CUresult findRecorded(State &state, CUevent handle, std::shared_ptr<Event> &event) {
  event = state.events.find(handle);
  WEFT_NEED(event, CUDA_ERROR_INVALID_HANDLE);
  return event->capture && isRunning(state, event->capture) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Event> event;
  WEFT_TRY(findRecorded(state, handle, event));
  runUntil(state, lock, event->moment);
  return event->moment.stream ? event->moment.stream->context->sticky : CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventQuery(CUevent handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Event> event;
  WEFT_TRY(findRecorded(state, handle, event));
  bool reached = event->moment.reached();
  runUntil(state, lock, event->moment);
  WEFT_TRY(context->sticky);
  return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
WEFT_EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(milliseconds);
  std::shared_ptr<Event> start, end;
  WEFT_TRY(findRecorded(state, startHandle, start));
  WEFT_TRY(findRecorded(state, endHandle, end));
  WEFT_NEED(start->stamp && end->stamp && !((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE);
  WEFT_NEED(start->stamp->done && end->stamp->done, CUDA_ERROR_NOT_READY);
  *milliseconds = std::chrono::duration<float, std::milli>(end->stamp->time - start->stamp->time).count();
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
WEFT_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) { return cuEventElapsedTime_v2(milliseconds, start, end); }

/// Brings a captured event into `stream`, which joins its capture.
static CUresult waitCaptured(Event &event, const std::shared_ptr<Stream> &stream) {
  if (event.capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream->capture) {
    stream->capture = event.capture;
    stream->tips = event.tips;
    event.capture->members.push_back(stream);
    return CUDA_SUCCESS;
  }
  if (stream->capture != event.capture) {
    invalidateCapture(*stream->capture);
    invalidateCapture(*event.capture);
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  for (Node *tip : event.tips)
    if (std::find(stream->tips.begin(), stream->tips.end(), tip) == stream->tips.end())
      stream->tips.push_back(tip);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuStreamWaitEvent(CUstream streamHandle, CUevent handle, unsigned) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Event> event = state.events.find(handle);
  std::shared_ptr<Stream> stream = findStream(state, context, streamHandle);
  WEFT_NEED(event && stream, CUDA_ERROR_INVALID_HANDLE);
  if (event->capture && isRunning(state, event->capture))
    return waitCaptured(*event, stream);
  if (stream->capture) { // an event from outside of the capture
    WEFT_NEED(event->stamp, CUDA_SUCCESS);
    invalidateCapture(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event->moment.reached())
    return CUDA_SUCCESS;
  Work work;
  work.kind = Work::Kind::Wait;
  return enqueue(state, stream, std::move(work), {event->moment});
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  WEFT_NEED(stream != context->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  WEFT_NEED(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
  auto capture = std::make_shared<Capture>();
  capture->graph = makeGraph(state);
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++state.nextId;
  capture->members.push_back(stream);
  stream->capture = capture;
  stream->tips.clear();
  state.captures.push_back(capture);
  return CUDA_SUCCESS;
}

/// Does every node that a member stream ended with come before the origin's end?
static bool isJoined(const Capture &capture, const Stream &origin) {
  std::unordered_set<const Node *> before;
  std::vector<const Node *> open(origin.tips.begin(), origin.tips.end());
  while (!open.empty()) {
    const Node *node = open.back();
    open.pop_back();
    if (before.insert(node).second)
      open.insert(open.end(), node->after.begin(), node->after.end());
  }
  for (const std::weak_ptr<Stream> &weak : capture.members)
    if (std::shared_ptr<Stream> member = weak.lock())
      for (Node *tip : member->tips)
        if (!before.count(tip))
          return false;
  return true;
}

static void endCapture(State &state, Capture &capture) {
  for (const std::weak_ptr<Stream> &weak : capture.members)
    if (std::shared_ptr<Stream> member = weak.lock()) {
      member->tips.clear();
      member->capture = nullptr;
    }
  std::erase_if(state.captures, [&](auto &other) { return other.get() == &capture; });
}

WEFT_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(graph);
  *graph = nullptr;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<Capture> capture = stream->capture;
  WEFT_NEED(capture, CUDA_ERROR_ILLEGAL_STATE);
  WEFT_NEED(capture->origin.lock() == stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  bool sameThread = capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == std::this_thread::get_id();
  WEFT_NEED(sameThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  CUresult result = capture->invalid                ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                    : !isJoined(*capture, *stream) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                                    : CUDA_SUCCESS;
  endCapture(state, *capture);
  if (result == CUDA_SUCCESS)
    *graph = toHandle<CUgraph>(capture->graph->handle);
  else
    dropGraph(state, *capture->graph);
  return result;
}

WEFT_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  WEFT_NOT_NULL(status);
  return askStream(handle, [=](Stream &s) {
    *status = !s.capture ? CU_STREAM_CAPTURE_STATUS_NONE : s.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}

WEFT_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  static thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  WEFT_NOT_NULL(mode);
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}
