// The gradient of a convolution's data, written with convolutions of step 1.
#include <algorithm>

#include <relay/op/nn/conv_grad.h>
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/nn/space_attrs.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

// More convolutions than that cost more to compile and to put together than they save.
constexpr int64_t kMostPhases = 16;
constexpr int64_t kLongestStep = 256;

// The elements at place · step + phase of an axis: a window over the taps first, first + step, …
struct Phase {
  int64_t first = 0;  // tap
  int64_t taps = 0;   // 0: nothing reaches these elements
  int64_t before = 0, after = 0;
};

// Element t gets gradient[(t + padding - k · dilation) / stride] · weight[k] for each tap k for
// which this is an integer.
Phase phase_of(const PlainConv& conv, size_t d, int64_t phase, int64_t places) {
  const int64_t stride = conv.strides[d], shifted = phase + conv.padding.before[d];
  Phase found;
  found.first = shifted % stride;
  if (found.first >= conv.taps[d]) return found;
  found.taps = (conv.taps[d] - found.first - 1) / stride + 1;
  const int64_t width = (found.taps - 1) * conv.dilation[d];
  found.before = width - shifted / stride;
  found.after = places - conv.counts[d] - found.before + width;
  return found;
}

int64_t places_of(const PlainConv& conv, size_t d) {
  return (conv.extents[d] - 1) / conv.strides[d] + 1;
}

class Spread {
 public:
  Spread(const PlainConv& conv, const ExprRef& gradient, const ExprRef& weight)
      : conv_(conv), gradient_(gradient) {
    // As the product reads its weights: along the sum if it is a row for each channel, or channel
    // by channel if these are the columns.
    const bool channels_last = conv.data.back() == 'C';
    letters_ = channels_last ? conv.space + "OI" : "IO" + conv.space;
    weight_ = in_order(weight, conv.kernel, letters_);
  }

  // Null if a window begins outside of its padding.
  ExprRef whole() {
    chosen_.assign(conv_.rank(), 0);
    if (!find_phases()) return {};
    if (single_) return single();
    return joined(0);
  }

 private:
  bool find_phases() {
    single_ = true;
    phases_.resize(conv_.rank());
    for (size_t d = 0; d < conv_.rank(); ++d) {
      size_t used = 0;
      for (int64_t r = 0; r < conv_.strides[d]; ++r) {
        const Phase phase = phase_of(conv_, d, r, places_of(conv_, d));
        if (phase.taps > 0 && (phase.before < 0 || phase.after < 0)) return false;
        if (phase.taps > 0) chosen_[d] = r;
        used += phase.taps > 0;
        phases_[d].push_back(phase);
      }
      single_ = single_ && used == 1;
    }
    return true;
  }

  // The convolution for the chosen phases; null if nothing reaches them.
  ExprRef part() {
    Conv2DAttrs base;
    ConvAttrs& attrs = base;
    attrs.dilation = conv_.dilation;
    attrs.strides.assign(conv_.rank(), 1);
    attrs.padding.clear();
    std::vector<int64_t> after;
    ExprRef weight = weight_;
    for (size_t d = 0; d < conv_.rank(); ++d) {
      const Phase& phase = phases_[d][static_cast<size_t>(chosen_[d])];
      if (phase.taps == 0) return {};
      const size_t axis = letters_.find(conv_.space[d]);
      if (conv_.strides[d] > 1 && conv_.taps[d] > 1)
        weight = cut_along(weight, axis, phase.first, conv_.taps[d], conv_.strides[d]);
      if (phase.taps > 1) {
        ReverseAttrs reverse;
        reverse.axis = static_cast<int64_t>(axis);
        weight = call_op("reverse", {weight}, Attrs::make(reverse));
      }
      attrs.padding.push_back(phase.before);
      after.push_back(phase.after);
    }
    attrs.padding.insert(attrs.padding.end(), after.begin(), after.end());
    attrs.data_layout = conv_.out;
    attrs.out_layout = conv_.data;
    // Its channels go the other way.
    std::string letters = letters_;
    std::swap(letters[letters.find('O')], letters[letters.find('I')]);
    attrs.kernel_layout = letters;
    return make_conv(gradient_, weight, attrs, conv_.rank());
  }

  // The only phase that anything reaches, with zeros between.
  ExprRef single() {
    ExprRef found = part();
    if (std::all_of(conv_.strides.begin(), conv_.strides.end(), [](int64_t s) { return s == 1; }))
      return found;
    DilateAttrs apart;
    PadAttrs around;
    apart.strides.value.assign(conv_.rank() + 2, 1);
    around.pad_width.value.assign(conv_.rank() + 2, {0, 0});
    for (size_t d = 0; d < conv_.rank(); ++d) {
      const size_t axis = conv_.data.find(conv_.space[d]);
      apart.strides.value[axis] = conv_.strides[d];
      const int64_t reach = (places_of(conv_, d) - 1) * conv_.strides[d] + 1;
      around.pad_width.value[axis] = {chosen_[d], conv_.extents[d] - reach - chosen_[d]};
    }
    found = call_op("nn.dilate", {found}, Attrs::make(apart));
    ExprRef zero = make_constant(NDArray::scalar(conv_.dtype, 0.0));
    return call_op("nn.pad", {found, zero}, Attrs::make(around));
  }

  // All phases of the axes from d on, for those that are chosen of the axes before.
  ExprRef joined(size_t d) {
    if (d == conv_.rank()) return part();
    const int64_t stride = conv_.strides[d];
    if (stride == 1) return joined(d + 1);
    std::vector<ExprRef> parts;
    ExprRef some;
    for (chosen_[d] = 0; chosen_[d] < stride; ++chosen_[d]) {
      parts.push_back(joined(d + 1));
      if (parts.back()) some = parts.back();
    }
    if (!some) return {};
    for (ExprRef& one : parts) {
      if (!one) one = call_op("zeros_like", {some});
    }
    const size_t axis = conv_.data.find(conv_.space[d]);
    StackAttrs side_by_side;
    side_by_side.axis = static_cast<int64_t>(axis) + 1;
    ReshapeAttrs merged;
    merged.newshape.value.assign(axis, 0);
    merged.newshape.value.push_back(-3);
    if (axis + 1 < conv_.data.size()) merged.newshape.value.push_back(-2);
    ExprRef all = call_op("stack", {relay::make_tuple(parts)}, Attrs::make(side_by_side));
    all = call_op("reshape", {all}, Attrs::make(merged));
    if (places_of(conv_, d) * stride == conv_.extents[d]) return all;
    return cut_along(all, axis, 0, conv_.extents[d]);
  }

  const PlainConv& conv_;
  const ExprRef& gradient_;
  ExprRef weight_;
  std::string letters_;  // of the weight
  std::vector<std::vector<Phase>> phases_;
  std::vector<int64_t> chosen_;
  bool single_ = false;
};

ExprRef reshaped(const ExprRef& x, std::vector<int64_t> extents) {
  ReshapeAttrs attrs;
  attrs.newshape.value = std::move(extents);
  return call_op("reshape", {x}, Attrs::make(attrs));
}

ExprRef reordered(const ExprRef& x, const std::vector<size_t>& axes) {
  TransposeAttrs attrs;
  attrs.axes.emplace(axes.begin(), axes.end());
  return call_op("transpose", {x}, Attrs::make(attrs));
}

// Steps that divide the window: all phases have as many taps, so that they are channels of one
// convolution. Its results are put side by side, and the padding is cut off.
ExprRef as_channels(const PlainConv& conv, const ExprRef& gradient, const ExprRef& weight) {
  const size_t rank = conv.rank();
  Conv2DAttrs base;
  ConvAttrs& attrs = base;
  attrs.strides.assign(rank, 1);
  attrs.dilation.assign(rank, 1);
  attrs.padding.assign(2 * rank, 0);
  int64_t phases = 1;
  std::vector<int64_t> split{conv.channels_in, conv.channels_out}, wide{0, conv.channels_out};
  std::vector<int64_t> apart{0, conv.channels_in}, whole{0, conv.channels_in};
  // Axes of the weight: input channels and phases, output channels, taps; and of the result:
  // samples, channels, places each with its phases.
  std::vector<size_t> together{0}, between{0, 1};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t stride = conv.strides[d], taps = conv.taps[d] / stride;
    const int64_t places = (conv.extents[d] + conv.padding.before[d] - 1) / stride + 1;
    if (places < conv.counts[d]) return {};
    attrs.padding[d] = taps - 1;
    attrs.padding[rank + d] = places - conv.counts[d];
    phases *= stride;
    split.insert(split.end(), {taps, stride});
    wide.push_back(taps);
    together.push_back(3 + 2 * d);
    apart.push_back(stride);
    between.insert(between.end(), {2 + rank + d, 2 + d});
    whole.push_back(places * stride);
  }
  together.push_back(1);
  for (size_t d = 0; d < rank; ++d) together.push_back(2 + 2 * d);
  for (size_t d = 0; d < rank; ++d) apart.push_back(whole[2 + d] / conv.strides[d]);
  wide[0] = conv.channels_in * phases;

  ExprRef windows = reshaped(in_order(weight, conv.kernel, "IO" + conv.space), split);
  for (size_t d = 0; d < rank; ++d) {
    if (conv.taps[d] == conv.strides[d]) continue;
    ReverseAttrs reverse;
    reverse.axis = static_cast<int64_t>(2 + 2 * d);
    windows = call_op("reverse", {windows}, Attrs::make(reverse));
  }
  windows = reshaped(reordered(windows, together), wide);
  attrs.data_layout = conv.out;
  attrs.out_layout = "NC" + conv.space;
  attrs.kernel_layout = "OI" + conv.space;
  ExprRef found = make_conv(gradient, windows, attrs, rank);
  found = reshaped(reordered(reshaped(found, apart), between), whole);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = conv.padding.before[d];
    if (before != 0 || whole[2 + d] != conv.extents[d])
      found = cut_along(found, 2 + d, before, before + conv.extents[d]);
  }
  return in_order(found, "NC" + conv.space, conv.data);
}

}  // namespace

ExprRef spread_gradient(const PlainConv& conv, const ExprRef& gradient, const ExprRef& weight) {
  bool steps = false, divide = conv.channels_in > 0 && conv.channels_out > 0;
  int64_t phases = 1;
  for (size_t d = 0; d < conv.rank(); ++d) {
    if (conv.strides[d] == 1) continue;
    if (conv.dilation[d] > 1 && conv.taps[d] > 1) return {};
    if (conv.taps[d] == 1 && conv.strides[d] > kLongestStep) return {};
    steps = true;
    divide = divide && conv.taps[d] % conv.strides[d] == 0;
    if (conv.taps[d] > 1) phases *= std::min(conv.strides[d], kMostPhases + 1);
    if (phases > kMostPhases && !divide) return {};
  }
  for (size_t d = 0; d < conv.rank(); ++d) divide = divide && conv.dilation[d] == 1;
  if (steps && divide) {
    if (ExprRef found = as_channels(conv, gradient, weight)) return found;
  }
  if (phases > kMostPhases) return {};
  return Spread(conv, gradient, weight).whole();
}

}  // namespace relay
