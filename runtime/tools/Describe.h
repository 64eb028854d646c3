// What an artifact holds, for people and as JSON (contract: --describe). Reads the plan only; no device.
#ifndef WEFT_RUNTIME_TOOLS_DESCRIBE_H
#define WEFT_RUNTIME_TOOLS_DESCRIBE_H

#include "runtime/artifact/Reader.h"
#include "runtime/tools/Options.h"
#include <string>

namespace weft::tools {

/// The text or JSON that --describe prints, at the shapes of --shape where there are any.
Status describe(const Artifact &artifact, const Options &options, std::string &text);

/// The text as a JSON string, with its quotes.
std::string jsonString(const std::string &text);

} // namespace weft::tools
#endif
