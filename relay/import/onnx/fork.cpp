#include <relay/import/onnx/fork.h>

#include <algorithm>

#include <relay/import/onnx/context.h>
#include <relay/import/onnx/narrow.h>

namespace relay::onnx {

Outcome::Outcome() = default;
Outcome::Outcome(std::vector<GraphValue> results) : values(std::move(results)) {}
Outcome::Outcome(std::unique_ptr<Fork> ways) : fork(std::move(ways)) {}
Outcome::Outcome(Outcome&&) noexcept = default;
Outcome& Outcome::operator=(Outcome&&) noexcept = default;
Outcome::~Outcome() = default;

std::optional<TypeRef> joined(const TypeRef& a, const TypeRef& b) {
  if (a == b) return a;
  const auto* x = a->as<TensorType>();
  const auto* y = b->as<TensorType>();
  if (x == nullptr || y == nullptr || x->dtype() != y->dtype() ||
      x->dims().size() != y->dims().size()) {
    return std::nullopt;
  }
  std::vector<Dim> dims;
  for (size_t k = 0; k < x->dims().size(); ++k) {
    dims.push_back(x->dims()[k] == y->dims()[k] ? x->dims()[k] : Dim::any());
  }
  return TensorType::make(dims, x->dtype());
}

namespace {

// The tensors of values, those in sequences one after the other; and what tells values of the same
// form from others: also which sequences of loops they go on from.
struct Flat {
  std::vector<GraphValue> tensors, marks;
  std::string form;

  explicit Flat(const std::vector<GraphValue>& values) {
    for (const GraphValue& value : values) add(value);
  }
  void add(const GraphValue& value) {
    if (!value) {
      form += '0';
    } else if (value.is_sequence()) {
      form += '[';
      if (value.before() != nullptr) {
        form += '.';
        add(*value.before());
      }
      for (const GraphValue& item : value.items()) add(item);
      form += ']';
    } else if (value.is_mark()) {
      form += 'm';
      marks.push_back(value);
    } else {
      form += 't';
      tensors.push_back(value);
    }
  }
  bool like(const Flat& other) const {
    return form == other.form &&
           std::equal(marks.begin(), marks.end(), other.marks.begin(),
                      [](const GraphValue& a, const GraphValue& b) { return a.same_as(b); });
  }
};

// Values of the form of `like`, with `tensors` for the tensors in it.
std::vector<GraphValue> shaped_like(const std::vector<GraphValue>& like,
                                    std::span<const GraphValue>& tensors) {
  std::vector<GraphValue> result;
  for (const GraphValue& value : like) {
    if (value.is_sequence()) {
      if (value.before() != nullptr) {
        GraphValue before = shaped_like({*value.before()}, tensors)[0];
        std::vector<GraphValue> items = shaped_like(value.items(), tensors);
        result.push_back(GraphValue::sequence_behind(std::move(before), std::move(items)));
        continue;
      }
      result.push_back(GraphValue::sequence(shaped_like(value.items(), tensors)));
    } else if (value && !value.is_mark()) {
      result.push_back(tensors.front());
      tensors = tensors.subspan(1);
    } else {
      result.push_back(value);
    }
  }
  return result;
}

std::string kind_of(const GraphValue& value) {
  if (!value) return "nothing";
  if (value.is_sequence()) {
    return "a sequence of " + std::to_string(value.items().size()) +
           (value.before() != nullptr ? " further items" : " items");
  }
  return value.type()->str();
}

// The values of the first run that gets through.
const std::vector<GraphValue>* some_values(const Way& way) {
  if (way.refused) return nullptr;
  if (!way.outcome.fork) return &way.outcome.values;
  const Fork& fork = *way.outcome.fork;
  const std::vector<GraphValue>* values = some_values(fork.yes);
  return values != nullptr ? values : some_values(fork.no);
}

}  // namespace

std::string Importer::disagreement(const Fork& fork) const {
  const std::vector<GraphValue>*yes = some_values(fork.yes), *no = some_values(fork.no);
  if (yes == nullptr || no == nullptr) return "the cases differ";
  if (yes->size() != no->size()) {
    return "the branches have " + std::to_string(yes->size()) + " and " +
           std::to_string(no->size()) + " outputs";
  }
  for (size_t k = 0; k < yes->size(); ++k) {
    const GraphValue &a = (*yes)[k], &b = (*no)[k];
    bool same = a.is_tensor() && b.is_tensor() ? joined(a.type(), b.type()).has_value()
                                               : Flat({a}).like(Flat({b}));
    if (same) continue;
    if (a.is_sequence() && a.before() != nullptr && kind_of(a) == kind_of(b)) {
      return "output " + std::to_string(k) +
             " goes on from another sequence of a loop in each case";
    }
    return "output " + std::to_string(k) + " is " + kind_of(a) + " in one case and " + kind_of(b) +
           " in the other";
  }
  // The difference is further inside.
  const Way& way = fork.yes.outcome.fork ? fork.yes : fork.no;
  return way.outcome.fork ? disagreement(*way.outcome.fork) : "the cases differ";
}

const TypeInfo* Importer::stated_type(const Scope& scope, std::string_view name) {
  if (scope.graph == nullptr) return nullptr;
  auto [entry, added] = stated_.try_emplace(scope.graph);
  if (added) {
    for (const auto* list : {&scope.graph->values, &scope.graph->outputs}) {
      for (const ValueInfo& value : *list) entry->second.emplace(value.name, &value.type);
    }
  }
  auto found = entry->second.find(name);
  return found == entry->second.end() ? nullptr : found->second;
}

Dim Importer::settled(const Scope& scope, Dim condition) const {
  if (!condition.is_term()) return condition;
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (!at->fact) continue;
    if (at->fact->first == condition) return at->fact->second;
    if (at->fact->first == Dim(1) - condition) return 1 - at->fact->second;
  }
  return condition;
}

void Importer::attempt(Way& way, const Scope& outer, const GraphValue& condition, bool holds,
                       const WayFn& convert) {
  if (!way.block) way.block = std::make_unique<Block>();
  Scope inner = outer.inside(*way.block);
  // A condition on extents may be one that the model's inputs always have, or never.
  bool on_extents = condition.elements() && !condition.elements()->front().is_any();
  if (on_extents) inner.fact = {condition.elements()->front(), holds ? 1 : 0};
  struct Count {
    size_t& count;
    bool counts;
    Count(size_t& of, bool by) : count(of), counts(by) { count += counts; }
    ~Count() { count -= counts; }
  } count(ways_, on_extents), branch(branches_, true);
  Span span = span_;
  try {
    way.outcome = convert(inner);
  } catch (const Error& error) {
    if (repeated_ > kMostRepeated) throw;
    way.refused = error;
    way.demand = std::exchange(demanded_, std::nullopt);
    span_ = span;
  }
}

std::vector<ExprRef> Importer::failure(const Way& way, const std::vector<TypeRef>& types) {
  ExprRef never = make_constant(NDArray::scalar_int(kBool, 0), span_);
  std::vector<ExprRef> results;
  for (const TypeRef& type : types) {
    const auto& tensor = *type->as<TensorType>();
    ExprRef value = make_constant(NDArray::scalar(tensor.dtype(), 0), span_);
    std::vector<int64_t> shape;
    for (Dim dim : tensor.dims()) shape.push_back(dim.is_int() ? dim.as_int() : 0);
    if (!shape.empty()) value = call("broadcast_to", {value}, {{"shape", shape}});
    value = call("assert_op", {never, value}, {{"message", std::string(way.refused->what())}});
    // Zeros have no extents by name; `?` is said of those.
    std::vector<Dim> open;
    for (Dim dim : tensor.dims()) open.push_back(dim.is_int() ? dim : Dim::any());
    VarRef any = fresh_var("never", TensorType::make(open, tensor.dtype()));
    way.block->bind(any, std::move(value));
    results.emplace_back(any);
  }
  return results;
}

std::optional<std::vector<GraphValue>> Importer::settle(Fork& fork) {
  Way* ways[] = {&fork.yes, &fork.no};
  for (Way* way : ways) {
    if (way->refused || !way->outcome.fork) continue;
    if (auto values = settle(*way->outcome.fork)) way->outcome = std::move(*values);
  }
  if (fork.yes.refused && fork.no.refused) {
    for (Way* way : ways) {
      if (!way->demand) continue;
      auto [a, b] = *way->demand;
      if (ways_ > 0) {
        demanded_ = way->demand;
      } else if (names_.learn(a, b)) {
        throw ExtentsLearnt();
      }
      throw *way->refused;
    }
    throw *fork.yes.refused;
  }
  for (Way* way : ways) {
    if (!way->refused && way->outcome.fork) return std::nullopt;
  }
  const Way& some = fork.yes.refused ? fork.no : fork.yes;
  const Way& other = fork.no.refused ? fork.yes : fork.no;
  Flat a(some.outcome.values), b(other.outcome.values);
  if (!a.like(b)) return std::nullopt;
  std::vector<TypeRef> types, shown;
  for (size_t k = 0; k < a.tensors.size(); ++k) {
    if (a.tensors[k].is_text() || b.tensors[k].is_text()) {
      fail(*fork.node, "a run chooses between strings, which are no elements of tensors here");
    }
    std::optional<TypeRef> type = joined(a.tensors[k].type(), b.tensors[k].type());
    if (!type) return std::nullopt;
    types.push_back(*type);
    shown.push_back(published(*type));
  }
  auto close = [&](Way& way) {
    std::vector<ExprRef> exprs;
    if (way.refused) {
      exprs = failure(way, shown);
    } else {
      for (const GraphValue& value : Flat(way.outcome.values).tensors) {
        exprs.push_back(expr(value));
        if (value.shown() == shown[exprs.size() - 1]) continue;
        // Extents by name and others have nothing in common; `?` is said of each.
        VarRef var = fresh_var("branch", shown[exprs.size() - 1]);
        way.block->bind(var, exprs.back());
        exprs.back() = ExprRef(var);
      }
    }
    return way.block->close(exprs.size() == 1 ? exprs[0] : make_tuple(exprs, span_));
  };
  ExprRef yes = close(fork.yes), no = close(fork.no);
  ExprRef choice = make_if(expr(fork.condition), std::move(yes), std::move(no), span_);
  std::vector<GraphValue> results;
  if (types.size() == 1) {
    results.push_back(made(std::move(choice), types[0], shown[0]));
  } else {
    GraphValue both = made(std::move(choice), TupleType::make(types), TupleType::make(shown));
    for (size_t k = 0; k < types.size(); ++k) results.push_back(field(both, k));
  }
  std::span<const GraphValue> tensors = results;
  return shaped_like(some.outcome.values, tensors);
}

Outcome Importer::go_on(Scope& scope, std::unique_ptr<Fork> fork, NodeOrder rest,
                        ValueNames outputs) {
  const Node& node = *fork->node;
  for (bool holds : {true, false}) {
    Way& way = holds ? fork->yes : fork->no;
    if (way.refused) continue;
    count_repeated(node, rest.size());
    attempt(way, scope, fork->condition, holds, [&](Scope& inner) -> Outcome {
      if (way.outcome.fork) return go_on(inner, std::move(way.outcome.fork), rest, outputs);
      keep_narrow_types(inner, node, way.outcome.values);
      bind_outputs(inner, node, way.outcome.values);
      return convert_nodes(inner, rest, outputs);
    });
  }
  if (auto values = settle(*fork)) return std::move(*values);
  return fork;
}

namespace {

// The first output whose rank is not the declared one; nothing where all are.
std::optional<size_t> undeclared(const std::vector<GraphValue>& values, const Graph& graph) {
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const auto& declared = graph.outputs[k].type.dims;
    if (declared && values[k].is_tensor() && values[k].rank() != declared->size()) return k;
  }
  return std::nullopt;
}

void collect(Fork& fork, std::vector<Way*>& ends) {
  for (Way* way : {&fork.yes, &fork.no}) {
    if (way->refused) continue;
    if (way->outcome.fork) {
      collect(*way->outcome.fork, ends);
    } else {
      ends.push_back(way);
    }
  }
}

}  // namespace

void Importer::refuse_undeclared(Fork& fork, const Graph& graph) const {
  std::vector<Way*> ends;
  collect(fork, ends);
  // A declaration that nothing meets says nothing.
  if (std::all_of(ends.begin(), ends.end(), [&](const Way* way) {
        return undeclared(way->outcome.values, graph).has_value();
      })) {
    return;
  }
  for (Way* way : ends) {
    std::optional<size_t> k = undeclared(way->outcome.values, graph);
    if (!k) continue;
    const ValueInfo& output = graph.outputs[*k];
    std::string text = node_text(*fork.node) + ": the output " + quoted(output.name) +
                       " would be " + way->outcome.values[*k].type()->str() +
                       ", the model declares " + std::to_string(output.type.dims->size()) +
                       " axes for it";
    way->refused = Error(text, model_.span(*fork.node));
  }
}

void Importer::refuse_unusual(Fork& fork, const Graph& graph) const {
  for (Way* way : {&fork.yes, &fork.no}) {
    if (!way->refused && way->outcome.fork) refuse_unusual(*way->outcome.fork, graph);
  }
  if (!fork.no_is_usual || fork.yes.refused || fork.no.refused) return;
  const std::vector<GraphValue>*rare = some_values(fork.yes), *usual = some_values(fork.no);
  if (rare == nullptr || usual == nullptr) return;
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const GraphValue &a = (*rare)[k], &b = (*usual)[k];
    if (!a.is_tensor() || !b.is_tensor() || a.rank() == b.rank()) continue;
    std::string text = node_text(*fork.node) + ": the output " + quoted(graph.outputs[k].name) +
                       " would be " + a.type()->str() + ", the program gives " + b.type()->str();
    fork.yes.refused = Error(text, model_.span(*fork.node));
    return;
  }
}

std::vector<GraphValue> NodeContext::choose(const GraphValue& condition, const WayFn& yes,
                                            const WayFn& no, bool no_is_usual) {
  auto fork = std::make_unique<Fork>();
  fork->node = &node_;
  fork->condition = condition;
  fork->no_is_usual = no_is_usual;
  for (bool holds : {true, false}) {
    Way& way = holds ? fork->yes : fork->no;
    importer_.attempt(way, scope_, condition, holds, [&](Scope& scope) {
      NodeContext inner(importer_, scope, node_, opset_);
      return (holds ? yes : no)(inner);
    });
  }
  if (auto values = importer_.settle(*fork)) return std::move(*values);
  fork_ = std::move(fork);
  return {};
}

GraphValue NodeContext::squeeze_open(const GraphValue& value, const std::vector<int64_t>& axes,
                                     std::span<const Dim> dims, const std::string& why) {
  GraphValue given = value;
  // Here an extent by name need not be 1 in other runs, so the program is not to demand it.
  if (importer_.in_way()) {
    std::vector<Dim> open(value.rank(), Dim::any());
    TypeRef type = TensorType::make(open, value.dtype());
    VarRef var = importer_.fresh_var("open", type);
    scope_.block->bind(var, importer_.expr(value));
    given = importer_.made(ExprRef(var), type);
  }
  AttrList attrs{{"message", why}};
  return importer_.emit(scope_, node_, "dyn.squeeze", {given, int_list(axes)}, attrs,
                        TensorType::make(dims, value.dtype()));
}

std::optional<size_t> NodeContext::stated_rank(size_t k) const {
  if (k >= node_.outputs.size()) return std::nullopt;
  const TypeInfo* type = importer_.stated_type(scope_, node_.outputs[k]);
  if (type == nullptr || type->kind != TypeInfo::Kind::kTensor || !type->dims) return std::nullopt;
  return type->dims->size();
}

}  // namespace relay::onnx
