#include <relay/import/onnx/ops/spatial.h>

#include <algorithm>

namespace relay::onnx {

std::string spatial_op(NodeContext& node, const std::string& prefix, size_t spatial,
                       const std::string& suffix) {
  node.require(spatial >= 1 && spatial <= 3,
               "there are " + std::to_string(spatial) + " spatial axes; 1 to 3 are supported");
  return prefix + std::to_string(spatial) + "d" + suffix;
}

std::string spatial_layout(const std::string& lead, size_t spatial) {
  return lead + std::string("DHW").substr(3 - spatial);
}

std::vector<int64_t> kernel_of(NodeContext& node, const GraphValue& weight) {
  std::vector<int64_t> kernel;
  for (size_t k = 2; k < weight.rank(); ++k) {
    node.require(weight.dim(k).is_int(), "the extents of the kernel are not known");
    kernel.push_back(weight.dim(k).as_int());
  }
  return kernel;
}

Window window_of(NodeContext& node, const GraphValue& x, std::vector<int64_t> kernel,
                 Padding padding) {
  node.require(x.rank() >= 3, "the data have " + std::to_string(x.rank()) +
                                  " axes; batch, channels and at least one more are needed");
  size_t spatial = x.rank() - 2;
  Window w;
  if (kernel.empty()) {
    w.kernel = node.attr_ints("kernel_shape");
  } else {
    w.kernel = node.attr_ints("kernel_shape", kernel);
  }
  std::vector<int64_t> ones(spatial, 1);
  w.strides = node.attr_ints("strides", ones);
  w.dilations = node.attr_ints("dilations", ones);
  std::string pad = node.attr_string("auto_pad", "NOTSET");
  w.pads = node.attr_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  auto check = [&](const std::vector<int64_t>& list, size_t size, int64_t least, const char* what) {
    node.require(list.size() == size, std::string(what) + " has " + std::to_string(list.size()) +
                                          " entries, not " + std::to_string(size));
    constexpr int64_t kMost = int64_t{1} << 31;
    for (int64_t entry : list) {
      node.require(entry >= least && entry < kMost,
                   std::string(what) + " has " + std::to_string(entry));
    }
  };
  check(w.kernel, spatial, 1, "kernel_shape");
  check(w.strides, spatial, 1, "strides");
  check(w.dilations, spatial, 1, "dilations");
  check(w.pads, 2 * spatial, 0, "pads");
  if (!kernel.empty()) node.require(w.kernel == kernel, "kernel_shape is not that of the weights");
  if (pad == "NOTSET" || pad.empty()) return w;
  if (pad == "VALID") {
    w.pads.assign(2 * spatial, 0);
    return w;
  }
  node.require(pad == "SAME_UPPER" || pad == "SAME_LOWER", "auto_pad is " + quoted(pad));
  if (padding == Padding::kAsWritten) return w;
  for (size_t k = 0; k < spatial; ++k) {
    // As many results as strides fit in: ceil(extent / stride).
    int64_t reach = (w.kernel[k] - 1) * w.dilations[k] + 1;
    int64_t stride = w.strides[k];
    Dim extent = x.dim(k + 2);
    w.pads[k] = w.pads[spatial + k] = 0;
    int64_t total = reach - stride;
    if (stride != 1 && padding == Padding::kOpen && !extent.is_int() && !extent.is_any()) {
      w.open_pads.resize(2 * spatial, 0);
      Dim most = (ceil_div(extent, stride) - 1) * stride + reach;
      Dim missing = max(most - extent, 0), less = floor_div(missing, 2);
      w.open_pads[k] = pad == "SAME_UPPER" ? less : missing - less;
      w.open_pads[spatial + k] = missing - w.open_pads[k];
      continue;
    }
    if (stride != 1) {
      node.require(extent.is_int(), "auto_pad needs the extent of each axis with a stride");
      int64_t rest = extent.as_int() % stride;
      total = rest == 0 ? reach - stride : reach - rest;
    }
    total = std::max(total, int64_t{0});
    int64_t less = total / 2;
    w.pads[k] = pad == "SAME_UPPER" ? less : total - less;
    w.pads[spatial + k] = total - w.pads[k];
  }
  for (size_t k = 0; k < w.open_pads.size(); ++k) {
    w.open_pads[k] = w.open_pads[k] + w.pads[k];
    w.pads[k] = 0;
  }
  return w;
}

GraphValue with_pads(NodeContext& node, const Window& w, const GraphValue& x,
                     const GraphValue& fill) {
  if (w.open_pads.empty()) return x;
  size_t spatial = w.kernel.size();
  Elements widths(4, Dim(0));  // of batch and channels
  for (size_t k = 0; k < spatial; ++k) {
    widths.push_back(w.open_pads[k]);
    widths.push_back(w.open_pads[spatial + k]);
  }
  Dim dims[] = {static_cast<int64_t>(x.rank()), 2};
  GraphValue amounts = node.known_value(std::move(widths), dims, kInt64);
  return node.emit("dyn.nn.pad", {x, amounts, fill}, {{"pad_mode", "constant"}});
}

GraphValue channels_first(NodeContext& node, const GraphValue& x) {
  auto rank = static_cast<int64_t>(x.rank());
  node.require(rank >= 3, "the data have " + std::to_string(rank) + " axes");
  std::vector<int64_t> axes{0, rank - 1};
  for (int64_t k = 1; k < rank - 1; ++k) axes.push_back(k);
  return node.transpose(x, axes);
}

GraphValue channels_last(NodeContext& node, const GraphValue& x) {
  std::vector<int64_t> axes{0};
  for (int64_t k = 2; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  axes.push_back(1);
  return node.transpose(x, axes);
}

}  // namespace relay::onnx
