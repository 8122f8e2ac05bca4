// Generated kernels against oneDNN: softmax, norms, transposes, reductions, pools and depthwise
// convolutions over plain tensors, both in this process and on the same threads. Each line has
// medians of times taken in turns and the median of their ratios: below 1 Relay is faster.
// "blocked" is the time of oneDNN on data in blocks of 16 channels, its own layout, without the
// reordering to and from it that plain tensors would need.
//   bench_kernels_onednn [--threads N] [--turns N] [--only TEXT]
#include <cstdio>

#if !defined(RELAY_HAVE_DNNL)
int main() {
  std::puts("built without oneDNN (libdnnl-dev)");
  return 0;
}
#else

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <benchmarks/kernel_cases.h>
#include <benchmarks/measure.h>
#include <benchmarks/program.h>

using namespace relay;
using bench::KernelCase;
using CaseKind = bench::KernelCase::Kind;
using dnnl::memory;

namespace {

// The epsilon of layer_norm, the default in both.
constexpr float kEpsilon = 1e-5f;

class Peer {
 public:
  /// Null if oneDNN has nothing for the case. With `blocked` in layouts of its own.
  static std::unique_ptr<Peer> make(const KernelCase& one, const std::vector<NDArray>& inputs,
                                    bool blocked);

  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }
  /// The result in row-major order.
  std::vector<float> result() {
    memory::desc plain = row_major(out_.get_desc().dims());
    std::vector<float> values(plain.get_size() / sizeof(float));
    copy(out_, place_of(plain, values.data()));
    return values;
  }

 private:
  static const dnnl::engine& engine() {
    static const dnnl::engine kept(dnnl::engine::kind::cpu, 0);
    return kept;
  }
  static memory place_of(const memory::desc& desc, void* data) { return {desc, engine(), data}; }

  static memory::desc row_major(const memory::dims& dims) {
    memory::dims strides(dims.size(), 1);
    for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
    return {dims, memory::data_type::f32, strides};
  }
  void copy(memory from, memory to) {
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
  }
  /// An input where the primitive wants it: a plain one where it is.
  void read(int argument, const NDArray& array, const memory::desc& wanted) {
    memory plain = place_of(row_major(wanted.dims()), array.raw());
    if (wanted == plain.get_desc()) {
      arguments_[argument] = plain;
      return;
    }
    arguments_[argument] = memory(wanted, engine());
    copy(plain, arguments_[argument]);
  }
  void write(const memory::desc& wanted) {
    out_ = memory(wanted, engine());
    std::fill_n(static_cast<float*>(out_.get_data_handle()), wanted.get_size() / sizeof(float), 0);
    arguments_[DNNL_ARG_DST] = out_;
  }
  template <class Primitive, class Description>
  typename Primitive::primitive_desc choose(const Description& description) {
    typename Primitive::primitive_desc chosen(description, engine());
    primitive_ = Primitive(chosen);
    return chosen;
  }

  void softmax(const KernelCase& one, const std::vector<NDArray>& inputs) {
    memory::desc data = row_major(one.shapes[0]);
    const auto inference = dnnl::prop_kind::forward_inference;
    if (one.kind == CaseKind::kSoftmax) {
      choose<dnnl::softmax_forward>(dnnl::softmax_forward::desc(inference, data, 1));
    } else {
      choose<dnnl::logsoftmax_forward>(dnnl::logsoftmax_forward::desc(inference, data, 1));
    }
    read(DNNL_ARG_SRC, inputs[0], data);
    write(data);
  }

  void layer_norm(const KernelCase& one, const std::vector<NDArray>& inputs) {
    memory::desc data = row_major(one.shapes[0]);
    choose<dnnl::layer_normalization_forward>(dnnl::layer_normalization_forward::desc(
        dnnl::prop_kind::forward_inference, data, kEpsilon,
        dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift));
    read(DNNL_ARG_SRC, inputs[0], data);
    read(DNNL_ARG_SCALE, inputs[1], row_major(one.shapes[1]));
    read(DNNL_ARG_SHIFT, inputs[2], row_major(one.shapes[2]));
    write(data);
  }

  void transpose(const KernelCase& one, const std::vector<NDArray>& inputs) {
    // The source seen in the order of the result.
    memory::desc source = row_major(one.shapes[0]);
    memory::dims dims, strides, all = source.dims();
    for (int64_t axis : one.axes) {
      dims.push_back(all[static_cast<size_t>(axis)]);
      strides.push_back(std::accumulate(all.begin() + axis + 1, all.end(), int64_t{1},
                                        std::multiplies<int64_t>()));
    }
    memory from = place_of({dims, memory::data_type::f32, strides}, inputs[0].raw());
    write(row_major(dims));
    arguments_[DNNL_ARG_FROM] = from;
    arguments_[DNNL_ARG_TO] = out_;
    primitive_ = dnnl::reorder(from, out_);
  }

  void reduction(const KernelCase& one, const std::vector<NDArray>& inputs) {
    memory::dims out = one.shapes[0];
    for (int64_t axis : one.axes) out[static_cast<size_t>(axis)] = 1;
    auto algorithm = one.kind == CaseKind::kSum   ? dnnl::algorithm::reduction_sum
                     : one.kind == CaseKind::kMax ? dnnl::algorithm::reduction_max
                                                  : dnnl::algorithm::reduction_mean;
    memory::desc data = row_major(one.shapes[0]), result = row_major(out);
    choose<dnnl::reduction>(dnnl::reduction::desc(algorithm, data, result, 0, 0));
    read(DNNL_ARG_SRC, inputs[0], data);
    write(result);
  }

  static memory::dims windowed(const KernelCase& one) {
    memory::dims out = one.shapes[0];
    for (size_t d : {2, 3}) out[d] = (out[d] + 2 * one.padding - one.window) / one.stride + 1;
    return out;
  }
  static memory::desc image(const memory::dims& dims, bool blocked) {
    if (!blocked) return row_major(dims);
    return {dims, memory::data_type::f32, memory::format_tag::nChw16c};
  }

  void pool(const KernelCase& one, const std::vector<NDArray>& inputs, bool blocked) {
    auto algorithm = one.kind == CaseKind::kMaxPool ? dnnl::algorithm::pooling_max
                                                    : dnnl::algorithm::pooling_avg_exclude_padding;
    memory::dims around{one.padding, one.padding};
    auto chosen = choose<dnnl::pooling_forward>(dnnl::pooling_forward::desc(
        dnnl::prop_kind::forward_inference, algorithm, image(one.shapes[0], blocked),
        image(windowed(one), blocked), {one.stride, one.stride}, {one.window, one.window}, around,
        around));
    read(DNNL_ARG_SRC, inputs[0], chosen.src_desc());
    write(chosen.dst_desc());
  }

  void depthwise(const KernelCase& one, const std::vector<NDArray>& inputs, bool blocked) {
    memory::dims weight = one.shapes[1];
    weight.insert(weight.begin() + 1, 1);  // (groups, 1, 1, 3, 3)
    auto with_tag = [&](const memory::dims& dims) {
      return blocked ? memory::desc(dims, memory::data_type::f32, memory::format_tag::any)
                     : row_major(dims);
    };
    memory::dims around{one.padding, one.padding};
    auto chosen = choose<dnnl::convolution_forward>(dnnl::convolution_forward::desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        with_tag(one.shapes[0]), with_tag(weight), with_tag(windowed(one)),
        {one.stride, one.stride}, around, around));
    read(DNNL_ARG_SRC, inputs[0], chosen.src_desc());
    read(DNNL_ARG_WEIGHTS, inputs[1], chosen.weights_desc());
    write(chosen.dst_desc());
  }

  dnnl::stream stream_{engine()};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  memory out_;
};

std::unique_ptr<Peer> Peer::make(const KernelCase& one, const std::vector<NDArray>& inputs,
                                 bool blocked) {
  const bool window = one.kind == CaseKind::kMaxPool || one.kind == CaseKind::kAvgPool ||
                      one.kind == CaseKind::kDepthwise;
  if (blocked && !window) return nullptr;
  auto peer = std::make_unique<Peer>();
  switch (one.kind) {
    case CaseKind::kSoftmax:
    case CaseKind::kLogSoftmax:
      peer->softmax(one, inputs);
      break;
    case CaseKind::kLayerNorm:
      peer->layer_norm(one, inputs);
      break;
    case CaseKind::kTranspose:
      peer->transpose(one, inputs);
      break;
    case CaseKind::kSum:
    case CaseKind::kMax:
    case CaseKind::kMean:
      peer->reduction(one, inputs);
      break;
    case CaseKind::kMaxPool:
    case CaseKind::kAvgPool:
      peer->pool(one, inputs, blocked);
      break;
    case CaseKind::kDepthwise:
      peer->depthwise(one, inputs, blocked);
      break;
    default:
      return nullptr;
  }
  return peer;
}

/// True if both computed the same, but for rounding.
bool agree(const NDArray& ours, const std::vector<float>& theirs, const KernelCase& one) {
  if (static_cast<size_t>(ours.size()) != theirs.size()) return false;
  double folded = 1;  // numbers behind each one of the result
  for (int64_t axis : one.axes)
    folded *= static_cast<double>(one.shapes[0][static_cast<size_t>(axis)]);
  const auto* mine = static_cast<const float*>(ours.raw());
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (!(std::abs(mine[i] - theirs[i]) <= 1e-4 * (1 + std::abs(mine[i])) + 1e-7 * folded)) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = std::stoi(bench::option(argc, argv, "--threads", "2"));
  const int turns = std::max(1, std::stoi(bench::option(argc, argv, "--turns", "15")));
  const std::string only = bench::option(argc, argv, "--only", "");
  bench::set_openmp_threads(threads, argv);
  const dnnl_version_t* version = dnnl_version();
  std::printf("oneDNN %d.%d.%d, %d threads, medians of %d turns\n", version->major, version->minor,
              version->patch, threads, turns);
  std::printf("%-46s %9s %9s %7s %9s\n", "kernel", "relay ms", "oneDNN ms", "ratio", "blocked");
  double logs = 0;
  int count = 0;
  bool all_agree = true;
  for (const KernelCase& one : bench::kernel_cases()) {
    if (one.name.find(only) == std::string::npos) continue;
    std::vector<NDArray> inputs;
    std::vector<Value> arguments;
    for (size_t k = 0; k < one.shapes.size(); ++k) {
      inputs.push_back(bench::random_floats(one.shapes[k], static_cast<uint32_t>(k)));
      arguments.emplace_back(inputs.back());
    }
    std::unique_ptr<Peer> peer = Peer::make(one, inputs, false);
    if (!peer) continue;
    std::unique_ptr<Peer> blocked = Peer::make(one, inputs, true);
    vm::Machine machine(bench::compile_text(bench::program_text(one)), {.threads = threads});
    const vm::Entry& entry = machine.entry("main");
    peer->run();
    if (!agree(machine.run(entry, arguments).array(), peer->result(), one)) {
      std::printf("%-46s the results differ\n", one.name.c_str());
      all_agree = false;
    }
    constexpr double kLeast = 0.002;
    std::vector<double> mine, theirs, ratios, others;
    for (int turn = 0; turn < turns; ++turn) {
      mine.push_back(bench::timed([&] { machine.run(entry, arguments); }, kLeast));
      theirs.push_back(bench::timed([&] { peer->run(); }, kLeast));
      ratios.push_back(mine.back() / theirs.back());
      if (blocked) others.push_back(bench::timed([&] { blocked->run(); }, kLeast));
    }
    double ratio = bench::median(ratios);
    std::printf("%-46s %9.4f %9.4f %7.2f", one.name.c_str(), bench::median(mine) * 1e3,
                bench::median(theirs) * 1e3, ratio);
    if (blocked) std::printf(" %9.4f", bench::median(others) * 1e3);
    std::printf("\n");
    std::fflush(stdout);
    logs += std::log(ratio);
    ++count;
  }
  if (count > 0) {
    std::printf("%d kernels, geometric mean of ratios %.2f\n", count, std::exp(logs / count));
  }
  return all_agree ? 0 : 1;
}

#endif
