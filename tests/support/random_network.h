// Random networks: convolutions and products whose weights are constants, with what stands between
// them in networks that people train.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/module.h>
#include <relay/op/op.h>
#include <relay/runtime/value.h>

#include <tests/support/op_attrs.h>

namespace relay::testing {

/// One function of a parameter `x`, a batch of pictures `(batch, channels, rows, columns)` of
/// float32, to a tensor whose first axis is the batch. Half of each weight or more is zero, in
/// blocks of 1 by 1.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed), batch_(1 + pick(3)) {
    shape_ = {batch_, 1 + pick(4), 6 + pick(4), 6 + pick(4)};
    const std::vector<Dim> dims(shape_.begin(), shape_.end());
    input_ = make_var("x", TensorType::make(dims, kFloat32));
    argument_ = data(shape_, 0);
    body_ = input_;
    for (int blocks = 1 + pick(3); blocks > 0; --blocks) add_block();
    if (pick(3) != 0) add_products();
  }

  Module module() const {
    Module module;
    module.add_function("main", make_function({input_}, body_));
    return module;
  }
  int64_t batch() const { return batch_; }
  const NDArray& argument() const { return argument_; }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  /// Multiples of 1/8 in [-1, 1], about that share of them zero.
  NDArray data(const std::vector<int64_t>& shape, double zeros) {
    NDArray array = NDArray::empty(shape, kFloat32);
    for (int64_t i = 0; i < array.size(); ++i) {
      const bool zero = static_cast<double>(pick(100)) < 100 * zeros;
      array.data<float>()[i] = zero ? 0.0F : static_cast<float>(pick(17) - 8) / 8;
    }
    return array;
  }
  ExprRef constant(const std::vector<int64_t>& shape, double zeros) {
    return make_constant(data(shape, zeros));
  }

  static ExprRef call(const char* op, std::initializer_list<ExprRef> args,
                      const std::vector<AttrEntry>& attrs = {}) {
    return call_op(op, args, attrs.empty() ? AttrsRef() : op_attrs(op, attrs));
  }

  void convolve(int64_t channels, int64_t kernel) {
    const int64_t pad = kernel / 2;
    body_ = call("nn.conv2d", {body_, constant({channels, shape_[1], kernel, kernel}, 0.6)},
                 {{"channels", AttrValue(channels)},
                  {"kernel_size", list({kernel, kernel})},
                  {"padding", list({pad, pad})}});
    shape_[1] = channels;
  }

  void add_block() {
    const ExprRef before = body_;
    const std::vector<int64_t> shape = shape_;
    convolve(pick(2) == 0 ? shape[1] : 2 + pick(6), pick(2) == 0 ? 1 : 3);
    if (pick(2) == 0) body_ = call("nn.bias_add", {body_, constant({shape_[1]}, 0)});
    if (pick(3) == 0) body_ = call("multiply", {body_, constant({shape_[1], 1, 1}, 0)});
    if (pick(3) != 0) body_ = call("nn.relu", {body_});
    if (shape_ == shape && pick(2) == 0) body_ = call("add", {body_, before});
    if (pick(3) == 0 && shape_[2] >= 4 && shape_[3] >= 4) {
      body_ =
          call("nn.max_pool2d", {body_}, {{"pool_size", list({2, 2})}, {"strides", list({2, 2})}});
      shape_[2] /= 2;
      shape_[3] /= 2;
    }
  }

  void add_products() {
    body_ = call("nn.batch_flatten", {body_});
    int64_t width = shape_[1] * shape_[2] * shape_[3];
    for (int layers = 1 + pick(2); layers > 0; --layers) {
      const int64_t units = 2 + pick(7);
      body_ =
          call("nn.dense", {body_, constant({units, width}, 0.6)}, {{"units", AttrValue(units)}});
      if (pick(2) == 0) body_ = call("nn.bias_add", {body_, constant({units}, 0)});
      if (pick(2) == 0) body_ = call("nn.relu", {body_});
      width = units;
    }
  }

  std::mt19937 random_;
  int64_t batch_;
  std::vector<int64_t> shape_;
  NDArray argument_;
  VarRef input_;
  ExprRef body_;
};

}  // namespace relay::testing
