// weft-run: runs an artifact, or tells what is in it. Parses, reads, runs, writes; everything else is the runtime's.
// All outputs are computed before the first is written, and each file appears whole or not at all.
// Exit codes: 0 done; 1 the model or an input is wrong; 2 the command line; 3 the machine cannot.
#include "runtime/Session.h"
#include "runtime/io/File.h"
#include "runtime/io/Npy.h"
#include "runtime/io/ProtoTensor.h"
#include "runtime/tools/Describe.h"
#include "runtime/tools/Options.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using namespace weft::tools;

namespace {
enum ExitCode : int { done = 0, wrongInput = 1, wrongCommandLine = 2, machineCannot = 3 };

/// Where one command prints to; a batch collects what it says.
struct Streams {
  std::string out, err;
  bool direct = true;
  void print(const std::string &text) { direct ? void(std::fputs(text.c_str(), stdout)) : void(out += text); }
  void note(const std::string &text) {
    std::string line = "weft-run: " + text + "\n";
    direct ? void(std::fputs(line.c_str(), stderr)) : void(err += line);
  }
  int fail(int code, const std::string &message) {
    note("error: " + message);
    return code;
  }
  int fail(const Status &status) { return fail(int(status.code), status.message); }
};

/// The phases of a command and what the device did in them, for --profile (Chrome's trace format, which Perfetto opens).
class Profile {
public:
  /// Ends the phase that began with the last call, and begins another.
  void begin(std::string name) {
    end();
    current = std::move(name);
    start = microseconds();
  }
  void end() {
    if (!current.empty())
      add(current, 1, double(start), double(microseconds() - start));
    current.clear();
  }
  /// What the device did in the phase that is open; its clock is taken to start with the phase.
  void device(const std::vector<ProfileEvent> &commands) {
    for (const ProfileEvent &command : commands)
      add(command.name, 2, double(start) + command.begin * 1000, command.duration * 1000);
  }
  std::string json() const { return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + events + "\n]}\n"; }

private:
  void add(const std::string &name, int thread, double at, double duration) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, ", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f}", thread, at, duration);
    events += ",\n{\"name\": " + jsonString(name) + numbers;
  }
  int64_t microseconds() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - origin).count();
  }
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  std::string current;
  std::string events = R"({"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "host"}},
{"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "device"}})";
  int64_t start = 0;
};

using Outputs = std::vector<std::pair<std::string, Array>>;

std::string fileNameOf(const std::string &name) {
  std::string out = name;
  for (char &c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
          c == '-'))
      c = '_';
  return out + ".npy";
}

/// The architecture an emulator without @sm_XX has: the newest target's.
std::string newestTarget(const plan::Plan &plan) {
  std::string newest = "sm_80";
  int best = 0;
  for (size_t i = 0; plan.targets() && i < plan.targets()->size(); ++i) {
    std::string target = plan.targets()->Get(unsigned(i))->str();
    size_t digits = target.find('_');
    int number = digits == std::string::npos ? 0 : std::atoi(target.c_str() + digits + 1);
    if (number > best) {
      best = number;
      newest = "sm_" + target.substr(digits + 1);
    }
  }
  return newest;
}

Status checkOutputNames(const plan::Plan &plan) {
  std::map<std::string, std::string> taken;
  for (const plan::InputOutput *output : *plan.outputs()) {
    std::string name = output->name()->str();
    auto [at, fresh] = taken.emplace(fileNameOf(name), name);
    if (!fresh)
      return Status::invalid("the outputs '" + at->second + "' and '" + name + "' would both be written to " +
                             at->first);
  }
  return Status::success();
}

std::string inputNames(const plan::Plan &plan) {
  std::string names;
  for (const plan::InputOutput *input : *plan.inputs())
    names += (names.empty() ? "'" : ", '") + input->name()->str() + "'";
  return names.empty() ? "none" : names;
}

/// Splits NAME=FILE: NAME is the longest input name that fits, else what stands before the first '='.
const plan::InputOutput *findInput(const plan::Plan &plan, const std::string &text, std::string &name,
                                   std::string &file) {
  const plan::InputOutput *found = nullptr;
  name = text.substr(0, text.find('='));
  for (const plan::InputOutput *input : *plan.inputs())
    if (text.starts_with(input->name()->str() + "=") && (!found || input->name()->size() > found->name()->size()))
      found = input;
  if (found)
    name = found->name()->str();
  file = text.substr(name.size() + 1);
  return found;
}

Status readInputs(const plan::Plan &plan, const Options &options, std::map<std::string, Array> &inputs) {
  for (const std::string &text : options.inputs) {
    std::string name, file;
    const plan::InputOutput *input = findInput(plan, text, name, file);
    if (!input)
      return Status::invalid("--input: the model has no input '" + name + "'; its inputs are: " + inputNames(plan));
    if (inputs.contains(name))
      return Status::invalid("--input: '" + name + "' is given twice");
    Array &array = inputs[name];
    Status status =
        file.ends_with(".pb") ? readProtoTensor(file, input->type(), array) : readNpy(file, input->type(), array);
    if (!status.ok())
      return {status.code, "input '" + name + "': " + status.message};
  }
  for (const plan::InputOutput *input : *plan.inputs())
    if (!inputs.contains(input->name()->str()) && input->default_constant() < 0)
      return Status::invalid("input '" + input->name()->str() + "' is missing: expected tensor(" +
                             ortTypeName(input->type()) + "), give it with --input " + input->name()->str() + "=FILE");
  return Status::success();
}

/// Encodes everything first, so that what cannot be written is told before a file appears.
Status writeOutputs(const Outputs &outputs, const std::string &folder) {
  std::vector<std::vector<uint8_t>> files(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Status status = encodeNpy(outputs[i].second, files[i]);
    if (!status.ok())
      return {status.code, "output '" + outputs[i].first + "': " + status.message};
  }
  WEFT_TRY(makeFolders(folder));
  for (size_t i = 0; i < outputs.size(); ++i)
    WEFT_TRY(writeFile(folder + "/" + fileNameOf(outputs[i].first), files[i]));
  return Status::success();
}

std::string timesText(std::vector<double> times) {
  std::ranges::sort(times);
  char text[160];
  std::snprintf(text, sizeof text, "%zu runs, best %.3f ms, median %.3f ms, worst %.3f ms", times.size(), times.front(),
                times[times.size() / 2], times.back());
  return text;
}

/// Runs as often as --repeat says; the outputs are the last run's.
Status runAll(Model &model, const std::map<std::string, Array> &inputs, const Options &options, Profile &profile,
              Outputs &outputs, std::vector<double> &times) {
  Session session(model);
  session.setProfiling(!options.profile.empty());
  for (uint64_t i = 0; i < options.repeat; ++i) {
    profile.begin(options.repeat == 1 ? "run" : "run " + std::to_string(i));
    RunStats stats;
    outputs.clear();
    WEFT_TRY(session.run(inputs, outputs, &stats));
    profile.device(stats.events);
    times.push_back(stats.milliseconds);
  }
  return Status::success();
}

std::string summaryOf(const Outputs &outputs) {
  std::string text;
  for (const auto &[name, array] : outputs)
    text += name + ": tensor(" + ortTypeName(array.type) + ") " + shapeText(array.shape) + "\n";
  return text;
}

int openDevice(const Artifact &artifact, const Options &options, Streams &streams, std::unique_ptr<Device> &device) {
  DeviceOptions wanted;
  wanted.spec = options.device;
  wanted.check = options.check;
  wanted.counters = !options.counters.empty();
  wanted.defaultSm = newestTarget(artifact.plan());
  Status status = Device::open(wanted, device);
  if (!status.ok())
    return streams.fail(status);
  if (!device->isEmulator() && (wanted.check || wanted.counters))
    return streams.fail(wrongCommandLine, std::string(wanted.check ? "--check" : "--counters") +
                                              " needs the emulator, and the device is a GPU: add --device=emulator");
  return done;
}

/// What --check found, as a report on standard error.
int reportFindings(const Model &model, Streams &streams) {
  std::string findings;
  Status status = model.device().findings(findings);
  if (!status.ok())
    return streams.fail(status);
  if (findings.empty())
    return done;
  for (size_t at = 0; at < findings.size();) {
    size_t end = std::min(findings.find('\n', at), findings.size());
    streams.note("error: --check: " + model.withNode(findings.substr(at, end - at)));
    at = end + 1;
  }
  return wrongInput;
}

Status writeReports(Device &device, const Options &options, Profile &profile) {
  if (!options.counters.empty()) {
    std::string json;
    WEFT_TRY(device.countersJson(json));
    WEFT_TRY(writeFile(options.counters, json));
  }
  profile.end();
  return options.profile.empty() ? Status::success() : writeFile(options.profile, profile.json());
}

int runModel(const Artifact &artifact, const Options &options, Profile &profile, Streams &streams) {
  std::map<std::string, Array> inputs;
  Status status = options.output.empty() ? Status::success() : checkOutputNames(artifact.plan());
  profile.begin("read inputs");
  if (status.ok())
    status = readInputs(artifact.plan(), options, inputs);
  if (!status.ok())
    return streams.fail(status);

  profile.begin("open device");
  std::unique_ptr<Device> device;
  if (int code = openDevice(artifact, options, streams, device))
    return code;
  profile.begin("upload");
  std::unique_ptr<Model> model;
  status = Model::load(artifact, *device, model);
  if (!status.ok())
    return streams.fail(status);
  bool fellBack = options.device.kind == DeviceSpec::automatic && device->isEmulator();
  streams.note((fellBack ? "no usable GPU, so on the " : "") + device->description() + ", image " + model->imageUsed());

  Outputs outputs;
  std::vector<double> times;
  status = runAll(*model, inputs, options, profile, outputs, times);
  int found = options.check ? reportFindings(*model, streams) : int(done); // told after a failed run too
  if (!status.ok())
    return streams.fail(status);
  if (found)
    return found;
  profile.begin("write outputs");
  if (!options.output.empty())
    status = writeOutputs(outputs, options.output);
  if (status.ok())
    status = writeReports(*device, options, profile);
  if (!status.ok())
    return streams.fail(status);
  if (options.output.empty())
    streams.print(summaryOf(outputs));
  if (options.repeat > 1)
    streams.note(timesText(std::move(times)));
  return done;
}

/// One command line, without --batch.
int runCommand(const Options &options, Streams &streams) {
  Profile profile;
  profile.begin("load");
  std::unique_ptr<Artifact> artifact;
  Status status = Artifact::open(options.artifact, artifact);
  // All of it, not only what this run touches: a changed file is refused, whatever is changed.
  if (status.ok())
    status = artifact->verifyAll();
  if (!status.ok())
    return streams.fail(status);
  if (!options.describe)
    return runModel(*artifact, options, profile, streams);
  std::string text;
  status = describe(*artifact, options, text);
  if (!status.ok())
    return streams.fail(status);
  streams.print(text);
  return done;
}

int runArguments(const std::vector<std::string> &arguments, Streams &streams, std::string *batch) {
  Options options;
  std::string wrong = parseOptions(arguments, options);
  if (!wrong.empty())
    return streams.fail(wrongCommandLine, wrong);
  if (options.help) {
    streams.print(helpText());
    return done;
  }
  if (options.batch.empty())
    return runCommand(options, streams);
  if (!batch)
    return streams.fail(wrongCommandLine, "--batch inside a batch file");
  *batch = options.batch;
  return done;
}

std::string firstErrorLine(const std::string &text) {
  size_t begin = text.find("weft-run: error: ");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

/// What a child process said and how it ended.
struct ChildResult {
  int code = machineCannot;
  std::string out, err;
};

/// Runs a command line in a child process: the emulator's settings and counters hold for a process, and a crash must
/// not end the batch. The child sends its output, a NUL and its errors.
ChildResult runInChild(const std::vector<std::string> &words) {
  int ends[2];
  if (::pipe(ends) < 0)
    return {machineCannot, "", "weft-run: error: cannot make a pipe\n"};
  pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]), ::close(ends[1]);
    return {machineCannot, "", "weft-run: error: cannot start a process\n"};
  }
  if (child == 0) {
    Streams streams;
    streams.direct = false;
    int code = runArguments(words, streams, nullptr);
    std::string text = streams.out + '\0' + streams.err;
    for (size_t at = 0; at < text.size();) {
      ssize_t put = ::write(ends[1], text.data() + at, text.size() - at);
      if (put <= 0)
        break;
      at += size_t(put);
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  size_t split = std::min(text.find('\0'), text.size());
  ChildResult result{WEXITSTATUS(status), text.substr(0, split), text.substr(std::min(split + 1, text.size()))};
  if (WIFSIGNALED(status)) // as a shell says it
    result = {128 + WTERMSIG(status), "",
              "weft-run: error: ended by signal " + std::to_string(WTERMSIG(status)) + "\n"};
  return result;
}

/// Each line of the file is one command line, with or without the tool's name in front; blank lines and lines that
/// begin with '#' are skipped. A line's own output goes before its rc line. The exit code says only whether the file
/// was read.
int runBatch(const std::string &path) {
  Streams own;
  std::vector<uint8_t> bytes;
  Status status = readFile(path, bytes);
  if (!status.ok())
    return own.fail(wrongCommandLine, "--batch: " + status.message);
  std::string text(bytes.begin(), bytes.end());
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#')
      continue;
    std::vector<std::string> words;
    ChildResult result{wrongCommandLine, "", "weft-run: error: a quote is not closed\n"};
    if (splitLine(line, words)) {
      if (words[0] == "weft-run" || words[0].ends_with("/weft-run"))
        words.erase(words.begin());
      result = runInChild(words);
    }
    std::printf("%src=%d\t%s\n", result.out.c_str(), result.code, firstErrorLine(result.err).c_str());
    std::fflush(stdout);
  }
  return done;
}
} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Streams streams;
  std::string batch;
  int code = runArguments(arguments, streams, &batch);
  if (!batch.empty())
    code = runBatch(batch);
  if (std::fflush(stdout) != 0 && code == done)
    return streams.fail(machineCannot, "cannot write to standard output");
  return code;
}
