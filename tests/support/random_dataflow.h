// Random well-typed dataflow over tensors: chains, sharing, and many families of operators on small
// random shapes.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/module.h>
#include <relay/ir/rewrite.h>
#include <relay/op/op.h>
#include <relay/runtime/value.h>
#include <relay/support/error.h>

#include <tests/support/op_attrs.h>

namespace relay::testing {

/// One function `fn (inputs…) -> tuple of tensors` and arguments for it.
class RandomDataflow {
 public:
  explicit RandomDataflow(uint32_t seed) : random_(seed) {
    int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i) add_input();
    int operators = 2 + pick(9);
    for (int i = 0; i < operators; ++i) {
      for (int tries = 0; tries < 20 && !grow(); ++tries) {
      }
    }
    std::vector<ExprRef> results{nodes_.back().expr};
    for (int i = pick(3); i > 0; --i) results.push_back(nodes_[some()].expr);
    function_ = make_function(params_, make_tuple(results));
  }

  const FunctionRef& function() const { return function_; }
  /// The same function with some extents of its parameters unknown: `?` or a name. It may be that
  /// inference refuses that.
  FunctionRef with_unknown_extents() {
    TypeVarRef name = TypeVar::make("n", Kind::kShapeVar, true);
    int64_t named = -1;
    std::vector<VarRef> params;
    std::unordered_map<const Var*, ExprRef> replacement;
    for (const VarRef& param : params_) {
      const auto* tensor = param->annotation()->as<TensorType>();
      std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
      for (Dim& dim : dims) {
        int how = pick(4);
        if (how == 0) dim = Dim::any();
        if (how == 1 && (named < 0 || dim.is_int(named))) {
          named = dim.as_int();
          dim = Dim::symbol(name.get());
        }
      }
      params.push_back(make_var(param->name(), TensorType::make(dims, tensor->dtype())));
      replacement[param.get()] = params.back();
    }
    return make_function(params, substitute(function_->body(), replacement));
  }
  const std::vector<Value>& arguments() const { return arguments_; }

 private:
  struct Node {
    ExprRef expr;
    std::vector<int64_t> shape;
    DType dtype;
    double bound;       // of the magnitude
    bool exact = true;  // so that comparisons are the same however it was computed
  };

  int pick(int n) { return n <= 0 ? 0 : static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  size_t some() { return static_cast<size_t>(pick(static_cast<int>(nodes_.size()))); }
  int64_t extent() {
    static constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
    return pick(40) == 0 ? 0 : kExtents[pick(pick(3) == 0 ? 10 : 6)];
  }
  static TypeRef type(const std::vector<int64_t>& shape, DType dtype) {
    std::vector<Dim> dims(shape.begin(), shape.end());
    return TensorType::make(dims, dtype);
  }
  static int64_t count(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (int64_t e : shape) n *= e;
    return n;
  }

  NDArray data(const std::vector<int64_t>& shape, DType dtype) {
    NDArray array = NDArray::empty(shape, kFloat64);
    for (int64_t i = 0; i < array.size(); ++i) {
      double value = dtype.is_float() ? (pick(65) - 32) / 8.0 : pick(13) - 6;
      if (dtype.is_bool()) value = pick(2);
      array.data<double>()[i] = value;
    }
    return array.cast(dtype);
  }
  void add_input() {
    static const DType kTypes[] = {kFloat32, kFloat32, kFloat32, kInt32, kInt64, kFloat64};
    DType dtype = kTypes[pick(6)];
    std::vector<int64_t> shape;
    for (int rank = pick(5); rank > 0; --rank) shape.push_back(extent());
    VarRef var = make_var("x" + std::to_string(params_.size()), type(shape, dtype));
    params_.push_back(var);
    arguments_.emplace_back(data(shape, dtype));
    nodes_.push_back({var, shape, dtype, 8, true});
  }
  // A tensor of this shape and type: a constant or what exists.
  Node like(std::vector<int64_t> shape, DType dtype) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].shape == shape && nodes_[i].dtype == dtype) fitting.push_back(i);
    }
    if (!fitting.empty() && pick(4) != 0)
      return nodes_[fitting[static_cast<size_t>(pick(static_cast<int>(fitting.size())))]];
    return {make_constant(data(shape, dtype)), shape, dtype, 8, true};
  }

  template <class... Fields>
  static AttrsRef attrs(const char* op, Fields... fields) {
    return op_attrs(op, {fields...});
  }
  using Field = AttrEntry;

  bool add(const char* op, std::initializer_list<ExprRef> args, AttrsRef attributes, double bound,
           bool exact) {
    if (bound > 1e6) return false;
    ExprRef call = call_op(op, args, std::move(attributes));
    return add_expr(call, bound, exact);
  }
  bool add_expr(const ExprRef& expr, double bound, bool exact) {
    TypeRef found;
    try {
      found = infer_expr_type(expr, Module());
    } catch (const Error&) {
      return false;  // does not fit after all
    }
    const auto* tensor = found->as<TensorType>();
    if (tensor == nullptr) return false;
    std::vector<int64_t> shape;
    for (Dim dim : tensor->dims()) {
      if (!dim.is_int()) return false;
      shape.push_back(dim.as_int());
    }
    if (count(shape) > 6000 || shape.size() > 5) return false;
    nodes_.push_back({expr, shape, tensor->dtype(), bound, exact});
    return true;
  }

  bool grow() {
    const Node a = nodes_[pick(2) == 0 ? nodes_.size() - 1 : some()];
    bool real = a.dtype.is_float();
    auto rank = static_cast<int64_t>(a.shape.size());
    switch (pick(24)) {
      case 0:
      case 1: {  // smooth functions
        if (!real) return false;
        static const char* const kOps[] = {"tanh", "sigmoid", "sin", "cos", "atan", "erf"};
        if (a.bound > 50 && !a.exact) return false;  // turns small errors into large ones
        return add(kOps[pick(6)], {a.expr}, {}, 2, false);
      }
      case 2: {
        if (a.dtype.is_bool()) return false;
        static const char* const kOps[] = {"negative", "abs", "nn.relu"};
        return add(kOps[pick(3)], {a.expr}, {}, a.bound, a.exact);
      }
      case 3:
        if (!real || a.bound > 10) return false;
        return add("exp", {a.expr}, {}, std::exp(a.bound), false);
      case 4: {
        if (!real || !a.exact) return false;
        static const char* const kOps[] = {"floor", "ceil", "round", "trunc", "sign"};
        return add(kOps[pick(5)], {a.expr}, {}, a.bound + 1, true);
      }
      case 5:
      case 6:
      case 7: {  // broadcasting
        if (a.dtype.is_bool()) return false;
        std::vector<int64_t> shape = a.shape;
        if (pick(3) == 0 && !shape.empty()) {
          for (int64_t& e : shape) {
            if (pick(2) == 0) e = 1;
          }
          if (pick(2) == 0) shape.erase(shape.begin());
        }
        Node b = like(shape, a.dtype);
        static const char* const kOps[] = {"add", "subtract", "multiply", "maximum", "minimum"};
        int which = pick(5);
        double bound = which < 2    ? a.bound + b.bound
                       : which == 2 ? a.bound * b.bound
                                    : std::max(a.bound, b.bound);
        bool exact = a.exact && b.exact && bound < 4096;
        if (pick(2) == 0) return add(kOps[which], {b.expr, a.expr}, {}, bound, exact);
        return add(kOps[which], {a.expr, b.expr}, {}, bound, exact);
      }
      case 8: {
        if (!a.exact || a.dtype.is_bool()) return false;
        Node b = like(a.shape, a.dtype);
        if (!b.exact) return false;
        static const char* const kOps[] = {"less", "greater_equal", "equal"};
        ExprRef condition = call_op(kOps[pick(3)], {a.expr, b.expr});
        Node c = like(a.shape, pick(2) == 0 ? kFloat32 : a.dtype);
        Node d = like(a.shape, c.dtype);
        return add("where", {condition, c.expr, d.expr}, {}, std::max(c.bound, d.bound),
                   c.exact && d.exact);
      }
      case 9: {
        static const DType kTypes[] = {kFloat32, kFloat64, kInt32, kInt64};
        DType to = kTypes[pick(4)];
        if (!to.is_float() && (!a.exact || a.bound > 1e5)) return false;
        return add("cast", {a.expr}, attrs("cast", Field{"dtype", AttrValue(to)}), a.bound,
                   a.exact);
      }
      case 10:
      case 11: {  // reductions
        if (a.dtype.is_bool() || rank == 0) return false;
        static const char* const kOps[] = {"sum", "max", "min", "mean"};
        int which = pick(4);
        if (count(a.shape) == 0 && which > 0) return false;
        if (which == 3 && !real) return false;
        std::vector<int64_t> axes;
        double folded = 1;
        for (int64_t i = 0; i < rank; ++i) {
          if (pick(2) == 0) continue;
          axes.push_back(i);
          folded *= static_cast<double>(a.shape[static_cast<size_t>(i)]);
        }
        if (axes.empty()) return false;
        double bound = which == 0 ? a.bound * std::max(folded, 1.0) : a.bound;
        return add(kOps[which], {a.expr},
                   attrs(kOps[which], Field{"axis", list(axes)},
                         Field{"keepdims", AttrValue(pick(2) == 0)}),
                   bound, a.exact && which != 3 && bound < 4096);
      }
      case 12: {
        if (rank == 0) return false;
        std::vector<int64_t> axes(static_cast<size_t>(rank));
        for (int64_t i = 0; i < rank; ++i) axes[static_cast<size_t>(i)] = i;
        std::shuffle(axes.begin(), axes.end(), random_);
        return add("transpose", {a.expr}, attrs("transpose", Field{"axes", list(axes)}), a.bound,
                   a.exact);
      }
      case 13: {
        int64_t n = count(a.shape);
        std::vector<int64_t> shape;
        for (int64_t e : {2, 3, 4}) {
          if (n > 0 && n % e == 0 && pick(2) == 0) {
            shape.push_back(e);
            n /= e;
          }
        }
        shape.push_back(n);
        if (pick(2) == 0) std::reverse(shape.begin(), shape.end());
        return add("reshape", {a.expr}, attrs("reshape", Field{"newshape", list(shape)}), a.bound,
                   a.exact);
      }
      case 14:
        if (rank > 3) return false;
        return add("expand_dims", {a.expr},
                   attrs("expand_dims", Field{"axis", AttrValue(int64_t{pick(int(rank) + 1)})}),
                   a.bound, a.exact);
      case 15: {
        if (rank == 0) return false;
        Node b = like(a.shape, a.dtype);
        std::vector<ExprRef> parts{a.expr, b.expr};
        if (pick(2) == 0) parts.push_back(a.expr);
        ExprRef call =
            call_op("concatenate", {make_tuple(parts)},
                    attrs("concatenate", Field{"axis", AttrValue(int64_t{pick(int(rank))})}));
        return add_expr(call, std::max(a.bound, b.bound), a.exact && b.exact);
      }
      case 16: {
        if (rank == 0) return false;
        std::vector<int64_t> begin, end, strides;
        for (int64_t e : a.shape) {
          begin.push_back(pick(int(e) / 2 + 1));
          end.push_back(e - pick(2) * (e > 2 ? 1 : 0));
          strides.push_back(1 + pick(2));
        }
        return add("strided_slice", {a.expr},
                   attrs("strided_slice", Field{"begin", list(begin)}, Field{"end", list(end)},
                         Field{"strides", list(strides)}),
                   a.bound, a.exact);
      }
      case 17: {
        if (rank == 0 || a.shape[0] % 2 != 0 || a.shape[0] == 0) return false;
        ExprRef parts = call_op("split", {a.expr},
                                attrs("split", Field{"indices_or_sections", AttrValue(int64_t{2})},
                                      Field{"axis", AttrValue(int64_t{0})}));
        Node first = a;
        if (!add_expr(make_projection(parts, 0), a.bound, a.exact)) return false;
        return pick(2) == 0 || add_expr(make_projection(parts, 1), a.bound, a.exact);
      }
      case 18: {
        if (!real || rank != 2 || a.shape[1] == 0) return false;
        Node w = like({2 + pick(7), a.shape[1]}, a.dtype);
        return add("nn.dense", {a.expr, w.expr},
                   attrs("nn.dense", Field{"units", AttrValue(w.shape[0])}),
                   a.bound * w.bound * static_cast<double>(a.shape[1]), false);
      }
      case 19: {
        if (!real || rank == 0 || a.shape.back() == 0) return false;
        return add("nn.softmax", {a.expr},
                   attrs("nn.softmax", Field{"axis", AttrValue(int64_t{-1})}), 1, false);
      }
      case 20: {
        if (!real || rank != 3) return false;
        Node b = like({a.shape[0], 3, a.shape[2]}, a.dtype);
        return add("nn.batch_matmul", {a.expr, b.expr},
                   attrs("nn.batch_matmul", Field{"transpose_b", AttrValue(true)}),
                   a.bound * b.bound * static_cast<double>(a.shape[2] + 1), false);
      }
      case 21: {
        if (!real || rank != 4 || a.shape[2] < 3 || a.shape[3] < 3 || a.shape[1] == 0 ||
            a.shape[0] == 0)
          return false;
        if (pick(2) == 0) {
          return add("nn.max_pool2d", {a.expr},
                     attrs("nn.max_pool2d", Field{"pool_size", list({2, 2})},
                           Field{"strides", list({1 + pick(2), 1})}),
                     a.bound, a.exact);
        }
        int64_t channels = 1 + pick(5);
        Node w = like({channels, a.shape[1], 3, 3}, a.dtype);
        int64_t pad = pick(2);
        return add("nn.conv2d", {a.expr, w.expr},
                   attrs("nn.conv2d", Field{"channels", AttrValue(channels)},
                         Field{"kernel_size", list({3, 3})}, Field{"padding", list({pad, pad})},
                         Field{"strides", list({1 + pick(2), 1})}),
                   a.bound * w.bound * 9 * static_cast<double>(a.shape[1]), false);
      }
      case 22: {
        if (rank == 0 || a.shape[0] == 0) return false;
        NDArray indices = NDArray::empty({3}, kInt32);
        for (int i = 0; i < 3; ++i) indices.data<int32_t>()[i] = pick(int(a.shape[0]));
        return add("take", {a.expr, make_constant(indices)},
                   attrs("take", Field{"axis", AttrValue(int64_t{0})},
                         Field{"mode", AttrValue(std::string("clip"))}),
                   a.bound, a.exact);
      }
      default: {
        if (a.dtype.is_bool() || rank == 0) return false;
        double bound =
            a.bound * static_cast<double>(*std::max_element(a.shape.begin(), a.shape.end()));
        return add("cumsum", {a.expr},
                   attrs("cumsum", Field{"axis", AttrValue(int64_t{pick(int(rank))})}), bound,
                   a.exact && bound < 4096);
      }
    }
  }

  std::mt19937 random_;
  std::vector<VarRef> params_;
  std::vector<Value> arguments_;
  std::vector<Node> nodes_;
  FunctionRef function_;
};

}  // namespace relay::testing
