// Each kind of stage backwards.
#include <algorithm>

#include <relay/tensor_expr/adjoint_backward.h>
#include <relay/tensor_expr/adjoint_library.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

Scalar plus(const Scalar& a, const Scalar& b) {
  if (a.node() == nullptr || b.node() == nullptr) return a.node() == nullptr ? b : a;
  return a + b;
}

Scalar or_zero(const Scalar& value, DType dtype) {
  return value.node() == nullptr ? zero(dtype) : value;
}

bool carries(const Scan& scan, const ScalarRef& root) {
  for (const ScalarNode* node : post_order({&root, 1})) {
    for (const ScalarRef& carry : scan.carries) {
      if (node->kind == ScalarKind::kVar && node->id == carry->id) return true;
    }
  }
  return false;
}

/// The adjoints of a scan's carries among those of leaves.
std::vector<Scalar> to_carries(const Scan& scan, std::span<const LeafAdjoint> leaves) {
  std::vector<Scalar> result(scan.carries.size());
  for (const LeafAdjoint& leaf : leaves) {
    for (size_t j = 0; j < result.size(); ++j) {
      bool is_carry = leaf.leaf->kind == ScalarKind::kVar && leaf.leaf->id == scan.carries[j]->id;
      if (is_carry) result[j] = leaf.value;
    }
  }
  return result;
}

/// The place of an update among all, in order.
Scalar position_of(const Update& update) {
  Scalar position = index_constant(0);
  for (const Axis& axis : update.axes) {
    position = position * from_dim(axis.extent) + index_of(axis);
  }
  return position;
}

/// The element of a tensor like an update's result at the place of each point.
Scalar at_place(const Tensor& tensor, const Update& update) {
  std::vector<Scalar> at(update.at.begin(), update.at.end());
  if (update.bounds != Bounds::kFill) return tensor.load(at, Bounds::kFail);
  DType dtype = tensor.dtype();
  return tensor.load_or(at, dtype.is_float() ? zero(dtype) : constant(0, dtype));
}

}  // namespace

void Backward::pull(const Map& map) {
  std::vector<Scalar> gradients = gradients_at(map.axes);
  const ScalarNode* fold = only_fold(map);
  if (fold == nullptr) {
    contribute(differentiate(map.values, gradients, loads_active()), map.axes);
    return;
  }
  size_t count = num_accumulators(*fold);
  std::vector<Scalar> of_accumulator(count);
  for (size_t k = 0; k < gradients.size(); ++k) {
    bool is_get = map.values[k]->kind == ScalarKind::kGet;
    Scalar& sum = of_accumulator[is_get ? map.values[k]->id : 0];
    sum = plus(sum, gradients[k]);
  }
  std::vector<Scalar> seeds = fold_seeds(b_, map, *fold, b_.tensor(current(0)), of_accumulator);
  std::vector<Axis> scope = map.axes;
  scope.insert(scope.end(), fold->axes.begin(), fold->axes.end());
  std::span<const ScalarRef> values(fold->args.data(), count);
  Scalar where;
  if (fold->args.size() > count) where = fold->args[count];
  contribute(differentiate(values, seeds, loads_active(), where), scope);
}

// With λ(i) the adjoint of the carries that go on from point i, each step gives that of the carries
// into it. So λ is a scan the other way, and every load in the step gets λ · ∂ step.
void Backward::pull(const Scan& scan) {
  std::vector<Scalar> given = gradients_at(scan.axes);
  size_t count = scan.carries.size();
  std::vector<size_t> floats;
  for (size_t j = 0; j < count; ++j) {
    if (scan.carries[j]->dtype.is_float()) floats.push_back(j);
  }
  std::vector<Dim> dims = extents_of(scan.axes);
  auto step_back = [&](std::span<const Scalar> lambda) {
    return differentiate(scan.step, lambda, leaves_active());
  };
  // Computes the carries into each point again, if the derivative of the step uses them.
  std::vector<Tensor> before;
  auto carried = [&](const Scalar& value, Indices i) {
    if (!carries(scan, value.ref())) return value;
    if (before.empty()) before = carried_to(scan);
    std::unordered_map<uint32_t, ScalarRef> vars;
    for (size_t j = 0; j < count; ++j) vars.emplace(scan.carries[j]->id, before[j](i).ref());
    return Scalar(substitute(value.ref(), {}, vars));
  };
  // If a step passes the carries on unchanged, λ is a running sum.
  std::vector<Scalar> probe(count);
  for (size_t j : floats) probe[j] = Scalar(scan.carries[j]);
  std::vector<Scalar> handed = to_carries(scan, step_back(probe));
  bool plain = !scan.exclusive && std::all_of(floats.begin(), floats.end(), [&](size_t j) {
    return handed[j].node() == probe[j].node();
  });
  auto run = [&](bool exclusive) {
    return b_.scan(
        dims, scan.along,
        [&](Indices) {
          std::vector<Scalar> init;
          for (size_t j : floats) init.push_back(zero(scan.carries[j]->dtype));
          return init;
        },
        [&](Indices i, std::span<const Scalar> carry) {
          AxisValues names = bind_axes(scan.axes, i);
          auto here = [&](const Scalar& value) {
            return value.node() == nullptr ? value : Scalar(substitute(value.ref(), names));
          };
          std::vector<Scalar> lambda(count), next;
          for (size_t n = 0; n < floats.size(); ++n) {
            size_t j = floats[n];
            lambda[j] = scan.exclusive ? carry[n] : plus(carry[n], here(given[j]));
            if (plain) next.push_back(lambda[j]);
          }
          if (plain) return next;
          std::vector<Scalar> back = to_carries(scan, step_back(lambda));
          for (size_t j : floats) {
            Scalar value = or_zero(back[j], scan.carries[j]->dtype);
            value = carried(here(value), i);
            next.push_back(scan.exclusive ? plus(value, here(given[j])) : value);
          }
          return next;
        },
        !scan.reverse, exclusive);
  };
  std::vector<Tensor> later = run(!plain);
  std::vector<Scalar> point = indices_of(scan.axes);
  std::vector<Scalar> lambda(count);
  for (size_t n = 0; n < floats.size(); ++n) {
    size_t j = floats[n];
    lambda[j] = later[n](point);
    if (!plain && !scan.exclusive) lambda[j] = plus(lambda[j], given[j]);
  }
  std::vector<LeafAdjoint> leaves = step_back(lambda);
  for (LeafAdjoint& leaf : leaves) {
    if (leaf.leaf->kind != ScalarKind::kLoad) continue;
    if (carries(scan, leaf.leaf)) throw NoAdjoint("a scan reads where its carries say");
    leaf.value = carried(leaf.value, point);
    if (leaf.guard.node() != nullptr) leaf.guard = carried(leaf.guard, point);
  }
  contribute(leaves, scan.axes);
  pull_init(scan, [&] { return run(false); });
}

/// The carries into each point of a scan.
std::vector<Tensor> Backward::carried_to(const Scan& scan) {
  return b_.scan(
      extents_of(scan.axes), scan.along,
      [&](Indices i) {
        std::vector<Scalar> init;
        for (const ScalarRef& value : scan.init) {
          init.emplace_back(substitute(value, bind_axes(scan.axes, i)));
        }
        return init;
      },
      [&](Indices i, std::span<const Scalar> carry) {
        std::unordered_map<uint32_t, ScalarRef> vars;
        for (size_t j = 0; j < carry.size(); ++j) {
          vars.emplace(scan.carries[j]->id, carry[j].ref());
        }
        std::vector<Scalar> next;
        for (const ScalarRef& value : scan.step) {
          next.emplace_back(substitute(value, bind_axes(scan.axes, i), vars));
        }
        return next;
      },
      scan.reverse, true);
}

/// The initial carries of a scan get the adjoint of its first step.
void Backward::pull_init(const Scan& scan, const std::function<std::vector<Tensor>()>& through) {
  std::vector<ScalarRef> order = level_order(scan.init);
  std::unordered_map<const ScalarNode*, bool> active = active_nodes(order, loads_active());
  bool any = std::any_of(scan.init.begin(), scan.init.end(),
                         [&](const ScalarRef& value) { return active.at(value.get()); });
  if (!any) return;
  std::vector<Axis> rows = scan.axes;
  Axis along = rows[scan.along];
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(scan.along));
  std::vector<Scalar> first = indices_of(scan.axes);
  first[scan.along] = scan.reverse ? from_dim(along.extent - 1) : index_constant(0);
  std::vector<Tensor> adjoints = through();
  std::vector<Scalar> seeds(scan.init.size());
  size_t next = 0;
  for (size_t j = 0; j < seeds.size(); ++j) {
    if (!scan.carries[j]->dtype.is_float()) continue;
    const Tensor& adjoint = adjoints[next++];
    seeds[j] = adjoint.load_or(first, zero(adjoint.dtype()));  // no step: nothing is given
  }
  contribute(differentiate(scan.init, seeds, loads_active()), rows);
}

void Backward::pull(const Update& update) {
  Tensor gradient = tensor_of(current(0));
  DType dtype = gradient.dtype();
  Scalar seed = at_place(gradient, update);
  if (!update.combiner) {
    Tensor writer = last_writer(update, gradient.dims());
    keep_base(update, gradient, writer);
    seed = select(at_place(writer, update) == position_of(update), seed, zero(dtype));
  } else if (update.combiner->kind == Combiner::Kind::kSum) {
    if (is_active(update.base)) of(update.base).whole.push_back(gradient);
  } else if (update.combiner->kind == Combiner::Kind::kProd) {
    seed = product_seed(update, gradient, seed);
  } else {
    Tensor writer = first_extreme(update, gradient.dims());
    keep_base(update, gradient, writer);
    seed = select(at_place(writer, update) == position_of(update), seed, zero(dtype));
  }
  ScalarRef root[] = {update.value};
  contribute(differentiate(root, {&seed, 1}, loads_active()), update.axes);
}

/// The base has what no update wrote.
void Backward::keep_base(const Update& update, const Tensor& gradient, const Tensor& writer) {
  if (!is_active(update.base)) return;
  of(update.base).whole.push_back(b_.map(gradient.dims(), [&](Indices i) {
    return select(writer(i) < 0, gradient(i), zero(gradient.dtype()));
  }));
}

/// An update at the same places as another.
Tensor Backward::alike(const Update& update, const Tensor& base, const Scalar& value,
                       Builder::UpdateOp op) {
  return b_.update(
      base, extents_of(update.axes),
      [&](Indices i) {
        std::vector<Scalar> at;
        for (const ScalarRef& index : update.at) {
          at.emplace_back(substitute(index, bind_axes(update.axes, i)));
        }
        return at;
      },
      [&](Indices i) { return Scalar(substitute(value.ref(), bind_axes(update.axes, i))); }, op,
      update.bounds);
}

/// Which update wrote each element last; -1 for none.
Tensor Backward::last_writer(const Update& update, Dims dims) {
  Tensor none = b_.map(dims, [](Indices) { return index_constant(-1); });
  return alike(update, none, position_of(update), Builder::UpdateOp::kAssign);
}

/// Which update an extreme element comes from, the first of several; -1 where it is the base's own.
Tensor Backward::first_extreme(const Update& update, Dims dims) {
  Tensor result = b_.tensor(current(0));
  Tensor base = b_.tensor(update.base);
  auto same = [](const Scalar& a, const Scalar& b) {
    return a == b || (unary(UnaryOp::kIsNan, a) && unary(UnaryOp::kIsNan, b));
  };
  Tensor own = b_.map(dims, [&](Indices i) {
    return select(same(base(i), result(i)), index_constant(-1), highest(kInt64));
  });
  Scalar attains = same(update.value, at_place(result, update));
  return alike(update, own, select(attains, position_of(update), highest(kInt64)),
               Builder::UpdateOp::kMin);
}

/// The multiplier of the factors of updates, some of which may be 0. The base, a factor as well,
/// gets its share.
Scalar Backward::product_seed(const Update& update, const Tensor& gradient, const Scalar& there) {
  DType dtype = gradient.dtype();
  Scalar none = zero(dtype), one = constant(1.0, dtype);
  Tensor base = b_.tensor(update.base);
  auto is_zero = [&](const Scalar& v) {
    return select(v == none, index_constant(1), index_constant(0));
  };
  auto factor = [&](const Scalar& v) { return select(v == none, one, v); };
  Tensor zeros = b_.map(gradient.dims(), [&](Indices i) { return is_zero(base(i)); });
  zeros = alike(update, zeros, is_zero(update.value), Builder::UpdateOp::kSum);
  Tensor others = b_.map(gradient.dims(), [&](Indices i) { return factor(base(i)); });
  others = alike(update, others, factor(update.value), Builder::UpdateOp::kProd);
  auto seed = [&](const Scalar& count, const Scalar& product, const Scalar& v) {
    Scalar alone = count == index_constant(1) && v == none;
    return select(count == index_constant(0), product / v, select(alone, product, none));
  };
  if (is_active(update.base)) {
    of(update.base).whole.push_back(b_.map(gradient.dims(), [&](Indices i) {
      return seed(zeros(i), gradient(i) * others(i), base(i));
    }));
  }
  return seed(at_place(zeros, update), there * at_place(others, update), update.value);
}

void Backward::pull(const View& view) {
  if (!is_active(view.source)) return;
  Tensor gradient = tensor_of(current(0));
  const std::vector<Dim>& dims = forward_.info(view.source).dims;
  Dim size = product(dims), stride = 1;
  bool same = view.offset.is_int(0) && product(view.extents) == size;
  for (size_t d = view.extents.size(); d-- > 0;) {
    same &= view.strides[d] == stride || view.extents[d].is_int(1);
    stride = stride * view.extents[d];
  }
  if (same) {
    of(view.source).whole.push_back(b_.reshape(gradient, dims));
    return;
  }
  // Like loads from the source as one row.
  std::vector<Axis> axes;
  Scalar flat = from_dim(view.offset);
  for (size_t d = 0; d < view.extents.size(); ++d) {
    axes.push_back(b_.axis(view.extents[d]));
    flat = flat + index_of(axes[d]) * from_dim(view.strides[d]);
  }
  Dim row[] = {size};
  DType dtype = gradient.dtype();
  Tensor of_row;
  if (std::optional<Gathered> gathered =
          gather({&flat.ref(), 1}, row, gradient(indices_of(axes)), axes)) {
    of_row = b_.map(row, [&](Indices i) { return element(*gathered, i, dtype); });
  } else {
    Tensor zeros = b_.map(row, [&](Indices) { return zero(dtype); });
    of_row = b_.update(
        zeros, view.extents,
        [&](Indices i) { return std::vector<Scalar>{substitute(flat.ref(), bind_axes(axes, i))}; },
        [&](Indices i) { return gradient(i); }, Builder::UpdateOp::kSum);
  }
  of(view.source).whole.push_back(b_.reshape(of_row, dims));
}

void Backward::pull(const Library& library) {
  KernelRun run{b_, library, {}, {}, {}};
  for (TensorId id : library.inputs) run.inputs.push_back(b_.tensor(id));
  for (size_t k = 0; k < gradients_[stage_ + 1].size(); ++k) {
    run.outputs.push_back(b_.tensor(current(k)));
    run.gradients.push_back(of(current(k)).empty() ? Tensor() : tensor_of(current(k)));
  }
  const std::vector<Tensor> found = adjoint_of(run);
  for (size_t i = 0; i < found.size(); ++i) {
    if (is_active(library.inputs[i])) of(library.inputs[i]).whole.push_back(found[i]);
  }
}

}  // namespace relay::te
