// Matrix products.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

LogicalResult gemm(Node &n) {
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.error("A and B must have rank 2, found " + Twine(n.rank(0)) + " and " + Twine(n.rank(1)));
  Value a = n.i("transA") ? n.transpose(n.in(0), {1, 0}) : n.in(0);
  Value b = n.i("transB") ? n.transpose(n.in(1), {1, 0}) : n.in(1);
  Value y = n.contract(a, b);
  double alpha = n.f("alpha", 1), beta = n.f("beta", 1);
  y = alpha == 1 ? y : n.mul(y, alpha);
  if (!n.has(2) || beta == 0 || n.bad())
    return n.result(y);
  Value c = beta == 1 ? n.in(2) : n.mul(n.in(2), beta);
  if (n.rankOf(c) > 2)
    return n.error("C must have rank 2 or less, found " + Twine(n.rankOf(c)));
  return n.result(n.add(y, n.broadcastTo(c, n.dimsOf(y))));
}


/// The labels of a term of rank `rank`; `ellipsis` (0 or more) dimensions at "...".
std::optional<std::string> expandLabels(Node &n, StringRef term, int64_t rank, int64_t widest) {
  size_t dots = term.find("...");
  std::string labels = term.str();
  if (dots != StringRef::npos) {
    int64_t count = rank < 0 ? widest : rank - int64_t(term.size() - 3);
    std::string batch;
    for (int64_t i = widest - count; i < widest; ++i)
      batch += char('\x01' + i); // not letters: ONNX labels may be upper and lower case
    labels = (term.take_front(dots) + batch + term.drop_front(dots + 3)).str();
  }
  if (rank >= 0 && int64_t(labels.size()) != rank)
    return (void)n.error("equation term '" + term + "' does not fit a tensor of rank " + Twine(rank)), std::nullopt;
  return labels;
}

/// Takes the diagonal where a label occurs twice: only elements with equal indices remain.
Value diagonal(Node &n, Value x, std::string &labels) {
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j = labels.find(labels[i], i + 1); j != std::string::npos; j = labels.find(labels[i], i + 1)) {
      Dims dims = n.dimsOf(x);
      n.requireEqual(dims[i], dims[j], "dimensions of one label must be equal");
      if (n.bad())
        return x;
      // Zero off the diagonal, then sum over the second index.
      Value onDiagonal = n.compare(CompareKind::eq, n.iota(dims, i, n.i64()), n.iota(dims, j, n.i64()));
      x = n.reduce(ReduceKind::sum, n.select(onDiagonal, x, n.scalarLike(0, x)), {int64_t(j)}, false);
      labels.erase(j, 1);
    }
  return x;
}

/// Sums over the labels that neither `keep` nor the result needs.
Value sumAway(Node &n, Value x, std::string &labels, StringRef keep) {
  SmallVector<int64_t> axes;
  std::string rest;
  for (auto [i, l] : llvm::enumerate(labels))
    if (keep.contains(l))
      rest += l;
    else
      axes.push_back(i);
  labels = rest;
  return n.reduce(ReduceKind::sum, x, axes, false);
}

/// Transposes (and inserts 1) so that the labels stand in the order of `to`.
Value arrange(Node &n, Value x, StringRef labels, StringRef to) {
  SmallVector<int64_t> perm, missing;
  for (auto [i, l] : llvm::enumerate(to))
    if (size_t at = labels.find(l); at != StringRef::npos)
      perm.push_back(at);
    else
      missing.push_back(i);
  return n.unsqueeze(n.transpose(x, perm), missing);
}

/// x * y summed over the labels that are in both but not in `keep`: one batched matrix product.
Value multiply(Node &n, Value x, std::string &xl, Value y, const std::string &yl, StringRef keep) {
  std::string batch, rows, columns, inner;
  for (char l : xl)
    (yl.find(l) == std::string::npos ? rows : keep.contains(l) ? batch : inner) += l;
  for (char l : yl)
    if (xl.find(l) == std::string::npos)
      columns += l;
  Value a = arrange(n, x, xl, batch + rows + inner), b = arrange(n, y, yl, batch + inner + columns);
  Dims ad = n.dimsOf(a), bd = n.dimsOf(b);
  auto part = [&](ArrayRef<AffineExpr> d, size_t from, size_t count) { return n.product(d.slice(from, count)); };
  size_t nb = batch.size(), nr = rows.size(), nc = columns.size(), ni = inner.size();
  Dims dims;
  for (size_t i = 0; i < nb; ++i)
    dims.push_back(n.broadcastDim(ad[i], bd[i]));
  for (size_t i = 0; i < ni; ++i)
    n.requireEqual(ad[nb + nr + i], bd[nb + i], "dimensions of one label must be equal");
  if (n.bad())
    return x;
  auto full = [&](Value v, Dims own) {
    for (size_t i = 0; i < nb; ++i)
      own[i] = dims[i];
    return n.broadcastTo(v, own);
  };
  a = full(a, ad), b = full(b, bd);
  Dims al(dims), bl(dims), result(dims);
  al.append({part(ad, nb, nr), part(ad, nb + nr, ni)});
  bl.append({part(bd, nb, ni), part(bd, nb + ni, nc)});
  llvm::append_range(result, ArrayRef(ad).slice(nb, nr));
  llvm::append_range(result, ArrayRef(bd).slice(nb + ni, nc));
  xl = batch + rows + columns;
  return n.reshape(n.contract(n.reshape(a, al), n.reshape(b, bl)), result);
}

LogicalResult einsum(Node &n) {
  std::string equation;
  for (char c : n.s("equation"))
    if (c != ' ')
      equation += c;
  auto [left, right] = StringRef(equation).split("->");
  bool isExplicit = StringRef(equation).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs())
    return n.error("equation '" + equation + "' has " + Twine(terms.size()) + " terms, but the node has " + Twine(n.numInputs()) + " inputs");
  int64_t widest = 0;
  for (auto [i, term] : llvm::enumerate(terms))
    if (term.contains("..."))
      widest = std::max(widest, n.rank(i) - int64_t(term.size()) + 3);
  std::vector<std::string> labels;
  for (auto [i, term] : llvm::enumerate(terms)) {
    auto expanded = expandLabels(n, term, n.rank(i), widest);
    if (!expanded)
      return failure();
    labels.push_back(*expanded);
  }
  std::string out;
  if (isExplicit) {
    auto expanded = expandLabels(n, right, -1, widest);
    if (!expanded)
      return failure();
    out = *expanded;
  } else { // batch dimensions, then the labels that occur once, sorted
    std::string all;
    for (const std::string &l : labels)
      all += l;
    for (int c = 1; c < 256; ++c)
      if (auto count = llvm::count(all, char(c)); count == 1 || (count > 0 && c <= widest))
        out += char(c);
  }
  for (char l : out)
    if (llvm::none_of(labels, [&](const std::string &t) { return t.find(l) != std::string::npos; }) || llvm::count(out, l) > 1)
      return n.error("equation '" + equation + "': a label of the result occurs in no input, or twice");
  Value x = diagonal(n, n.in(0), labels[0]);
  for (size_t i = 1; i <= terms.size() && !n.bad(); ++i) {
    std::string keep = out;
    for (size_t k = i; k < terms.size(); ++k)
      keep += labels[k];
    x = sumAway(n, x, labels[0], keep);
    if (i == terms.size())
      break;
    Value y = diagonal(n, n.in(i), labels[i]);
    std::string later = out + labels[0];
    for (size_t k = i + 1; k < terms.size(); ++k)
      later += labels[k];
    y = sumAway(n, y, labels[i], later);
    std::string after = out;
    for (size_t k = i + 1; k < terms.size(); ++k)
      after += labels[k];
    x = multiply(n, x, labels[0], y, labels[i], after);
  }
  return n.bad() ? failure() : n.result(arrange(n, x, labels[0], out));
}

} // namespace

void weft::onnx::addContractionRules(Rules &r) {
  r.add("MatMul", 1, [](Node &n) { return n.result(n.contract(n.in(0), n.in(1))); });
  r.add("Gemm", 1, gemm);
  r.add("Einsum", 12, einsum);
}
