#include <relay/import/onnx/importer.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <unordered_set>

#include <relay/import/onnx/context.h>
#include <relay/import/onnx/fold.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>

namespace relay::onnx {
namespace {

/// Initializers of integers up to this size are constants in place: they say shapes, axes, indices.
constexpr int64_t kSmall = 64;

/// The most nodes of loops' bodies that are converted, counted each time.
constexpr size_t kMostRepeated = 200000;

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

// What a node demands of extents by name alone no run can check: it has to be so.
class Demands final : public DimSolver {
 public:
  explicit Demands(DimNames& names) : names_(names) {}
  bool unify(Dim a, Dim b) override { return dims_equal(a, b) != Truth::kNo; }
  void check(Dim a, Dim b, const std::string& message) override {
    Dim difference = a - b;
    if (difference.is_any() || !difference.is_term()) return;
    const DimTerm& term = difference.term();
    bool named = term.op == DimOp::kSymbol;
    if (term.op == DimOp::kLinear) {
      named = std::all_of(term.parts.begin(), term.parts.end(), [](const DimTerm::Part& part) {
        return part.atom.as_symbol() != nullptr;
      });
    }
    if (!named) return;
    if (!names_.learn(a, b)) throw Error(message);
    throw ExtentsLearnt();
  }

 private:
  DimNames& names_;
};

}  // namespace

// ---- Building -----------------------------------------------------------------------------------

Importer::Importer(const CheckedModel& model, const OnnxOptions& options, DimNames& names)
    : model_(model), options_(options), names_(names), tensors_(model.model()) {}

void Importer::fail(const Node& node, const std::string& message) const {
  throw Error(node_text(node) + ": " + message, model_.span(node));
}

void Importer::demand(const Node& node, Dim a, Dim b, const std::string& message) const {
  if (dims_equal(a, b) == Truth::kNo) fail(node, message);
  Demands(names_).check(a, b, message);
}

TypeRef Importer::published(const TypeRef& type) {
  return map_dims(type, [](Dim dim) { return reads_value(dim) ? Dim::any() : dim; });
}

TypeRef Importer::call_type(const Operator* op, const std::vector<GraphValue>& args,
                            const std::vector<ExprRef>& exprs, const AttrsRef& attrs) const {
  std::vector<TypeRef> types;
  for (const GraphValue& arg : args) types.push_back(arg.type());
  Demands demands(names_);
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
  TypeRef raw = call_type(op, args, exprs, values);
  TypeRef shown = published(raw);
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
  if (type == shown) return this->made(std::move(made), std::move(type));
  VarRef var = fresh_var("shaped", type);
  scope.block->bind(var, std::move(made));
  return this->made(ExprRef(var), std::move(type));
}

GraphValue Importer::tuple(const std::vector<GraphValue>& fields) {
  std::vector<ExprRef> exprs;
  std::vector<TypeRef> types;
  for (const GraphValue& field : fields) {
    exprs.push_back(expr(field));
    types.push_back(field.type());
  }
  return made(make_tuple(exprs, span_), TupleType::make(std::move(types)));
}

GraphValue Importer::field(const GraphValue& tuple, size_t k) {
  const auto* type = tuple.type()->as<TupleType>();
  RELAY_CHECK(type != nullptr && k < type->fields().size(), "a tuple has no such field");
  return made(make_projection(expr(tuple), static_cast<uint32_t>(k), span_), type->fields()[k]);
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

GraphValue Importer::made(ExprRef expr, TypeRef type) const {
  GraphValue result = GraphValue::of(std::move(expr), std::move(type));
  result.state_->level = loops_.size();
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

void Importer::count_repeated(const Node& node, const Graph& graph) {
  repeated_ += graph.nodes.size() + 1;
  if (repeated_ > kMostRepeated) {
    fail(node,
         "the loops of the model lead to more than " + std::to_string(kMostRepeated) + " nodes");
  }
}

void Importer::convert_nodes(Scope& scope, const std::vector<Node>& nodes) {
  for (const Node* node : model_.order(nodes)) convert_node(scope, *node);
}

void Importer::convert_node(Scope& scope, const Node& node) {
  Span outer = span_, own = model_.span(node);
  span_ = own;
  std::vector<GraphValue> results;
  try {
    if (const LocalFunction* function = model_.function(node)) {
      results = call_function(scope, node, *function);
    } else {
      int64_t opset = *scope.opsets->version(node.domain);
      NodeContext context(*this, scope, node, opset);
      results = find_converter(node.domain, node.op_type, opset)(context);
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
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k >= results.size()) {
      fail(node, "there is no output " + std::to_string(k) + " for " + quoted(node.outputs[k]));
    }
    scope.values.insert_or_assign(node.outputs[k], results[k]);
  }
  span_ = outer;
}

std::vector<GraphValue> Importer::call_function(Scope& scope, const Node& node,
                                                const LocalFunction& function) {
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
  convert_nodes(inner, function.nodes);
  std::vector<GraphValue> results;
  for (std::string_view output : function.outputs) results.push_back(*inner.find(output));
  return results;
}

// ---- Graphs -------------------------------------------------------------------------------------

void Importer::bind_graph(Scope& scope, const Node& node, const Graph& graph,
                          const std::vector<GraphValue>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    fail(node, "its graph has " + std::to_string(graph.inputs.size()) + " inputs, given are " +
                   std::to_string(inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[graph.inputs[i].name] = inputs[i];
  add_initializers(scope, graph, false);
  convert_nodes(scope, graph.nodes);
}

std::vector<GraphValue> Importer::outputs_of(const Scope& scope, const Graph& graph) const {
  std::vector<GraphValue> results;
  for (const ValueInfo& output : graph.outputs) results.push_back(*scope.find(output.name));
  return results;
}

Body Importer::body(Scope& outer, const Node& node, const Graph& graph,
                    const std::vector<GraphValue>& inputs) {
  Body result;
  result.block = std::make_unique<Block>();
  Scope scope{&outer, result.block.get(), outer.opsets, outer.attributes, {}};
  bind_graph(scope, node, graph, inputs);
  result.outputs = outputs_of(scope, graph);
  return result;
}

std::vector<GraphValue> Importer::inline_graph(Scope& outer, const Node& node, const Graph& graph,
                                               const std::vector<GraphValue>& inputs) {
  Scope scope{&outer, outer.block, outer.opsets, outer.attributes, {}};
  bind_graph(scope, node, graph, inputs);
  return outputs_of(scope, graph);
}

void Importer::add_initializer(Scope& scope, std::string_view name, NDArray array, bool main) {
  bool small = array.size() <= 1 || (array.size() <= kSmall && !array.dtype().is_float());
  GraphValue value = constant(array);
  if (main && !small && !options_.freeze) {
    VarRef var = make_var(unique_name(var_names_, std::string(name)), value.type());
    value.state_->expr = ExprRef(var);
    initializers_.emplace_back(var, std::move(array));
  }
  scope.values.insert_or_assign(name, std::move(value));
}

void Importer::add_initializers(Scope& scope, const Graph& graph, bool main) {
  for (auto& [name, array] : tensors_.initializers(graph)) {
    try {
      add_initializer(scope, name, std::move(array), main);
    } catch (const Error& error) {
      throw Error(model_.model().path + ": the initializer " + quoted(name) + ": " + error.what());
    }
  }
}

void Importer::refuse_input(std::string_view name, const std::string& reason) const {
  throw Error(model_.model().path + ": the input " + quoted(name) + " " + reason);
}

TypeRef Importer::input_type(std::string_view input, const TypeInfo& type) {
  auto refuse = [&](const std::string& reason) { refuse_input(input, reason); };
  std::string name(input);
  if (type.kind != TypeInfo::Kind::kTensor) refuse("is no tensor, which is not supported");
  std::optional<DType> dtype = dtype_of_number(type.dtype);
  if (auto given = options_.dtypes.find(name); given != options_.dtypes.end()) {
    dtype = given->second;
  }
  if (!dtype) {
    refuse("has elements of type " + dtype_number_text(type.dtype) + ", which are not supported");
  }
  auto shape = options_.shapes.find(name);
  bool given = shape != options_.shapes.end();
  if (!given && !type.dims) refuse("has no shape; `relay import --shape` takes one");
  size_t rank = given ? shape->second.size() : type.dims->size();
  if (given && type.dims && type.dims->size() != rank) {
    refuse("has " + std::to_string(type.dims->size()) + " axes, the shape that is given has " +
           std::to_string(rank));
  }
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (given && shape->second[axis] >= 0) {
      if (type.dims &&
          (*type.dims)[axis].value.value_or(shape->second[axis]) != shape->second[axis]) {
        refuse("has the extent " + std::to_string(*(*type.dims)[axis].value) + " on axis " +
               std::to_string(axis) + ", the shape that is given has " +
               std::to_string(shape->second[axis]));
      }
      dims.emplace_back(shape->second[axis]);
    } else if (!type.dims) {
      dims.push_back(fresh_dim("d"));
    } else {
      const DimInfo& dim = (*type.dims)[axis];
      dims.push_back(dim.value ? Dim(*dim.value) : named_dim(dim.name));
    }
  }
  return TensorType::make(dims, *dtype);
}

TypeRef Importer::sequence_type(std::string_view input, const TypeInfo& type) {
  auto refuse = [&](const std::string& reason) { refuse_input(input, reason); };
  auto found = options_.items.find(std::string(input));
  if (found == options_.items.end()) {
    refuse(
        "is a sequence, of which the model does not say how many items it has; give their shapes");
  }
  bool tensors = type.element && type.element->kind == TypeInfo::Kind::kTensor;
  if (!tensors) refuse("is a sequence of items that are no tensors, which is not supported");
  std::optional<DType> dtype = dtype_of_number(type.element->dtype);
  if (!dtype) {
    refuse("has elements of type " + dtype_number_text(type.element->dtype) +
           ", which are not supported");
  }
  std::vector<TypeRef> items;
  for (const std::vector<int64_t>& shape : found->second) {
    std::vector<Dim> dims;
    for (int64_t extent : shape) {
      if (extent < 0) refuse("has an item with the extent " + std::to_string(extent));
      dims.emplace_back(extent);
    }
    items.push_back(TensorType::make(dims, *dtype));
  }
  return TupleType::make(std::move(items));
}

GraphValue Importer::add_input(const ValueInfo& info) {
  const TypeInfo* type = &info.type;
  bool empty = options_.empty.contains(std::string(info.name));
  if (empty && type->kind != TypeInfo::Kind::kOptional) {
    refuse_input(info.name, "is not of optional type, so it cannot be empty");
  }
  if (type->kind == TypeInfo::Kind::kOptional && type->element) type = type->element.get();
  bool sequence = !empty && type->kind == TypeInfo::Kind::kSequence;
  TypeRef annotation = empty      ? TupleType::make({})
                       : sequence ? sequence_type(info.name, *type)
                                  : input_type(info.name, *type);
  VarRef var = make_var(unique_name(var_names_, std::string(info.name)), annotation);
  inputs_.push_back(var);
  declare_dims(var);
  if (empty) return {};
  GraphValue value = GraphValue::of(ExprRef(var), annotation);
  if (!sequence) return value;
  std::vector<GraphValue> items;
  for (size_t k = 0; k < annotation->as<TupleType>()->fields().size(); ++k) {
    items.push_back(field(value, k));
  }
  return GraphValue::sequence(std::move(items));
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
    scope.values[input.name] = add_input(input);
    result.inputs.emplace_back(input.name);
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (std::find(result.inputs.begin(), result.inputs.end(), name) == result.inputs.end()) {
      throw Error(model_.model().path + ": there is no input " + quoted(std::string_view(name)) +
                  ", for which a shape is given");
    }
  }
  convert_nodes(scope, graph.nodes);

  std::vector<ExprRef> outputs;
  for (const ValueInfo& output : graph.outputs) {
    const GraphValue& value = *scope.find(output.name);
    if (!value) {
      throw Error(model_.model().path + ": the output " + quoted(output.name) + " has no value");
    }
    if (value.is_sequence()) {
      outputs.push_back(expr(tuple(value.items())));
    } else {
      outputs.push_back(expr(value));
    }
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
  result.module.add_function(
      "main", make_function(std::move(params), std::move(body), {}, std::move(names)));
  result.module.add_source(model_.listing());
  result.warnings = std::move(warnings_);
  return result;
}

}  // namespace relay::onnx

namespace relay {

namespace {
OnnxModel import(onnx::Model model, const OnnxOptions& options) {
  onnx::CheckedModel checked(std::move(model), options.opset);
  // Each attempt but the last settles a name.
  for (onnx::DimNames names;;) {
    try {
      return onnx::Importer(checked, options, names).run();
    } catch (const onnx::ExtentsLearnt&) {
    }
  }
}
}  // namespace

OnnxModel from_onnx(const std::string& path, const OnnxOptions& options) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  return import(onnx::read_model(onnx::Bytes::map(path), path, folder), options);
}

OnnxModel from_onnx(std::span<const std::byte> bytes, const OnnxOptions& options,
                    const std::string& name) {
  return import(onnx::read_model(onnx::Bytes::copy_of(bytes), name, ""), options);
}

bool is_onnx_path(std::string_view path) { return path.ends_with(".onnx"); }

}  // namespace relay
