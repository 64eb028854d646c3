// ONNX's TensorProto, read by a small bounds-checked reader of protobuf's wire format, so that the runtime needs no
// protobuf. A field that is wrong is named as onnx.proto3 names it. The tensor's own name is ignored: the command line
// gives it. Format: onnx.proto3 (TensorProto), protobuf "Encoding".
#ifndef WEFT_RUNTIME_IO_PROTOTENSOR_H
#define WEFT_RUNTIME_IO_PROTOTENSOR_H

#include "runtime/Array.h"
#include "runtime/Status.h"
#include <span>
#include <string>

namespace weft {

/// Reads a serialised TensorProto of the expected type (`undefined`: whatever it has). External data is refused: an
/// input file stands alone.
Status parseProtoTensor(std::span<const uint8_t> file, plan::ElementType expected, Array &out);
/// The same from a file, which the message names.
Status readProtoTensor(const std::string &path, plan::ElementType expected, Array &out);

} // namespace weft
#endif
