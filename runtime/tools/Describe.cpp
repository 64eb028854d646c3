// What an artifact holds: see Describe.h.
#include "runtime/tools/Describe.h"
#include "runtime/Array.h"
#include "runtime/Session.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace weft::tools {

std::string jsonString(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (uint8_t(c) < 0x20)
      out.append(escaped, size_t(std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(c))));
    else
      out += c;
  }
  return out + "\"";
}

namespace {
/// One dimension: a number, an expression or the name of a symbol, or nothing (unnamed).
struct Dim {
  bool isNumber = false;
  int64_t number = 0;
  std::string text;
  std::string json() const { return isNumber ? std::to_string(number) : text.empty() ? "null" : jsonString(text); }
  std::string plain() const { return isNumber ? std::to_string(number) : text.empty() ? "?" : text; }
};

struct Value {
  std::string name, type;
  std::vector<Dim> shape;
};

/// What both forms print.
struct Facts {
  std::vector<Value> inputs, outputs;
  std::vector<std::string> targets;
  size_t kernels = 0, launches = 0;
  uint64_t constantBytes = 0, arenaBytes = 0, liveBytes = 0;
  std::string arenaText; // the expression, where there is no number
};

Dim dimOf(const plan::Plan &plan, const plan::InputOutput &value, uint32_t index) {
  uint32_t expr = value.dims()->Get(index);
  const plan::ExprNode &node = *plan.expressions()->Get(expr);
  Dim dim;
  if (node.op() == plan::ExprOp::constant) {
    dim.isNumber = true;
    dim.number = node.imm();
    return dim;
  }
  if (value.dim_names() && index < value.dim_names()->size())
    dim.text = value.dim_names()->Get(index)->str();
  if (dim.text.empty() && node.op() != plan::ExprOp::symbol)
    dim.text = exprToString(plan, expr);
  return dim;
}

std::vector<Value> valuesOf(const plan::Plan &plan,
                            const flatbuffers::Vector<flatbuffers::Offset<plan::InputOutput>> *list) {
  std::vector<Value> values;
  for (size_t i = 0; list && i < list->size(); ++i) {
    const plan::InputOutput &one = *list->Get(unsigned(i));
    Value value{one.name() ? one.name()->str() : "", std::string("tensor(") + ortTypeName(one.type()) + ")", {}};
    for (uint32_t d = 0; one.dims() && d < one.dims()->size(); ++d)
      value.shape.push_back(dimOf(plan, one, d));
    values.push_back(std::move(value));
  }
  return values;
}

/// The largest sum of live tensors as an expression: each step's sizes, without the steps that another one covers.
class ArenaExpression {
public:
  explicit ArenaExpression(const plan::Plan &plan) : plan(plan) {}
  std::string text() {
    std::vector<Sizes> steps = prune(stepsOf(0, 0));
    std::string out;
    for (const Sizes &step : steps)
      out += (out.empty() ? "" : ", ") + sumText(step);
    return steps.empty() ? "0" : steps.size() == 1 ? out : "max(" + out + ")";
  }

private:
  using Sizes = std::map<uint32_t, unsigned>; // expression -> how many tensors have that size

  std::set<Sizes> stepsOf(uint32_t block, unsigned depth) {
    std::set<Sizes> steps;
    constexpr unsigned deepest = 32;
    const auto *instructions = plan.blocks()->Get(block)->instructions();
    if (!instructions || depth > deepest)
      return steps;
    for (uint32_t at = 0; at < instructions->size(); ++at) {
      Sizes live;
      for (const plan::Tensor *tensor : *plan.tensors())
        if (tensor->storage() == plan::Storage::arena && tensor->block() == block && tensor->first_use() <= at &&
            at <= tensor->last_use())
          ++live[tensor->bytes()];
      std::set<Sizes> inner;
      if (const plan::If *branch = instructions->Get(at)->op_as_If()) {
        inner = stepsOf(branch->then_block(), depth + 1);
        inner.merge(stepsOf(branch->else_block(), depth + 1));
      } else if (const plan::Loop *loop = instructions->Get(at)->op_as_Loop()) {
        inner = stepsOf(loop->body(), depth + 1);
      }
      if (inner.empty() && !live.empty())
        steps.insert(live);
      for (Sizes sizes : inner) {
        for (auto [expr, count] : live)
          sizes[expr] += count;
        steps.insert(std::move(sizes));
      }
    }
    return steps;
  }

  static bool covers(const Sizes &more, const Sizes &less) {
    return std::ranges::all_of(less, [&](const auto &entry) {
      auto at = more.find(entry.first);
      return at != more.end() && at->second >= entry.second;
    });
  }
  static std::vector<Sizes> prune(const std::set<Sizes> &steps) {
    std::vector<Sizes> kept;
    for (const Sizes &step : steps)
      if (std::ranges::none_of(steps, [&](const Sizes &other) { return &other != &step && covers(other, step); }))
        kept.push_back(step);
    return kept;
  }
  std::string sumText(const Sizes &sizes) {
    std::string out;
    int64_t fixed = 0;
    for (auto [expr, count] : sizes) {
      const plan::ExprNode &node = *plan.expressions()->Get(expr);
      if (node.op() == plan::ExprOp::constant) {
        fixed += node.imm() * int64_t(count);
        continue;
      }
      std::string size = exprToString(plan, expr);
      out += (out.empty() ? "" : " + ") + (count > 1 ? std::to_string(count) + " * (" + size + ")" : size);
    }
    if (fixed || out.empty())
      out += (out.empty() ? "" : " + ") + std::to_string(fixed);
    return out;
  }
  const plan::Plan &plan;
};

size_t countLaunches(const plan::Plan &plan) {
  size_t count = 0;
  for (const plan::Block *block : *plan.blocks())
    for (size_t i = 0; block->instructions() && i < block->instructions()->size(); ++i)
      count += block->instructions()->Get(unsigned(i))->op_type() == plan::Op::Launch;
  return count;
}

/// Replaces the symbolic dimensions by the numbers of --shape. Outputs that only a run can size (-1) keep their text.
void setShape(Value &value, const std::vector<int64_t> &shape) {
  for (size_t d = 0; d < shape.size() && d < value.shape.size(); ++d)
    if (shape[d] >= 0)
      value.shape[d] = {true, shape[d], ""};
}

Status collect(const Artifact &artifact, const Options &options, Facts &facts) {
  const plan::Plan &plan = artifact.plan();
  facts.inputs = valuesOf(plan, plan.inputs());
  facts.outputs = valuesOf(plan, plan.outputs());
  for (size_t i = 0; plan.targets() && i < plan.targets()->size(); ++i)
    facts.targets.push_back(plan.targets()->Get(unsigned(i))->str());
  facts.kernels = plan.kernels() ? plan.kernels()->size() : 0;
  facts.launches = countLaunches(plan);
  facts.constantBytes = artifact.constantBytes();
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Options::Shape &shape : options.shapes) {
    if (std::ranges::find(facts.inputs, shape.name, &Value::name) == facts.inputs.end())
      return Status::invalid("--shape: the model has no input '" + shape.name + "'");
    shapes[shape.name] = shape.dims;
  }
  std::vector<std::vector<int64_t>> outputShapes;
  Status status = describeShapes(plan, shapes, facts.arenaBytes, facts.liveBytes, outputShapes);
  if (!status.ok() && !shapes.empty())
    return status;
  if (!status.ok()) {
    facts.arenaText = ArenaExpression(plan).text();
    if (facts.arenaText == "0") // no tensor at any shape
      facts.arenaText.clear();
    return Status::success();
  }
  for (Value &value : facts.inputs)
    if (auto at = shapes.find(value.name); at != shapes.end())
      setShape(value, at->second);
  for (size_t i = 0; i < outputShapes.size() && i < facts.outputs.size(); ++i)
    setShape(facts.outputs[i], outputShapes[i]);
  return Status::success();
}

template <typename List, typename Text> std::string joined(const List &list, Text text) {
  std::string out;
  for (const auto &one : list)
    out += (out.empty() ? "" : ", ") + text(one);
  return out;
}

std::string toJson(const Facts &facts) {
  auto value = [](const Value &v) {
    return "{\"name\": " + jsonString(v.name) + ", \"type\": " + jsonString(v.type) + ", \"shape\": [" +
           joined(v.shape, [](const Dim &d) { return d.json(); }) + "]}";
  };
  bool known = facts.arenaText.empty();
  return "{\"inputs\": [" + joined(facts.inputs, value) + "],\n \"outputs\": [" + joined(facts.outputs, value) +
         "],\n \"targets\": [" + joined(facts.targets, jsonString) +
         "],\n \"kernels\": " + std::to_string(facts.kernels) + ", \"launches\": " + std::to_string(facts.launches) +
         ", \"constant_bytes\": " + std::to_string(facts.constantBytes) + ",\n \"arena_bytes\": " +
         (known ? std::to_string(facts.arenaBytes) + ", \"live_bytes\": " + std::to_string(facts.liveBytes)
                : jsonString(facts.arenaText)) +
         "}\n";
}

std::string toText(const Artifact &artifact, const Facts &facts) {
  const plan::Plan &plan = artifact.plan();
  auto list = [](const char *title, const std::vector<Value> &values) {
    std::string out = std::string(title) + "\n";
    for (const Value &value : values)
      out += "  " + value.name + ": " + value.type + " [" +
             joined(value.shape, [](const Dim &d) { return d.plain(); }) + "]\n";
    return out;
  };
  std::string out = artifact.path() + (plan.model() ? ": model '" + plan.model()->str() + "'" : "") +
                    (plan.producer() ? ", made by " + plan.producer()->str() : "") + "\n";
  out += list("inputs", facts.inputs) + list("outputs", facts.outputs);
  out += "targets    " + joined(facts.targets, [](const std::string &s) { return s; }) + "\n";
  out += "kernels    " + std::to_string(facts.kernels) + ", launched by " + std::to_string(facts.launches) +
         " instructions\n";
  out += "constants  " + std::to_string(facts.constantBytes) + " bytes\n";
  return out + "arena      " +
         (facts.arenaText.empty() ? std::to_string(facts.arenaBytes) + " bytes, of which live at the worst step " +
                                        std::to_string(facts.liveBytes)
                                  : facts.arenaText + " bytes, before alignment; --shape gives the number") +
         "\n";
}
} // namespace

Status describe(const Artifact &artifact, const Options &options, std::string &text) {
  Facts facts;
  WEFT_TRY(collect(artifact, options, facts));
  text = options.json ? toJson(facts) : toText(artifact, facts);
  return Status::success();
}

} // namespace weft::tools
