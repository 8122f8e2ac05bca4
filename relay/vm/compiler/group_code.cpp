// Calls of operators: numbers as instructions, tensors in graphs.
#include <algorithm>
#include <utility>

#include <relay/ir/dim_error.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>
#include <relay/vm/compiler/function_compiler.h>
#include <relay/vm/compiler/numbers.h>

namespace relay::vm {
namespace {

// The type with each tensor's dimensions replaced, from `next` on.
TypeRef with_dims(const TypeRef& type, std::span<const TypeRef> tensors, size_t& next) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(with_dims(field, tensors, next));
    return TupleType::make(std::move(fields));
  }
  return tensors[next++];
}

size_t tensors_in(const Type* type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return 1;
  size_t count = 0;
  for (const TypeRef& field : tuple->fields()) count += tensors_in(field.get());
  return count;
}

te::TensorInfo info_of(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  RELAY_CHECK(tensor != nullptr && tensor->has_rank() && tensor->has_dtype(),
              "a tensor of known rank and dtype is needed, found " + type->str());
  return {{tensor->dims().begin(), tensor->dims().end()}, tensor->dtype()};
}

}  // namespace

// Fields of tuples, nested no deeper than types, left to right.
void FunctionCompiler::flatten(const Known& known, const TypeRef& type,
                               std::vector<GroupArgument>& out) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) {
    out.push_back({known, type, {}});
    return;
  }
  auto fields = tuple->fields();
  if (known.kind == Known::Kind::kTuple) {
    for (size_t i = 0; i < fields.size(); ++i) flatten((*known.fields)[i], fields[i], out);
    return;
  }
  // All fields of one tuple follow one another, so that they can be taken out of it.
  uint32_t reg = to_register(known);
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < fields.size(); ++i) parts.push_back(field_of(reg, i));
  for (size_t i = 0; i < fields.size(); ++i) flatten(Known::in_register(parts[i]), fields[i], out);
}

// The register of a field. Groups of a graph share it: a field that each of them reads by itself
// would have several holders, and results could not take over its memory.
uint32_t FunctionCompiler::field_of(uint32_t tuple, uint32_t index) {
  auto [entry, added] = unit_->fields.try_emplace({tuple, index});
  if (added) entry->second = code_->emit_value(Op::kField, tuple, index);
  return entry->second;
}

// True if the graph under construction computes the tensor.
bool FunctionCompiler::waits(const Known& known) const {
  return known.kind == Known::Kind::kTensor && unit_->tensors[known.index].reg == kNone;
}

Known FunctionCompiler::structured(const TypeRef& type, const std::vector<Known>& tensors,
                                   size_t& next) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return tensors[next++];
  std::vector<Known> fields;
  for (const TypeRef& field : tuple->fields()) fields.push_back(structured(field, tensors, next));
  return Known::tuple(std::move(fields));
}

// A single operator as a primitive function. Small constants stay inside: shapes may depend on
// them.
FunctionCompiler::Primitive FunctionCompiler::primitive_around(const Call* call) {
  constexpr int64_t kSmall = 64;
  auto [entry, added] = primitives_.try_emplace(call);
  if (!added) return entry->second;
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  for (uint32_t i = 1; i < call->operands().size(); ++i) {
    const ExprRef& arg = call->operands()[i];
    std::optional<NDArray> array = constant_array(arg.get());
    if (array && array->size() <= kSmall) {
      args.push_back(arg);
      continue;
    }
    params.push_back(make_var("p" + std::to_string(params.size())));
    params.back()->set_type(TypeRef(arg->type()));
    args.push_back(params.back());
    entry->second.operands.push_back(i);
  }
  ExprRef body = make_call(call->callee(), args, call->attrs(), {}, call->span());
  if (call->type() != nullptr) body->set_type(TypeRef(call->type()));
  entry->second.function =
      make_function(std::move(params), body, {}, {}, {},
                    make_dict_attrs({{"Primitive", AttrValue(int64_t{1})}}), call->span());
  return entry->second;
}

// Makes constants of equal numbers part of the function, so that its kernels know the number and
// need no tensor. Contractions and library kernels read tensors.
relay::FunctionRef FunctionCompiler::with_numbers_inside(const relay::FunctionRef& function,
                                                         std::vector<GroupArgument>& arguments) {
  std::unordered_map<const Var*, ExprRef> inside;
  size_t next = 0;
  for (const VarRef& param : function->params()) {
    const GroupArgument& argument = arguments[next];
    next += tensors_in(param->type());
    if (!param->type()->is<TensorType>() || argument.known.kind != Known::Kind::kConstant) continue;
    const Value& value = program_.executable().constants[argument.known.index];
    if (value.is_scalar() || !value.array().is_uniform()) continue;
    ExprRef constant = make_constant(value.array(), param->span());
    constant->set_type(TypeRef(param->type()));
    inside.emplace(param.get(), std::move(constant));
  }
  if (inside.empty()) return function;
  FusionKinds kinds;
  for (const Call* call : graph::operators_of(*function)) {
    const std::optional<CallFusion>& fusion = kinds.find(*call);
    bool any = fusion && fusion->kind != te::FusionKind::kOutElementwise &&
               fusion->kind != te::FusionKind::kOpaque;
    if (any) continue;
    for (const ExprRef& arg : call->args()) {
      if (const auto* var = arg->as<Var>()) inside.erase(var);
    }
  }
  if (inside.empty()) return function;
  std::vector<VarRef> params;
  std::vector<GroupArgument> left;
  next = 0;
  for (const VarRef& param : function->params()) {
    size_t count = tensors_in(param->type());
    if (inside.count(param.get()) == 0) {
      params.push_back(param);
      for (size_t i = 0; i < count; ++i) left.push_back(arguments[next + i]);
    }
    next += count;
  }
  arguments = std::move(left);
  return make_function(std::move(params), substitute(function->body(), inside), {}, {}, {},
                       function->attrs(), function->span());
}

// True for the type of a value that a kernel can take.
static bool is_plain(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return is_plain(field.get()); });
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

// The mistake in results of such a type, as far as their extents are known; empty if there is none.
static std::string impossible(const Type* type) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (std::string wrong = impossible(field.get()); !wrong.empty()) return wrong;
    }
    return {};
  }
  const auto* tensor = type->as<TensorType>();
  std::vector<int64_t> extents;
  for (Dim dim : tensor->dims()) {
    if (!dim.is_int()) return {};
    extents.push_back(dim.as_int());
  }
  try {
    NDArray::bytes_needed(extents, tensor->dtype());
    return {};
  } catch (const Error& error) {
    return error.diagnostics()[0].message;
  }
}

void FunctionCompiler::write_group(uint32_t node, const Call* call, Primitive primitive) {
  std::vector<GroupArgument> arguments;
  bool plain = is_plain(call->type());
  for (uint32_t i : primitive.operands) plain &= is_plain(call->operands()[i]->type());
  if (!plain) {
    // In a polymorphic function that the entry returns: nothing in the program calls it.
    return write_failure(node, "a function of any shape or dtype has no native code", call->span());
  }
  for (const Call* inner : graph::operators_of(*primitive.function)) {
    if (std::string wrong = impossible(inner->type()); !wrong.empty())
      return write_failure(node, wrong, inner->span());
  }
  for (uint32_t i : primitive.operands) {
    TypeRef type(call->operands()[i]->type());
    size_t next = arguments.size();
    flatten(operand(node, i), type, arguments);
    if (program_.devices() != nullptr)
      set_devices(arguments, type.get(), program_.devices()->tree(call, i), next);
  }
  primitive.function = with_numbers_inside(primitive.function, arguments);
  try {
    if (write_as_numbers(node, call, primitive, arguments)) return;
    if (!try_add_to_graph(node, call, primitive, arguments)) {
      // The graph has to run first.
      run_graph();
      bool added = add_to_graph(node, call, primitive, arguments);
      RELAY_CHECK(added, "a graph cannot be begun with this operator");
    }
  } catch (const DimRangeError& error) {
    // No result can exist: the program fails only if it asks for one.
    write_failure(node, error.diagnostics()[0].message, call->span());
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      if (!diagnostic.span.known()) diagnostic.span = call->span();
    }
    throw Error(std::move(diagnostics));
  }
}

// Adds the node to the graph; false if the graph has to run first.
bool FunctionCompiler::try_add_to_graph(uint32_t node, const Call* call, const Primitive& primitive,
                                        std::span<const GroupArgument> arguments) {
  try {
    return add_to_graph(node, call, primitive, arguments);
  } catch (const DimSizeError&) {
    if (unit_->members.empty()) throw;
    return false;
  }
}

// The node fails when it is reached.
void FunctionCompiler::write_failure(uint32_t node, const std::string& message, Span span) {
  run_graph();
  uint32_t position = code_->position();
  code_->set_position(program_.position(span));
  code_->emit(Op::kFail).a = program_.message(message);
  code_->set_position(position);
  uint32_t dst = code_->fresh();
  code_->emit(Op::kTuple).dst = dst;
  unit_->nodes[node] = Known::in_register(dst);
}

bool FunctionCompiler::write_as_numbers(uint32_t node, const Call* call, const Primitive& primitive,
                                        std::span<const GroupArgument> arguments) {
  std::vector<TypeRef> types;
  for (const GroupArgument& argument : arguments) {
    if (!is_number_type(argument.type.get()) || waits(argument.known)) return false;
    types.push_back(argument.type);
  }
  TypeRef type(call->type());
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (!is_number_type(field.get())) return false;
    }
  } else if (!is_number_type(type.get())) {
    return false;
  }
  std::vector<TypeRef> params;
  size_t next = 0;
  for (const VarRef& param : primitive.function->params()) {
    params.push_back(with_dims(TypeRef(param->type()), types, next));
  }
  const CompiledGroup& group = program_.groups().find(primitive.function, params);
  if (!group.numbers || !fits_numbers(group.computation())) return false;
  if (group.may_fail) run_graph();
  std::vector<Known> results;
  std::vector<uint32_t> inputs;
  for (const GroupArgument& argument : arguments) inputs.push_back(to_register(argument.known));
  for (uint32_t reg : write_numbers(group.computation(), inputs,
                                    operator_positions(*primitive.function), program_, *code_)) {
    results.push_back(Known::in_register(reg));
  }
  next = 0;
  unit_->nodes[node] = structured(type, results, next);
  return true;
}

// By origin: the first is 1.
std::vector<uint32_t> FunctionCompiler::operator_positions(const relay::Function& primitive) {
  std::vector<uint32_t> positions;
  for (const Call* call : graph::operators_of(primitive))
    positions.push_back(program_.position(call->span()));
  return positions;
}

// The devices of the arguments from `next` on, which are the tensors in a value.
void FunctionCompiler::set_devices(std::vector<GroupArgument>& arguments, const Type* type,
                                   const DeviceTree& devices, size_t& next) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) {
    arguments[next++].device = devices.device;
    return;
  }
  for (size_t i = 0; i < tuple->fields().size(); ++i) {
    set_devices(arguments, tuple->fields()[i].get(),
                i < devices.fields.size() ? devices.fields[i] : devices, next);
  }
}

// The devices that a group reads and writes.
FunctionCompiler::GroupDevices FunctionCompiler::devices_of(const Call* call) const {
  GroupDevices result;
  const Devices* devices = program_.devices();
  if (devices == nullptr) return result;
  std::optional<Device> found;
  if (const auto* function = call->callee()->as<relay::Function>()) {
    // An argument may be a tuple with fields on other devices that the group does not use.
    for (const Call* inner : graph::operators_of(*function)) {
      if (!found) found = devices->of_call(inner);
    }
  } else {
    found = devices->of_call(call);
  }
  result.inputs = found.value_or(kCpu);
  result.results = devices->has_tensor(call) ? devices->of(call) : result.inputs;
  return result;
}

uint32_t FunctionCompiler::graph_tensor(const GroupArgument& argument) {
  if (waits(argument.known)) return unit_->tensors[argument.known.index].tensor;
  if (argument.known.kind == Known::Kind::kConstant) {
    uint32_t constant = program_.constant_on(argument.known.index, argument.device);
    auto [entry, added] = unit_->constants.try_emplace(constant);
    if (added) {
      te::TensorInfo info = info_of(argument.type);
      // The type that a let states may leave extents open.
      const Value& value = program_.executable().constants[constant];
      if (!value.is_scalar())
        info.dims.assign(value.array().shape().begin(), value.array().shape().end());
      entry->second =
          unit_->graph->add_constant(info, program_.constant_ref(constant), argument.device);
    }
    return entry->second;
  }
  uint32_t reg = to_register(argument.known);
  auto [entry, added] = unit_->inputs.try_emplace(reg);
  if (added) {
    entry->second = unit_->graph->add_input(info_of(argument.type), argument.device);
    unit_->input_registers.push_back(reg);
  }
  return entry->second;
}

// True if an extent is a large term. Extents in a graph are terms over those of its inputs, and
// where a run decides them they may double from layer to layer; to a graph that begins here they
// are symbols again.
static bool has_large_term(std::span<const Dim> dims) {
  constexpr uint32_t kLarge = 256;  // parts
  return std::any_of(dims.begin(), dims.end(),
                     [](Dim dim) { return dim.is_term() && dim.term().size > kLarge; });
}

// False if a size depends on a result of the graph itself or is too large a term, or if the work
// may fail behind a write.
bool FunctionCompiler::add_to_graph(uint32_t node, const Call* call, const Primitive& primitive,
                                    std::span<const GroupArgument> arguments) {
  if (!unit_->graph) {
    unit_->graph = std::make_unique<graph::Builder>();
    unit_->graph_serial = next_serial_++;
  }
  graph::Builder& graph = *unit_->graph;
  GroupDevices devices = devices_of(call);
  for (const GroupArgument& argument : arguments) {
    if (!waits(argument.known) || !is_number_type(argument.type.get())) continue;
    if (graph.lies_elsewhere(unit_->tensors[argument.known.index].tensor, devices.inputs))
      return false;
  }
  std::vector<uint32_t> tensors;
  std::vector<TypeRef> types;
  graph::WorkSizes sizes;
  for (const GroupArgument& argument : arguments) {
    uint32_t tensor = graph_tensor(argument);
    tensors.push_back(tensor);
    std::vector<Dim> dims;
    for (Dim dim : graph.info(tensor).dims) dims.push_back(sizes(dim));
    types.push_back(TensorType::make(dims, graph.info(tensor).dtype));
  }
  if (!unit_->members.empty() && has_large_term(sizes.terms)) return false;
  std::vector<TypeRef> params;
  size_t next = 0;
  for (const VarRef& param : primitive.function->params())
    params.push_back(with_dims(TypeRef(param->type()), types, next));
  const CompiledGroup& group = program_.groups().find(primitive.function, params);
  for (const graph::Work::Element& element : group.work->elements) {
    if (!graph.known_before(tensors[element.input])) return false;
  }
  // A reference keeps what was written before work that fails.
  bool writes = std::any_of(unit_->postponed.begin(), unit_->postponed.end(),
                            [](const Postponed& later) { return later.reference != kNone; });
  if ((writes || !unit_->cells.empty()) && group.can_fail()) return false;
  uint32_t position = program_.position(call->span());
  std::vector<uint32_t> origins = operator_positions(*primitive.function);
  std::vector<Known> results;
  for (uint32_t tensor :
       graph.add_node(group.work, sizes, tensors, devices.results, position, std::move(origins))) {
    results.push_back(Known::tensor(static_cast<uint32_t>(unit_->tensors.size())));
    unit_->tensors.push_back({unit_->graph_serial, tensor, kNone});
  }
  next = 0;
  unit_->nodes[node] = structured(TypeRef(call->type()), results, next);
  unit_->members.push_back(node);
  unit_->in_graph[node] = unit_->graph_serial;
  if (unit_->graph_name.empty()) {
    unit_->graph_name = group.work->name;
    unit_->graph_position = position;
  }
  unit_->graph_acts |= group.acts;
  unit_->graph_can_fail |= group.can_fail();
  // Work after an effect may fail, and a graph checks all its sizes before it computes anything.
  if (group.counted || group.acts) run_graph();
  return true;
}

// Writes the graph and what waits for it.
void FunctionCompiler::run_graph() {
  write_graph();
  write_postponed();
}

void FunctionCompiler::write_graph() {
  unit_->fields.clear();
  if (!unit_->graph) return;
  std::unique_ptr<graph::Builder> graph = std::move(unit_->graph);
  std::vector<uint32_t> outputs;    // tensors
  std::vector<uint32_t> registers;  // … and where they go
  std::unordered_map<uint32_t, uint32_t> register_of;
  for (uint32_t node : unit_->members) {
    // Its results, flat.
    std::vector<uint32_t> numbers;
    std::vector<Known> stack{unit_->nodes[node]};
    while (!stack.empty()) {
      Known known = stack.back();
      stack.pop_back();
      if (known.kind == Known::Kind::kTensor) numbers.push_back(known.index);
      if (known.kind == Known::Kind::kTuple)
        stack.insert(stack.end(), known.fields->rbegin(), known.fields->rend());
    }
    std::vector<char> needed(numbers.size(), 0);
    find_needed(node, needed);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (needed[i] == 0) continue;
      Tensor& tensor = unit_->tensors[numbers[i]];
      auto [entry, added] = register_of.try_emplace(tensor.tensor);
      if (added) {
        entry->second = code_->fresh();
        outputs.push_back(tensor.tensor);
        registers.push_back(entry->second);
      }
      tensor.reg = entry->second;
    }
  }
  std::vector<uint32_t> args = std::move(unit_->input_registers);
  std::string name = std::move(unit_->graph_name);
  unit_->members.clear();
  unit_->inputs.clear();
  unit_->constants.clear();
  unit_->input_registers.clear();
  unit_->graph_name.clear();
  unit_->graph_serial = 0;
  bool acts = std::exchange(unit_->graph_acts, false);
  unit_->graph_can_fail = false;
  const std::vector<Cell> cells = std::exchange(unit_->cells, {});
  for (const Cell& cell : cells) {
    args.push_back(cell.reference);
    outputs.push_back(write_sum(*graph, cell));
  }
  if (outputs.empty() && !acts) return;
  auto inputs = static_cast<uint32_t>(args.size());
  args.insert(args.end(), registers.begin(), registers.end());
  uint32_t number = program_.add_graph(graph->finish(outputs, std::move(name)));
  uint32_t position = code_->position();
  code_->set_position(unit_->graph_position);
  Instruction& made = code_->emit(Op::kRunGraph, args);
  made.a = number;
  made.b = static_cast<uint32_t>(cells.size());
  made.c = inputs;
  code_->set_position(position);
}

}  // namespace relay::vm
