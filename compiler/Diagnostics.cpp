// Errors in one form, and the remarks of the passes: see Diagnostics.h.
#include "compiler/Diagnostics.h"
#include "dialects/graph/NodeName.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft {
namespace {
/// Keeps the remarks of all passes in the order in which they are made.
struct Collector : remark::detail::MLIRRemarkStreamerBase {
  explicit Collector(std::vector<Remark> &remarks) : remarks(remarks) {}
  void streamOptimizationRemark(const remark::detail::Remark &made) override {
    std::string message;
    for (const auto &argument : made.getArgs())
      message += argument.val;
    remarks.push_back({made.getRemarkName().str(), graph::nodeName(made.getLocation()), message});
  }
  std::vector<Remark> &remarks;
};

/// Where a textual input is wrong.
std::string lineOf(Location location) {
  if (auto line = dyn_cast<FileLineColLoc>(location); line && line.getLine() > 0)
    return std::to_string(line.getLine()) + ":" + std::to_string(line.getColumn());
  return "";
}
} // namespace

Diagnostics::Diagnostics(MLIRContext &context, StringRef file, raw_ostream &out)
    : file(file), out(out), handler(&context, [this](Diagnostic &diagnostic) {
        print(diagnostic);
        return success();
      }) {
  remark::RemarkCategories categories;
  categories.all = ".*";
  (void)remark::enableOptimizationRemarks(context, std::make_unique<Collector>(remarks),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

void Diagnostics::error(const Twine &message) { out << "weftc: error: " << file << ": " << message << "\n"; }

void Diagnostics::print(Diagnostic &diagnostic) {
  StringRef severity = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? "error"
                       : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning"
                       : diagnostic.getSeverity() == DiagnosticSeverity::Note    ? "note"
                                                                                 : "";
  if (severity.empty())
    return; // remarks are collected
  std::string message = diagnostic.str(), node = graph::nodeName(diagnostic.getLocation()), line = lineOf(diagnostic.getLocation());
  out << "weftc: " << severity << ": " << file << (line.empty() ? "" : ":" + line) << ": ";
  if (!node.empty() && !StringRef(message).starts_with("node '"))
    out << "node '" << node << "': ";
  out << message << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    if (note.getSeverity() == DiagnosticSeverity::Note && !StringRef(note.str()).starts_with("see current operation"))
      print(note);
}

} // namespace weft
