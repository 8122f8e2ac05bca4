#include <relay/runtime/onednn.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

namespace relay::onednn {
namespace {

#define RELAY_ONEDNN_FUNCTIONS(X)               \
  X(dnnl_engine_create)                         \
  X(dnnl_stream_create)                         \
  X(dnnl_stream_wait)                           \
  X(dnnl_memory_desc_init_by_strides)           \
  X(dnnl_memory_desc_init_by_tag)               \
  X(dnnl_memory_desc_get_size)                  \
  X(dnnl_dilated_convolution_forward_desc_init) \
  X(dnnl_matmul_desc_init)                      \
  X(dnnl_primitive_desc_create)                 \
  X(dnnl_primitive_desc_query_md)               \
  X(dnnl_primitive_desc_destroy)                \
  X(dnnl_primitive_create)                      \
  X(dnnl_primitive_execute)                     \
  X(dnnl_primitive_destroy)                     \
  X(dnnl_memory_create)                         \
  X(dnnl_memory_set_data_handle)                \
  X(dnnl_memory_destroy)

/// The library's functions; declared by its header, found at run time.
struct Library {
#define RELAY_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  RELAY_ONEDNN_FUNCTIONS(RELAY_ONEDNN_MEMBER)
#undef RELAY_ONEDNN_MEMBER
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  bool usable = false;

  Library() {
    void* handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    bool found = true;
#define RELAY_ONEDNN_FIND(symbol)                                         \
  symbol = reinterpret_cast<decltype(&::symbol)>(dlsym(handle, #symbol)); \
  found = found && symbol != nullptr;
    RELAY_ONEDNN_FUNCTIONS(RELAY_ONEDNN_FIND)
#undef RELAY_ONEDNN_FIND
    usable = found && dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
             dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
  }
};

// Never unloaded: its threads may outlive everything else.
Library& library() {
  static auto* loaded = new Library;
  return *loaded;
}

dnnl_memory_desc_t describe(const std::vector<int64_t>& dims, bool own_layout,
                            std::vector<int64_t> strides = {}) {
  dnnl_memory_desc_t result{};
  dnnl_dims_t extents{}, steps{};
  std::copy(dims.begin(), dims.end(), extents);
  int rank = static_cast<int>(dims.size());
  if (own_layout) {
    library().dnnl_memory_desc_init_by_tag(&result, rank, extents, dnnl_f32, dnnl_format_tag_any);
    return result;
  }
  if (strides.empty()) {
    strides.resize(dims.size());
    int64_t step = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      strides[d] = step;
      step *= dims[d];
    }
  }
  std::copy(strides.begin(), strides.end(), steps);
  library().dnnl_memory_desc_init_by_strides(&result, rank, extents, dnnl_f32, steps);
  return result;
}

class Ready : public Primitive {
 public:
  static std::unique_ptr<Primitive> make(const_dnnl_op_desc_t description) {
    Library& l = library();
    dnnl_primitive_desc_t chosen = nullptr;
    if (l.dnnl_primitive_desc_create(&chosen, description, nullptr, l.engine, nullptr) !=
        dnnl_success) {
      return nullptr;
    }
    auto result = std::unique_ptr<Ready>(new Ready);
    bool ok = l.dnnl_primitive_create(&result->primitive_, chosen) == dnnl_success;
    const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    for (int i = 0; ok && i < 3; ++i) {
      const dnnl_memory_desc_t* md = l.dnnl_primitive_desc_query_md(chosen, queries[i], 0);
      result->bytes_[i] = l.dnnl_memory_desc_get_size(md);
      ok =
          l.dnnl_memory_create(&result->memory_[i], md, l.engine, DNNL_MEMORY_NONE) == dnnl_success;
    }
    l.dnnl_primitive_desc_destroy(chosen);
    return ok ? std::move(result) : nullptr;
  }
  ~Ready() override {
    Library& l = library();
    for (dnnl_memory_t memory : memory_) {
      if (memory != nullptr) l.dnnl_memory_destroy(memory);
    }
    if (primitive_ != nullptr) l.dnnl_primitive_destroy(primitive_);
  }
  size_t data_bytes() const override { return bytes_[0]; }
  size_t weight_bytes() const override { return bytes_[1]; }
  size_t out_bytes() const override { return bytes_[2]; }

  bool run(const void* data, const void* weight, void* out) override {
    Library& l = library();
    void* places[] = {const_cast<void*>(data), const_cast<void*>(weight), out};
    for (int i = 0; i < 3; ++i) {
      if (l.dnnl_memory_set_data_handle(memory_[i], places[i]) != dnnl_success) return false;
    }
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory_[0]}, {DNNL_ARG_WEIGHTS, memory_[1]}, {DNNL_ARG_DST, memory_[2]}};
    return l.dnnl_primitive_execute(primitive_, l.stream, 3, args) == dnnl_success &&
           l.dnnl_stream_wait(l.stream) == dnnl_success;
  }

 private:
  Ready() = default;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_t memory_[3] = {};
  size_t bytes_[3] = {};
};

}  // namespace

bool available() { return library().usable; }

std::unique_ptr<Primitive> Primitive::make(const Convolution& problem, bool own_layouts) {
  if (!available()) return nullptr;
  std::vector<int64_t> weight = problem.weight;
  if (problem.groups > 1) {
    weight[0] /= problem.groups;
    weight.insert(weight.begin(), problem.groups);
  }
  dnnl_memory_desc_t src = describe(problem.data, own_layouts);
  dnnl_memory_desc_t weights = describe(weight, own_layouts);
  dnnl_memory_desc_t dst = describe(problem.out, own_layouts);
  dnnl_dims_t strides{}, dilation{}, before{}, after{};
  std::copy(problem.strides.begin(), problem.strides.end(), strides);
  std::transform(problem.dilation.begin(), problem.dilation.end(), dilation,
                 [](int64_t d) { return d - 1; });
  std::copy(problem.padding_before.begin(), problem.padding_before.end(), before);
  std::copy(problem.padding_after.begin(), problem.padding_after.end(), after);
  dnnl_convolution_desc_t description{};
  if (library().dnnl_dilated_convolution_forward_desc_init(
          &description, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights, nullptr,
          &dst, strides, dilation, before, after) != dnnl_success) {
    return nullptr;
  }
  return Ready::make(&description);
}

std::unique_ptr<Primitive> Primitive::make(const Product& problem, bool own_layouts) {
  if (!available()) return nullptr;
  auto matrix = [&](int64_t rows, int64_t columns, bool transposed, bool own) {
    std::vector<int64_t> dims{rows, columns};
    std::vector<int64_t> strides{columns, 1};
    if (transposed) strides = {1, rows};
    if (problem.batch > 0) {
      dims.insert(dims.begin(), problem.batch);
      strides.insert(strides.begin(), rows * columns);
    }
    return describe(dims, own, strides);
  };
  dnnl_memory_desc_t src = matrix(problem.rows, problem.inner, problem.transpose_data, false);
  dnnl_memory_desc_t weights =
      matrix(problem.inner, problem.columns, problem.transpose_weight, own_layouts);
  dnnl_memory_desc_t dst = matrix(problem.rows, problem.columns, false, false);
  dnnl_matmul_desc_t description{};
  if (library().dnnl_matmul_desc_init(&description, &src, &weights, nullptr, &dst) !=
      dnnl_success) {
    return nullptr;
  }
  return Ready::make(&description);
}

}  // namespace relay::onednn

#else

namespace relay::onednn {
bool available() { return false; }
std::unique_ptr<Primitive> Primitive::make(const Convolution&, bool) { return nullptr; }
std::unique_ptr<Primitive> Primitive::make(const Product&, bool) { return nullptr; }
}  // namespace relay::onednn

#endif

namespace relay::onednn {
namespace {

/// The primitive for a problem, from the few that this thread used last.
template <class Problem>
Primitive& primitive_for(const std::vector<int64_t>& key, const Problem& problem) {
  constexpr size_t kMost = 256;
  thread_local std::map<std::vector<int64_t>, std::unique_ptr<Primitive>> known;
  auto found = known.find(key);
  if (found == known.end()) {
    if (!available()) throw RuntimeError("oneDNN (libdnnl.so.2) cannot be loaded");
    std::unique_ptr<Primitive> made = Primitive::make(problem, /*own_layouts=*/false);
    if (made == nullptr) throw RuntimeError("oneDNN refuses the shapes of a product");
    if (known.size() >= kMost) known.clear();
    found = known.emplace(key, std::move(made)).first;
  }
  return *found->second;
}

template <class Problem>
void run_problem(LibraryCall& call, const Problem& problem) {
  NDArray& out = call.outputs[0];
  if (out.size() == 0) return;
  if (call.inputs[0].size() == 0 || call.inputs[1].size() == 0) {
    std::memset(out.raw(), 0, static_cast<size_t>(out.size()) * out.dtype().size());
    return;
  }
  std::vector<int64_t> key = call.integers("shape");
  const NDArray& result = out;
  for (const NDArray* each : {&call.inputs[0], &call.inputs[1], &result}) {
    key.push_back(static_cast<int64_t>(each->rank()));
    key.insert(key.end(), each->shape().begin(), each->shape().end());
  }
  NDArray data = call.inputs[0].contiguous();
  NDArray weight = call.inputs[1].contiguous();
  if (!primitive_for(key, problem).run(data.raw(), weight.raw(), out.raw())) {
    throw RuntimeError("oneDNN failed");
  }
}

// shape: flags for a batch, a transposed a, a transposed b; without a batch leading dimensions of a
// are rows.
void matmul(LibraryCall& call) {
  const NDArray &a = call.inputs[0], &b = call.inputs[1];
  Product problem;
  const std::vector<int64_t>& shape = call.integers("shape");
  RELAY_CHECK(shape.size() == 3 && a.rank() >= 2 && b.rank() >= 2, "arguments of a product");
  problem.transpose_data = shape[1] != 0;
  problem.transpose_weight = shape[2] != 0;
  const size_t last = a.rank() - 1;
  problem.inner = a.extent(problem.transpose_data ? last - 1 : last);
  problem.columns = b.extent(b.rank() - (problem.transpose_weight ? 2 : 1));
  if (shape[0] != 0) problem.batch = a.extent(0);
  int64_t around = problem.inner * std::max<int64_t>(1, problem.batch);
  problem.rows = around > 0 ? a.size() / around : 0;
  run_problem(call, problem);
}

// shape: groups, then of each dimension stride, dilation, padding before.
void convolution(LibraryCall& call) {
  auto list = [](const NDArray& array) {
    return std::vector<int64_t>(array.shape().begin(), array.shape().end());
  };
  Convolution problem;
  problem.data = list(call.inputs[0]);
  problem.weight = list(call.inputs[1]);
  problem.out = list(call.outputs[0]);
  const std::vector<int64_t>& shape = call.integers("shape");
  RELAY_CHECK(problem.data.size() >= 2 && problem.data.size() == problem.weight.size() &&
                  problem.data.size() == problem.out.size() &&
                  shape.size() == 1 + 3 * (problem.data.size() - 2),
              "arguments of a convolution");
  problem.groups = shape[0];
  for (size_t d = 2; d < problem.data.size(); ++d) {
    const int64_t* of = shape.data() + 1 + 3 * (d - 2);
    problem.strides.push_back(of[0]);
    problem.dilation.push_back(of[1]);
    problem.padding_before.push_back(of[2]);
    // The data that the result's extent needs.
    int64_t window = (problem.weight[d] - 1) * of[1] + 1;
    problem.padding_after.push_back(
        std::max<int64_t>(0, (problem.out[d] - 1) * of[0] + window - of[2] - problem.data[d]));
  }
  run_problem(call, problem);
}

void matmul_rule(const LibraryOperands& of) {
  const LibraryOperand &a = of.inputs[0], &b = of.inputs[1], &out = of.outputs[0];
  const auto& shape = of.param<std::vector<int64_t>>("shape");
  of.want(shape.size() == 3, "three facts of its operands");
  for (const LibraryOperand* each : {&a, &b, &out}) of.dtype(*each, {kFloat32});
  const bool batch = shape[0] != 0, transpose_a = shape[1] != 0, transpose_b = shape[2] != 0;
  of.rank(b, batch ? 3 : 2);
  of.want(a.shape.size() >= 2 && (!batch || a.shape.size() == 3) &&
              (!transpose_a || a.shape.size() == (batch ? 3 : 2)),
          "matrices");
  const size_t last = a.shape.size() - 1, last_b = b.shape.size() - 1;
  const int64_t inner = a.extent(transpose_a ? last - 1 : last);
  const int64_t columns = b.extent(transpose_b ? last_b - 1 : last_b);
  Shape wanted(b.shape.begin(), b.shape.end());
  wanted[transpose_b ? last_b : last_b - 1] = inner;
  if (batch) wanted[0] = a.extent(0);
  of.shape(b, wanted);
  int64_t rows = 1;
  for (size_t d = batch ? 1 : 0; d <= last; ++d) rows *= a.extent(d);
  of.elements(
      out, of.product(of.product(batch ? a.extent(0) : 1, columns), inner == 0 ? 0 : rows / inner));
}

void convolution_rule(const LibraryOperands& of) {
  const LibraryOperand &data = of.inputs[0], &weight = of.inputs[1], &out = of.outputs[0];
  const size_t rank = data.shape.size();
  of.want(rank >= 3 && rank <= 5, "one to three dimensions of space");
  for (const LibraryOperand* each : {&data, &weight, &out}) {
    of.dtype(*each, {kFloat32});
    of.rank(*each, rank);
  }
  const auto& shape = of.param<std::vector<int64_t>>("shape");
  of.want(shape.size() == 1 + 3 * (rank - 2), "facts of each dimension");
  const int64_t groups = shape[0];
  of.want(groups > 0 && data.extent(1) % groups == 0 && weight.extent(0) % groups == 0 &&
              weight.extent(1) == data.extent(1) / groups,
          "weights for the channels of its groups");
  of.want(out.extent(0) == data.extent(0) && out.extent(1) == weight.extent(0),
          "a result of its batch and channels");
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 2; d < rank; ++d) {
    const int64_t* of_axis = shape.data() + 1 + 3 * (d - 2);
    const int64_t stride = of_axis[0], dilation = of_axis[1], before = of_axis[2];
    of.want(stride > 0 && stride < kMost && dilation > 0 && dilation < kMost && before >= 0 &&
                before < kMost && data.extent(d) < kMost && weight.extent(d) < kMost &&
                out.extent(d) >= 0 && out.extent(d) < kMost,
            "strides, dilation and padding of a convolution");
  }
}

RELAY_LIBRARY_RULE("onednn.matmul", matmul_rule);
RELAY_LIBRARY_RULE("onednn.convolution", convolution_rule);
RELAY_LIBRARY_KERNEL("onednn.matmul", matmul, {2, 1, {{"shape", ParamKind::kIntegers}}});
RELAY_LIBRARY_KERNEL("onednn.convolution", convolution, {2, 1, {{"shape", ParamKind::kIntegers}}});

}  // namespace
}  // namespace relay::onednn
