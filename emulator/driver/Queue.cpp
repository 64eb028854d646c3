// Streams as queues, and who runs them.
//
// Work runs when something waits for it (a synchronisation, a query, a blocking copy, a free) and on the thread that waits; then
// exactly that work runs which the wait asks for, and what that depends on. So a program that forgets to synchronise sees
// old data, in every run. A query counts as a wait, but answers CUDA_ERROR_NOT_READY if it found work to do.
#include "emulator/driver/State.h"
#include <algorithm>
#include <random>

namespace weft::emu {

std::shared_ptr<Stream> findStream(State &state, const std::shared_ptr<Context> &context, CUstream handle) {
  uintptr_t number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 1)
    return context ? context->legacy : nullptr;
  if (number > 2)
    return state.streams.find(handle);
  if (!context)
    return nullptr;
  std::shared_ptr<Stream> &stream = context->perThread[std::this_thread::get_id()];
  if (!stream) {
    stream = std::make_shared<Stream>();
    stream->context = context;
    stream->id = ++state.nextId;
    context->streams.push_back(stream);
  }
  return stream;
}

/// The legacy stream waits for all blocking streams of its context, and they for it.
static void orderWithLegacy(const Stream &stream, std::vector<Moment> &after) {
  Context &context = *stream.context;
  auto wait = [&](const std::shared_ptr<Stream> &other) {
    if (!other->idle())
      after.push_back({other, other->queued});
  };
  if (&stream != context.legacy.get()) {
    if (stream.blocking)
      wait(context.legacy);
    return;
  }
  for (const std::shared_ptr<Stream> &other : context.streams)
    if (other->blocking && other != context.legacy)
      wait(other);
}

static CUresult capture(State &state, Stream &stream, Work work) {
  if (stream.capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (work.kind == Work::Kind::Free) {
    invalidateCapture(*stream.capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  stream.tips = {addNode(state, *stream.capture->graph, stream.tips, std::move(work))};
  return CUDA_SUCCESS;
}

/// Work on the legacy stream would wait for a stream that captures.
static bool breaksCapture(const Stream &stream) {
  if (&stream != stream.context->legacy.get())
    return false;
  bool found = false;
  for (const std::shared_ptr<Stream> &other : stream.context->streams)
    if (other->capture && other->blocking) {
      invalidateCapture(*other->capture);
      found = true;
    }
  return found;
}

CUresult enqueue(State &state, const std::shared_ptr<Stream> &stream, Work work, std::vector<Moment> after, Moment *at) {
  if (!work.context)
    work.context = stream->context;
  if (stream->capture)
    return capture(state, *stream, std::move(work));
  if (breaksCapture(*stream))
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  orderWithLegacy(*stream, after);
  stream->queue.push_back({std::move(work), std::move(after)});
  ++stream->queued;
  if (at)
    *at = {stream, stream->queued};
  return CUDA_SUCCESS;
}

/// Runs the front of `stream` with the lock released.
static void runFront(State &state, Lock &lock, Stream &stream) {
  Device &device = *stream.context->device;
  Stream::Entry entry = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.running = device.busy = true;
  ++state.running;
  lock.unlock();
  execute(state, entry.work);
  lock.lock();
  stream.running = device.busy = false;
  ++stream.done;
  if (--state.running == 0)
    for (auto &memory : state.memories)
      memory->collect();
  state.changed.notify_all();
}

void runUntil(State &state, Lock &lock, Moment goal) {
  std::vector<Moment> goals{std::move(goal)}; // each is needed by the one before it
  while (!goals.empty()) {
    Moment &wanted = goals.back();
    if (wanted.reached()) {
      goals.pop_back();
      continue;
    }
    std::shared_ptr<Stream> stream = wanted.stream;
    if (stream->running) {
      state.changed.wait(lock);
      continue;
    }
    const std::vector<Moment> &after = stream->queue.front().after;
    auto missing = std::find_if(after.begin(), after.end(), [](const Moment &m) { return !m.reached(); });
    if (missing != after.end()) {
      Moment next = *missing;
      goals.push_back(std::move(next));
      continue;
    }
    if (stream->context->device->busy) {
      state.changed.wait(lock);
      continue;
    }
    runFront(state, lock, *stream);
  }
}

void runStream(State &state, Lock &lock, const std::shared_ptr<Stream> &stream) { runUntil(state, lock, {stream, stream->queued}); }

void runContext(State &state, Lock &lock, const std::shared_ptr<Context> &context) {
  std::vector<Moment> goals;
  for (size_t i : permuted(state, context->streams.size(), context->streams.size()))
    goals.push_back({context->streams[i], context->streams[i]->queued});
  for (Moment &goal : goals)
    runUntil(state, lock, goal);
  goals.clear();
  // Streams that were destroyed stay listed until their work is done.
  std::erase_if(context->streams, [&](auto &s) { return s->idle() && s != context->legacy && s.use_count() == 1; });
}

void runAll(State &state, Lock &lock) {
  std::vector<std::shared_ptr<Context>> all;
  state.contexts.forEach([&](auto &context) { all.push_back(context); });
  std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a->handle < b->handle; }); // in order of creation
  for (auto &context : all)
    runContext(state, lock, context);
}

std::vector<size_t> permuted(const State &state, size_t count, uint64_t salt) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = i;
  const LaunchOptions &options = state.settings.launch;
  if (options.order == BlockOrder::Reverse)
    std::reverse(order.begin(), order.end());
  if (options.order == BlockOrder::Random) {
    std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15 + salt);
    for (size_t i = count; i > 1; --i)
      std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

} // namespace weft::emu
