// Reads and parses the file, then converts it: see Load.h. protobuf and ONNX throw; here and in LoadSchema.cpp exceptions
// become errors.
#include "frontends/onnx/LoadInternal.h"
#include "onnx/defs/parser.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <google/protobuf/stubs/logging.h>
#include <sstream>
#include <sys/stat.h>

namespace weft::onnx {

static bool endsWith(const std::string &text, const std::string &tail) {
  return text.size() >= tail.size() && text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

static bool readFile(const std::string &path, std::string &bytes, Errors &errors) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    errors.push_back({"", "cannot read the model: " + std::string(S_ISDIR(status.st_mode) && errno == 0
                                                                      ? "it is a folder" : std::strerror(errno ? errno : EISDIR))});
    return false;
  }
  std::ifstream in(path, std::ios::binary);
  bytes.resize(status.st_size);
  if (!in || !in.read(bytes.data(), bytes.size())) {
    errors.push_back({"", "cannot read the model: " + std::string(std::strerror(errno))});
    return false;
  }
  return true;
}

static bool parse(const std::string &path, const std::string &bytes, ::onnx::ModelProto &proto, Errors &errors) {
  if (endsWith(path, ".onnxtext") || endsWith(path, ".onnx.txt")) {
    ::onnx::OnnxParser parser{std::string_view(bytes)};
    auto status = parser.Parse(proto);
    if (status.IsOK() && parser.EndOfInput())
      return true;
    errors.push_back({"", "the text is not an ONNX model: " + (status.IsOK() ? "text behind the model's end" : status.ErrorMessage())});
    return false;
  }
  google::protobuf::LogSilencer silence;
  if (bytes.size() > INT_MAX) {
    errors.push_back({"", "the model has more than 2 GiB: protobuf cannot hold it; save its weights as external data"});
    return false;
  }
  if (bytes.empty() || !proto.ParseFromArray(bytes.data(), bytes.size()) || !proto.has_graph()) {
    errors.push_back({"", bytes.empty() ? "the file is empty"
                                        : "the file is not an ONNX model: it is no protobuf message with a graph, or is cut short"});
    return false;
  }
  return true;
}

static void checkOpsets(const ::onnx::ModelProto &proto, LoadContext &context) {
  for (const auto &import : proto.opset_import()) {
    std::string domain = import.domain() == "ai.onnx" ? "" : import.domain();
    context.opsets[domain] = import.version();
    if (domain.empty() && (import.version() < 1 || import.version() > newestOpset()))
      context.error("", "the model needs opset " + std::to_string(import.version()) + " of ONNX; versions 1 to " +
                            std::to_string(newestOpset()) + " are known");
  }
  if (proto.opset_import_size() == 0)
    context.error("", "the model has no opset_import");
}

std::shared_ptr<Model> loadModel(const std::string &path, Errors &errors) {
  try {
    std::string bytes;
    auto proto = std::make_shared<::onnx::ModelProto>();
    if (!readFile(path, bytes, errors) || !parse(path, bytes, *proto, errors))
      return nullptr;
    bytes = {};
    auto model = std::make_shared<Model>();
    model->path = path;
    model->irVersion = proto->ir_version();
    model->owner = proto;
    LoadContext context{errors, ExternalFiles(path), proto, {}, false, proto->ir_version()};
    checkOpsets(*proto, context);
    if (!errors.empty())
      return nullptr;
    model->opsets = context.opsets;
    for (const auto &entry : proto->metadata_props())
      model->metadata[entry.key()] = entry.value();
    for (const auto &function : proto->functions()) {
      Function f = convertFunction(function, context);
      std::string key = f.domain + "::" + f.name + ":" + f.overload;
      if (!model->functions.emplace(key, std::move(f)).second)
        context.error("", "function '" + function.name() + "' of domain '" + function.domain() + "' is defined twice");
    }
    model->graph = convertGraph(proto->graph(), nullptr, context);
    return errors.empty() ? model : nullptr;
  } catch (const std::exception &e) {
    errors.push_back({"", std::string("the model cannot be read: ") + e.what()});
  }
  return nullptr;
}

} // namespace weft::onnx
