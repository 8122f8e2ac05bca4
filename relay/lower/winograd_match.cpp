#include <relay/lower/winograd_match.h>

#include <algorithm>

#include <relay/lower/sum_of_products.h>
#include <relay/lower/winograd_filtering.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::Axis;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

class ConvolutionMatcher {
 public:
  ConvolutionMatcher(const te::Computation& c, const std::function<bool(size_t input)>& constant)
      : c_(c), constant_(constant) {}

  std::optional<Convolution> run() {
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      found_ = {};
      found_.stage = s;
      if (matches()) return found_;
    }
    return std::nullopt;
  }

 private:
  bool matches() {
    const auto* map = std::get_if<te::Map>(&c_.stages[found_.stage].body);
    if (map == nullptr || map->values.size() != 1 || read_by_stages()) return false;
    found_.axes = map->axes;
    std::optional<SumOfLoads> sum = sum_of_loads(*map);
    return sum && tell_factors(*sum) && read_weights() && read_data() && has_results();
  }

  /// Images and their planes may be as many and as large as they are in a run.
  bool has_results() const {
    for (size_t d = 0; d < found_.axes.size(); ++d) {
      const Dim& extent = found_.axes[d].extent;
      if (extent.is_int() ? extent.as_int() <= 0 : d == found_.out_channel) return false;
    }
    return true;
  }

  /// True if stages read the results for other than their shape.
  bool read_by_stages() {
    const auto read = [&](size_t stage, const te::Stage& by) {
      const std::vector<TensorId> reads = te::stage_reads(by);
      return std::find(reads.begin(), reads.end(), TensorId{static_cast<int32_t>(stage), 0}) !=
             reads.end();
    };
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      if (!read(found_.stage, c_.stages[s])) continue;
      if (!std::holds_alternative<te::View>(c_.stages[s].body)) return true;
      found_.views.push_back(s);
    }
    return std::any_of(found_.views.begin(), found_.views.end(), [&](size_t view) {
      return std::any_of(c_.stages.begin(), c_.stages.end(),
                         [&](const te::Stage& by) { return read(view, by); });
    });
  }

  /// True if a run chooses between the sum and another way to compute it, such as tiles.
  bool is_choice(const ScalarNode& fold) const {
    const auto& map = std::get<te::Map>(c_.stages[found_.stage].body);
    const std::vector<const ScalarNode*> nodes = te::post_order(map.values);
    return std::any_of(nodes.begin(), nodes.end(), [&](const ScalarNode* node) {
      return node->kind == ScalarKind::kSelect && node->args[2].get() == &fold;
    });
  }

  /// Which of the factors the weights are.
  bool tell_factors(const SumOfLoads& sum) {
    if (sum.fold->axes.size() != 3) return false;
    found_.fold = sum.fold;
    if (is_choice(*sum.fold)) return false;
    for (const ScalarNode* factor : {sum.lhs, sum.rhs}) {
      if (!factor->tensor.is_input()) return false;
      const bool is_weights = constant_(static_cast<size_t>(factor->tensor.index)) &&
                              found_.weights == nullptr && is_plain(*factor);
      (is_weights ? found_.weights : found_.data) = factor;
    }
    return found_.weights != nullptr && found_.data != nullptr &&
           found_.weights->tensor != found_.data->tensor;
  }

  /// Each index another axis.
  static bool is_plain(const ScalarNode& load) {
    std::vector<uint32_t> seen;
    for (const ScalarRef& index : load.args) {
      std::optional<uint32_t> axis = plain_axis(index);
      if (!axis || std::find(seen.begin(), seen.end(), *axis) != seen.end()) return false;
      seen.push_back(*axis);
    }
    return load.args.size() == 4 && load.bounds == te::Bounds::kProven;
  }

  std::optional<size_t> result_dim(uint32_t axis) const {
    for (size_t d = 0; d < found_.axes.size(); ++d) {
      if (found_.axes[d].id == axis) return d;
    }
    return std::nullopt;
  }
  const Axis* folded(uint32_t axis) const {
    for (const Axis& one : found_.fold->axes) {
      if (one.id == axis) return &one;
    }
    return nullptr;
  }

  /// One axis of the results, three of the sum.
  bool read_weights() {
    size_t results = 0;
    for (size_t d = 0; d < 4; ++d) {
      uint32_t axis = found_.weights->args[d]->axis;
      std::optional<size_t> dim = result_dim(axis);
      Dim extent = c_.info(found_.weights->tensor).dims[d];
      Dim count = dim ? found_.axes[*dim].extent : folded(axis)->extent;
      if (extent != count) return false;
      if (!dim) continue;
      found_.out_channel = *dim;
      ++results;
    }
    return results == 1;
  }

  bool read_data() {
    const std::vector<Dim>& dims = c_.info(found_.data->tensor).dims;
    te::Bounds bounds = found_.data->bounds;
    if (bounds != te::Bounds::kProven && bounds != te::Bounds::kFill) return false;
    if (bounds == te::Bounds::kFill &&
        (found_.data->fill->kind != ScalarKind::kConst || found_.data->fill->value.f != 0))
      return false;
    std::vector<SlidingDim> windows;
    std::vector<size_t> seen{found_.out_channel};
    bool has_channel = false;
    for (size_t d = 0; d < dims.size(); ++d) {
      Affine index = te::affine(found_.data->args[d]);
      if (!index.constant.is_int()) return false;
      if (!index.others.empty()) {
        if (has_channel || !reads_group(index, dims[d])) return false;
        found_.channel_dim = d;
        has_channel = true;
        continue;
      }
      if (index.terms.empty()) {
        if (!index.constant.is_int(0)) return false;
        continue;
      }
      if (index.terms.size() == 1) {
        if (!index.constant.is_int(0) || !index.terms[0].coefficient.is_int(1)) return false;
        if (const Axis* axis = folded(index.terms[0].axis)) {
          if (has_channel || !dims[d].is_int()) return false;
          found_.channel = *axis;
          found_.channel_dim = d;
          has_channel = true;
        } else if (!take(index.terms[0].axis, seen)) {
          return false;
        }
        continue;
      }
      std::optional<SlidingDim> window = window_of(index, d);
      if (!window || !take(found_.axes[window->result].id, seen)) return false;
      windows.push_back(*window);
    }
    if (!has_channel || windows.size() != 2) return false;
    // Along other axes it would be the same sum again and again.
    for (size_t d = 0; d < found_.axes.size(); ++d) {
      if (!found_.axes[d].extent.is_int(1) && std::find(seen.begin(), seen.end(), d) == seen.end())
        return false;
    }
    found_.down = windows[0];
    found_.along = windows[1];
    found_.taps = folded(found_.along.tap)->extent.as_int();
    std::span<const Filtering* const> all = all_filterings();
    if (!folded(found_.down.tap)->extent.is_int(found_.taps) ||
        std::none_of(all.begin(), all.end(),
                     [&](const Filtering* one) { return one->taps() == found_.taps; }))
      return false;
    return found_.along.dim + 1 == dims.size() && found_.along.result + 1 == found_.axes.size();
  }

  /// True for a channel of the group that the output channel is in: out div outs · channels + k.
  bool reads_group(const Affine& index, const Dim& channels) {
    if (index.others.size() != 1 || index.terms.size() != 1 || !index.constant.is_int(0) ||
        !index.terms[0].coefficient.is_int(1))
      return false;
    const Axis* axis = folded(index.terms[0].axis);
    const ScalarNode& group = *index.others[0].value;
    const uint32_t out = found_.axes[found_.out_channel].id;
    if (axis == nullptr || !axis->extent.is_int() || axis->extent != index.others[0].coefficient ||
        group.kind != ScalarKind::kBinary || group.binary != te::BinaryOp::kFloorDiv ||
        plain_axis(group.args[0]) != out || !te::divisor(group).is_int())
      return false;
    if (!found_.axes[found_.out_channel].extent.is_int()) return false;
    const int64_t outs = te::divisor(group).as_int(), all = found_.extent(found_.out_channel);
    if (outs < 1 || all % outs != 0 || channels != Dim(all / outs) * axis->extent) return false;
    found_.channel = *axis;
    found_.outs_of_group = outs;
    return true;
  }

  bool take(uint32_t axis, std::vector<size_t>& seen) const {
    std::optional<size_t> dim = result_dim(axis);
    if (!dim || std::find(seen.begin(), seen.end(), *dim) != seen.end()) return false;
    seen.push_back(*dim);
    return true;
  }

  std::optional<SlidingDim> window_of(const Affine& index, size_t dim) const {
    if (index.terms.size() != 2) return std::nullopt;
    SlidingDim window;
    window.dim = dim;
    window.before = -index.constant.as_int();
    bool has_tap = false, has_result = false;
    for (const Affine::Term& term : index.terms) {
      if (!term.coefficient.is_int(1)) return std::nullopt;
      if (const Axis* axis = folded(term.axis)) {
        if (!axis->extent.is_int()) return std::nullopt;
        window.tap = axis->id;
        has_tap = true;
      } else if (std::optional<size_t> result = result_dim(term.axis)) {
        window.result = *result;
        has_result = true;
      }
    }
    if (!has_tap || !has_result || window.before < 0) return std::nullopt;
    return window;
  }

  const te::Computation& c_;
  const std::function<bool(size_t input)>& constant_;
  Convolution found_;
};

}  // namespace

std::optional<Convolution> match_convolution(const te::Computation& computation,
                                             const std::function<bool(size_t input)>& constant) {
  return ConvolutionMatcher(computation, constant).run();
}

}  // namespace relay::lower
