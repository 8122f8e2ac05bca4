// Where a network of floats gets integers: hints at sums, pairs of quantize and dequantize.
#include <algorithm>
#include <charconv>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/forms.h>
#include <relay/op/registry/integer_form.h>
#include <relay/program/call_graph.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/call_map.h>
#include <relay/transform/entry.h>
#include <relay/transform/literals.h>
#include <relay/transform/quantize/quantize.h>

namespace relay::quantizing {
namespace {

// How quantised numbers go through a call.
enum class Role : uint8_t { kConvolution, kProduct, kSum, kPasses, kOther };

// Dequantised numbers are of this dtype.
bool is_float32(const Type* type) {
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  return tensor != nullptr && tensor->dtype() == kFloat32;
}

// From what the operator computes.
Role role_of(const Expr* expr) {
  std::optional<OpCall> call = typed_call(expr);
  if (!call) return Role::kOther;
  switch (quantised_rule(*call)) {
    case QuantisedRule::kKeeps:
    case QuantisedRule::kConstants:
      return Role::kPasses;
    case QuantisedRule::kRequantises:
      break;
    default:
      return Role::kOther;
  }
  if (!is_float32(expr->type())) return Role::kOther;
  if (cost_of(*call).macs == Dim(0)) return Role::kSum;
  for (size_t i = 0; i < call->num_inputs(); ++i) {
    if (!is_float32(call->input(i).get())) return Role::kOther;
  }
  // Those of convolutions name the layouts of their operands.
  return layout_rule(*call) == LayoutRule::kNamed ? Role::kConvolution : Role::kProduct;
}

bool has_negative(const NDArray& array) {
  const NDArray values = array.cast(kFloat64).contiguous();
  for (int64_t i = 0; i < values.size(); ++i) {
    if (values.data<double>()[i] < 0) return true;
  }
  return false;
}

// Knows what comes of integers: the results of convolutions and products that are quantised, and
// those of calls that pass them on.
class IntegerFlow : public Rewriter {
 public:
  explicit IntegerFlow(const Quantization& options) : options_(options) {}

 protected:
  /// A convolution or product that is quantised; a sum of results that all come from integers; a
  /// hint.
  virtual ExprRef quantised(const Call& call, std::span<const ExprRef> operands) {
    return rebuild(&call, operands);
  }
  virtual ExprRef summed(const Call& call, std::span<const ExprRef> operands) {
    return rebuild(&call, operands);
  }
  virtual ExprRef hinted(const Call& call, std::span<const ExprRef> operands) {
    return pass_on(call, operands);
  }
  ExprRef pass_on(const Call& call, std::span<const ExprRef> operands) {
    ExprRef made = rebuild(&call, operands);
    if (any_integers(operands)) note(made);
    return made;
  }
  const Quantization& options() const { return options_; }

 private:
  // A variable stands for its value.
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let != nullptr && operand == 1 && integers_.contains(done[0].get()))
      integers_.insert(let->var().get());
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* call = expr->as<Call>();
    if (call == nullptr || !call->callee()->is<Op>()) return rebuild(expr, operands);
    if (is_cast_hint(expr)) return hinted(*call, operands);
    auto [role, fresh] = roles_.insert(*call);
    if (fresh) *role = role_of(expr);
    switch (*role) {
      case Role::kConvolution: {
        const auto& skipped = options_.skip_convolutions;
        const bool stays = std::ranges::find(skipped, convolutions_++) != skipped.end();
        return stays ? rebuild(expr, operands) : note(quantised(*call, operands));
      }
      case Role::kProduct:
        return options_.skip_products ? rebuild(expr, operands) : note(quantised(*call, operands));
      case Role::kSum:
        return rewrite_sum(*call, operands);
      case Role::kPasses:
        return pass_on(*call, operands);
      case Role::kOther:
        break;
    }
    return rebuild(expr, operands);
  }
  ExprRef rewrite_sum(const Call& call, std::span<const ExprRef> operands) {
    auto args = operands.subspan(1);
    auto is_constant = [](const ExprRef& arg) { return arg->is<Constant>(); };
    if (args.size() < 2 || std::ranges::any_of(args, is_constant)) return pass_on(call, operands);
    const bool all = std::ranges::all_of(
        args, [&](const ExprRef& arg) { return integers_.contains(arg.get()); });
    return all ? note(summed(call, operands)) : rebuild(&call, operands);
  }
  bool any_integers(std::span<const ExprRef> operands) const {
    return std::ranges::any_of(operands,
                               [&](const ExprRef& arg) { return integers_.contains(arg.get()); });
  }
  ExprRef note(ExprRef made) {
    integers_.insert(made.get());
    kept_.push_back(made);
    return made;
  }

  const Quantization& options_;
  CallMap<Role> roles_;
  int64_t convolutions_ = 0;
  PointerSet<Expr> integers_;
  std::vector<ExprRef> kept_;  // so that no other node gets their addresses
};

class Partitioner final : public IntegerFlow {
 public:
  using IntegerFlow::IntegerFlow;

 private:
  ExprRef summed(const Call& call, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> marked(operands.begin(), operands.end());
    for (size_t i = 1; i < marked.size(); ++i) {
      if (!is_cast_hint(marked[i].get()))
        marked[i] = make_cast_hint(marked[i], options().input_dtype, call.span());
    }
    return rebuild(&call, marked);
  }
};

class Annotator final : public IntegerFlow {
 public:
  /// Numbers scales from the first one on.
  Annotator(const Quantization& options, size_t first) : IntegerFlow(options), first_(first) {}
  const std::vector<VarRef>& scales() const { return scales_; }

 private:
  ExprRef quantised(const Call& call, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> points(operands.begin(), operands.end());
    for (size_t i = 1; i < points.size(); ++i) points[i] = point(points[i], call.span());
    return rebuild(&call, points);
  }
  ExprRef hinted(const Call& call, std::span<const ExprRef> operands) override {
    // A hint of the program's own may stand at any number.
    return is_float32(call.type()) ? point(operands[1], call.span()) : operands[1];
  }
  // An operand as integers and back; each operand once.
  ExprRef point(const ExprRef& operand, Span span) {
    auto [made, fresh] = points_.insert(operand.get());
    if (!fresh) return made->expr;
    const QuantizedKind kind =
        operand->is<Constant>() ? QuantizedKind::kWeight : QuantizedKind::kInput;
    const DType dtype =
        kind == QuantizedKind::kWeight ? options().weight_dtype : options().input_dtype;
    if (const auto* weight = operand->as<Constant>(); weight != nullptr && dtype == kUInt8) {
      if (has_negative(weight->data()))
        throw Error("a constant with negative numbers cannot be uint8 (option dtype_weight)", span);
    }
    VarRef scale = make_scale(kind, first_ + scales_.size());
    scales_.push_back(scale);
    ExprRef zero = make_constant(NDArray::scalar<int32_t>(0));
    Affine form{scale, zero, dtype};
    ExprRef result = dequantized_from(quantized_as(operand, form, span), form, span);
    *points_.find(operand.get()) = {operand, result};
    return result;
  }

  struct Point {
    ExprRef operand;
    ExprRef expr;
  };
  const size_t first_;
  std::vector<VarRef> scales_;
  PointerMap<Expr, Point> points_;
};

// Above those of all scales that the function has.
size_t free_number(const Function& function) {
  size_t free = 0;
  for (const VarRef& param : function.params()) {
    if (!scale_kind(*param)) continue;
    const std::string_view name = param->name().view();
    const std::string_view digits = name.substr(name.rfind('.') + 1);
    uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    free = std::max(free, size_t{number} + 1);
  }
  return free;
}

// Callers know nothing of parameters for scales.
void check_is_not_called(const Module& module, const Module::FunctionEntry& entry) {
  const CallGraph graph(module);
  for (const auto& [name, function] : module.functions()) {
    if (std::ranges::find(graph.callees(name), entry.name) == graph.callees(name).end()) continue;
    throw Error("@" + entry.name.str() + " is called by " +
                    (name == entry.name ? "itself" : "@" + name.str()) +
                    ", so it cannot be quantised",
                entry.function->span());
  }
}

}  // namespace

Module partition_for_quantization(const Module& module, const Quantization& options) {
  const Module::FunctionEntry& entry = entry_of(module);
  ExprRef body = Partitioner(options).run(entry.function->body());
  if (body == entry.function->body()) return module;
  Module result = module;
  result.update_function(entry.name, with_body(entry.function, std::move(body)));
  return result;
}

Module annotate_quantized(const Module& module, const Quantization& options) {
  Module marked = partition_for_quantization(module, options);
  infer_types_or_throw(marked);
  marked = resolve_literals(marked);
  const Module::FunctionEntry& entry = entry_of(marked);
  Annotator annotator(options, free_number(*entry.function));
  ExprRef body = annotator.run(entry.function->body());
  if (annotator.scales().empty()) return module;
  check_is_not_called(marked, entry);
  std::vector<VarRef> params = entry.function->params();
  params.insert(params.end(), annotator.scales().begin(), annotator.scales().end());
  Module result = marked;
  result.update_function(entry.name, with_body(entry.function, std::move(params), std::move(body)));
  return result;
}

}  // namespace relay::quantizing
