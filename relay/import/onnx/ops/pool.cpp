// Pools.
#include <algorithm>

#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

Values pool(NodeContext& node, const std::string& family, bool average) {
  GraphValue x = node.input(0);
  Window w = window_of(node, x);
  bool ceil_mode = node.opset() >= 10 && node.attr_bool("ceil_mode", false);
  size_t spatial = x.rank() - 2;
  AttrList attrs{{"pool_size", w.kernel},
                 {"strides", w.strides},
                 {"dilation", w.dilations},
                 {"padding", w.pads},
                 {"ceil_mode", ceil_mode}};
  if (average) {
    bool include = node.opset() >= 7 && node.attr_bool("count_include_pad", false);
    attrs.push_back({"count_include_pad", include});
  }
  return {node.emit(spatial_op(node, family, spatial), {x}, attrs)};
}

Values convert_max_pool(NodeContext& node) {
  node.require(!node.wants(1), "the output Indices is not supported");
  node.ignore({"storage_order"});  // of the indices
  return pool(node, "nn.max_pool", false);
}
RELAY_ONNX("MaxPool", 1, convert_max_pool)

Values convert_average_pool(NodeContext& node) { return pool(node, "nn.avg_pool", true); }
RELAY_ONNX("AveragePool", 1, convert_average_pool)

Values global_pool(NodeContext& node, const char* flat, const char* reduce) {
  GraphValue x = node.input(0);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  if (x.rank() == 4) return {node.emit(flat, {x})};
  std::vector<int64_t> axes;
  for (int64_t k = 2; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  if (axes.empty()) return {x};
  return {node.emit(reduce, {x}, {{"axis", axes}, {"keepdims", true}})};
}
Values convert_global_average_pool(NodeContext& node) {
  return global_pool(node, "nn.global_avg_pool2d", "mean");
}
Values convert_global_max_pool(NodeContext& node) {
  return global_pool(node, "nn.global_max_pool2d", "max");
}
RELAY_ONNX("GlobalAveragePool", 1, convert_global_average_pool)
RELAY_ONNX("GlobalMaxPool", 1, convert_global_max_pool)

}  // namespace
}  // namespace relay::onnx
