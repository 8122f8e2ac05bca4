#include <relay/eval/apply.h>

#include <algorithm>

#include <relay/eval/eval.h>
#include <relay/eval/scalar_program.h>
#include <relay/op/registry/columns.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::eval {

namespace {
constexpr size_t kMaxRemembered = 8;

// The dtypes and shapes of all tensors of the arguments, with marks for tuples: equal signatures
// have equal types.
void append_signature(const Value& value, std::vector<int64_t>& out) {
  if (value.is_tensor()) {
    DType dtype = value.dtype();
    ShapeView shape = value.shape();
    out.push_back((static_cast<int64_t>(dtype.code) << 8 | dtype.bits) << 16 |
                  static_cast<int64_t>(shape.size()));
    out.insert(out.end(), shape.begin(), shape.end());
  } else if (value.is_tuple()) {
    out.push_back(-1 - static_cast<int64_t>(value.fields().size()));
    for (const Value& field : value.fields()) append_signature(field, out);
  } else {
    throw Error(std::string("an operator cannot take ") + kind_name(value.kind()));
  }
}

void flatten(const Value& value, std::vector<NDArray>& out) {
  if (value.is_tuple()) {
    for (const Value& field : value.fields()) flatten(field, out);
  } else {
    out.push_back(value.array());
  }
}
}  // namespace

struct Prepared {
  std::vector<int64_t> signature;
  TypeRef output;
  // One of these.
  std::unique_ptr<te::Computation> computation;
  std::unique_ptr<ScalarProgram> scalar;
  FunctionRef expansion;
  Value expanded;  // the expansion as a closure
};

ApplySite::ApplySite(const Operator* op, AttrsRef attrs, Device device)
    : op_(op), attrs_(std::move(attrs)), from_(device), to_(device) {
  if (!attrs_ && op_->attrs_schema() != nullptr) attrs_ = Attrs::make(*op_->attrs_schema(), {}, {});
  const DeviceUseFn* use = devices().find(op_);
  if (use == nullptr) return;
  DeviceUse said = (*use)(attrs_);
  if (!said.copies) return;
  from_ = said.input.value_or(device);
  to_ = said.result.value_or(device);
}
ApplySite::~ApplySite() = default;

Prepared* ApplySite::find(std::span<const Value> arguments) {
  // All numbers is the common case of loops: compare without building a signature.
  for (const auto& prepared : prepared_) {
    size_t at = 0;
    bool same = true;
    for (const Value& value : arguments) {
      if (!value.is_scalar() || at >= prepared->signature.size()) {
        same = false;
        break;
      }
      DType dtype = value.dtype();
      if (prepared->signature[at++] != (static_cast<int64_t>(dtype.code) << 8 | dtype.bits) << 16) {
        same = false;
        break;
      }
    }
    if (same && at == prepared->signature.size()) return prepared.get();
  }
  std::vector<int64_t> signature;
  for (const Value& value : arguments) append_signature(value, signature);
  for (const auto& prepared : prepared_) {
    if (prepared->signature == signature) return prepared.get();
  }
  return nullptr;
}

std::unique_ptr<Prepared> ApplySite::prepare(std::span<const Value> arguments, bool& reusable) {
  auto prepared = std::make_unique<Prepared>();
  std::vector<TypeRef> types;
  for (const Value& value : arguments) {
    append_signature(value, prepared->signature);
    types.push_back(value_type(value));
  }
  reusable = true;
  prepared->output =
      infer_call_type(op_, types, attrs_, nullptr, [&](size_t i) -> std::optional<NDArray> {
        reusable = false;  // the result's type may depend on the value
        return arguments[i].is_tensor() ? std::optional<NDArray>(arguments[i].array())
                                        : std::nullopt;
      });
  RELAY_CHECK(prepared->output, "the relation of " + op_->name().str() + " waits for known types");

  OpCall call(op_, attrs_, types, prepared->output);
  switch (op_->definition()) {
    case DefinitionKind::kCompute: {
      auto computation = std::make_unique<te::Computation>(build_computation(call));
      // The program reads each argument as a number, fields of tuples it does not know.
      bool has_tuple = std::any_of(arguments.begin(), arguments.end(),
                                   [](const Value& value) { return value.is_tuple(); });
      if (!has_tuple) prepared->scalar = ScalarProgram::make(*computation);
      if (prepared->scalar == nullptr) prepared->computation = std::move(computation);
      break;
    }
    case DefinitionKind::kExpand: {
      std::vector<VarRef> params;
      std::vector<ExprRef> args;
      for (size_t i = 0; i < types.size(); ++i) {
        params.push_back(make_var("arg" + std::to_string(i), types[i]));
        args.push_back(params.back());
      }
      prepared->expansion = make_function(params, op_->expand()(call, args));
      prepared->expanded = evaluate_expr(prepared->expansion, Module(), from_);
      break;
    }
    default:
      throw Error("operator " + op_->name().str() + " has no definition that can be evaluated");
  }
  return prepared;
}

Value ApplySite::run(Prepared& prepared, std::span<const Value> arguments) {
  if (prepared.expansion) return call_within(prepared.expanded, arguments);
  try {
    return compute(prepared, arguments);
  } catch (const RuntimeError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics[0].message = te::failure_text(op_->name().view(), diagnostics[0].message);
    throw RuntimeError(std::move(diagnostics));
  }
}

Value ApplySite::compute(Prepared& prepared, std::span<const Value> arguments) const {
  if (prepared.scalar != nullptr) return prepared.scalar->run(arguments);
  std::vector<NDArray> inputs;
  for (const Value& value : arguments) flatten(value, inputs);
  for (const NDArray& input : inputs) {
    if (input.rank() > 0 && !(input.device() == from_)) {
      throw RuntimeError(wrong_device_text(input.device(), from_));
    }
  }
  DeviceAccess access(from_, to_);
  std::vector<NDArray> results = te::evaluate(*prepared.computation, inputs, {}, to_);
  if (!prepared.output->is<TupleType>()) return Value(std::move(results[0]));
  std::vector<Value> fields;
  for (NDArray& result : results) fields.emplace_back(std::move(result));
  return Value::tuple(std::move(fields));
}

Value ApplySite::apply(std::span<const Value> arguments) {
  if (Prepared* known = find(arguments)) return run(*known, arguments);
  bool reusable = false;
  std::unique_ptr<Prepared> prepared = prepare(arguments, reusable);
  if (!reusable) return run(*prepared, arguments);
  if (prepared_.size() >= kMaxRemembered) prepared_.erase(prepared_.begin());
  prepared_.push_back(std::move(prepared));
  return run(*prepared_.back(), arguments);
}

}  // namespace relay::eval

namespace relay {

TypeRef value_type(const Value& root) {
  // Tuples nest no deeper than types do, which Type's own limit bounds.
  switch (root.kind()) {
    case Value::Kind::kScalar:
    case Value::Kind::kTensor: {
      std::vector<Dim> dims;
      for (int64_t extent : root.shape()) dims.emplace_back(extent);
      return TensorType::make(dims, root.dtype());
    }
    case Value::Kind::kTuple: {
      std::vector<TypeRef> fields;
      for (const Value& field : root.fields()) fields.push_back(value_type(field));
      return TupleType::make(std::move(fields));
    }
    default:
      return IncompleteType::hole();
  }
}

Value apply_op(const Operator* op, const AttrsRef& attrs, std::span<const Value> arguments,
               Span span) {
  Device device;
  std::vector<const Value*> stack;
  for (size_t i = arguments.size(); i-- > 0;) stack.push_back(&arguments[i]);
  while (!stack.empty()) {
    const Value& at = *stack.back();
    stack.pop_back();
    if (at.is_tensor() && !at.shape().empty()) {
      device = at.device();
      break;
    }
    if (!at.is_tuple()) continue;
    for (size_t i = at.fields().size(); i-- > 0;) stack.push_back(&at.fields()[i]);
  }
  eval::ApplySite site(op, attrs, device);
  try {
    return site.apply(arguments);
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      if (!diagnostic.span.known()) diagnostic.span = span;
    }
    throw RuntimeError(std::move(diagnostics));
  }
}

}  // namespace relay
