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
    const Combiner& combiner = *fold_.combiner;
    std::vector<Dim> dims = points_;
    dims.push_back(product(box_));
    auto along = static_cast<uint32_t>(points_.size());
    auto split = [&](Indices i) { return std::pair(i.first(along), box_point(i[along])); };
    std::vector<Tensor> values = b_.map_n(dims, [&](Indices i) {
      auto [point, k] = split(i);
      std::vector<Scalar> list;
      for (size_t j = 0; j < count_; ++j) {
        list.push_back(value(j, point, k, Scalar(combiner.identity[j])));
      }
      return list;
    });
    auto loads = [](std::span<const Tensor> tensors, Indices i) {
      std::vector<ScalarRef> list;
      for (const Tensor& tensor : tensors) list.push_back(tensor(i).ref());
      return list;
    };
    auto counts = [&](Indices i) {
      auto [point, k] = split(i);
      return where() ? at(where(), point, k) : Scalar();
    };
    auto unless = [&](Indices i, const Scalar& then, const Scalar& otherwise) {
      Scalar holds = counts(i);
      return holds.node() == nullptr ? then : select(holds, then, otherwise);
    };
    std::vector<Tensor> before = b_.scan(
        dims, along,
        [&](Indices) {
          return std::vector<Scalar>(combiner.identity.begin(), combiner.identity.end());
        },
        [&](Indices i, std::span<const Scalar> carry) {
          std::vector<ScalarRef> lhs;
          for (const Scalar& c : carry) lhs.push_back(c.ref());
          std::vector<ScalarRef> joined = combine(combiner, lhs, loads(values, i));
          std::vector<Scalar> next;
          for (size_t j = 0; j < count_; ++j) next.push_back(unless(i, joined[j], carry[j]));
          return next;
        },
        false, true);

    auto side = [&](const std::vector<ScalarRef>& vars, const ScalarNode& leaf) {
      return std::find_if(vars.begin(), vars.end(),
                          [&](const ScalarRef& var) { return var->id == leaf.id; }) -
             vars.begin();
    };
    auto pulled = [&](std::span<const Scalar> seeds, Indices i,
                      const std::vector<ScalarRef>& vars) {
      std::vector<Scalar> result(count_);
      std::unordered_map<uint32_t, ScalarRef> names;
      std::vector<ScalarRef> lhs = loads(before, i), rhs = loads(values, i);
      for (size_t j = 0; j < count_; ++j) {
        names.emplace(combiner.lhs[j]->id, lhs[j]);
        names.emplace(combiner.rhs[j]->id, rhs[j]);
      }
      for (const LeafAdjoint& leaf :
           differentiate(combiner.result, seeds, [](const ScalarNode&) { return true; })) {
        auto j = static_cast<size_t>(side(vars, *leaf.leaf));
        if (j < count_) result[j] = substitute(leaf.value.ref(), {}, names);
      }
      return result;
    };
    std::vector<size_t> floats;
    for (size_t j = 0; j < count_; ++j) {
      if (fold_.args[j]->dtype.is_float()) floats.push_back(j);
    }
    auto spread = [&](std::span<const Scalar> carry) {
      std::vector<Scalar> seeds(count_);
      for (size_t n = 0; n < floats.size(); ++n) seeds[floats[n]] = carry[n];
      return seeds;
    };
    std::vector<Tensor> after = b_.scan(
        dims, along,
        [&](Indices i) {
          std::vector<Scalar> init;
          AxisValues names = bind_axes(map_.axes, i.first(along));
          for (size_t j : floats) {
            DType dtype = fold_.args[j]->dtype;
            init.push_back(gradients[j].node() == nullptr
                               ? zero(dtype)
                               : Scalar(substitute(gradients[j].ref(), names)));
          }
          return init;
        },
        [&](Indices i, std::span<const Scalar> carry) {
          std::vector<Scalar> left = pulled(spread(carry), i, combiner.lhs);
          std::vector<Scalar> next;
          for (size_t n = 0; n < floats.size(); ++n) {
            const Scalar& there = left[floats[n]];
            next.push_back(
                unless(i, there.node() == nullptr ? zero(carry[n].dtype()) : there, carry[n]));
          }
          return next;
        },
        true, true);

    std::vector<Scalar> seeds(count_);
    for (size_t j : floats) {
      Tensor adjoint = b_.map(dims, [&](Indices i) {
        std::vector<Scalar> carry;
        for (const Tensor& tensor : after) carry.push_back(tensor(i));
        Scalar value = pulled(spread(carry), i, combiner.rhs)[j];
        Scalar none = zero(fold_.args[j]->dtype);
        return unless(i, value.node() == nullptr ? none : value, none);
      });
      std::vector<Scalar> index = indices_of(map_.axes);
      index.push_back(position_of(indices_of(fold_.axes)));
      seeds[j] = adjoint(index);
    }
    return seeds;
  }

 private:
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
