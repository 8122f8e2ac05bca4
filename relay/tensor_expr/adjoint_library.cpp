// The adjoints of library kernels, by name. Each kernel is linear in what it passes gradients to,
// once its positions are known: these are computed again, by the same kernels.
#include <relay/tensor_expr/adjoint_library.h>

#include <algorithm>

#include <relay/tensor_expr/adjoint_parts.h>

namespace relay::te {
namespace {

bool present(const Tensor& tensor) { return tensor.dtype().bits != 0; }

/// Zeros of these extents, to which the elements of `parts` are added: element i goes to `at(i)`.
Tensor scattered(Builder& b, const TensorInfo& into, Dims extents,
                 const std::function<std::vector<Scalar>(Indices)>& at,
                 const std::function<Scalar(Indices)>& value, Bounds bounds = Bounds::kFail) {
  DType sum = sum_dtype(into.dtype);
  Tensor zeros = b.map(into.dims, [&](Indices) { return zero(sum); });
  Tensor total = b.update(
      zeros, extents, at, [&](Indices i) { return cast(value(i), sum); }, Builder::UpdateOp::kSum,
      bounds);
  if (sum == into.dtype) return total;
  return b.map(into.dims, [&](Indices i) { return cast(total(i), into.dtype); });
}

/// Gradients that go back to where the elements of a result were on an axis.
Tensor to_positions(const KernelRun& run, const Tensor& gradient, const Tensor& positions) {
  const auto axis = static_cast<size_t>(run.integer("axis"));
  return scattered(
      run.b, run.inputs[0].info(), gradient.dims(),
      [&](Indices i) { return replace(i, axis, cast(positions(i), kInt64)); },
      [&](Indices i) { return gradient(i); });
}

std::vector<Tensor> of_sort(const KernelRun& run) {
  TensorInfo info{run.inputs[0].dims(), kInt64};
  Tensor positions = run.b.library("argsort", run.inputs, {info}, run.library.params)[0];
  return {to_positions(run, run.gradient(0), positions)};
}

std::vector<Tensor> of_topk(const KernelRun& run) {
  Tensor gradient = run.gradient(0);
  if (run.outputs.size() > 1) return {to_positions(run, gradient, run.outputs[1])};
  KernelParams params = run.library.params;
  for (KernelParam& param : params) {
    if (param.name == "results") param.value = std::string("indices");
  }
  TensorInfo info{gradient.dims(), kInt64};
  Tensor positions = run.b.library("topk", run.inputs, {info}, std::move(params))[0];
  return {to_positions(run, gradient, positions)};
}

// The transform is a symmetric matrix, so its conjugate goes back: the other transform, but for the
// factor 1 / n that only the inverse one has.
std::vector<Tensor> of_dft(const KernelRun& run) {
  const bool inverse = run.flag("inverse");
  std::vector<Tensor> given{run.gradient(0), run.gradient(1)};
  const TensorInfo& info = run.inputs[0].info();
  std::vector<Tensor> parts = run.b.library("dft", given, {info, info}, {{"inverse", !inverse}});
  Scalar n = cast(from_dim(info.dims.back()), info.dtype);
  for (Tensor& part : parts) {
    part = run.b.map(info.dims, [&](Indices i) { return inverse ? part(i) / n : part(i) * n; });
  }
  return parts;
}

/// A sparse matrix by rows among the inputs of a kernel, of numbers or of blocks.
struct SparseRows {
  Tensor data, columns, rows;  // rows: of each block, from 0
  bool blocks;

  SparseRows(const KernelRun& run, size_t first)
      : data(run.inputs[first]), columns(run.inputs[first + 1]), blocks(data.rank() == 3) {
    const Tensor& begins = run.inputs[first + 2];
    Dim count[] = {data.dim(0)};
    Tensor numbers = run.b.map(count, [&](Indices i) { return cast(i[0], begins.dtype()); });
    Tensor inputs[] = {begins, numbers};
    TensorInfo info{{data.dim(0)}, kInt64};
    rows = run.b.library("searchsorted", inputs, {info}, {{"right", true}})[0];
  }
  Dim height() const { return blocks ? data.dim(1) : Dim(1); }
  Dim width() const { return blocks ? data.dim(2) : Dim(1); }
  // Of element (y, x) of block e.
  Scalar row(const Scalar& e, const Scalar& y) const {
    return (rows({e}) - 1) * from_dim(height()) + y;
  }
  Scalar column(const Scalar& e, const Scalar& x) const {
    return cast(columns({e}), kInt64) * from_dim(width()) + x;
  }
  Scalar element(const Scalar& e, const Scalar& y, const Scalar& x) const {
    return blocks ? data({e, y, x}) : data({e});
  }
  /// A gradient of the data: `value(e, y, x)` for each element.
  Tensor like_data(
      Builder& b,
      const std::function<Scalar(const Scalar&, const Scalar&, const Scalar&)>& value) const {
    return b.map(data.dims(), [&](Indices i) {
      return cast(
          blocks ? value(i[0], i[1], i[2]) : value(i[0], index_constant(0), index_constant(0)),
          data.dtype());
    });
  }
};

std::vector<Tensor> of_sparse_dense(const KernelRun& run) {
  SparseRows matrix(run, 1);
  const Tensor &dense = run.inputs[0], g = run.gradient(0);
  const bool lhs = run.flag("sparse_lhs");
  const DType sum = sum_dtype(dense.dtype());
  auto given = [&](const Scalar& m, const Scalar& row) {
    return cast(lhs ? g.load({row, m}, Bounds::kFail) : g.load({m, row}, Bounds::kFail), sum);
  };
  Tensor of_data = matrix.like_data(run.b, [&](const Scalar& e, const Scalar& y, const Scalar& x) {
    return run.b.sum({dense.dim(0)}, [&](Indices k) {
      return given(k[0], matrix.row(e, y)) *
             cast(dense.load({k[0], matrix.column(e, x)}, Bounds::kFail), sum);
    });
  });
  Dim extents[] = {dense.dim(0), matrix.data.dim(0), matrix.width(), matrix.height()};
  Tensor of_dense = scattered(
      run.b, dense.info(), extents,
      [&](Indices i) {
        return std::vector<Scalar>{i[0], matrix.column(i[1], i[2])};
      },
      [&](Indices i) {
        return given(i[0], matrix.row(i[1], i[3])) * cast(matrix.element(i[1], i[3], i[2]), sum);
      });
  return {of_dense, of_data, {}, {}};
}

std::vector<Tensor> of_sparse_add(const KernelRun& run) {
  SparseRows matrix(run, 1);
  Tensor g = run.gradient(0);
  Tensor of_data = matrix.like_data(run.b, [&](const Scalar& e, const Scalar& y, const Scalar& x) {
    return g.load({matrix.row(e, y), matrix.column(e, x)}, Bounds::kFail);
  });
  return {g, of_data, {}, {}};
}

std::vector<Tensor> of_sparse_transpose(const KernelRun& run) {
  const Tensor& data = run.inputs[0];
  Tensor numbers = run.b.map(data.dims(), [](Indices i) { return i[0]; });
  Tensor inputs[] = {numbers, run.inputs[1], run.inputs[2]};
  std::vector<Tensor> moved = run.b.library(
      "sparse_transpose", inputs, {numbers.info(), run.inputs[1].info(), run.inputs[2].info()}, {});
  Tensor g = run.gradient(0);
  return {scattered(
              run.b, data.info(), data.dims(),
              [&](Indices i) { return std::vector<Scalar>{moved[0](i)}; },
              [&](Indices i) { return g(i); }),
          {},
          {}};
}

/// Where an element of the weights of a sparse convolution reads, for a place of the result.
struct Taps {
  bool last;  // channels
  Dim channels;
  int64_t height, width;

  Taps(const KernelRun& run)
      : last(std::get<std::string>(run.param("layout").value) == "NHWC"),
        channels(run.inputs[0].dim(last ? 3 : 1)) {
    const auto& kernel = std::get<std::vector<int64_t>>(run.param("kernel_size").value);
    height = kernel[0];
    width = kernel[1];
  }
  std::vector<Scalar> at(const Scalar& image, const Scalar& channel, const Scalar& y,
                         const Scalar& x) const {
    if (last) return {image, y, x, channel};
    return {image, channel, y, x};
  }
  std::vector<Scalar> source(const Scalar& column, Indices place) const {
    Scalar c = from_dim(channels), window = floor_div(column, c);
    Scalar y = floor_div(window, index_constant(width)) - height / 2;
    Scalar x = floor_mod(window, index_constant(width)) - width / 2;
    return at(place[0], floor_mod(column, c), place[1] + y, place[2] + x);
  }
};

std::vector<Tensor> of_sparse_conv2d(const KernelRun& run) {
  SparseRows matrix(run, 1);
  Taps taps(run);
  const Tensor &dense = run.inputs[0], g = run.gradient(0);
  const DType dtype = dense.dtype(), sum = sum_dtype(dtype);
  auto given = [&](const Scalar& row, Indices place) {
    return cast(g.load(taps.at(place[0], row, place[1], place[2]), Bounds::kFail), sum);
  };
  const Dim places[] = {dense.dim(0), dense.dim(taps.last ? 1 : 2), dense.dim(taps.last ? 2 : 3)};
  Tensor of_data = matrix.like_data(run.b, [&](const Scalar& e, const Scalar& y, const Scalar& x) {
    return run.b.sum(places, [&](Indices k) {
      Scalar read = dense.load_or(taps.source(matrix.column(e, x), k), zero(dtype));
      return given(matrix.row(e, y), k) * cast(read, sum);
    });
  });
  Dim extents[] = {places[0],       matrix.data.dim(0), matrix.width(),
                   matrix.height(), places[1],          places[2]};
  auto place = [](Indices i) { return std::vector<Scalar>{i[0], i[4], i[5]}; };
  Tensor of_dense = scattered(
      run.b, dense.info(), extents,
      [&](Indices i) { return taps.source(matrix.column(i[1], i[2]), place(i)); },
      [&](Indices i) {
        return given(matrix.row(i[1], i[3]), place(i)) *
               cast(matrix.element(i[1], i[3], i[2]), sum);
      },
      Bounds::kFill);
  return {of_dense, of_data, {}, {}};
}

struct Entry {
  std::string_view kernel;
  std::vector<Tensor> (*adjoint)(const KernelRun&);
};
constexpr Entry kAdjoints[] = {
    {"dft", of_dft},
    {"sort", of_sort},
    {"sparse_add", of_sparse_add},
    {"sparse_conv2d", of_sparse_conv2d},
    {"sparse_dense", of_sparse_dense},
    {"sparse_transpose", of_sparse_transpose},
    {"topk", of_topk},
};

}  // namespace

const KernelParam& KernelRun::param(std::string_view name) const {
  auto found = std::find_if(library.params.begin(), library.params.end(),
                            [&](const KernelParam& one) { return one.name == name; });
  RELAY_CHECK(found != library.params.end(), "a kernel without parameter " + std::string(name));
  return *found;
}
bool KernelRun::flag(std::string_view name) const { return std::get<bool>(param(name).value); }
int64_t KernelRun::integer(std::string_view name) const {
  return std::get<int64_t>(param(name).value);
}

Tensor KernelRun::gradient(size_t output) const {
  if (present(gradients[output])) return gradients[output];
  const TensorInfo& info = outputs[output].info();
  return b.map(info.dims, [&](Indices) { return zero(info.dtype); });
}

std::vector<Tensor> adjoint_of(const KernelRun& run) {
  for (const Entry& entry : kAdjoints) {
    if (entry.kernel == run.library.kernel) return entry.adjoint(run);
  }
  throw NoAdjoint("library kernel " + run.library.kernel + " has no derivative");
}

}  // namespace relay::te
