// The kernels that are measured, those of benchmarks/kernels/cases.py, and what a peer must know of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay::bench {

struct KernelCase {
  enum class Kind {
    kElementwise,
    kSoftmax,
    kLogSoftmax,
    kLayerNorm,  // scale and shift behind the data
    kTranspose,
    kSum,
    kMax,
    kMean,
    kArgmax,
    kMaxPool,
    kAvgPool,
    kDepthwise,  // 3×3; weight behind the data
    kOther
  };
  Kind kind;
  std::string name;
  std::string body;                          // over the parameters %a, %b, …
  std::vector<std::vector<int64_t>> shapes;  // of the parameters, float32
  std::vector<int64_t> axes = {};            // the transpose's order, or those that are folded
  int64_t window = 0, stride = 0, padding = 0;
};

inline std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

/// The program of a case.
inline std::string program_text(const KernelCase& one) {
  std::string text = "def @main(";
  for (size_t k = 0; k < one.shapes.size(); ++k) {
    text += (k > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + k)) + ": Tensor[(" +
            list_text(one.shapes[k]) + (one.shapes[k].size() == 1 ? ",), float32]" : "), float32]");
  }
  return text + ") { " + one.body + " }";
}

inline std::vector<KernelCase> kernel_cases() {
  using Kind = KernelCase::Kind;
  using List = std::vector<int64_t>;
  std::vector<KernelCase> all;
  all.push_back({Kind::kElementwise,
                 "ten elementwise, 16 M",
                 "{ %0 = multiply(%a, 1.7f); %1 = add(%0, 0.3f); %2 = tanh(%1); %3 = sigmoid(%a);"
                 " %4 = multiply(%2, %3); %5 = abs(%a); %6 = sqrt(%5); %7 = add(%4, %6);"
                 " %8 = maximum(%7, 0.1f); subtract(%8, 0.5f) }",
                 {{16 << 20}}});
  for (const List& shape : {List{4096, 1024}, List{128, 768}}) {
    std::string of = " (" + list_text(shape) + ")";
    all.push_back({Kind::kSoftmax, "softmax" + of, "nn.softmax(%a)", {shape}});
    all.push_back({Kind::kLogSoftmax, "log_softmax" + of, "nn.log_softmax(%a)", {shape}});
    all.push_back({Kind::kLayerNorm,
                   "layer_norm" + of,
                   "nn.layer_norm(%a, %b, %c)",
                   {shape, {shape[1]}, {shape[1]}}});
  }
  for (const auto& [shape, axes] :
       std::vector<std::pair<List, List>>{{{2048, 2048}, {1, 0}},
                                          {{64, 128, 256}, {0, 2, 1}},
                                          {{64, 128, 256}, {2, 0, 1}},
                                          {{64, 128, 256}, {1, 0, 2}},
                                          {{8, 64, 56, 56}, {0, 2, 3, 1}},
                                          {{8, 56, 56, 64}, {0, 3, 1, 2}}}) {
    all.push_back({Kind::kTranspose,
                   "transpose (" + list_text(shape) + ") to " + list_text(axes),
                   "transpose(%a, axes=[" + list_text(axes) + "])",
                   {shape},
                   axes});
  }
  const List cube{128, 256, 256};
  auto reduction = [&](Kind kind, const std::string& op, const List& axes) {
    all.push_back({kind,
                   op + " (" + list_text(cube) + ") over " + list_text(axes),
                   op + "(%a, axis=[" + list_text(axes) + "])",
                   {cube},
                   axes});
  };
  for (int64_t axis : {0, 1, 2}) {
    reduction(Kind::kSum, "sum", {axis});
    reduction(Kind::kMax, "max", {axis});
  }
  reduction(Kind::kSum, "sum", {0, 1, 2});
  reduction(Kind::kMean, "mean", {1, 2});
  all.push_back(
      {Kind::kArgmax, "argmax (4096, 1024)", "argmax(%a, axis=[1])", {{4096, 1024}}, {1}});
  struct Pool {
    List shape;
    int64_t window, stride, padding;
  };
  for (const Pool& pool : {Pool{{8, 64, 112, 112}, 3, 2, 1}, Pool{{8, 64, 56, 56}, 2, 2, 0}}) {
    std::string w = std::to_string(pool.window), s = std::to_string(pool.stride),
                p = std::to_string(pool.padding);
    std::string attributes = "_pool2d(%a, pool_size=[" + w + ", " + w + "], strides=[" + s + ", " +
                             s + "], padding=[" + p + ", " + p + "])";
    std::string of = "_pool2d (" + list_text(pool.shape) + ") " + w + "x" + w + "/" + s;
    for (auto [kind, op] : {std::pair{Kind::kMaxPool, "max"}, {Kind::kAvgPool, "avg"}}) {
      all.push_back({kind,
                     op + of,
                     "nn." + (op + attributes),
                     {pool.shape},
                     {},
                     pool.window,
                     pool.stride,
                     pool.padding});
    }
  }
  for (const auto& [shape, stride] : std::vector<std::pair<List, int64_t>>{{{1, 96, 112, 112}, 2},
                                                                           {{1, 144, 56, 56}, 1},
                                                                           {{1, 384, 14, 14}, 1},
                                                                           {{1, 960, 7, 7}, 1}}) {
    std::string s = std::to_string(stride), c = std::to_string(shape[1]);
    all.push_back({Kind::kDepthwise,
                   "depthwise (" + list_text(shape) + ") 3x3/" + s,
                   "nn.conv2d(%a, %b, strides=[" + s + ", " + s +
                       "], padding=[1, 1, 1, 1], groups=" + c + ", channels=" + c +
                       ", kernel_size=[3, 3])",
                   {shape, {shape[1], 1, 3, 3}},
                   {},
                   3,
                   stride,
                   1});
  }
  return all;
}

}  // namespace relay::bench
