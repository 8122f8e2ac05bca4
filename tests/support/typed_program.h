// Random well-typed programs over int32: dataflow with sharing across regions, lets, ifs, closures,
// tuples, references, and divisions that may fail.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include <relay/ir/module.h>
#include <relay/op/op.h>

namespace relay::testing {

class TypedProgram {
 public:
  TypedProgram(uint32_t seed, bool references) : random_(seed), references_(references) {}

  /// `@main(%x: int32, %y: int32, %v: Tensor[(3), int32], %c: bool)` and a function that it may
  /// call.
  Module module() {
    Module module;
    {
      VarRef a = make_var("a", type(kNumber));
      pool_ = {{a, kNumber}};
      in_global_ = true;
      bool references = std::exchange(references_, false);  // so that its calls have no effect
      Made body = make(kNumber, 3);
      references_ = references;
      in_global_ = false;
      module.add_function("g", make_function({a}, body.expr, type(kNumber)));
    }
    std::vector<VarRef> params{make_var("x", type(kNumber)), make_var("y", type(kNumber)),
                               make_var("v", type(kVector)), make_var("c", type(kBool))};
    pool_ = {{params[0], kNumber}, {params[1], kNumber}, {params[2], kVector}, {params[3], kBool}};
    Made number = make(kNumber, 6);
    Made vector = make(kVector, 4);
    std::vector<ExprRef> fields{number.expr, vector.expr};
    module.add_function("main", make_function(params, make_tuple(fields)));
    return module;
  }

 private:
  enum TypeOf { kNumber, kVector, kBool };
  struct Made {
    ExprRef expr;
    bool acts = false;  // then it has one parent (E4) and is not shared
  };
  struct Known {
    ExprRef expr;
    TypeOf of;
  };

  static TypeRef type(TypeOf of) {
    const Dim three[] = {Dim(3)};
    if (of == kVector) return TensorType::make(three, kInt32);
    return TensorType::scalar(of == kBool ? DType(relay::kBool) : kInt32);
  }
  uint32_t below(uint32_t n) { return random_() % n; }

  Made leaf(TypeOf of) {
    std::vector<const Known*> fitting;
    for (const Known& known : pool_) {
      if (known.of == of) fitting.push_back(&known);
    }
    if (!fitting.empty() && below(5) != 0) return {fitting[below(fitting.size())]->expr};
    auto value = static_cast<int32_t>(below(5)) - 1;
    if (of == kVector) {
      return {make_constant(NDArray::from<int32_t>({3}, {value, 1, 2 * value}))};
    }
    if (of == kBool) return {make_constant(NDArray::scalar_int(relay::kBool, value > 1))};
    return {make_constant(NDArray::scalar_int(kInt32, value))};
  }

  Made make(TypeOf of, int depth) {
    if (depth == 0 || below(8) == 0) return leaf(of);
    Made made = grow(of, depth - 1);
    if (!made.acts) pool_.push_back({made.expr, of});
    return made;
  }

  Made call(std::string_view op, std::initializer_list<Made> args) {
    std::vector<ExprRef> exprs;
    Made made;
    for (const Made& arg : args) {
      exprs.push_back(arg.expr);
      made.acts |= arg.acts;
    }
    made.expr = call_op(op, exprs);
    return made;
  }

  Made grow(TypeOf of, int depth) {
    switch (below(references_ ? 12 : 10)) {
      case 0:
      case 1: {
        Made condition = make(kBool, depth);
        Made a = inside(of, depth);
        Made b = inside(of, depth);
        return {make_if(condition.expr, a.expr, b.expr), condition.acts || a.acts || b.acts};
      }
      case 2:
      case 3: {
        auto value_of = static_cast<TypeOf>(below(3));
        Made value = make(value_of, depth);
        size_t size = pool_.size();
        VarRef var = make_var("t");
        pool_.push_back({var, value_of});
        Made body = make(of, depth);
        pool_.resize(size);
        return {make_let(var, value.expr, body.expr), value.acts || body.acts};
      }
      case 4: {  // a closure, bound or in the graph, called once or twice
        VarRef param = make_var("p", type(kNumber));
        size_t size = pool_.size();
        pool_.push_back({param, kNumber});
        bool references = std::exchange(references_, false);
        Made body = make(of, depth);
        references_ = references;
        pool_.resize(size);
        ExprRef function = make_function({param}, body.expr);
        VarRef name = make_var("f");
        bool bound = below(2) == 0;
        ExprRef callee = bound ? ExprRef(name) : function;
        Made first = make(kNumber, depth);
        ExprRef args[] = {first.expr};
        Made result{make_call(callee, args), first.acts};
        if (of != kBool && below(2) == 0) {
          Made second = make(kNumber, depth);
          ExprRef more[] = {second.expr};
          result = call("add", {result, {make_call(callee, more), second.acts}});
        }
        return bound ? Made{make_let(name, function, result.expr), result.acts} : result;
      }
      case 5: {
        Made a = make(of, depth);
        Made b = make(static_cast<TypeOf>(below(3)), depth);
        std::vector<ExprRef> fields{a.expr, b.expr};
        return {make_projection(make_tuple(fields), 0), a.acts || b.acts};
      }
      case 6:
        if (in_global_ || of != kNumber) break;
        {
          Made arg = make(kNumber, depth);
          ExprRef args[] = {arg.expr};
          return {make_call(make_global_var("g"), args), arg.acts};
        }
      case 10: {
        VarRef cell = make_var("r");
        Made first = make(kNumber, depth);
        cells_.push_back(cell);
        Made body = make(of, depth);
        cells_.pop_back();
        return {make_let(cell, make_ref_create(first.expr), body.expr), true};
      }
      case 11: {
        if (cells_.empty()) break;
        ExprRef cell = cells_[below(cells_.size())];
        if (of == kNumber && below(2) == 0) return {make_ref_read(cell), true};
        Made value = make(kNumber, depth);
        Made body = make(of, depth);
        return {make_let(make_var("_"), make_ref_write(cell, value.expr), body.expr), true};
      }
      default:
        break;
    }
    static constexpr const char* kBinary[] = {"add", "subtract", "multiply", "maximum", "divide"};
    if (of == kBool) {
      if (below(3) == 0) return call("logical_and", {make(kBool, depth), make(kBool, depth)});
      Made a = make(kNumber, depth);
      return call("less", {a, make(kNumber, depth)});
    }
    if (below(4) == 0) return call(below(2) == 0 ? "negative" : "abs", {make(of, depth)});
    Made a = make(of, depth);
    Made b = make(of == kVector && below(2) == 0 ? kNumber : of, depth);
    return call(kBinary[below(5)], {a, b});
  }

  // In a branch: what is made there is not seen outside.
  Made inside(TypeOf of, int depth) {
    size_t size = pool_.size();
    Made made = make(of, depth);
    pool_.resize(size);
    return made;
  }

  std::mt19937 random_;
  bool references_;
  bool in_global_ = false;
  std::vector<Known> pool_;
  std::vector<VarRef> cells_;
};

}  // namespace relay::testing
