// PTX -> machine code with ptxas, several at a time; where ptxas and libdevice are.
//
// Guarantees: temporary files are removed; when ptxas fails, its output and a command line that repeats it are kept, with the PTX.
#include "codegen/nvptx/Nvptx.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace fs = llvm::sys::fs;
using llvm::StringRef;

namespace weft::nvptx {

bool isTarget(StringRef target) {
  if (target == "compute_80")
    return true;
#define WEFT_GPU(NAME, ...)                                                                                                                    \
  if (target == #NAME)                                                                                                                         \
    return true;
#include "hardware/Gpus.def"
  return false;
}

/// The first of: below `cudaPath`, the environment's variable, beside the executable, as configured.
static std::string findTool(StringRef cudaPath, StringRef below, const char *variable, StringRef name, StringRef configured) {
  llvm::SmallString<128> path;
  if (!cudaPath.empty()) {
    path = cudaPath;
    llvm::sys::path::append(path, below);
    return path.str().str();
  }
  if (const char *given = std::getenv(variable); given && *given)
    return given;
  path = llvm::sys::path::parent_path(fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&findTool)));
  llvm::sys::path::append(path, name);
  return fs::exists(path) ? path.str().str() : configured.str();
}

std::string Tools::ptxas() const { return findTool(cudaPath, "bin/ptxas", "WEFT_PTXAS", "ptxas", WEFT_DEFAULT_PTXAS); }
std::string Tools::libdevice() const {
  return findTool(cudaPath, "nvvm/libdevice/libdevice.10.bc", "WEFT_LIBDEVICE", "libdevice.10.bc", WEFT_DEFAULT_LIBDEVICE);
}

namespace {
std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// One running ptxas and its files.
struct Job {
  llvm::SmallString<128> input, output, messages;
  std::vector<std::string> command;
  llvm::sys::ProcessInfo process;
};

bool createFile(StringRef suffix, llvm::SmallString<128> &path, std::string &error) {
  if (std::error_code code = fs::createTemporaryFile("weft", suffix, path)) {
    error = "cannot make a temporary file: " + code.message();
    return false;
  }
  return true;
}

bool start(Job &job, StringRef ptx, StringRef target, const std::string &ptxas, std::string &error) {
  if (!fs::can_execute(ptxas)) {
    error = "there is no ptxas at '" + ptxas + "'";
    return false;
  }
  if (!createFile("ptx", job.input, error) || !createFile("cubin", job.output, error) || !createFile("txt", job.messages, error))
    return false;
  std::error_code code;
  llvm::raw_fd_ostream os(job.input, code);
  os << ptx;
  os.close();
  job.command = {ptxas, "-v", "--gpu-name=" + target.str(), "-o", job.output.str().str(), job.input.str().str()};
  std::vector<StringRef> arguments(job.command.begin(), job.command.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(job.messages), StringRef(job.messages)};
  bool failed = false;
  job.process = llvm::sys::ExecuteNoWait(ptxas, arguments, std::nullopt, redirects, 0, &error, &failed);
  return !failed;
}

/// `ptxas info : Compiling entry function 'k' for 'sm_80'` and the lines about it.
std::vector<KernelUse> parseUse(StringRef messages) {
  std::vector<KernelUse> result;
  llvm::Regex entry("Compiling entry function '([^']+)'"), spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads"),
      registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  llvm::SmallVector<StringRef> lines, match;
  messages.split(lines, '\n');
  for (StringRef line : lines) {
    if (entry.match(line, &match))
      result.push_back({match[1].str()});
    if (result.empty())
      continue;
    if (spills.match(line, &match)) {
      match[1].getAsInteger(10, result.back().spillStores);
      match[2].getAsInteger(10, result.back().spillLoads);
    }
    if (registers.match(line, &match))
      match[1].getAsInteger(10, result.back().registers);
    if (shared.match(line, &match))
      match[1].getAsInteger(10, result.back().sharedBytes);
  }
  return result;
}

void finish(Job &job, Cubin &cubin) {
  std::string error;
  llvm::sys::ProcessInfo done = llvm::sys::Wait(job.process, std::nullopt, &error);
  std::string messages = readFile(job.messages);
  fs::remove(job.messages);
  if (done.ReturnCode != 0) {
    cubin.error = "ptxas failed (" + (error.empty() ? "exit code " + std::to_string(done.ReturnCode) : error) + "):\n" + messages +
                  "to repeat: " + llvm::join(job.command, " ");
    fs::remove(job.output);
    return; // the PTX stays for the command line
  }
  auto buffer = llvm::MemoryBuffer::getFile(job.output);
  if (buffer)
    cubin.bytes.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  else
    cubin.error = "ptxas wrote no output";
  cubin.use = parseUse(messages);
  fs::remove(job.input);
  fs::remove(job.output);
}
} // namespace

std::vector<Cubin> assemble(llvm::ArrayRef<std::string> ptx, llvm::ArrayRef<std::string> targets, const Tools &tools, unsigned jobs) {
  std::vector<Cubin> cubins(ptx.size());
  std::vector<Job> running(ptx.size());
  std::string ptxas = tools.ptxas();
  auto end = [&](size_t i) {
    if (cubins[i].error.empty())
      finish(running[i], cubins[i]);
  };
  for (size_t i = 0; i < ptx.size(); ++i) {
    if (i >= jobs)
      end(i - jobs);
    start(running[i], ptx[i], targets[i], ptxas, cubins[i].error);
  }
  for (size_t i = ptx.size() > jobs ? ptx.size() - jobs : 0; i < ptx.size(); ++i)
    end(i);
  return cubins;
}

std::string assemblerVersion(const Tools &tools) {
  std::string ptxas = tools.ptxas(), error;
  llvm::SmallString<128> output;
  if (!fs::can_execute(ptxas) || !createFile("txt", output, error))
    return {};
  llvm::scope_exit remove([&] { fs::remove(output); });
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(output), std::nullopt};
  StringRef arguments[] = {ptxas, "--version"};
  if (llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects) != 0)
    return {};
  llvm::SmallVector<StringRef> match;
  std::string text = readFile(output);
  return llvm::Regex("V([0-9]+\\.[0-9]+\\.[0-9]+)").match(text, &match) ? match[1].str() : std::string();
}

} // namespace weft::nvptx
