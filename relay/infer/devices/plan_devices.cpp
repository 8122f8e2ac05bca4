// Devices written out in the program.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/infer/devices/device_copies.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay {
namespace {

// A tensor or a tuple of such: what can be said to be on a device.
bool is_plain(const Type* type) {
  return type != nullptr && (type->is<TensorType>() || is_tuple_of_tensors(type));
}

ExprRef typed(ExprRef made, const Type* type) {
  made->set_type(TypeRef(type));
  return made;
}

ExprRef on_device(const ExprRef& body, const Type* type, Device device) {
  return typed(make_on_device(body, device), type);
}

class DevicePlanner final : public Rewriter {
 public:
  DevicePlanner(const Devices& devices, const Function* root) : devices_(devices) {
    post_order(root, [&](const Expr* expr) {
      if (const auto* function = expr->as<Function>()) {
        for (const VarRef& param : function->params()) {
          given_.insert(param.get());
          annotate(param.get());
        }
      } else if (const auto* match = expr->as<Match>()) {
        for (const PatternRef& pattern : match->patterns()) {
          for (const VarRef& var : pattern_vars(pattern.get())) given_.insert(var.get());
        }
      }
    });
  }

 private:
  // Leaves a parameter's device out if its only uses place it.
  void annotate(const Var* param) {
    const Type* type = param->type();
    if (param->annotation() || !is_plain(type) || !free_type_vars(TypeRef(type)).empty()) return;
    if (!devices_.has_tensor(param) || devices_.of(param) == kCpu) return;
    annotated_[param] = make_var(param->name(), TypeRef(type), param->span());
    annotated_[param]->set_type(TypeRef(type));
  }

  ExprRef enter(const Expr* expr) override {
    auto found = annotated_.find(expr);
    return found == annotated_.end() ? ExprRef() : ExprRef(found->second);
  }

  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef>) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    known_[let->var().get()] = operand_known(expr, 0);
    origin_[let->var().get()] = origin(expr, 0);
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::optional<DeviceUse> use = device_use(expr);
    known_[expr] = is_known(expr, use);
    std::vector<ExprRef> placed(operands.begin(), operands.end());
    for (size_t i = 0; i < placed.size(); ++i) {
      if (use && !use->copies) break;  // says it itself
      const Expr* old = expr->operands()[i].get();
      bool begins = old->is<Constant>() || given_.count(old) != 0;
      if (!begins || !is_plain(old->type()) || !devices_.has_tensor(expr, i)) continue;
      Device device = devices_.of(expr, i);
      if (!(device == kCpu)) placed[i] = on_device(placed[i], old->type(), device);
    }
    part_numbers(expr, use, placed);
    if (use && use->copies) {
      bool stays = !devices_.has_tensor(expr) || devices_.of(expr) == devices_.of(expr, 1);
      return stays ? placed[1] : rebuild(expr, placed);
    }
    if (use && !devices_.has_tensor(expr)) return rebuild(expr, placed);  // keeps numbers apart
    if (use) return write_place(static_cast<const Call*>(expr), placed[1]);
    ExprRef made = rebuild(expr, placed);
    if (const auto* function = expr->as<Function>()) return with_annotations(function, made);
    const auto* call = expr->as<Call>();
    if (call == nullptr || !call->callee()->is<Op>() || !is_plain(call->type())) return made;
    if (!begins_here(call)) return made;
    Device device = devices_.of(call);
    return device == kCpu ? made : on_device(made, call->type(), device);
  }

  ExprRef with_annotations(const Function* old, const ExprRef& made) const {
    std::vector<VarRef> params(old->params().begin(), old->params().end());
    bool changed = false;
    for (VarRef& param : params) {
      auto found = annotated_.find(param.get());
      if (found == annotated_.end()) continue;
      param = found->second;
      changed = true;
    }
    if (!changed) return made;
    std::vector<TypeVarRef> type_params(old->type_params().begin(), old->type_params().end());
    std::vector<RelationTypeRef> constraints(old->constraints().begin(), old->constraints().end());
    ExprRef result =
        make_function(std::move(params), made->operands()[0], old->ret_type(),
                      std::move(type_params), std::move(constraints), old->attrs(), old->span());
    return old->type() == nullptr ? result : typed(result, old->type());
  }

  // An operator that no tensor tells where it runs.
  bool begins_here(const Call* call) const {
    if (!devices_.has_tensor(call)) return false;
    for (size_t i = 1; i < call->operands().size(); ++i) {
      if (devices_.has_tensor(call, i)) return false;
    }
    return true;
  }

  bool operand_known(const Expr* expr, size_t i) {
    const Expr* operand = expr->operands()[i].get();
    if (operand->is<Constant>()) return true;
    if (operand->is<Var>() && given_.count(operand) != 0) return is_plain(operand->type());
    auto found = known_.find(operand);
    return found != known_.end() && found->second;
  }

  // True if the rewritten expression gives the devices of its tensors without anything around it.
  bool is_known(const Expr* expr, const std::optional<DeviceUse>& use) {
    size_t count = expr->operands().size();
    auto any = [&](size_t from) {
      for (size_t i = from; i < count; ++i) {
        if (devices_.has_tensor(expr, i) && operand_known(expr, i)) return true;
      }
      return false;
    };
    switch (expr->kind()) {
      case ExprKind::kCall: {
        const auto* call = static_cast<const Call*>(expr);
        return call->callee()->is<Op>() && (use || any(1) || begins_here(call));
      }
      case ExprKind::kTuple:
        for (size_t i = 0; i < count; ++i) {
          if (devices_.has_tensor(expr, i) && !operand_known(expr, i)) return false;
        }
        return true;
      case ExprKind::kTupleGetItem:
      case ExprKind::kTempExpr:
        return operand_known(expr, 0);
      case ExprKind::kLet:
        return operand_known(expr, 1);
      case ExprKind::kIf:
      case ExprKind::kMatch:
        return any(1);
      default:
        return false;
    }
  }

  // The device of the tensors from which operators compute a number, if fusion could follow it
  // there.
  std::optional<Device> origin(const Expr* expr, size_t i) const {
    auto found = origin_.find(expr->operands()[i].get());
    return found == origin_.end() ? std::nullopt : found->second;
  }

  // A number that is computed on one device and used on another (or with one from there) is told
  // apart, so that no kernel has both sides in it.
  void part_numbers(const Expr* expr, const std::optional<DeviceUse>& use,
                    std::vector<ExprRef>& operands) {
    switch (expr->kind()) {
      case ExprKind::kLet:
        origin_[expr] = origin(expr, 1);
        return;
      case ExprKind::kTupleGetItem:
      case ExprKind::kTempExpr:
        origin_[expr] = origin(expr, 0);
        return;
      case ExprKind::kTuple:
        break;
      case ExprKind::kCall:
        if (use && use->copies) origin_[expr] = origin(expr, 1);
        if (use || !static_cast<const Call*>(expr)->callee()->is<Op>()) return;
        break;
      default:
        return;
    }
    std::optional<Device> own;
    bool apart = expr->is<Tuple>();
    if (!apart && devices_.has_tensor(expr)) own = devices_.of(expr);
    for (size_t i = 0; i < operands.size() && !apart && !own; ++i) {
      if (devices_.has_tensor(expr, i)) own = devices_.of(expr, i);
    }
    std::optional<Device> all = own;
    for (size_t i = 0; i < operands.size(); ++i) {
      std::optional<Device> from = origin(expr, i);
      if (!from) continue;
      if (all && !(*all == *from)) apart = true;
      if (!all) all = from;
    }
    for (size_t i = 0; apart && i < operands.size(); ++i) {
      std::optional<Device> from = origin(expr, i);
      const Type* type = expr->operands()[i]->type();
      bool number = from && type != nullptr && type->is<TensorType>() &&
                    !devices_.has_tensor(expr, i) && !says_place(operands[i].get());
      if (number && !(own && *own == *from)) operands[i] = on_device(operands[i], type, *from);
    }
    if (!apart || own) origin_[expr] = all;
  }

  // Writes the final form of an `on_device`.
  ExprRef write_place(const Call* call, const ExprRef& body) {
    Device from = devices_.of(call, 1);
    Device to = devices_.of(call);
    bool constant = call->operands()[1]->is<Constant>() || given_.count(call->operands()[1].get());
    ExprRef value = body;
    if (!(from == kCpu) && (constant || !operand_known(call, 1)) && !says_place(body.get()))
      value = on_device(body, call->type(), from);
    return from == to ? value : copy(value, call->type(), from, to);
  }

  static bool says_place(const Expr* expr) {
    std::optional<DeviceUse> use = device_use(expr);
    return use && !use->copies;
  }

  ExprRef copy(const ExprRef& value, const Type* type, Device from, Device to) {
    const auto* tuple = type->as<TupleType>();
    if (tuple == nullptr) {
      if (is_number_type(type)) return value;
      return typed(make_device_copy(value, from, to), type);
    }
    VarRef whole = make_var("moved", TypeRef(type), value->span());
    whole->set_type(TypeRef(type));
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < tuple->fields().size(); ++i) {
      const Type* field = tuple->fields()[i].get();
      fields.push_back(
          copy(typed(make_projection(whole, static_cast<uint32_t>(i), value->span()), field), field,
               from, to));
    }
    return typed(
        make_let(whole, value, typed(make_tuple(fields, value->span()), type), value->span()),
        type);
  }

  const Devices& devices_;
  std::unordered_set<const Expr*> given_;              // parameters and what patterns bind
  std::unordered_map<const Expr*, VarRef> annotated_;  // parameters
  std::unordered_map<const Expr*, bool> known_;
  std::unordered_map<const Expr*, std::optional<Device>> origin_;
};

}  // namespace

Module plan_devices(const Module& module, DeviceNeed need) {
  if (!uses_devices(module)) return module;
  DeviceCopies copies = copy_for_devices(module);
  if (!copies.problems.empty()) throw Error(copies.problems);
  const Devices& devices = *copies.devices;
  if (need == DeviceNeed::kUsable) {
    for (Device device : devices.all()) {
      if (!is_usable(device)) throw Error(unusable_text(device), devices.said_of(device));
    }
  }
  Module result = copies.module;
  for (const Module::FunctionEntry& entry : copies.module.functions()) {
    ExprRef planned = DevicePlanner(devices, entry.function.get()).run(entry.function);
    if (planned == entry.function) continue;
    if (planned->type() == nullptr && entry.function->type() != nullptr)
      planned->publish_type(TypeRef(entry.function->type()));
    result.update_function(entry.name, FunctionRef(planned->as<Function>()));
  }
  return result;
}

}  // namespace relay
