#include <relay/graph/concatenation.h>

#include <relay/tensor_expr/affine.h>

namespace relay::graph {
namespace {

/// Reads the choices between inputs along one axis of a map.
class Reader {
 public:
  Reader(const te::Computation& computation, const te::Map& map)
      : computation_(computation), axes_(map.axes) {}

  std::optional<std::vector<Part>> run(const te::ScalarNode& value) {
    while (along_ < axes_.size() && axes_[along_].extent.is_int(1)) ++along_;
    if (along_ == axes_.size()) return std::nullopt;
    after_ = Dim(1);
    for (size_t d = along_ + 1; d < axes_.size(); ++d) after_ = after_ * axes_[d].extent;
    if (!read(value, axes_[along_].extent)) return std::nullopt;
    return std::move(parts_);
  }

 private:
  /// Reads the part from `at_` to `end` along the axis.
  bool read(const te::ScalarNode& value, Dim end) {
    // Trees of choices are balanced, but may come from anywhere.
    constexpr int kDeepest = 64;
    if (value.kind == te::ScalarKind::kLoad) return load(value, end);
    if (value.kind != te::ScalarKind::kSelect || ++depth_ > kDeepest) return false;
    const std::optional<Dim> middle = bound(*value.args[0]);
    const bool fits = middle && read(*value.args[1], *middle) && read(*value.args[2], end);
    --depth_;
    return fits;
  }

  /// The m of `axis < m`.
  std::optional<Dim> bound(const te::ScalarNode& condition) const {
    if (condition.kind != te::ScalarKind::kBinary || condition.binary != te::BinaryOp::kLt)
      return std::nullopt;
    const te::Affine end = te::affine(condition.args[1]);
    if (!is_axis(condition.args[0], along_, Dim(0)) || !end.terms.empty() || !end.others.empty())
      return std::nullopt;
    return end.constant;
  }

  bool is_axis(const te::ScalarRef& index, size_t d, Dim constant) const {
    const te::Affine sum = te::affine(index);
    if (!sum.others.empty() || !(sum.constant == constant)) return false;
    if (axes_[d].extent.is_int(1) && sum.terms.empty()) return true;
    return sum.terms.size() == 1 && sum.terms[0].axis == axes_[d].id &&
           sum.terms[0].coefficient.is_int(1);
  }

  /// True if a load is all of an input, whose first element stands at `at_`.
  bool load(const te::ScalarNode& load, Dim end) {
    if (!load.tensor.is_input() || load.bounds != te::Bounds::kProven ||
        load.args.size() != axes_.size())
      return false;
    const auto input = static_cast<size_t>(load.tensor.index);
    const std::vector<Dim>& dims = computation_.inputs[input].dims;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const bool here = d == along_;
      if (!is_axis(load.args[d], d, here ? Dim(0) - at_ : Dim(0))) return false;
      if (!(dims[d] == (here ? end - at_ : axes_[d].extent))) return false;
    }
    parts_.push_back({input, at_ * after_});
    at_ = end;
    return true;
  }

  const te::Computation& computation_;
  const std::vector<te::Axis>& axes_;
  size_t along_ = 0;
  Dim after_;        // elements for each step along the axis
  Dim at_ = Dim(0);  // how far it has been read
  int depth_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

std::optional<std::vector<Part>> concatenated(const te::Computation& computation) {
  if (computation.stages.size() != 1 || computation.outputs.size() != 1 ||
      computation.outputs[0].tensor.is_input())
    return std::nullopt;
  const auto* map = std::get_if<te::Map>(&computation.stages[0].body);
  if (map == nullptr || map->values.size() != 1) return std::nullopt;
  auto parts = Reader(computation, *map).run(*map->values[0]);
  if (!parts || parts->size() < 2) return std::nullopt;
  return parts;
}

}  // namespace relay::graph
