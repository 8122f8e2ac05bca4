// Single instructions, and the kernel around them.
#include <algorithm>

#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>
#include <relay/vm/compiler/native/writer.h>

namespace relay::vm::native {

using te::Scalar;
using te::ScalarKind;
using te::ScalarRef;

namespace {

te::TensorInfo info_of(const Value& tensor) {
  te::TensorInfo info{{}, tensor.dtype};
  for (int64_t extent : tensor.shape) info.dims.emplace_back(extent);
  return info;
}

}  // namespace

LoopKernel Writer::run(uint32_t function) {
  const Source& source = program_.sources[function];
  Block body;
  scalars_.block = &body;
  std::vector<ValueRef> args, captures;
  for (const TypeRef& type : source.params) args.push_back(input(type));
  for (const TypeRef& type : source.captures) captures.push_back(input(type));
  ValueRef closure;
  if (!captures.empty()) {
    auto made = std::make_shared<Value>();
    made->kind = Value::Kind::kClosure;
    made->function = function;
    made->fields = std::move(captures);
    closure = std::move(made);
  }
  made_.result = call(function, std::move(args), std::move(closure), true);
  if (repeats_ == 0) throw NotNative{"no loop"};
  scalars_.block = &body;
  std::vector<ValueRef> results;
  std::function<void(const ValueRef&)> collect = [&](const ValueRef& value) {
    if (value->kind == Value::Kind::kClosure) throw NotNative{"a function as a result"};
    if (value->is_data()) throw NotNative{"a data value as a result"};
    if (value->is_tensor()) return results.push_back(value);
    for (const ValueRef& field : value->fields) collect(field);
  };
  collect(made_.result);
  for (const ValueRef& tensor : results) {
    made_.outputs.push_back(info_of(*tensor));
    const int32_t buffer =
        scalars_.add_buffer(lower::Buffer::Role::kOutput, tensor->dtype, tensor->size());
    scalars_.store(buffer, *tensor);
  }
  begin_tape(body);
  made_.kernel = std::make_shared<lower::Kernel>();
  made_.kernel->implementation = "loop";
  made_.kernel->body = scalars_.finish(std::move(body));
  return std::move(made_);
}

/// A tensor or tuple that the kernel is given.
ValueRef Writer::input(const TypeRef& type) {
  if (type.get() != nullptr) {
    if (const auto* tuple = type->as<TupleType>()) {
      std::vector<ValueRef> fields;
      for (const TypeRef& field : tuple->fields()) fields.push_back(input(field));
      return tuple_of(std::move(fields));
    }
    const auto* tensor = type->as<TensorType>();
    if (tensor != nullptr && tensor->has_rank() && tensor->has_dtype()) {
      auto value = std::make_shared<Value>();
      value->dtype = tensor->dtype();
      for (Dim dim : tensor->dims()) {
        if (!dim.is_int()) throw NotNative{"an unknown extent"};
        value->shape.push_back(dim.as_int());
      }
      made_.inputs.push_back({{tensor->dims().begin(), tensor->dims().end()}, tensor->dtype()});
      value->buffer = scalars_.add_buffer(lower::Buffer::Role::kInput, value->dtype, value->size());
      return value->size() > kMostElements ? ValueRef(value) : scalars_.in_registers(value);
    }
  }
  throw NotNative{"a parameter that is no tensor of known shape"};
}

ValueRef Writer::constant(const relay::Value& value, const std::function<uint32_t()>& number) {
  if (!value.is_tensor()) throw NotNative{"a constant that is no tensor"};
  const NDArray array = value.array();
  auto result = std::make_shared<Value>();
  result->dtype = array.dtype();
  result->shape.assign(array.shape().begin(), array.shape().end());
  if (array.size() > kMostElements) {
    auto [known, added] = constants_.try_emplace(number());
    if (!added) return known->second;
    result->buffer = scalars_.add_buffer(lower::Buffer::Role::kInput, array.dtype(), array.size());
    made_.constants.push_back(known->first);
    made_.constant_infos.push_back(info_of(*result));
    known->second = result;
    return result;
  }
  for (int64_t i = 0; i < array.size(); ++i) {
    const Scalar element = array.dtype().is_float()
                               ? te::constant(array.element_as_double(i), array.dtype())
                               : te::constant(array.element_as_int64(i), array.dtype());
    result->elements.push_back(element.ref());
  }
  return result;
}

/// Failures of functions that were called would lack the calls that led there.
uint32_t Writer::origin(const Frame& frame, uint32_t position) {
  if (!frame.root) throw NotNative{"a function that is called may fail"};
  return origin_at(position);
}

uint32_t Writer::origin_at(uint32_t position) {
  auto found = std::ranges::find(made_.origins, position);
  if (found == made_.origins.end()) found = made_.origins.insert(found, position);
  return static_cast<uint32_t>(found - made_.origins.begin()) + 1;
}

ValueRef Writer::read(const Frame& frame, uint32_t reg) {
  auto found = frame.registers.find(reg & ~kLast);
  if (found == frame.registers.end()) throw NotNative{"a register without a value"};
  return found->second;
}

ScalarRef Writer::number_in(const Frame& frame, uint32_t reg) {
  const ValueRef& value = read(frame, reg);
  if (!value->is_tensor() || value->elements.size() != 1) throw NotNative{"no number"};
  return value->elements[0];
}

std::vector<ValueRef> Writer::arguments(const Frame& frame, const Instruction& at,
                                        size_t from) const {
  const Function& function = code(frame);
  std::vector<ValueRef> values;
  for (size_t i = from; i < at.count; ++i)
    values.push_back(read(frame, function.args[at.first + i]));
  return values;
}

void Writer::step(Frame& frame, const Instruction& at, uint32_t position) {
  ValueRef& to = frame.registers[at.dst];
  switch (at.op) {
    case Op::kMove:
      if (moves_ != nullptr) (*moves_)[at.dst] = read(frame, at.a);
      frame.registers[at.dst] = read(frame, at.a);
      return;
    case Op::kConst:
      to = constant(program_.executable.constants[at.a], [&] { return at.a; });
      return;
    case Op::kUnary:
    case Op::kBinary:
    case Op::kCast:
    case Op::kBitcast:
      return number(frame, at, position);
    case Op::kFailUnless: {
      const ScalarRef condition = number_in(frame, at.a);
      if (condition->kind == ScalarKind::kConst && condition->value.i != 0) return;
      scalars_.check(condition, program_.executable.messages[at.b], origin(frame, position));
      return;
    }
    case Op::kSelect: {
      Block none;
      to = join(number_in(frame, at.a), read(frame, at.b), none, read(frame, at.c), none);
      return;
    }
    case Op::kTuple:
      to = tuple_of(arguments(frame, at, 0));
      return;
    case Op::kField:
      to = field_of(read(frame, at.a), at.b);
      return;
    case Op::kRunGraph:
      return run_graph(frame, at);
    default:
      return call_step(frame, at);
  }
}

/// The kernel ends here.
void Writer::fail(Frame& frame, const Instruction& at, uint32_t position) {
  lower::Check check{te::constant(0, kBool).ref(), program_.executable.messages[at.a],
                     origin(frame, position)};
  check.ends = true;
  scalars_.block->push_back({std::move(check)});
}

void Writer::call_step(Frame& frame, const Instruction& at) {
  auto known = [](const ValueRef& closure) -> const Value& {
    if (closure == nullptr || closure->kind != Value::Kind::kClosure)
      throw NotNative{"a function that is not known"};
    return *closure;
  };
  ValueRef result;
  switch (at.op) {
    case Op::kGlobal:
    case Op::kClosure: {
      auto made = std::make_shared<Value>();
      made->kind = Value::Kind::kClosure;
      made->function = at.a;
      if (at.op == Op::kClosure) made->fields = arguments(frame, at, 0);
      result = std::move(made);
      break;
    }
    case Op::kSelf:
      known(frame.closure);
      result = frame.closure;
      break;
    case Op::kCapture:
      result = known(frame.closure).fields.at(at.a);
      break;
    case Op::kCall:
      result = call(at.a, arguments(frame, at, 0), nullptr, false);
      break;
    case Op::kCallClosure: {
      std::vector<ValueRef> args = arguments(frame, at, 0);
      const ValueRef closure = args.front();
      args.erase(args.begin());
      result = call(known(closure).function, std::move(args), closure, false);
      break;
    }
    default:
      throw NotNative{"an instruction on other values"};
  }
  frame.registers[at.dst] = std::move(result);
}

namespace {

/// A test for equality of known whole numbers, such as that of a divisor with 0; else null.
ScalarRef known_test(const ScalarRef& node) {
  if (node->kind != ScalarKind::kBinary) return {};
  const bool equal = node->binary == Binary::kEq;
  if (!equal && node->binary != Binary::kNe) return {};
  for (const ScalarRef& arg : node->args) {
    if (arg->kind != ScalarKind::kConst || arg->dtype.is_float()) return {};
  }
  const bool same = node->args[0]->value.i == node->args[1]->value.i;
  return te::constant(same == equal ? 1 : 0, kBool).ref();
}

}  // namespace

void Writer::number(Frame& frame, const Instruction& at, uint32_t position) {
  const Scalar a(number_in(frame, at.a));
  Scalar made;
  if (at.op == Op::kUnary) made = te::unary(static_cast<Unary>(at.sub), a);
  if (at.op == Op::kCast) made = te::cast(a, at.to);
  if (at.op == Op::kBitcast) made = te::bitcast(a, at.to);
  if (at.op == Op::kBinary)
    made = te::binary(static_cast<Binary>(at.sub), a, Scalar(number_in(frame, at.b)));
  ScalarRef node = made.ref();
  if (ScalarRef known = known_test(node)) node = std::move(known);
  if (te::can_fail(*node)) {
    auto copy = te::copy_node(*node);
    copy->origin = origin(frame, position);
    node = copy;
  }
  frame.registers[at.dst] = number_of(scalars_.let(node));
}

void Writer::run_graph(Frame& frame, const Instruction& at) {
  const graph::Graph& graph = program_.graphs[at.a];
  if (!graph.symbols.empty() || !graph.checks.empty()) throw NotNative{"unknown sizes"};
  const Function& function = code(frame);
  std::vector<ValueRef> tensors(graph.tensors.size());
  for (uint32_t i = 0; i < graph.inputs.size(); ++i)
    tensors[graph.inputs[i]] = read(frame, function.args[at.first + i]);
  auto tensor = [&](uint32_t number) -> const ValueRef& {
    ValueRef& value = tensors[number];
    if (value == nullptr) {
      const graph::ConstantRef& known = graph.tensors[number].constant;
      if (known == nullptr) throw NotNative{"a tensor without a value"};
      value = constant(known->value(), [&] { return program_.constant(known); });
    }
    return value;
  };
  for (const graph::Node& node : graph.nodes) {
    for (const graph::Condition& check : node.work->group.checks) {
      if (dims_equal(check.a, check.b) != Truth::kYes) throw NotNative{"unknown sizes"};
    }
    std::vector<ValueRef> inputs;
    for (uint32_t input : node.inputs) inputs.push_back(tensor(input));
    const auto origin_of = [&](uint32_t number) { return origin_at(node.position_of(number)); };
    const std::vector<ValueRef> made =
        scalars_.evaluate(node.work->computation(), inputs, {origin_of, frame.root});
    for (size_t k = 0; k < made.size(); ++k) {
      if (info_of(*made[k]).dims != graph.tensors[node.outputs[k]].info.dims)
        throw NotNative{"a result of another shape"};
      tensors[node.outputs[k]] = made[k];
    }
  }
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    const uint32_t reg = function.args[at.first + at.c + i];
    frame.registers[reg & ~kLast] = tensor(graph.outputs[i]);
  }
}

}  // namespace relay::vm::native
