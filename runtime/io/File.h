// Whole files: reading one, and replacing one so that no reader ever sees half of it.
#ifndef WEFT_RUNTIME_IO_FILE_H
#define WEFT_RUNTIME_IO_FILE_H

#include "runtime/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Every byte of a file. Errors are `invalid`: the caller named the file.
Status readFile(const std::string &path, std::vector<uint8_t> &bytes);

/// Writes beside the target under a temporary name, then renames. On an error (`machine`) the old file, if any, is as
/// it was and nothing else is left.
Status writeFile(const std::string &path, std::span<const uint8_t> bytes);
Status writeFile(const std::string &path, const std::string &text);

/// Like mkdir -p.
Status makeFolders(const std::string &path);

} // namespace weft
#endif
