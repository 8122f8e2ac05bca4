#include <unordered_set>

#include <relay/graph/concatenation.h>
#include <relay/graph/work.h>
#include <relay/support/error.h>
#include <relay/support/threads.h>

namespace relay::graph {
namespace {

using Symbols = std::unordered_set<Dim>;

void known(Dim dim, const Symbols& symbols) {
  if (!dim.is_term()) return;
  for_each_atom(dim, [&](Dim atom) {
    RELAY_CHECK(symbols.count(atom) != 0, "a size that nothing tells: " + atom.str());
  });
}

void check_work(const Work& work) {
  Symbols symbols;
  for (size_t k = 0; k < work.num_symbols; ++k) symbols.insert(work.symbol(k));
  for_each_dim(work.group, [&](Dim dim) { known(dim, symbols); });
  for (const te::TensorInfo& input : work.computation().inputs) {
    for (Dim dim : input.dims) {
      RELAY_CHECK(dim.is_int() || symbols.count(dim) != 0,
                  "an extent of an input of " + work.name + " is no symbol");
    }
  }
  for (const Work::Element& element : work.elements) {
    RELAY_CHECK(
        element.input < work.computation().inputs.size() && symbols.count(element.symbol) != 0,
        "a size read from no input of " + work.name);
  }
  work.computation().verify();
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), made_(graph.tensors.size(), 0) {
    for (size_t k = 0; k < graph.symbols.size(); ++k) symbols_.insert(graph.symbol(k));
  }

  /// Everything but the works.
  void run() {
    check_tensors();
    for (const Condition& check : graph_.checks) {
      known(check.a, symbols_);
      known(check.b, symbols_);
    }
    for (const Node& node : graph_.nodes) check_node(node);
    check_places();
    for (uint32_t output : graph_.outputs) {
      RELAY_CHECK(output < made_.size() && made_[output] != 0, "a result that nothing makes");
    }
  }

 private:
  void check_tensors() {
    for (uint32_t input : graph_.inputs) {
      RELAY_CHECK(
          input < made_.size() && graph_.is(input, Tensor::Kind::kInput) && made_[input]++ == 0,
          "the inputs of a graph are its tensors that are given, each once");
    }
    for (size_t i = 0; i < made_.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      for (Dim dim : tensor.info.dims) known(dim, symbols_);
      if (tensor.kind == Tensor::Kind::kInput)
        RELAY_CHECK(made_[i] != 0, "a tensor that is given to a graph as none of its inputs");
      if (tensor.kind != Tensor::Kind::kConstant) continue;
      RELAY_CHECK(tensor.constant != nullptr, "a constant without a value");
      for (Dim dim : tensor.info.dims) RELAY_CHECK(dim.is_int(), "a constant of unknown extent");
      made_[i] = 1;
    }
    for (const Symbol& symbol : graph_.symbols) {
      RELAY_CHECK(
          symbol.tensor < made_.size() && graph_.is(symbol.tensor, Tensor::Kind::kInput) &&
              (symbol.element || symbol.index < graph_.tensors[symbol.tensor].info.dims.size()),
          "a size that no input tells");
    }
  }

  /// Checks that tensors are those of the computation; counted extents are checked later.
  void check_info(const Node& node, uint32_t number, const te::TensorInfo& wanted) {
    const te::TensorInfo& found = graph_.tensors[number].info;
    bool same = found.dtype == wanted.dtype && found.rank() == wanted.rank();
    for (size_t d = 0; same && d < found.rank(); ++d) {
      same = wanted.dims[d].is_any() ? found.dims[d].is_any()
                                     : node.term(wanted.dims[d]) == found.dims[d];
    }
    RELAY_CHECK(same, "tensor " + std::to_string(number) + " does not fit " + node.work->name);
  }

  void check_node(const Node& node) {
    const Work& work = *node.work;
    const te::Computation& computation = work.computation();
    RELAY_CHECK(node.terms.size() == work.num_symbols, "a size for each symbol of " + work.name);
    for (Dim term : node.terms) known(term, symbols_);
    RELAY_CHECK(node.inputs.size() == computation.inputs.size() &&
                    node.outputs.size() == computation.outputs.size(),
                "tensors for all inputs and outputs of " + work.name);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      RELAY_CHECK(node.inputs[i] < made_.size() && made_[node.inputs[i]] != 0,
                  work.name + " reads what has not been made");
      check_info(node, node.inputs[i], computation.inputs[i]);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      uint32_t output = node.outputs[i];
      RELAY_CHECK(output < made_.size() && graph_.is(output, Tensor::Kind::kComputed) &&
                      made_[output]++ == 0,
                  work.name + " makes a tensor that is made already");
      const te::Output& made = computation.outputs[i];
      check_info(node, output, {made.dims, computation.info(made.tensor).dtype});
    }
  }

  void check_places() {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      if (!tensor.place) continue;
      RELAY_CHECK(tensor.kind == Tensor::Kind::kComputed &&
                      graph_.is(tensor.place->whole, Tensor::Kind::kComputed),
                  "only what is computed lies in another tensor");
      size_t steps = 0;
      for (const Tensor* at = &tensor; at->place; at = &graph_.tensors[at->place->whole])
        RELAY_CHECK(++steps < graph_.tensors.size(), "tensors that lie in each other");
      const Tensor& whole = graph_.tensors[tensor.place->whole];
      RELAY_CHECK(whole.info.dtype == tensor.info.dtype && whole.device == tensor.device,
                  "a tensor lies in one of another kind");
      known(tensor.place->offset, symbols_);
      Dim end = tensor.place->offset + product(tensor.info.dims), size = product(whole.info.dims);
      if (!end.is_int() || !size.is_int()) continue;
      RELAY_CHECK(tensor.place->offset.as_int() >= 0 && end.as_int() <= size.as_int(),
                  "a tensor does not fit into the one that it lies in");
    }
    for (const Node& node : graph_.nodes) {
      if (node.done_by_places) check_done(node);
    }
  }

  void check_done(const Node& node) const {
    const auto parts = concatenated(node.work->computation());
    RELAY_CHECK(parts.has_value(), node.work->name + " is to be done, but joins nothing");
    const Tensor::Place whole = place_of(graph_, node.outputs[0]);
    for (size_t k = 0; k < parts->size(); ++k) {
      const Tensor::Place part = place_of(graph_, node.inputs[(*parts)[k].input]);
      RELAY_CHECK(
          part.whole == whole.whole && part.offset == whole.offset + node.term((*parts)[k].offset),
          "an operand of " + node.work->name + " is not where it belongs");
    }
  }

  const Graph& graph_;
  std::vector<uint32_t> made_;  // how often
  Symbols symbols_;
};

}  // namespace

Dim Node::term(Dim dim) const {
  if (!dim.is_term()) return dim;
  return substitute(dim, [&](Dim atom) {
    for (size_t k = 0; k < terms.size(); ++k) {
      if (work->symbol(k) == atom) return terms[k];
    }
    return atom;
  });
}

uint32_t Node::position_of(uint32_t origin) const {
  uint32_t own = origin == 0 || origin > origins.size() ? 0 : origins[origin - 1];
  return own == 0 ? position : own;
}

Tensor::Place place_of(const Graph& graph, uint32_t tensor) {
  Tensor::Place place{tensor, Dim(0)};
  while (const auto& next = graph.tensors[place.whole].place)
    place = {next->whole, place.offset + next->offset};
  return place;
}

void verify(const Graph& graph) {
  std::unordered_set<WorkRef> known;
  verify(std::span(&graph, 1), known, 1);
}

void verify(std::span<const Graph> graphs, std::unordered_set<WorkRef>& known, int threads) {
  std::vector<const Work*> works;
  for (const Graph& graph : graphs) {
    for (const Node& node : graph.nodes) {
      if (known.insert(node.work).second) works.push_back(node.work.get());
    }
  }
  side_by_side(threads, works.size(), [&](size_t i) { check_work(*works[i]); });
  for (const Graph& graph : graphs) Verifier(graph).run();
}

}  // namespace relay::graph
