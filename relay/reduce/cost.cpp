#include <relay/reduce/cost.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <relay/ir/visit.h>

namespace relay::reduce {

namespace {

// A node counts a multiple of this, its details less in most cases.
constexpr uint64_t kNode = 64;

uint64_t of_extent(int64_t extent) {
  if (extent <= 8) return static_cast<uint64_t>(std::max<int64_t>(extent, 0));
  return 8 + static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(extent)));
}

uint64_t of_dtype(DType dtype) {
  if (dtype == kFloat32) return 0;
  return dtype == kInt32 || dtype == kBool ? 1 : 2;
}

uint64_t of_shape(ShapeView shape) {
  uint64_t sum = 0;
  for (int64_t extent : shape) sum += 1 + of_extent(extent);
  return sum;
}

// Types nest no deeper than Type::kMaxDepth.
uint64_t of_type(const Type* type) {
  if (type == nullptr) return 0;
  if (const auto* tensor = type->as<TensorType>()) {
    uint64_t sum = tensor->has_dtype() ? of_dtype(tensor->dtype()) : 3;
    if (!tensor->has_rank()) return sum + 24;
    for (Dim dim : tensor->dims()) sum += 1 + (dim.is_int() ? of_extent(dim.as_int()) : 24);
    return sum;
  }
  uint64_t sum = 8;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) sum += 1 + of_type(field.get());
  } else if (const auto* function = type->as<FuncType>()) {
    for (const TypeRef& param : function->params()) sum += 1 + of_type(param.get());
    sum += of_type(function->result().get());
  } else if (const auto* call = type->as<TypeCall>()) {
    for (const TypeRef& arg : call->args()) sum += 1 + of_type(arg.get());
  } else if (const auto* ref = type->as<RefType>()) {
    sum += of_type(ref->value().get());
  }
  return sum;
}

uint64_t of_number(double value) {
  if (value == 0) return 0;
  if (value == 1) return 1;
  if (std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e6)
    return 2 + of_extent(static_cast<int64_t>(std::abs(value)));
  return 30;
}

uint64_t of_data(const NDArray& data) {
  uint64_t sum = of_dtype(data.dtype());
  if (data.rank() == 0) return kNode + sum + of_number(data.element_as_double(0));
  return 5 * kNode + sum + of_shape(data.shape()) + (data.is_uniform() ? 0 : 4);
}

uint64_t of_value(const AttrValue& value) {
  if (const auto* number = value.get<int64_t>()) return 1 + of_extent(std::abs(*number));
  if (const auto* dtype = value.get<DType>()) return of_dtype(*dtype);
  if (const auto* list = value.get<AttrValue::List>()) {
    uint64_t sum = 0;
    for (const AttrValue& item : *list) sum += 1 + of_value(item);
    return sum;
  }
  if (const auto* dict = value.get<AttrValue::Dict>()) {
    uint64_t sum = 0;
    for (const auto& [key, item] : *dict) sum += 2 + of_value(item);
    return sum;
  }
  return 1;
}

uint64_t of_attrs(const AttrsRef& attrs) {
  if (!attrs) return 0;
  uint64_t sum = 0;
  for (const NamedAttr& attr : attrs->fields(true)) sum += 2 + of_value(attr.value);
  return sum;
}

// Patterns nest no deeper than Pattern::kMaxDepth.
uint64_t of_pattern(const Pattern& pattern) {
  uint64_t sum = pattern.kind() == PatternKind::kWildcard ? 0 : kNode;
  for (const PatternRef& field : pattern.fields()) sum += of_pattern(*field);
  return sum;
}

uint64_t of_function(const Function& function) {
  uint64_t sum = 6 * kNode + of_type(function.ret_type().get());
  if (function.ret_type()) sum += 1;
  for (const VarRef& param : function.params())
    sum += 2 * kNode + of_type(param->annotation().get());
  if (function.attrs()) sum += 8 + of_attrs(function.attrs());
  return sum + kNode * function.constraints().size() + 32 * function.type_params().size();
}

uint64_t of_node(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
    case ExprKind::kGlobalVar:
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return 0;
    case ExprKind::kConstant:
      return of_data(expr->as<Constant>()->data());
    case ExprKind::kLiteral: {
      const LiteralValue& value = expr->as<Literal>()->value();
      return kNode +
             of_number(value.is_float ? value.number : static_cast<double>(value.magnitude)) +
             (value.negative ? 1 : 0);
    }
    case ExprKind::kCall:
      return 3 * kNode + of_attrs(expr->as<Call>()->attrs()) +
             8 * expr->as<Call>()->type_args().size();
    case ExprKind::kFunction:
      return of_function(*expr->as<Function>());
    case ExprKind::kLet: {
      const TypeRef& annotation = expr->as<Let>()->var()->annotation();
      return 3 * kNode + (annotation ? 1 + of_type(annotation.get()) : 0);
    }
    case ExprKind::kMatch: {
      uint64_t sum = 3 * kNode;
      for (const PatternRef& pattern : expr->as<Match>()->patterns())
        sum += 2 * kNode + of_pattern(*pattern);
      return sum;
    }
    case ExprKind::kIf:
      return 3 * kNode;
    default:
      return 2 * kNode;
  }
}

}  // namespace

uint64_t cost(const Module& module) {
  uint64_t sum = 0;
  for (const Module::FunctionEntry& entry : module.functions()) {
    sum += 2 * kNode;
    visit_each(entry.function.get(), [&](const Expr* expr) {
      sum += of_node(expr) + kNode * expr->operands().size();
      return true;
    });
  }
  for (const TypeDataRef& type : module.types()) {
    sum += 4 * kNode + kNode * type->type_vars().size();
    for (const ConstructorRef& constructor : type->constructors()) {
      sum += 2 * kNode;
      for (const TypeRef& input : constructor->inputs()) sum += 16 + of_type(input.get());
    }
  }
  return sum;
}

}  // namespace relay::reduce
