// Random programs: well scoped, not well typed. For tests of everything that must hold before types
// are known (text, rewriting, equality, scheduling).
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <relay/ir/module.h>
#include <relay/op/op.h>

namespace relay::testing {

struct RandomProgramOptions {
  bool references = false;  // ref, ref_read, ref_write; then what may have an effect has one parent
  int size = 60;            // nodes of a function, about
  int functions = 2;        // besides @main
  // Names of variables, functions, types, constructors, type parameters and extents; empty ones
  // only of variables. Without any: ordinary ones.
  std::vector<std::string> names = {};
};

/// Makes one program from a seed: shared nodes, closures, recursion, matches, lets in every
/// position, variables that shadow each other, odd names, constants of all types.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed, RandomProgramOptions options = {})
      : random_(seed), options_(options) {}

  Module module() {
    Module module;
    list_ = GlobalTypeVar::make(name_or("List"));
    TypeVarRef a = TypeVar::make(name_or("A"), Kind::kType);
    cons_ = make_constructor(name_or("Cons"), list_, 0, {a, TypeCall::make(list_, {a})});
    std::string nil = name_or("Nil");
    if (nil == cons_->name().view()) nil += '0';
    nil_ = make_constructor(nil, list_, 1, {});
    module.add_type(TypeData::make(list_, {a}, {cons_, nil_}));
    for (int i = 0; i <= options_.functions; ++i) {
      std::string name = name_or(i == 0 ? "main" : i == 1 ? "f" : "helper." + std::to_string(i));
      while (std::find(names_.begin(), names_.end(), name) != names_.end()) name += '0';
      names_.push_back(std::move(name));
    }
    for (const std::string& name : names_) {
      budget_ = options_.size;
      shared_.clear();
      vars_.clear();
      level_ = 0;
      module.add_function(name, FunctionRef(function(5).expr->as<Function>()));
    }
    return module;
  }

 private:
  /// An expression, the scope levels of its free variables, and whether it may be shared.
  struct Part {
    ExprRef expr;
    uint64_t levels = 0;
    bool pure = true;
  };
  struct ScopedVar {
    VarRef var;
    int level;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }

  /// One of the options' names that is not empty, else this one.
  std::string name_or(std::string usual) {
    if (options_.names.empty()) return usual;
    std::string name =
        options_.names[static_cast<size_t>(pick(static_cast<int>(options_.names.size())))];
    return name.empty() ? usual : name;
  }

  TypeRef type() {
    if (!options_.names.empty() && chance(25)) {
      TypeVarRef extent = TypeVar::make(name_or("n"), Kind::kShapeVar, true);
      return TensorType::make(std::vector<Dim>{Dim::symbol(extent.get()), 2}, kInt32);
    }
    switch (pick(7)) {
      case 0:
        return TensorType::scalar(kFloat32);
      case 1:
        return TensorType::make(std::vector<Dim>{2, Dim::any()}, kInt8);
      case 2:
        return TupleType::make({TensorType::scalar(kBool)});
      case 3:
        return FuncType::make({TensorType::scalar(kInt64)}, TupleType::make({}));
      case 4:
        return TypeCall::make(list_, {TensorType::scalar(kBFloat16)});
      case 5:
        if (!options_.references) return {};
        return RefType::make(TensorType::make(std::vector<Dim>{3}, kUInt16));
      default:
        return {};
    }
  }
  VarRef new_var() {
    static const char* const kNames[] = {"x",   "x", "x",         "y",     "x1",
                                         "a.b", "0", "layer.0.w", "layer", "odd name"};
    if (!options_.names.empty()) {
      size_t which = static_cast<size_t>(pick(static_cast<int>(options_.names.size())));
      return make_var(options_.names[which], type());
    }
    return make_var(kNames[pick(10)], type());
  }

  /// A variable in scope while `body` runs; what mentions it does not outlive it among the shared
  /// nodes.
  void open(const std::vector<VarRef>& vars) {
    ++level_;
    for (const VarRef& var : vars) vars_.push_back({var, level_});
  }
  void close() {
    while (!vars_.empty() && vars_.back().level == level_) vars_.pop_back();
    uint64_t gone = uint64_t{1} << level_;
    std::erase_if(shared_, [&](const Part& part) { return (part.levels & gone) != 0; });
    --level_;
  }
  uint64_t outer(uint64_t levels) const { return levels & ((uint64_t{1} << level_) - 1); }

  Part constant() {
    static constexpr int64_t kShape[] = {2};
    DType dtype = kAllDTypes[pick(13)];
    if (chance(25)) {
      NDArray array = NDArray::zeros(kShape, dtype);
      return {make_constant(array)};
    }
    double value = chance(20) ? pick(2) : pick(2000) / 16.0 - (dtype.is_unsigned() ? 0 : 50);
    if (dtype.is_float() && chance(10)) value = std::numeric_limits<double>::infinity();
    if (dtype.is_float() && chance(10)) value = 0.1;
    if (dtype.is_bool()) value = pick(2);
    return {make_constant(NDArray::scalar(dtype, value))};
  }
  Part literal() {
    LiteralValue value;
    value.negative = chance(30);
    if (chance(50)) {
      value.magnitude = static_cast<uint64_t>(pick(100));
      value.text = Name(std::to_string(value.magnitude));
    } else {
      value.is_float = true;
      value.number = 0.5;
      value.text = "0.5";
    }
    return {make_literal(value)};
  }
  Part leaf() {
    int what = pick(10);
    if (what < 6 && !vars_.empty()) {
      const ScopedVar& var = vars_[static_cast<size_t>(pick(static_cast<int>(vars_.size())))];
      return {var.var, uint64_t{1} << var.level};
    }
    if (what == 6)
      return {make_global_var(names_[static_cast<size_t>(pick(static_cast<int>(names_.size())))])};
    if (what == 7) return literal();
    if (what == 8) return {make_op(get_op("exp"))};
    return constant();
  }

  Part join(std::vector<Part>& parts, std::vector<ExprRef>& exprs) {
    Part result;
    for (Part& part : parts) {
      exprs.push_back(part.expr);
      result.levels |= part.levels;
      result.pure &= part.pure;
    }
    return result;
  }

  /// Any expression; remembers it for sharing now and then.
  Part expr(int depth) {
    if (!shared_.empty() && chance(25)) {
      return shared_[static_cast<size_t>(pick(static_cast<int>(shared_.size())))];
    }
    Part result = --budget_ <= 0 || depth <= 0 ? leaf() : compound(depth - 1);
    if (result.pure && !result.expr->operands().empty() && chance(50)) shared_.push_back(result);
    return result;
  }

  Part compound(int depth) {
    std::vector<Part> parts;
    std::vector<ExprRef> exprs;
    switch (pick(options_.references ? 15 : 12)) {
      case 0:
      case 1: {
        parts = {expr(depth), expr(depth)};
        Part result = join(parts, exprs);
        result.expr = call_op(chance(50) ? "add" : "multiply", exprs);
        return result;
      }
      case 2: {
        parts = {expr(depth)};
        Part result = join(parts, exprs);
        static const char* const kOps[] = {"exp", "negative", "sum", "cumsum"};
        const Operator* op = get_op(kOps[pick(4)]);
        AttrsRef attrs;
        if (op->attrs_schema() != nullptr) {
          std::vector<NamedAttr> values;
          values.push_back({"axis", AttrValue(int64_t{pick(3)}), {}});
          attrs = Attrs::make(*op->attrs_schema(), values, {});
        }
        result.expr = make_call(make_op(op), exprs, attrs);
        return result;
      }
      case 3: {
        for (int i = pick(4); i > 0; --i) parts.push_back(expr(depth));
        Part result = join(parts, exprs);
        result.expr = make_tuple(exprs);
        return result;
      }
      case 4: {
        Part result = expr(depth);
        result.expr = make_projection(result.expr, static_cast<uint32_t>(pick(3)));
        return result;
      }
      case 5: {
        for (int i = pick(3) + 1; i > 0; --i) parts.push_back(expr(depth));
        Part result = join(parts, exprs);
        ExprRef callee = exprs[0];
        exprs.erase(exprs.begin());
        std::vector<TypeRef> type_args;
        if (!callee->is<Literal>() && !callee->is<Constant>() && chance(10)) {
          type_args.push_back(TensorType::scalar(kFloat32));
        }
        result.expr = make_call(callee, exprs, {}, type_args);
        result.pure &= !options_.references;
        return result;
      }
      case 6:
        return function(depth);
      case 7:
      case 8:
        return let(depth);
      case 9: {
        parts = {expr(depth), expr(depth), expr(depth)};
        Part result = join(parts, exprs);
        result.expr = make_if(exprs[0], exprs[1], exprs[2]);
        return result;
      }
      case 10:
        return match(depth);
      case 11: {
        if (chance(30)) return {make_call(nil_, std::span<const ExprRef>())};
        parts = {expr(depth), expr(depth)};
        Part result = join(parts, exprs);
        result.expr = make_call(cons_, exprs);
        return result;
      }
      case 12: {
        Part result = expr(depth);
        result.expr = make_ref_create(result.expr);
        result.pure = false;
        return result;
      }
      case 13: {
        Part result = expr(depth);
        result.expr = make_ref_read(result.expr);
        result.pure = false;
        return result;
      }
      default: {
        parts = {expr(depth), expr(depth)};
        Part result = join(parts, exprs);
        result.expr = make_ref_write(exprs[0], exprs[1]);
        result.pure = false;
        return result;
      }
    }
  }

  Part function(int depth) {
    std::vector<VarRef> params;
    for (int i = pick(3); i > 0; --i) params.push_back(new_var());
    std::vector<TypeVarRef> type_params;
    TypeRef result_type = type();
    if (chance(15)) {
      type_params.push_back(TypeVar::make(name_or("t"), chance(50) ? Kind::kType : Kind::kShape));
      params.push_back(
          make_var("p", type_params[0]->kind() == Kind::kType
                            ? TypeRef(type_params[0])
                            : TensorType::make(type_params[0], BaseType::make(kFloat32))));
    }
    open(params);
    Part body = expr(depth);
    Part result;
    AttrsRef attrs;
    if (chance(15))
      attrs = make_dict_attrs(
          {{"Primitive", AttrValue(int64_t{1})}, {"Tag", AttrValue(std::string("a\"b\n"))}});
    result.expr = make_function(params, body.expr, result_type, type_params, {}, attrs);
    result.levels = outer(body.levels);
    close();
    return result;
  }

  Part let(int depth) {
    VarRef var = new_var();
    bool recursive = chance(25);
    Part value;
    if (!recursive) value = expr(depth);
    open({var});
    if (recursive) value = function(depth);
    Part body = chance(50) ? let_or_expr(depth) : expr(depth);
    Part result;
    result.expr = make_let(var, value.expr, body.expr);
    result.levels = outer(value.levels | body.levels);
    result.pure = value.pure && body.pure;
    close();
    return result;
  }
  Part let_or_expr(int depth) { return budget_ > 0 && depth > 0 ? let(depth - 1) : expr(depth); }

  PatternRef pattern(std::vector<VarRef>& vars, int depth) {
    switch (pick(depth > 0 ? 5 : 3)) {
      case 0:
        return Pattern::wildcard();
      case 1:
        vars.push_back(new_var());
        return Pattern::var(vars.back());
      case 2:
        return Pattern::constructor(nil_, {});
      case 3: {
        PatternRef head = pattern(vars, depth - 1);
        return Pattern::constructor(cons_, {head, pattern(vars, depth - 1)});
      }
      default: {
        std::vector<PatternRef> fields;
        for (int i = pick(3); i > 0; --i) fields.push_back(pattern(vars, depth - 1));
        return Pattern::tuple(fields);
      }
    }
  }
  Part match(int depth) {
    Part result = expr(depth);
    ExprRef data = result.expr;
    std::vector<PatternRef> patterns;
    std::vector<ExprRef> bodies;
    for (int i = pick(3) + 1; i > 0; --i) {
      std::vector<VarRef> vars;
      patterns.push_back(pattern(vars, 2));
      open(vars);
      Part body = expr(depth);
      bodies.push_back(body.expr);
      result.levels |= outer(body.levels);
      result.pure &= body.pure;
      close();
    }
    result.expr = make_match(data, patterns, bodies, chance(70));
    return result;
  }

  std::mt19937 random_;
  RandomProgramOptions options_;
  int budget_ = 0;
  int level_ = 0;
  std::vector<ScopedVar> vars_;
  std::vector<Part> shared_;
  std::vector<std::string> names_;
  GlobalTypeVarRef list_;
  ConstructorRef cons_;
  ConstructorRef nil_;
};

}  // namespace relay::testing
