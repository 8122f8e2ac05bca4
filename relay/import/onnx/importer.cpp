#include <relay/import/onnx/importer.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <unordered_set>

#include <relay/import/onnx/context.h>
#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/fractions.h>
#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/strings.h>
#include <relay/ir/result_names.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>

namespace relay::onnx {
namespace {

/// Initializers of integers up to this size are constants in place: they say shapes, axes, indices.
constexpr int64_t kSmall = 64;

TypeRef map_dims(const TypeRef& type, const std::function<Dim(Dim)>& map) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(map_dims(field, map));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return type;
  std::vector<Dim> dims;
  for (Dim dim : tensor->dims()) dims.push_back(map(dim));
  return TensorType::make(dims, tensor->dtype());
}

bool reads_value(Dim dim) {
  bool found = false;
  for_each_atom(dim, [&](Dim atom) { found |= atom.is_term() && atom.term().op == DimOp::kValue; });
  return found;
}

}  // namespace

// ---- Blocks and scopes --------------------------------------------------------------------------

ExprRef Block::close(ExprRef result) const {
  for (size_t i = lets_.size(); i-- > 0;) {
    result = make_let(lets_[i].first, lets_[i].second, std::move(result), lets_[i].second->span());
  }
  return result;
}

const GraphValue* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

// ---- Named extents ------------------------------------------------------------------------------

namespace {

// The demands of a node on extents by name alone can be checked by no run: they have to be met.
class Demands final : public DimSolver {
 public:
  /// `in_way`: perhaps no run gets here, so nothing is learnt; what was demanded is put there.
  /// `always`: every run gets here.
  Demands(DimNames& names, std::optional<std::pair<Dim, Dim>>* in_way, bool always)
      : names_(names), in_way_(in_way), always_(always) {}
  bool unify(Dim a, Dim b) override { return dims_equal(a, b) != Truth::kNo; }
  void check(Dim a, Dim b, const std::string& message) override {
    const Dim difference = always_ ? names_.without_common_names(a - b) : a - b;
    if (difference.is_any() || !difference.is_term()) return;
    const DimTerm& term = difference.term();
    bool named = term.op == DimOp::kSymbol;
    if (term.op == DimOp::kLinear) {
      named = std::all_of(term.parts.begin(), term.parts.end(), [](const DimTerm::Part& part) {
        return part.atom.as_symbol() != nullptr;
      });
    }
    if (!named || !names_.declares(difference)) return;
    if (in_way_ != nullptr) {
      *in_way_ = {difference, Dim(0)};
      throw Error(message);
    }
    if (!names_.learn(difference, Dim(0))) throw Error(message);
    throw ExtentsLearnt();
  }

 private:
  DimNames& names_;
  std::optional<std::pair<Dim, Dim>>* in_way_;
  bool always_;
};

}  // namespace

// ---- Building -----------------------------------------------------------------------------------

Importer::Importer(const CheckedModel& model, const OnnxOptions& options, DimNames& names)
    : model_(model),
      options_(options),
      names_(names),
      // The bits of a float16 that was never rounded are not those that a BitCast asks for.
      widens_halves_(!options.round_halves && !model.uses("BitCast")),
      tensors_(model.model()) {}

void Importer::fail(const Node& node, const std::string& message) const {
  throw Error(node_text(node) + ": " + message, model_.span(node));
}

void Importer::warn(const Node& node, const std::string& message) {
  std::string text = node_text(node) + ": " + message;
  bool said = std::any_of(warnings_.begin(), warnings_.end(),
                          [&](const Diagnostic& other) { return other.message == text; });
  if (!said) warnings_.push_back(Diagnostic::warning(std::move(text), model_.span(node)));
}

void Importer::demand(const Node& node, Dim a, Dim b, const std::string& message) const {
  if (dims_equal(a, b) == Truth::kNo) fail(node, message);
  Demands(names_, ways_ > 0 ? &demanded_ : nullptr, in_every_run()).check(a, b, message);
}

bool Importer::decided_by_run(Dim dim, size_t level) const {
  if (run_dims_.empty() || !dim.is_term()) return false;
  bool found = false;
  for_each_atom(dim, [&](Dim atom) {
    const TypeVar* name = atom.as_symbol();
    found |= name != nullptr && run_dims_.contains(name) && dim_places_.at(name).level >= level;
  });
  return found;
}

TypeRef Importer::published(const TypeRef& type) const {
  return map_dims(
      type, [&](Dim dim) { return reads_value(dim) || decided_by_run(dim) ? Dim::any() : dim; });
}

GraphValue Importer::outward(const GraphValue& value) const {
  size_t inner = loops_.size() + 1;
  TypeRef type = map_dims(value.type(),
                          [&](Dim dim) { return decided_by_run(dim, inner) ? Dim::any() : dim; });
  return GraphValue::of(value.state_->expr, std::move(type));
}

void Importer::name_extents(GraphValue& value) {
  const auto* tensor = value.type()->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return;
  std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
  if (std::none_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); })) return;
  if (!value.state_->shown) value.state_->shown = published(value.type());
  // Its place is the value as it is now, or it would own itself.
  GraphValue place = GraphValue::of(value.state_->expr, value.type());
  place.state_->level = value.state_->level;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!dims[axis].is_any()) continue;
    run_dim_names_.push_back(TypeVar::make("unknown", Kind::kShapeVar, true));
    const TypeVar* name = run_dim_names_.back().get();
    run_dims_.insert(name);
    dim_places_.emplace(name, DimPlace{place, axis, value.state_->level});
    dims[axis] = Dim::symbol(name);
  }
  value.state_->type = TensorType::make(dims, tensor->dtype());
}

GraphValue Importer::parameter(const VarRef& param, const TypeRef& type) {
  GraphValue result = GraphValue::of(ExprRef(param), type);
  result.state_->level = loops_.size();
  name_extents(result);
  return result;
}

TypeRef Importer::call_type(const Operator* op, const std::vector<TypeRef>& types,
                            const std::vector<ExprRef>& exprs, const AttrsRef& attrs) const {
  Demands demands(names_, ways_ > 0 ? &demanded_ : nullptr, in_every_run());
  TypeRef type =
      infer_call_type(op, types, attrs, &demands, [&](size_t i) -> std::optional<NDArray> {
        const auto* constant = exprs[i]->as<Constant>();
        if (constant == nullptr) return std::nullopt;
        return constant->data();
      });
  RELAY_CHECK(type, "the type of a call waits for nothing here: " + op->name().str());
  return type;
}

GraphValue Importer::emit(Scope& scope, const Node&, std::string_view op_name,
                          const std::vector<GraphValue>& args, const AttrList& attrs,
                          TypeRef stated) {
  const Operator* op = get_op(op_name);
  std::vector<ExprRef> exprs;
  for (const GraphValue& arg : args) exprs.push_back(expr(arg));
  AttrsRef values;
  if (op->attrs_schema() != nullptr) {
    std::vector<NamedAttr> named;
    for (const AttrItem& item : attrs) named.push_back({Name(item.name), item.value, span_});
    values = Attrs::make(*op->attrs_schema(), named, span_);
  } else {
    RELAY_CHECK(attrs.empty(), "attributes for " + op->name().str() + ", which has none");
  }
  std::vector<TypeRef> types, shown_types;
  for (const GraphValue& arg : args) {
    types.push_back(arg.type());
    shown_types.push_back(arg.shown());
  }
  TypeRef raw = call_type(op, types, exprs, values);
  TypeRef shown = published(types == shown_types ? raw : call_type(op, shown_types, exprs, values));
  TypeRef type = stated ? std::move(stated) : map_dims(raw, [&](Dim dim) {
    if (!reads_value(dim)) return dim;
    return substitute(dim, [&](Dim atom) {
      if (!atom.is_term() || atom.term().op != DimOp::kValue) return atom;
      const GraphValue& arg = args[atom.term().input];
      if (!arg.is_tensor() || !arg.elements()) return Dim::any();
      return (*arg.elements())[atom.term().index];
    });
  });
  ExprRef made = make_call(make_op(op), exprs, std::move(values), {}, span_);
  if (published(type) == shown) {
    return this->made(std::move(made), std::move(type), std::move(shown));
  }
  VarRef var = fresh_var("shaped", type);
  scope.block->bind(var, std::move(made));
  return this->made(ExprRef(var), std::move(type));
}

GraphValue Importer::tuple(const std::vector<GraphValue>& fields) {
  std::vector<ExprRef> exprs;
  std::vector<TypeRef> types, shown;
  for (const GraphValue& field : fields) {
    exprs.push_back(expr(field));
    types.push_back(field.type());
    shown.push_back(field.shown());
  }
  return made(make_tuple(exprs, span_), TupleType::make(std::move(types)),
              TupleType::make(std::move(shown)));
}

GraphValue Importer::field(const GraphValue& tuple, size_t k) {
  const auto* type = tuple.type()->as<TupleType>();
  RELAY_CHECK(type != nullptr && k < type->fields().size(), "a tuple has no such field");
  return made(make_projection(expr(tuple), static_cast<uint32_t>(k), span_), type->fields()[k],
              tuple.shown()->as<TupleType>()->fields()[k]);
}

GraphValue Importer::constant(NDArray array) {
  GraphValue result = GraphValue::of({}, type_of_array(array));
  if (array.size() <= kSmall && !array.dtype().is_float()) {
    Elements elements;
    for (int64_t i = 0; i < array.size(); ++i) {
      int64_t element = array.element_as_int64(i);
      constexpr int64_t kFar = int64_t{1} << 60;  // a Dim holds less than int64_t does
      bool fits = element > -kFar && element < kFar;
      if (array.dtype().is_unsigned()) fits = fits && element >= 0;  // else beyond int64_t
      elements.push_back(fits ? Dim(element) : Dim::any());
    }
    result.state_->elements = std::move(elements);
  }
  result.state_->array = std::move(array);
  return result;
}

ExprRef Importer::call(std::string_view op, std::initializer_list<ExprRef> args, AttrList attrs) {
  const Operator* callee = get_op(op);
  AttrsRef values;
  if (callee->attrs_schema() != nullptr) {
    std::vector<NamedAttr> named;
    for (const AttrItem& item : attrs) named.push_back({Name(item.name), item.value, span_});
    values = Attrs::make(*callee->attrs_schema(), named, span_);
  }
  return make_call(make_op(callee), std::span<const ExprRef>(args.begin(), args.size()),
                   std::move(values), {}, span_);
}

GraphValue Importer::made(ExprRef expr, TypeRef type, TypeRef shown) {
  GraphValue result = GraphValue::of(std::move(expr), std::move(type));
  result.state_->level = loops_.size();
  result.state_->shown = shown ? std::move(shown) : published(result.type());
  name_extents(result);
  return result;
}

size_t Importer::level_of(const GraphValue& value) const {
  size_t level = value.state_->level;
  if (!value.elements()) return level;
  for (Dim dim : *value.elements()) {
    if (dim.is_any()) continue;
    for_each_atom(dim, [&](Dim atom) {
      auto place = dim_places_.find(atom.as_symbol());
      if (place != dim_places_.end()) level = std::max(level, place->second.level);
    });
  }
  return level;
}

ExprRef Importer::expr(const GraphValue& value) {
  RELAY_CHECK(value && !value.is_sequence(), "a tensor is asked for");
  ExprRef own = own_expr(value);
  if (loops_.empty() || own->is<Var>() || own->is<Constant>()) return own;
  size_t level = level_of(value);
  if (level >= loops_.size()) return own;
  auto [entry, added] = loops_[level]->taken.try_emplace(value.state_.get());
  if (added) {
    entry->second = fresh_var("kept", {});
    loops_[level]->block->bind(entry->second, own);
    taken_.push_back(value);
  }
  return ExprRef(entry->second);
}

ExprRef Importer::own_expr(const GraphValue& value) {
  ExprRef& result = value.state_->expr;
  if (result) return result;
  if (value.array()) return result = make_constant(value.array(), span_);
  const Elements& elements = *value.elements();
  DType dtype = value.dtype();
  Shape shape;
  for (Dim dim : value.dims()) shape.push_back(dim.as_int());
  if (std::all_of(elements.begin(), elements.end(), [](Dim dim) { return dim.is_int(); })) {
    std::vector<int64_t> numbers;
    for (Dim dim : elements) numbers.push_back(dim.as_int());
    NDArray array = NDArray::from<int64_t>(shape, numbers).cast(dtype);
    value.state_->array = array;
    return result = make_constant(std::move(array), span_);
  }
  if (shape.empty()) return result = element_expr(elements[0], dtype);
  std::vector<ExprRef> fields;
  for (Dim dim : elements) fields.push_back(element_expr(dim, dtype));
  result = call("stack", {make_tuple(fields, span_)}, {{"axis", 0}});
  if (shape.size() != 1) result = call("reshape", {result}, {{"newshape", shape}});
  return result;
}

VarRef Importer::fresh_var(std::string_view base, TypeRef type) {
  if (type) type = published(type);
  return make_var(unique_name(var_names_, std::string(base)), std::move(type), span_);
}

// ---- Nodes --------------------------------------------------------------------------------------

const Attribute* Importer::attribute(const Scope& scope, const Node& node,
                                     std::string_view name) const {
  const Attribute* found = node.attribute(name);
  if (found == nullptr || found->reference.empty()) return found;
  if (scope.attributes == nullptr) {
    fail(node, "the attribute " + quoted(name) + " refers to one of a function, outside of any");
  }
  auto given = scope.attributes->find(found->reference);
  return given == scope.attributes->end() ? nullptr : given->second;
}

void Importer::count_repeated(const Node& node, size_t nodes) {
  repeated_ += nodes + 1;
  if (repeated_ > kMostRepeated) {
    fail(node, "the loops and branches of the model lead to more than " +
                   std::to_string(kMostRepeated) + " nodes");
  }
}

Outcome Importer::convert_nodes(Scope& scope, NodeOrder nodes, ValueNames outputs) {
  for (size_t k = 0; k < nodes.size(); ++k) {
    std::unique_ptr<Fork> fork = convert_node(scope, *nodes[k]);
    if (fork) return go_on(scope, std::move(fork), nodes.subspan(k + 1), outputs);
  }
  std::vector<GraphValue> values;
  for (std::string_view output : outputs) values.push_back(*scope.find(output));
  return values;
}

std::unique_ptr<Fork> Importer::convert_node(Scope& scope, const Node& node) {
  Span outer = span_, own = model_.span(node);
  span_ = own;
  Outcome results;
  try {
    if (const OnnxConverter* converter = model_.converter(node)) {
      results = call_converter(scope, node, *converter);
    } else if (const LocalFunction* function = model_.function(node)) {
      results = call_function(scope, node, *function);
    } else {
      refuse_strings(*this, scope, node);
      int64_t opset = *scope.opsets->version(node.domain);
      NodeContext context(*this, scope, node, opset);
      results = find_converter(node.domain, node.op_type, opset)(context);
      if (std::unique_ptr<Fork> fork = context.take_fork()) results = std::move(fork);
      for (std::string_view name : context.unread()) {
        fail(node, "the attribute " + quoted(name) + " is not known");
      }
    }
  } catch (const std::bad_alloc&) {
    fail(node, "there is not enough memory to import it");
  } catch (const std::length_error&) {
    fail(node, "there is not enough memory to import it");
  } catch (const Error& error) {
    Span at = error.diagnostics().front().span;
    bool inner = at.known() && at != own && SourceMap::find(at) == model_.listing();
    if (inner) throw;  // of a node of a function or subgraph
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    std::string text = node_text(node);
    Diagnostic& first = diagnostics.front();
    if (!first.message.starts_with(text)) first.message = text + ": " + first.message;
    first.span = own;
    throw Error(std::move(diagnostics));
  }
  if (!results.fork) {
    keep_narrow_types(scope, node, results.values);
    keep_strings(scope, node, results.values);
    keep_fractions(*this, scope, node, results.values);
    bind_outputs(scope, node, results.values);
  }
  span_ = outer;
  return std::move(results.fork);
}

void Importer::bind_outputs(Scope& scope, const Node& node,
                            const std::vector<GraphValue>& results) const {
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k >= results.size()) {
      fail(node, "there is no output " + std::to_string(k) + " for " + quoted(node.outputs[k]));
    }
    scope.values.insert_or_assign(node.outputs[k], results[k]);
  }
}

Outcome Importer::call_function(Scope& scope, const Node& node, const LocalFunction& function) {
  Scope inner;
  inner.block = scope.block;
  inner.opsets = &model_.opsets(&function);
  std::unordered_map<std::string_view, const Attribute*> attributes;
  for (const Attribute& otherwise : function.defaults) attributes[otherwise.name] = &otherwise;
  for (const Attribute& given : node.attributes) {
    const auto& names = function.attributes;
    bool known = attributes.contains(given.name) ||
                 std::find(names.begin(), names.end(), given.name) != names.end();
    if (!known) fail(node, "the function has no attribute " + quoted(given.name));
    if (const Attribute* value = attribute(scope, node, given.name)) attributes[given.name] = value;
  }
  inner.attributes = &attributes;
  if (node.inputs.size() > function.inputs.size()) {
    fail(node, "the function has " + std::to_string(function.inputs.size()) +
                   " inputs, given are " + std::to_string(node.inputs.size()));
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    bool given = i < node.inputs.size() && !node.inputs[i].empty();
    inner.values[function.inputs[i]] = given ? *scope.find(node.inputs[i]) : GraphValue();
  }
  return convert_nodes(inner, model_.order(function.nodes), function.outputs);
}

// ---- Graphs -------------------------------------------------------------------------------------

namespace {
std::vector<std::string_view> names_of(const std::vector<ValueInfo>& values) {
  std::vector<std::string_view> names;
  for (const ValueInfo& value : values) names.push_back(value.name);
  return names;
}
}  // namespace

Outcome Importer::convert_graph(const Scope& outer, const Node& node, const Graph& graph,
                                const std::vector<GraphValue>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    fail(node, "its graph has " + std::to_string(graph.inputs.size()) + " inputs, given are " +
                   std::to_string(inputs.size()));
  }
  Scope scope = outer.inside(*outer.block);
  scope.graph = &graph;
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[graph.inputs[i].name] = inputs[i];
  add_initializers(scope, graph, false);
  return convert_nodes(scope, model_.order(graph.nodes), names_of(graph.outputs));
}

std::vector<GraphValue> Importer::inline_graph(Scope& outer, const Node& node, const Graph& graph,
                                               const std::vector<GraphValue>& inputs) {
  Outcome outcome = convert_graph(outer, node, graph, inputs);
  if (outcome.fork) fail(*outcome.fork->node, disagreement(*outcome.fork));
  return std::move(outcome.values);
}

void Importer::add_initializer(Scope& scope, std::string_view name, NDArray array, int64_t type,
                               bool main) {
  bool small = array.size() <= 1 || (array.size() <= kSmall && !array.dtype().is_float());
  bool narrow = narrow_type(type) != nullptr;  // float16 may carry it, and is not widened then
  GraphValue value = constant(narrow ? array : widened_half(array));
  if (narrow) value.state_->narrow = type;
  if (main && !small && !options_.freeze) {
    TypeRef declared = TensorType::make(value.dims(), array.dtype());
    VarRef var = make_var(unique_name(var_names_, std::string(name)), declared);
    GraphValue given = GraphValue::of(ExprRef(var), declared);
    value.state_->expr = (narrow ? given : widened_half(given)).state_->expr;
    initializers_.emplace_back(var, std::move(array));
  }
  scope.values.insert_or_assign(name, std::move(value));
}

void Importer::add_initializers(Scope& scope, const Graph& graph, bool main) {
  size_t k = 0;  // sparse ones come behind
  for (auto& [name, array] : tensors_.initializers(graph)) {
    const TensorData* tensor = k < graph.initializers.size() ? &graph.initializers[k] : nullptr;
    ++k;
    try {
      if (tensor != nullptr && tensor->dtype == kStringElements) {
        GraphValue numbers = constant(std::move(array));
        scope.values.insert_or_assign(name, numbers.of_strings(words_of(*tensor).words));
        continue;
      }
      add_initializer(scope, name, std::move(array), tensor != nullptr ? tensor->dtype : 0, main);
    } catch (const Error& error) {
      throw Error(model_.model().path + ": the initializer " + quoted(name) + ": " + error.what());
    }
  }
}

OnnxModel Importer::run() {
  const Graph& graph = model_.graph();
  Block block;
  Scope scope;
  scope.block = &block;
  scope.opsets = &model_.opsets();
  add_initializers(scope, graph, true);
  OnnxModel result;
  for (const ValueInfo& input : graph.inputs) {
    if (scope.values.contains(input.name)) continue;  // an initializer that may be given
    scope.values[input.name] = add_input(scope, input);
    result.inputs.emplace_back(input.name);
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (std::find(result.inputs.begin(), result.inputs.end(), name) == result.inputs.end()) {
      throw Error(model_.model().path + ": there is no input " + quoted(std::string_view(name)) +
                  ", for which a shape is given");
    }
  }
  scope.graph = &graph;
  Outcome outcome = convert_nodes(scope, model_.order(graph.nodes), names_of(graph.outputs));
  if (outcome.fork) {
    refuse_undeclared(*outcome.fork, graph);
    std::optional<std::vector<GraphValue>> values = settle(*outcome.fork);
    if (!values) {
      refuse_unusual(*outcome.fork, graph);
      values = settle(*outcome.fork);
    }
    if (!values) fail(*outcome.fork->node, disagreement(*outcome.fork));
    outcome = std::move(*values);
  }

  std::vector<ExprRef> outputs;
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const ValueInfo& output = graph.outputs[k];
    GraphValue value = outcome.values[k];
    if (!value) {
      throw Error(model_.model().path + ": the output " + quoted(output.name) + " has no value");
    }
    if (value.is_tensor() && value.strings()) {
      warnings_.push_back(Diagnostic::warning(model_.model().path + ": the output " +
                                              quoted(output.name) + " " +
                                              numbers_for_words(*value.strings())));
    }
    if (value.is_tensor() && value.text() != nullptr)
      value = written_text(scope, output.name, value);
    outputs.push_back(output_expr(output, value));
    result.outputs.emplace_back(output.name);
  }
  ExprRef body = outputs.size() == 1 ? outputs[0] : make_tuple(outputs);
  body = block.close(std::move(body));

  std::unordered_set<const Expr*> used;
  post_order(body.get(), [&](const Expr* expr) {
    if (expr->is<Var>()) used.insert(expr);
  });
  std::vector<VarRef> params = inputs_;
  for (auto& [var, array] : initializers_) {
    if (!used.contains(var.get())) continue;
    params.push_back(var);
    result.params.emplace_back(var->name().str(), std::move(array));
  }
  std::vector<TypeVarRef> names;
  for (const auto& [name, var] : names_.names()) {
    if (dim_places_.contains(var.get())) names.push_back(var);
  }
  std::sort(names.begin(), names.end(),
            [](const TypeVarRef& a, const TypeVarRef& b) { return a->name() < b->name(); });
  AttrValue::List results;
  for (const std::string& output : result.outputs) results.emplace_back(output);
  result.module.add_function(
      "main", make_function(std::move(params), std::move(body), {}, std::move(names), {},
                            make_dict_attrs({{kResultNames, std::move(results)}})));
  result.module.add_source(model_.listing());
  result.warnings = std::move(warnings_);
  return result;
}

}  // namespace relay::onnx
