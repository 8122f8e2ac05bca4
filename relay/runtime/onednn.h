// oneDNN, loaded at its first use; never linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace relay::onednn {

/// True if libdnnl.so.2 can be loaded.
bool available();

/// out = sums of float32 products, in oneDNN's order of dimensions: data (N, C, spatial…), weight
/// (O, I, spatial…), I counting the channels of one group.
struct Convolution {
  std::vector<int64_t> data, weight, out;
  std::vector<int64_t> strides, dilation, padding_before, padding_after;
  int64_t groups = 1;
};

/// out[b] = data[b] · weight[b], float32; a batch of 0 stands for plain matrices.
struct Product {
  int64_t batch = 0, rows = 0, columns = 0, inner = 0;
  bool transpose_data = false;
  bool transpose_weight = false;
};

/// A prepared computation. One thread at a time may run it.
class Primitive {
 public:
  /// With `own_layouts` oneDNN chooses the layout of every operand; else they are dense and
  /// row-major. Null if oneDNN is missing or refuses.
  static std::unique_ptr<Primitive> make(const Convolution& problem, bool own_layouts);
  static std::unique_ptr<Primitive> make(const Product& problem, bool own_layouts);
  virtual ~Primitive() = default;
  virtual size_t data_bytes() const = 0;
  virtual size_t weight_bytes() const = 0;
  virtual size_t out_bytes() const = 0;
  virtual bool run(const void* data, const void* weight, void* out) = 0;
};

}  // namespace relay::onednn
