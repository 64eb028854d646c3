// LSTM, GRU and RNN: the input's part of the gates as one contraction, the rest as graph.recurrent.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Activations with their parameters, one per direction and gate function; ONNX's defaults where none are given.
struct Activations {
  SmallVector<mlir::Attribute> names;
  SmallVector<float> alphas, betas;
};

std::optional<Activations> activationsOf(Node &n, ArrayRef<StringRef> defaults, int64_t directions) {
  Activations result;
  std::vector<std::string> names = n.strings("activations");
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      for (StringRef name : defaults)
        names.push_back(name.str());
  if (int64_t(names.size()) != directions * int64_t(defaults.size()))
    return (void)n.error("activations must have " + Twine(directions * int64_t(defaults.size())) + " entries, found " + Twine(names.size())), std::nullopt;
  auto alphas = n.reals("activation_alpha"), betas = n.reals("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  struct Known {
    StringRef name;
    bool hasAlpha, hasBeta;
    float alpha, beta;
  };
  static const Known known[] = {{"Relu", 0, 0, 0, 0}, {"Tanh", 0, 0, 0, 0}, {"Sigmoid", 0, 0, 0, 0}, {"Softsign", 0, 0, 0, 0},
                                {"Softplus", 0, 0, 0, 0}, {"Affine", 1, 1, 1, 0}, {"LeakyRelu", 1, 0, 0.01f, 0},
                                {"ThresholdedRelu", 1, 0, 1, 0}, {"ScaledTanh", 1, 1, 1, 1}, {"HardSigmoid", 1, 1, 0.2f, 0.5f},
                                {"Elu", 1, 0, 1, 0}};
  for (const std::string &name : names) {
    const Known *it = llvm::find_if(known, [&](const Known &k) { return k.name.equals_insensitive(name); });
    if (it == std::end(known))
      return (void)n.error("unknown activation '" + name + "'"), std::nullopt;
    result.names.push_back(n.b.getStringAttr(it->name));
    result.alphas.push_back(it->hasAlpha && nextAlpha < alphas.size() ? alphas[nextAlpha++] : it->alpha);
    result.betas.push_back(it->hasBeta && nextBeta < betas.size() ? betas[nextBeta++] : it->beta);
  }
  return result;
}

/// [directions, ...] part `from` to `from + count` of dimension 1, each as long as hidden.
Value part(Node &n, Value x, int64_t from, int64_t count, AffineExpr hidden) {
  return n.slice(x, 1, n.syms.mul(n.c(from), hidden), n.syms.mul(n.c(count), hidden));
}

template <CellKind kind, int64_t gates> LogicalResult recurrent(Node &n) {
  bool isLstm = kind == CellKind::lstm, batchFirst = n.i("layout");
  std::string direction = n.s("direction", "forward");
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  SmallVector<bool> reverse{direction == "reverse"};
  if (directions == 2)
    reverse.push_back(true);
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.rank(2) != 3)
    return n.error("X, W and R must have rank 3");
  if (direction != "forward" && direction != "reverse" && directions != 2)
    return n.error("direction must be forward, reverse or bidirectional, found '" + direction + "'");
  Value x = batchFirst ? n.transpose(n.in(0), {1, 0, 2}) : n.in(0);
  Value w = n.in(1), r = n.in(2);
  AffineExpr seq = n.dimsOf(x)[0], batch = n.dimsOf(x)[1], in = n.dimsOf(x)[2], hidden = n.dims(2)[2];
  AffineExpr all = n.syms.mul(hidden, n.c(gates)), d = n.c(directions);
  n.requireEqual(n.dims(1)[0], d, "dimension 0 of W must be the number of directions");
  n.requireEqual(n.dims(1)[1], all, "dimension 1 of W must be " + Twine(gates) + " times the hidden size");
  n.requireEqual(n.dims(1)[2], in, "dimension 2 of W must be the input size");
  n.requireEqual(n.dims(2)[1], all, "dimension 1 of R must be " + Twine(gates) + " times the hidden size");
  static const StringRef lstmNames[] = {"Sigmoid", "Tanh", "Tanh"}, gruNames[] = {"Sigmoid", "Tanh"}, rnnNames[] = {"Tanh"};
  auto activations = activationsOf(n, isLstm ? ArrayRef(lstmNames) : kind == CellKind::gru ? ArrayRef(gruNames) : ArrayRef(rnnNames), directions);
  if (!activations || n.bad())
    return failure();

  // gates = X W^T + bias, for all steps at once
  Value flat = n.broadcastTo(n.reshape(x, {n.syms.mul(seq, batch), in}), {d, n.syms.mul(seq, batch), in});
  Value g = n.contract(flat, n.transpose(w, {0, 2, 1}));
  bool keepsBias = kind == CellKind::gru && n.i("linear_before_reset");
  Value recurrentBias;
  if (n.has(3)) {
    Value wb = part(n, n.in(3), 0, gates, hidden), rb = part(n, n.in(3), gates, gates, hidden);
    recurrentBias = keepsBias ? rb : Value();
    g = n.add(g, n.unsqueeze(keepsBias ? wb : n.add(wb, rb), {1}));
  }
  g = n.reshape(g, {d, seq, batch, all});

  auto state = [&](unsigned i) { return !n.has(i) ? Value() : batchFirst ? n.transpose(n.in(i), {1, 0, 2}) : n.in(i); };
  Type type = n.typeOf(x);
  auto stateType = n.tensor({d, batch, hidden}, type);
  auto op = RecurrentOp::create(n.b, n.loc, n.tensor({seq, d, batch, hidden}, type), stateType, isLstm ? Type(stateType) : Type(), CellKindAttr::get(n.context(), kind), g, r,
                                recurrentBias, n.opt(4), state(5), isLstm ? state(6) : Value(), isLstm ? n.opt(7) : Value(),
                                n.b.getArrayAttr(activations->names), n.b.getDenseF32ArrayAttr(activations->alphas),
                                n.b.getDenseF32ArrayAttr(activations->betas),
                                n.hasAttr("clip") ? n.b.getF32FloatAttr(n.f("clip")) : FloatAttr(), n.b.getDenseBoolArrayAttr(reverse),
                                n.b.getBoolAttr(n.i("linear_before_reset")), n.b.getBoolAttr(n.i("input_forget")));
  n.set(0, batchFirst ? n.transpose(op.getY(), {2, 0, 1, 3}) : op.getY());
  n.set(1, batchFirst ? n.transpose(op.getYH(), {1, 0, 2}) : op.getYH());
  if (isLstm)
    n.set(2, batchFirst ? n.transpose(op.getYC(), {1, 0, 2}) : op.getYC());
  return success(!n.bad());
}

} // namespace

void weft::onnx::addRecurrentRules(Rules &r) {
  r.add("LSTM", 7, recurrent<CellKind::lstm, 4>);
  r.add("GRU", 7, recurrent<CellKind::gru, 3>);
  r.add("RNN", 7, recurrent<CellKind::rnn, 1>);
}
