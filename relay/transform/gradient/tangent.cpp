#include <relay/transform/gradient/tangent.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/op/registry/gradient.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/linearity.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {
namespace {

using te::Dependence;

class Tangent {
 public:
  explicit Tangent(const TangentCall& given) : given_(given), op_(called_op(&given.call)) {
    for (size_t i = 0; i < given.args.size(); ++i) {
      types_.emplace_back(given.call.args()[i]->type());
      if (!given.tangents[i].empty()) active_.push_back(i);
    }
  }

  Leaves find() {
    if (LeafTable().count(given_.call.type()) == 0) return {};
    if (op_->definition() == DefinitionKind::kCompute) {
      try {
        computation_ = build_computation(
            OpCall(op_, given_.call.attrs(), types_, TypeRef(given_.call.type())));
      } catch (const Error&) {
        return transposed();  // of extents that only the run knows
      }
      const Linear all = linear_in(active_);
      if (all == Linear::kIndependent) return {};
      if (all == Linear::kYes) return leaves_of(call_along(active_, true));
      if (linear_in(float_args()) == Linear::kYes) return leaves_of(call_along(active_, false));
      if (std::all_of(active_.begin(), active_.end(),
                      [&](size_t i) { return linear_in({i}) == Linear::kYes; }))
        return sum_of_parts();
      if (std::optional<Leaves> found = pointwise()) return *found;
    }
    return transposed();
  }

 private:
  enum class Linear : uint8_t { kYes, kNo, kIndependent };

  /// For each tensor in the arguments, true for floats of the chosen ones.
  std::vector<bool> tensors_of(const std::vector<size_t>& chosen) const {
    std::vector<bool> tensors;
    for (size_t i = 0; i < types_.size(); ++i) {
      const bool of_chosen = std::find(chosen.begin(), chosen.end(), i) != chosen.end();
      for_each_tensor(types_[i].get(), given_.args[i], [&](const Type* tensor, const ExprRef&) {
        tensors.push_back(of_chosen && is_leaf(tensor));
      });
    }
    return tensors;
  }

  std::vector<size_t> float_args() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (LeafTable().count(types_[i].get()) > 0) found.push_back(i);
    }
    return found;
  }

  Linear linear_in(const std::vector<size_t>& chosen) const {
    bool depends = false;
    const std::vector<Dependence> found = dependence_on(computation_, tensors_of(chosen));
    for (size_t k = 0; k < found.size(); ++k) {
      if (!computation_.info(computation_.outputs[k].tensor).dtype.is_float()) continue;
      if (found[k] == Dependence::kOther) return Linear::kNo;
      // A result that stays would be computed in the place of its tangent.
      if (found[k] == Dependence::kNone && computation_.outputs.size() > 1) return Linear::kNo;
      depends = depends || found[k] == Dependence::kLinear;
    }
    return depends ? Linear::kYes : Linear::kIndependent;
  }

  /// The argument with other leaves; tensors that are no floats stay.
  ExprRef with_leaves(size_t i, const Leaves& leaves) const {
    size_t next = 0;
    return map_tensors(types_[i].get(), given_.args[i],
                       [&](const Type* tensor, const ExprRef& old) {
                         if (!is_leaf(tensor)) return old;
                         const size_t leaf = next++;
                         const bool known = leaf < leaves.size() && leaves[leaf];
                         return known ? leaves[leaf] : zeros_of(tensor, old);
                       });
  }
  ExprRef direction(size_t i) const { return with_leaves(i, given_.tangents[i]); }

  /// The call with tangents in the place of some arguments. The other floats stay, or are zeros.
  ExprRef call_along(const std::vector<size_t>& along, bool others_stay) const {
    std::vector<ExprRef> args(given_.args.begin(), given_.args.end());
    for (const size_t i : others_stay ? std::vector<size_t>() : float_args())
      args[i] = with_leaves(i, {});
    for (const size_t i : along) args[i] = direction(i);
    return make_call(given_.call.callee(), args, given_.call.attrs(), {}, given_.call.span());
  }

  Leaves leaves_of(const ExprRef& value) const {
    Leaves leaves;
    for_each_tensor(given_.call.type(), value, [&](const Type* tensor, const ExprRef& leaf) {
      if (is_leaf(tensor)) leaves.push_back(leaf);
    });
    return leaves;
  }

  Leaves sum_of_parts() const {
    Leaves total;
    for (const size_t i : active_) {
      const Leaves part = leaves_of(call_along({i}, true));
      total.resize(part.size());
      for (size_t k = 0; k < part.size(); ++k) total[k] = sum(total[k], part[k]);
    }
    return total;
  }

  /// The tensors in the result, if all are floats of one shape; else none.
  std::vector<const TensorType*> results() const {
    std::vector<const TensorType*> found;
    bool alike = true;
    for_each_tensor(given_.call.type(), given_.result, [&](const Type* type, const ExprRef&) {
      const auto* tensor = type->as<TensorType>();
      found.push_back(tensor);
      alike = alike && is_leaf(type) && same_shape(*tensor, *found[0]);
    });
    return alike ? found : std::vector<const TensorType*>();
  }

  static bool same_shape(const TensorType& a, const TensorType& b) {
    return std::ranges::equal(a.dims(), b.dims());
  }

  /// True if elements of a tensor are repeated where it is spread out, and none is left out.
  static bool is_smaller(const TensorType& tensor, const TensorType& result) {
    const auto few = tensor.dims(), many = result.dims();
    if (few.size() > many.size()) return false;
    const size_t more = many.size() - few.size();
    for (size_t d = 0; d < few.size(); ++d)
      if (!few[d].is_int(1) && !(few[d] == many[more + d])) return false;
    return true;
  }

  /// The operator's result on other arguments has the type that it had.
  bool keeps_type(const std::vector<TypeRef>& types) const {
    try {
      const TypeRef type = infer_call_type(op_, types, given_.call.attrs());
      return type && type == TypeRef(given_.call.type());
    } catch (const Error&) {
      return false;  // gamma of a norm may have one axis, say
    }
  }

  /// The argument and its tangents, spread out to the shape of the result. False if it cannot be.
  bool spread(size_t i, const TensorType& result, ExprRef& arg, TypeRef& type,
              Leaves& directions) const {
    for_each_tensor(type.get(), direction(i),
                    [&](const Type*, const ExprRef& tangent) { directions.push_back(tangent); });
    bool same = true;
    for_each_tensor(type.get(), arg, [&](const Type* tensor, const ExprRef&) {
      same = same && is_leaf(tensor) && same_shape(*tensor->as<TensorType>(), result);
    });
    if (same) return true;
    const auto* tensor = type->as<TensorType>();
    if (tensor == nullptr || !num_elements(&result) || !is_smaller(*tensor, result)) return false;
    arg = spread_to(result, arg);
    directions[0] = spread_to(result, directions[0]);
    type = TensorType::make(result.dims(), tensor->dtype());
    return true;
  }

  /// Each matrix of derivatives, of a tensor in the result by one in the arguments, is diagonal: a
  /// gradient for that one alone multiplies by it. Arguments that are smaller are spread out first.
  std::optional<Leaves> pointwise() {
    const std::vector<const TensorType*> tensors = results();
    if (tensors.empty()) return {};
    std::vector<ExprRef> args(given_.args.begin(), given_.args.end());
    std::vector<TypeRef> types = types_;
    std::vector<Leaves> directions(types.size());
    for (const size_t i : active_) {
      if (!spread(i, *tensors[0], args[i], types[i], directions[i])) return {};
    }
    const OpCall call(op_, given_.call.attrs(), types, TypeRef(given_.call.type()));
    if (!keeps_type(types)) return {};
    if (!is_pointwise_in(build_computation(call), tensors_of(active_))) return {};
    Leaves totals(tensors.size());
    for (const size_t i : active_) {
      for (size_t leaf = 0; leaf < directions[i].size(); ++leaf) {
        if (leaf >= given_.tangents[i].size() || !given_.tangents[i][leaf]) continue;
        for (size_t k = 0; k < totals.size(); ++k) {
          Leaves gradient(tensors.size());
          gradient[k] = directions[i][leaf];
          const ExprRef found = gradients_of({call, args, given_.result, gradient})[i];
          size_t next = 0;
          if (!found) continue;
          for_each_tensor(types[i].get(), found, [&](const Type*, const ExprRef& part) {
            if (next++ == leaf) totals[k] = sum(totals[k], part);
          });
        }
      }
    }
    const bool any = std::ranges::any_of(totals, [](const ExprRef& one) { return one != nullptr; });
    return any ? totals : Leaves();
  }

  /// The gradient is linear in the gradient that it is given; a gradient of it for that alone is
  /// the transpose.
  Leaves transposed() const {
    std::vector<VarRef> params;
    for (const TypeRef& type : types_) params.push_back(make_var("x", type));
    const std::vector<ExprRef> args(params.begin(), params.end());
    const FunctionRef forward =
        typed(make_function(params, make_call(given_.call.callee(), args, given_.call.attrs(), {},
                                              given_.call.span())));
    GradientForm form;
    form.params = active_;
    form.from_result = true;
    form.with_value = false;
    const FunctionRef back = typed(dataflow_gradient(*forward, form));
    form.params = std::vector<size_t>{params.size()};
    form.single = true;
    const FunctionRef twice = dataflow_gradient(*back, form);
    std::unordered_map<const Var*, ExprRef> values;
    for (size_t i = 0; i < params.size(); ++i) values[twice->params()[i].get()] = given_.args[i];
    values[twice->params()[params.size()].get()] = zeros_of_type(given_.call.type());
    std::vector<ExprRef> along;
    for (const size_t i : active_) along.push_back(direction(i));
    values[twice->params().back().get()] = make_tuple(along);
    return leaves_of(substitute(twice->body(), values));
  }

  static FunctionRef typed(const FunctionRef& function) {
    Module module;
    module.add_function("main", FunctionRef(copy_with_fresh_vars(function)->as<Function>()));
    infer_types_or_throw(module);
    return FunctionRef(module.function("main"));
  }

  const TangentCall& given_;
  const Operator* op_;
  std::vector<TypeRef> types_;
  std::vector<size_t> active_;
  te::Computation computation_;
};

}  // namespace

Leaves tangent_of(const TangentCall& call) {
  const bool any = std::any_of(call.tangents.begin(), call.tangents.end(),
                               [](const Leaves& leaves) { return !leaves.empty(); });
  return any ? Tangent(call).find() : Leaves();
}

}  // namespace relay::grad
