// Products and convolutions that benchmarks measure, with what oneDNN makes of them.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/runtime/onednn.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/contraction_testing.h>

namespace relay::bench::contraction {

struct Problem {
  std::string model;
  std::string text;
  int64_t times;  // how often the model has it
  te::Computation computation;
  std::function<std::unique_ptr<onednn::Primitive>(bool own)> peer;
  double flops;
};

inline bool with_symbols = false;

/// An extent, or the symbol that stands for it.
struct Symbols {
  std::vector<TypeVarRef> vars;
  std::vector<int64_t> values;
  Dim operator()(int64_t extent) {
    if (!with_symbols || extent == 1) return extent;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == extent) return Dim::symbol(vars[i].get());
    }
    vars.push_back(TypeVar::make("n" + std::to_string(vars.size()), Kind::kShapeVar));
    values.push_back(extent);
    return Dim::symbol(vars.back().get());
  }
  int64_t evaluate(Dim dim) const {
    return te::evaluate_dim(dim, {}, [&](const TypeVar* symbol) {
      for (size_t i = 0; i < vars.size(); ++i) {
        if (vars[i].get() == symbol) return values[i];
      }
      return int64_t{0};
    });
  }
};
inline Symbols symbols;

inline TypeRef f32(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

inline Problem conv(const std::string& model, int64_t times, int64_t in, int64_t out,
                    int64_t kernel, int64_t stride, int64_t size, bool channels_last = false) {
  int64_t padding = kernel / 2;
  int64_t result = (size + 2 * padding - kernel) / stride + 1;
  Conv2DAttrs attrs;
  attrs.strides = {stride, stride};
  attrs.padding = {padding, padding};
  std::vector<Dim> data{1, in, symbols(size), symbols(size)}, weight{out, in, kernel, kernel};
  if (channels_last) {
    attrs.data_layout = "NHWC";
    attrs.kernel_layout = "HWIO";
    data = {1, symbols(size), symbols(size), in};
    weight = {kernel, kernel, in, out};
  }
  onednn::Convolution peer;
  peer.data = {1, in, size, size};
  peer.weight = {out, in, kernel, kernel};
  peer.out = {1, out, result, result};
  peer.strides = {stride, stride};
  peer.dilation = {1, 1};
  peer.padding_before = peer.padding_after = {padding, padding};
  std::string text = "conv " + std::to_string(in) + "->" + std::to_string(out) + " " +
                     std::to_string(kernel) + "x" + std::to_string(kernel) +
                     (stride > 1 ? "/" + std::to_string(stride) : "") + " @" + std::to_string(size);
  return {model,
          text,
          times,
          computation_of("nn.conv2d", Attrs::make(attrs), {f32(data), f32(weight)}),
          [peer](bool own) { return onednn::Primitive::make(peer, own); },
          2.0 * static_cast<double>(out * result * result * in * kernel * kernel)};
}

inline Problem dense(const std::string& model, int64_t times, int64_t m, int64_t n, int64_t k) {
  onednn::Product peer;
  peer.rows = m;
  peer.columns = n;
  peer.inner = k;
  peer.transpose_weight = true;
  return {
      model,
      "dense " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k),
      times,
      computation_of("nn.dense", Attrs::make(DenseAttrs{}), {f32({symbols(m), k}), f32({n, k})}),
      [peer](bool own) { return onednn::Primitive::make(peer, own); },
      2.0 * static_cast<double>(m * n * k)};
}

inline Problem batch(const std::string& model, int64_t times, int64_t b, int64_t m, int64_t n,
                     int64_t k, bool transposed) {
  onednn::Product peer;
  peer.batch = b;
  peer.rows = m;
  peer.columns = n;
  peer.inner = k;
  peer.transpose_weight = transposed;
  BatchMatmulAttrs attrs;
  attrs.transpose_b = transposed;
  std::vector<Dim> rhs{b, k, n};
  if (transposed) std::swap(rhs[1], rhs[2]);
  return {
      model,
      "batch " + std::to_string(b) + " x " + std::to_string(m) + " x " + std::to_string(n) + " x " +
          std::to_string(k) + (transposed ? " T" : ""),
      times,
      computation_of("nn.batch_matmul", Attrs::make(attrs), {f32({b, symbols(m), k}), f32(rhs)}),
      [peer](bool own) { return onednn::Primitive::make(peer, own); },
      2.0 * static_cast<double>(b * m * n * k)};
}

/// Aligned memory with numbers in it.
struct Memory {
  explicit Memory(size_t bytes) : size(bytes + 4096) {
    data = static_cast<float*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
    for (size_t i = 0; i < size / 4; ++i) data[i] = static_cast<float>(i % 17) / 16;
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  size_t size;
  float* data;
};

}  // namespace relay::bench::contraction
