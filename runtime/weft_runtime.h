/* Weft's runtime as a C API.
 *
 * Guarantees. Nothing is printed, nothing exits, and there is no global state. Every function that can fail returns a
 * weft_status: NULL is success, anything else says what is wrong and must be freed. A weft_model does not change after loading and
 * may be shared by threads; a weft_session is for one thread at a time. Strings and arrays that a function hands out
 * belong to the object that was asked. Device pointers and streams are the CUDA driver API's (CUdeviceptr, CUstream), of
 * the primary context of the model's device.
 *
 * Structures that a caller fills begin with their size (`sizeof`), so that later versions may add members at the end.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_RUNTIME_ABI_VERSION 1
#define WEFT_API __attribute__((visibility("default")))

/* The version that the library was built with; compare with WEFT_RUNTIME_ABI_VERSION. */
WEFT_API uint32_t weft_runtime_abi_version(void);

/* Status ----------------------------------------------------------------------------------------------------------- */

typedef struct weft_status weft_status;
enum {
  WEFT_OK = 0,
  WEFT_INVALID = 1, /* the model or an input is wrong */
  WEFT_USAGE = 2,   /* the call is wrong: a null pointer, a number out of range */
  WEFT_MACHINE = 3  /* the machine cannot: no driver, no memory, no image for this device */
};
WEFT_API int weft_status_code(const weft_status *status);            /* WEFT_OK for NULL */
WEFT_API const char *weft_status_message(const weft_status *status); /* "" for NULL */
WEFT_API void weft_status_free(weft_status *status);

/* Models ----------------------------------------------------------------------------------------------------------- */

typedef struct weft_model weft_model;
typedef struct weft_session weft_session;

/* Told what the runtime chose: the device, the image. May be called from any thread that is in a call. */
typedef void (*weft_log_function)(void *data, const char *message);

enum { WEFT_DEVICE_CUDA = 0, WEFT_DEVICE_EMULATOR = 1, WEFT_DEVICE_AUTO = 2 /* a GPU, else the emulator */ };
typedef struct weft_device_options {
  size_t size;             /* sizeof(weft_device_options) */
  int kind;                /* WEFT_DEVICE_... */
  int ordinal;             /* which device */
  const char *emulator_sm; /* "sm_80"; NULL: the artifact's newest target */
  weft_log_function log;   /* or NULL */
  void *log_data;
} weft_device_options;

/* Opens, verifies and uploads an artifact. `options` NULL: CUDA device 0. */
WEFT_API weft_status *weft_model_load(const char *path, const weft_device_options *options, weft_model **model);
/* The model goes when its sessions have gone too. */
WEFT_API void weft_model_free(weft_model *model);
WEFT_API const char *weft_model_device(const weft_model *model); /* "emulator, A100-SXM4-80GB, sm_80" */
WEFT_API const char *weft_model_image(const weft_model *model);  /* "sm_80 PTX" */

typedef struct weft_tensor_info {
  const char *name;
  int type;                     /* ONNX TensorProto.DataType */
  size_t rank;
  const int64_t *dims;          /* -1: not fixed */
  const char *const *dim_names; /* "" where it is fixed or has no name */
  int alias_input;              /* outputs: the input whose memory it may share, or -1 */
} weft_tensor_info;
WEFT_API size_t weft_model_input_count(const weft_model *model);
WEFT_API size_t weft_model_output_count(const weft_model *model);
WEFT_API weft_status *weft_model_input(const weft_model *model, size_t number, weft_tensor_info *info);
WEFT_API weft_status *weft_model_output(const weft_model *model, size_t number, weft_tensor_info *info);

typedef struct weft_shape {
  size_t rank;
  const int64_t *dims;
} weft_shape;
/* Shape of output `number` for the inputs' shapes (one per input). `*rank`: room in `dims` on entry, the rank on return; a
 * dimension that only a run can tell is -1. */
WEFT_API weft_status *weft_model_output_shape(const weft_model *model, const weft_shape *inputs, size_t input_count, size_t number,
                                              int64_t *dims, size_t *rank);
/* Bytes of arena that a run over these shapes needs. */
WEFT_API weft_status *weft_model_arena_bytes(const weft_model *model, const weft_shape *inputs, size_t input_count, uint64_t *bytes);

/* Sessions --------------------------------------------------------------------------------------------------------- */

WEFT_API weft_status *weft_session_create(weft_model *model, weft_session **session);
WEFT_API void weft_session_free(weft_session *session);

typedef struct weft_host_tensor {
  const void *data; /* row-major, little-endian; 4- and 2-bit values packed, the first in the low bits */
  uint64_t bytes;
  weft_shape shape;
} weft_host_tensor;
/* Runs over host memory, one entry per input in the model's order, and waits. Types are the model's. An entry of zeros takes the
   input's default value, where the model has one. */
WEFT_API weft_status *weft_session_run(weft_session *session, const weft_host_tensor *inputs, size_t input_count);
/* An output of the last weft_session_run, valid until the session's next call. */
WEFT_API weft_status *weft_session_result(const weft_session *session, size_t number, weft_host_tensor *tensor);

typedef struct weft_device_tensor {
  uint64_t address;
  weft_shape shape;
  const void *host; /* the same bytes on the host, or NULL: elements that the host needs are then read back */
} weft_device_tensor;
typedef struct weft_device_memory {
  uint64_t address; /* 0: the session finds memory */
  uint64_t bytes;
} weft_device_memory;
typedef struct weft_enqueue_options {
  size_t size;              /* sizeof(weft_enqueue_options) */
  void *stream;             /* CUstream; NULL: the session's own */
  weft_device_memory arena; /* 256-byte aligned; address 0: the session's own */
} weft_enqueue_options;
/* Enqueues a run over device memory. Does not wait, except where the plan reads a value back from the device. An output may lie
 * where the input lies that its info names (alias_input), and nowhere else in memory that the run reads. `outputs` NULL: the
 * session finds memory for all. `options` may be NULL. */
WEFT_API weft_status *weft_session_enqueue(weft_session *session, const weft_device_tensor *inputs, size_t input_count,
                                           const weft_device_memory *outputs, size_t output_count, const weft_enqueue_options *options);
/* Where output `number` of the last enqueued run lies (until the next one), and its shape as in weft_model_output_shape. */
WEFT_API weft_status *weft_session_output(weft_session *session, size_t number, weft_device_memory *memory, int64_t *dims, size_t *rank);
/* Waits for the last run. Errors of kernels are told here. */
WEFT_API weft_status *weft_session_synchronize(weft_session *session);

#ifdef __cplusplus
}
#endif
#endif
