// Adjoints of folds.
#include <algorithm>

#include <relay/tensor_expr/adjoint_parts.h>
#include <relay/tensor_expr/rewrite.h>

namespace relay::te {
namespace {

using Kind = Combiner::Kind;

class FoldAdjoint {
 public:
  FoldAdjoint(Builder& b, const Map& map, const ScalarNode& fold)
      : b_(b),
        map_(map),
        fold_(fold),
        count_(num_accumulators(fold)),
        points_(extents_of(map.axes)),
        box_(extents_of(fold.axes)) {}

  /// The seed of a maximum or minimum: all to the first element that attains it. `result` is the
  /// fold's. Positions are as wide as most elements where they are few enough, so that vectors of
  /// the two go together.
  Scalar of_extremum(const Tensor& result, const Scalar& gradient) {
    constexpr int64_t kMost = INT32_MAX;
    const Dim all = product(box_);
    const DType wide = all.is_int() && all.as_int() < kMost ? kInt32 : kInt64;
    Tensor first = b_.map(points_, [&](Indices i) {
      return b_.min(box_, [&](Indices k) {
        Scalar element = at(fold_.args[0], i, k), extreme = result(i);
        // Of elements that are no numbers the first one is the result.
        Scalar attains = element == extreme || unary(UnaryOp::kIsNan, element);
        // An element is not computed where the fold leaves it out.
        if (where()) attains = select(Scalar(at(where(), i, k)), attains, zero(kBool));
        return select(attains, cast(position_of(k), wide), highest(wide));
      });
    });
    Scalar position = cast(position_of(indices_of(fold_.axes)), wide);
    return select(first(indices_of(map_.axes)) == position, gradient, zero(fold_.dtype));
  }

  /// The seed of a product: the product of the others, without dividing by 0.
  Scalar of_product(const Scalar& gradient) {
    Scalar none = zero(fold_.dtype);
    Scalar one = constant(1.0, fold_.dtype);
    Tensor zeros = b_.map(points_, [&](Indices i) {
      return b_.sum(box_, [&](Indices k) {
        return select(value(0, i, k, one) == none, index_constant(1), index_constant(0));
      });
    });
    Tensor others = b_.map(points_, [&](Indices i) {
      return b_.prod(box_, [&](Indices k) {
        Scalar v = value(0, i, k, one);
        return select(v == none, one, v);
      });
    });
    std::vector<Scalar> point = indices_of(map_.axes);
    Scalar product = gradient * others(point);
    Scalar v(fold_.args[0]);
    Scalar alone = zeros(point) == index_constant(1) && v == none;
    return select(zeros(point) == index_constant(0), product / v, select(alone, product, none));
  }

  /// The seed of any other combination: point by point, forward for the combination of all before
  /// each, then backward.
  std::vector<Scalar> of_custom(std::span<const Scalar> gradients) {
    line_ = points_;
    line_.push_back(product(box_));
    for (size_t j = 0; j < count_; ++j) {
      if (fold_.args[j]->dtype.is_float()) floats_.push_back(j);
    }
    values_ = folded_values();
    before_ = combined_before();
    const std::vector<Tensor> after = adjoints_after(gradients);
    std::vector<Scalar> seeds(count_);
    for (size_t j : floats_) {
      Tensor adjoint = b_.map(line_, [&](Indices i) {
        std::vector<Scalar> carry;
        for (const Tensor& tensor : after) carry.push_back(tensor(i));
        Scalar value = pulled(carry, i, fold_.combiner->rhs)[j];
        Scalar none = zero(fold_.args[j]->dtype);
        return unless_left_out(i, value.node() == nullptr ? none : value, none);
      });
      std::vector<Scalar> index = indices_of(map_.axes);
      index.push_back(position_of(indices_of(fold_.axes)));
      seeds[j] = adjoint(index);
    }
    return seeds;
  }

 private:
  uint32_t along() const { return static_cast<uint32_t>(points_.size()); }

  static std::vector<ScalarRef> loads(std::span<const Tensor> tensors, Indices i) {
    std::vector<ScalarRef> list;
    for (const Tensor& tensor : tensors) list.push_back(tensor(i).ref());
    return list;
  }

  /// `then` at a point of the line that the fold takes, else `otherwise`.
  Scalar unless_left_out(Indices i, const Scalar& then, const Scalar& otherwise) const {
    if (where() == nullptr) return then;
    return select(at(where(), i.first(along()), box_point(i[along()])), then, otherwise);
  }

  /// The values that are folded, with the points of the box in a line.
  std::vector<Tensor> folded_values() {
    return b_.map_n(line_, [&](Indices i) {
      const std::vector<Scalar> k = box_point(i[along()]);
      std::vector<Scalar> list;
      for (size_t j = 0; j < count_; ++j) {
        list.push_back(value(j, i.first(along()), k, Scalar(fold_.combiner->identity[j])));
      }
      return list;
    });
  }

  /// The combination of all values before each point of the line.
  std::vector<Tensor> combined_before() {
    const Combiner& combiner = *fold_.combiner;
    return b_.scan(
        line_, along(),
        [&](Indices) {
          return std::vector<Scalar>(combiner.identity.begin(), combiner.identity.end());
        },
        [&](Indices i, std::span<const Scalar> carry) {
          std::vector<ScalarRef> lhs;
          for (const Scalar& c : carry) lhs.push_back(c.ref());
          std::vector<ScalarRef> joined = combine(combiner, lhs, loads(values_, i));
          std::vector<Scalar> next;
          for (size_t j = 0; j < count_; ++j)
            next.push_back(unless_left_out(i, joined[j], carry[j]));
          return next;
        },
        false, true);
  }

  /// The adjoints of `vars`, one side of the combination at a point, from those of its result,
  /// `carry`, which are given for floats.
  std::vector<Scalar> pulled(std::span<const Scalar> carry, Indices i,
                             const std::vector<ScalarRef>& vars) const {
    const Combiner& combiner = *fold_.combiner;
    std::vector<Scalar> seeds(count_), result(count_);
    for (size_t n = 0; n < floats_.size(); ++n) seeds[floats_[n]] = carry[n];
    std::unordered_map<uint32_t, ScalarRef> names;
    std::vector<ScalarRef> lhs = loads(before_, i), rhs = loads(values_, i);
    for (size_t j = 0; j < count_; ++j) {
      names.emplace(combiner.lhs[j]->id, lhs[j]);
      names.emplace(combiner.rhs[j]->id, rhs[j]);
    }
    for (const LeafAdjoint& leaf :
         differentiate(combiner.result, seeds, [](const ScalarNode&) { return true; })) {
      auto var = std::find_if(vars.begin(), vars.end(),
                              [&](const ScalarRef& each) { return each->id == leaf.leaf->id; });
      const auto j = static_cast<size_t>(var - vars.begin());
      if (j < count_) result[j] = substitute(leaf.value.ref(), {}, names);
    }
    return result;
  }

  /// The adjoints of the combination up to each point of the line, from the end on.
  std::vector<Tensor> adjoints_after(std::span<const Scalar> gradients) {
    return b_.scan(
        line_, along(),
        [&](Indices i) {
          std::vector<Scalar> init;
          AxisValues names = bind_axes(map_.axes, i.first(along()));
          for (size_t j : floats_) {
            DType dtype = fold_.args[j]->dtype;
            init.push_back(gradients[j].node() == nullptr
                               ? zero(dtype)
                               : Scalar(substitute(gradients[j].ref(), names)));
          }
          return init;
        },
        [&](Indices i, std::span<const Scalar> carry) {
          std::vector<Scalar> left = pulled(carry, i, fold_.combiner->lhs);
          std::vector<Scalar> next;
          for (size_t n = 0; n < floats_.size(); ++n) {
            const Scalar& there = left[floats_[n]];
            next.push_back(unless_left_out(
                i, there.node() == nullptr ? zero(carry[n].dtype()) : there, carry[n]));
          }
          return next;
        },
        true, true);
  }

  /// The condition of the fold, or null.
  ScalarRef where() const { return fold_.args.size() > count_ ? fold_.args[count_] : ScalarRef(); }

  Scalar at(const ScalarRef& expression, Indices i, Indices k) const {
    AxisValues names = bind_axes(map_.axes, i);
    for (auto& [axis, index] : bind_axes(fold_.axes, k)) names.emplace(axis, index);
    return substitute(expression, names);
  }

  /// The j-th value that is folded; `otherwise` where the condition is false.
  Scalar value(size_t j, Indices i, Indices k, const Scalar& otherwise) const {
    Scalar v = at(fold_.args[j], i, k);
    return where() ? select(at(where(), i, k), v, otherwise) : v;
  }

  /// A point of the box as one number, and back.
  Scalar position_of(Indices k) const {
    Scalar position = index_constant(0);
    for (size_t d = 0; d < box_.size(); ++d) position = position * from_dim(box_[d]) + k[d];
    return position;
  }
  std::vector<Scalar> box_point(Scalar position) const {
    std::vector<Scalar> k(box_.size());
    for (size_t d = box_.size(); d-- > 0;) {
      k[d] = d == 0 ? position : floor_mod(position, from_dim(box_[d]));
      position = floor_div(position, from_dim(box_[d]));
    }
    return k;
  }

  Builder& b_;
  const Map& map_;
  const ScalarNode& fold_;
  size_t count_;
  std::vector<Dim> points_, box_;
  // Of other combinations.
  std::vector<Dim> line_;       // the points, and the box as one axis
  std::vector<size_t> floats_;  // values that have adjoints
  std::vector<Tensor> values_, before_;
};

}  // namespace

std::vector<Scalar> fold_seeds(Builder& b, const Map& map, const ScalarNode& fold,
                               const Tensor& result, std::span<const Scalar> gradients) {
  FoldAdjoint adjoint(b, map, fold);
  switch (fold.combiner->kind) {
    case Kind::kSum:
      return {gradients[0]};
    case Kind::kMax:
    case Kind::kMin:
      return {adjoint.of_extremum(result, gradients[0])};
    case Kind::kProd:
      return {adjoint.of_product(gradients[0])};
    case Kind::kCustom:
      return adjoint.of_custom(gradients);
    default:
      RELAY_UNREACHABLE("a fold of truth values has no derivative");
  }
}

}  // namespace relay::te
