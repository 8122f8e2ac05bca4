// Random expressions over three random tensors.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/builder.h>

namespace relay::te {

inline constexpr DType kRandomTypes[] = {kInt8,    kInt32,    kInt64,   kUInt8,  kUInt64,
                                         kFloat16, kBFloat16, kFloat32, kFloat64};

class RandomComputation {
 public:
  RandomComputation(uint32_t seed, bool failing) : random_(seed), failing_(failing) {
    for (DType dtype : {kRandomTypes[pick(9)], kInt32, kFloat32}) {
      Shape shape;
      for (int d = pick(4); d > 0; --d) shape.push_back(1 + pick(5));
      NDArray array = NDArray::empty(shape, dtype);
      relay::dispatch(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < array.size(); ++i) {
          int small = pick(9) - 4;
          array.data<T>()[i] = convert_element<T>(
              static_cast<int64_t>(std::is_unsigned_v<T> ? std::abs(small) : small));
        }
      });
      if (shape.size() > 1 && pick(2) == 0) array = array.transpose();
      inputs_.push_back(array);
    }
  }

  /// One point-wise stage with folds, selects and failures in it.
  Computation run() {
    std::vector<TensorInfo> infos;
    for (const NDArray& array : inputs_) {
      infos.push_back({{array.shape().begin(), array.shape().end()}, array.dtype()});
    }
    Builder b(infos);
    b_ = &b;
    std::vector<Dim> dims;
    for (int d = pick(4); d > 0; --d) dims.push_back(pick(8) == 0 ? 40 : 1 + pick(5));
    DType dtype = kRandomTypes[pick(9)];
    b.output(b.map(dims, [&](Indices i) {
      indices_.assign(i.begin(), i.end());
      return value(dtype, 5);
    }));
    return b.finish();
  }
  const std::vector<NDArray>& inputs() const { return inputs_; }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  Scalar remember(Scalar x) {
    pool_.emplace_back(x, indices_.size());
    return x;
  }

  /// An earlier value whose axes are still in scope.
  Scalar reuse(DType dtype) {
    std::vector<Scalar> fitting;
    for (const auto& [x, depth] : pool_) {
      if (depth <= indices_.size() && x.dtype() == dtype) fitting.push_back(x);
    }
    if (fitting.empty()) return Scalar();
    return fitting[static_cast<size_t>(pick(static_cast<int>(fitting.size())))];
  }

  Scalar index(int64_t extent) {
    if (indices_.empty() || pick(5) == 0) return index_constant(pick(static_cast<int>(extent)));
    Scalar i = indices_[static_cast<size_t>(pick(static_cast<int>(indices_.size())))];
    switch (pick(6)) {
      case 0:
        return i - 1;
      case 1:
        return i * 2 + 1;
      case 2:
        return floor_div(i, index_constant(2));
      case 3:
        return i + indices_[0];
      case 4:
        return floor_mod(i, index_constant(extent));
      default:
        return i;
    }
  }

  Scalar load(int which) {
    Tensor t = b_->input(static_cast<size_t>(which));
    std::vector<Scalar> at;
    for (size_t d = 0; d < t.rank(); ++d) at.push_back(index(t.dim(d).as_int()));
    switch (pick(failing_ ? 4 : 3)) {
      case 0:
        return t.load(at, Bounds::kClamp);
      case 1:
        return t.load(at, Bounds::kWrap);
      case 2:
        return t.load_or(at, constant(int64_t{3}, t.dtype()));
      default:
        return t.load(at, Bounds::kFail);
    }
  }

  Scalar boolean(int depth) {
    DType dtype = kRandomTypes[pick(9)];
    BinaryOp op = static_cast<BinaryOp>(static_cast<int>(BinaryOp::kEq) + pick(6));
    Scalar c = binary(op, value(dtype, depth - 1), value(dtype, depth - 1));
    return pick(4) == 0 ? !c : c;
  }

  Scalar value(DType dtype, int depth) {
    if (pick(4) == 0) {
      Scalar old = reuse(dtype);
      if (old.node() != nullptr) return old;
    }
    if (depth <= 0 || pick(6) == 0) {
      if (pick(3) == 0) return constant(int64_t{pick(4)}, dtype);
      return remember(cast_safely(load(pick(3)), dtype));
    }
    switch (pick(7)) {
      case 0: {
        BinaryOp op = std::vector{BinaryOp::kMin, BinaryOp::kMax,
                                  BinaryOp::kSub}[static_cast<size_t>(pick(3))];
        return remember(binary(op, value(dtype, depth - 1), value(dtype, depth - 1)));
      }
      case 1:
        return remember(value(dtype, depth - 1) + value(dtype, depth - 1));
      case 2:
        return remember(
            select(boolean(depth - 1), value(dtype, depth - 1), value(dtype, depth - 1)));
      case 3:
        return remember(fold(dtype, depth));
      case 4: {
        if (!failing_ || dtype.is_float())
          return value(dtype, depth - 1) * constant(int64_t{2}, dtype);
        BinaryOp op = std::vector{BinaryOp::kDiv, BinaryOp::kMod, BinaryOp::kFloorDiv,
                                  BinaryOp::kFloorMod}[static_cast<size_t>(pick(4))];
        Scalar divisor = value(dtype, depth - 1);
        Scalar quotient = remember(binary(op, value(dtype, depth - 1), divisor));
        if (pick(4) == 0) return quotient;
        return remember(select(divisor != 0, quotient, constant(int64_t{1}, dtype)));
      }
      case 5: {
        if (!failing_)
          return remember(
              unary(dtype.is_unsigned() ? UnaryOp::kAbs : UnaryOp::kNeg, value(dtype, depth - 1)));
        Scalar x = value(dtype, depth - 1);
        Scalar checked = remember(fail_unless(x < constant(int64_t{40}, dtype), x, "too large"));
        return select(boolean(depth - 1), checked, constant(int64_t{0}, dtype));
      }
      default:
        return remember(cast_safely(value(kRandomTypes[pick(9)], depth - 1), dtype));
    }
  }

  /// Floats are brought into the range of every integer type first.
  Scalar cast_safely(Scalar x, DType dtype) {
    if (x.dtype().is_float() && !dtype.is_float()) {
      x = max(min(x, constant(int64_t{100}, x.dtype())), constant(int64_t{0}, x.dtype()));
      x = select(unary(UnaryOp::kFloor, x) >= constant(int64_t{0}, x.dtype()), x,
                 constant(int64_t{0}, x.dtype()));
    }
    return cast(x, dtype);
  }

  Scalar fold(DType dtype, int depth) {
    std::vector<Dim> extents;
    for (int d = 1 + pick(2); d > 0; --d)
      extents.push_back(pick(10) == 0 ? 0 : pick(8) == 0 ? 50 : 1 + pick(4));
    size_t before = indices_.size();
    size_t pool = pool_.size();
    auto body = [&](Indices k) {
      indices_.insert(indices_.end(), k.begin(), k.end());
      Scalar x = value(dtype, depth - 1);
      indices_.resize(before);
      // An expression that depends on the fold's axes must not be used outside of it.
      pool_.resize(pool);
      return x;
    };
    switch (pick(4)) {
      case 0: {
        Scalar none = constant(int64_t{0}, dtype);
        return b_->fold(
            extents,
            [&](Indices k) -> std::vector<Scalar> {
              return {body(k), k[0]};
            },
            [](auto l, auto r) -> std::vector<Scalar> {
              Scalar take = r[0] > l[0] || l[1] < 0;
              return {select(take, r[0], l[0]), select(take, r[1], l[1])};
            },
            {none, index_constant(-1)})[0];
      }
      case 1:
        return b_->max(extents, body);
      case 2:
        return b_->min(extents, body);
      default:
        return b_->sum(extents, body);
    }
  }

  std::mt19937 random_;
  bool failing_;
  std::vector<NDArray> inputs_;
  Builder* b_ = nullptr;
  std::vector<Scalar> indices_;
  std::vector<std::pair<Scalar, size_t>> pool_;
};

}  // namespace relay::te
