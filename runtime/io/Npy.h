// NumPy's .npy files, versions 1 to 3 read and 1.0 written. Every bound is checked; nothing is evaluated and no pickle
// is ever read. Types that NumPy lacks are raw bits: bfloat16 as uint16, 8-bit floats as uint8, 4- and 2-bit values one
// per byte (int4 -1 is 0x0F). Strings are `<U` arrays: NumPy's format loses trailing NULs of a string. Format:
// numpy.lib.format, "Format Version 1.0" to "3.0".
#ifndef WEFT_RUNTIME_IO_NPY_H
#define WEFT_RUNTIME_IO_NPY_H

#include "runtime/Array.h"
#include "runtime/Status.h"
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Reads an array of the expected type (`undefined`: the type that the file names), C or Fortran order, either
/// endianness. A message says what was expected and what the file holds; it does not name the file.
Status parseNpy(std::span<const uint8_t> file, plan::ElementType expected, Array &out);
/// The same from a file, which the message names.
Status readNpy(const std::string &path, plan::ElementType expected, Array &out);

Status encodeNpy(const Array &array, std::vector<uint8_t> &file);
Status writeNpy(const std::string &path, const Array &array);

} // namespace weft
#endif
