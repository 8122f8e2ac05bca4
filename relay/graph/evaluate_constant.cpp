#include <relay/graph/evaluate_constant.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <relay/runtime/strided.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::graph {
namespace {

/// An index as a sum over the axes of a map: offset + Σ factor · axis.
struct Sum {
  int64_t offset = 0;
  std::vector<int64_t> factors;

  int64_t least(const std::vector<int64_t>& from, const std::vector<int64_t>& to) const {
    int64_t value = offset;
    for (size_t a = 0; a < factors.size(); ++a)
      value += factors[a] * (factors[a] > 0 ? from[a] : to[a] - 1);
    return value;
  }
  int64_t greatest(const std::vector<int64_t>& from, const std::vector<int64_t>& to) const {
    int64_t value = offset;
    for (size_t a = 0; a < factors.size(); ++a)
      value += factors[a] * (factors[a] > 0 ? to[a] - 1 : from[a]);
    return value;
  }
};

std::optional<Sum> sum_of(const te::ScalarRef& index, std::span<const te::Axis> axes) {
  te::Affine affine = te::affine(index);
  if (!affine.others.empty() || !affine.constant.is_int()) return std::nullopt;
  Sum sum{affine.constant.as_int(), std::vector<int64_t>(axes.size(), 0)};
  for (const te::Affine::Term& term : affine.terms) {
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&](const te::Axis& a) { return a.id == term.axis; });
    if (axis == axes.end() || !term.coefficient.is_int()) return std::nullopt;
    sum.factors[static_cast<size_t>(axis - axes.begin())] = term.coefficient.as_int();
  }
  return sum;
}

/// A rearrangement of one array's elements, box by box.
class Copy {
 public:
  Copy(const NDArray& source, NDArray result, std::vector<Sum> indices)
      : source_(source), result_(std::move(result)), indices_(std::move(indices)) {
    offset_ = 0;
    zero_ = NDArray::zeros(Shape{}, result_.dtype());
    strides_.assign(result_.rank(), 0);
    for (size_t d = 0; d < indices_.size(); ++d) {
      offset_ += indices_[d].offset * source_.stride(d);
      for (size_t a = 0; a < strides_.size(); ++a)
        strides_[a] += indices_[d].factors[a] * source_.stride(d);
    }
  }

  /// Fills a box of points: with elements of the source, or zeros where an index is outside. False
  /// if it falls into too many pieces.
  bool run(std::vector<int64_t> from, std::vector<int64_t> to) {
    constexpr int kMost = 4096;
    if (++boxes_ > kMost) return false;
    for (size_t d = 0; d < indices_.size(); ++d) {
      const Sum& sum = indices_[d];
      int64_t extent = source_.extent(d);
      int64_t least = sum.least(from, to), greatest = sum.greatest(from, to);
      if (greatest < 0 || least >= extent) {
        each_dense(std::move(from), std::move(to), [this](const NDArray& out, const auto&) {
          if (!out.is_contiguous()) return out.assign(NDArray::uniform(zero_, out.shape()));
          std::memset(out.raw(), 0, out.byte_size());
        });
        return true;
      }
      if (least >= 0 && greatest < extent) continue;
      return split(sum, extent, from, to);
    }
    each_dense(std::move(from), std::move(to),
               [this](const NDArray& out, const std::vector<int64_t>& point) {
                 NDArray in = source_.view(out.shape(), strides_, offset_of(point));
                 if (!out.is_contiguous()) return out.assign(in);
                 copy_row_major(in, static_cast<std::byte*>(out.raw()));
               });
    return true;
  }

 private:
  /// Along the axis that moves an index furthest: the points at which all are inside stay together.
  bool split(const Sum& sum, int64_t extent, const std::vector<int64_t>& from,
             const std::vector<int64_t>& to) {
    size_t along = from.size();
    for (size_t a = 0; a < from.size(); ++a) {
      if (sum.factors[a] == 0 || to[a] - from[a] < 2) continue;
      if (along == from.size() || std::abs(sum.factors[a]) > std::abs(sum.factors[along]))
        along = a;
    }
    enum class Where : uint8_t { kInside, kOutside, kBoth };
    auto where = [&](int64_t at) {
      std::vector<int64_t> first = from, last = to;
      first[along] = at;
      last[along] = at + 1;
      int64_t least = sum.least(first, last), greatest = sum.greatest(first, last);
      if (least >= 0 && greatest < extent) return Where::kInside;
      return greatest < 0 || least >= extent ? Where::kOutside : Where::kBoth;
    };
    for (int64_t at = from[along], end = to[along]; at < end;) {
      int64_t next = at + 1;
      Where here = where(at);
      while (here != Where::kBoth && next < end && where(next) == here) ++next;
      std::vector<int64_t> first = from, last = to;
      first[along] = at;
      last[along] = next;
      if (!run(std::move(first), std::move(last))) return false;
      at = next;
    }
    return true;
  }

  /// The parts of a box that lie without gaps in the result, and the beginning of each; in one part
  /// if they would be short.
  template <class Visit>
  void each_dense(std::vector<int64_t> from, std::vector<int64_t> to, const Visit& visit) {
    Shape shape(from.size());
    int64_t at = 0;
    for (size_t a = 0; a < from.size(); ++a) {
      shape[a] = to[a] - from[a];
      at += from[a] * result_.stride(a);
    }
    NDArray out = result_.view(shape, result_.strides(), at);
    if (out.is_contiguous() || longest_run(shape) < kShort) return visit(out, from);
    // Its outermost axis with several points apart from the others.
    size_t outer = 0;
    while (shape[outer] == 1) ++outer;
    int64_t end = to[outer];
    for (int64_t k = from[outer]; k < end; ++k) {
      from[outer] = k;
      to[outer] = k + 1;
      each_dense(from, to, visit);
    }
  }

  /// Elements of a box of the result that lie one after the other.
  int64_t longest_run(const Shape& shape) const {
    int64_t run = 1;
    for (size_t a = shape.size(); a-- > 0;) {
      if (shape[a] != 1 && result_.stride(a) != run) break;
      run *= shape[a];
    }
    return run;
  }

  /// The element of the source that a point reads.
  int64_t offset_of(const std::vector<int64_t>& point) const {
    int64_t offset = offset_;
    for (size_t a = 0; a < point.size(); ++a) offset += point[a] * strides_[a];
    return offset;
  }

  static constexpr int64_t kShort = 64;  // elements

  const NDArray& source_;
  NDArray result_;
  NDArray zero_;
  std::vector<Sum> indices_;
  int64_t offset_;
  Shape strides_;
  int boxes_ = 0;
};

/// A computation that copies elements of one of its inputs, or writes zeros if there are none.
struct Rearrangement {
  const te::ScalarNode* load;
  std::vector<Sum> indices;  // of the input, for each dimension
  Shape shape;               // of the result
};

std::optional<Rearrangement> rearrangement_of(const te::Computation& computation) {
  if (computation.stages.size() != 1 || computation.outputs.size() != 1 ||
      computation.outputs[0].tensor.is_input())
    return std::nullopt;
  const auto* map = std::get_if<te::Map>(&computation.stages[0].body);
  if (map == nullptr || map->axes.empty() || map->values[0]->kind != te::ScalarKind::kLoad)
    return std::nullopt;
  const te::ScalarNode& load = *map->values[0];
  bool fills = load.bounds == te::Bounds::kFill;
  if ((!fills && load.bounds != te::Bounds::kProven) || load.args.empty()) return std::nullopt;
  if (fills && (load.fill->kind != te::ScalarKind::kConst || load.fill->value.u != 0))
    return std::nullopt;
  Rearrangement result{&load, {}, {}};
  for (const te::ScalarRef& index : load.args) {
    std::optional<Sum> sum = sum_of(index, map->axes);
    if (!sum) return std::nullopt;
    result.indices.push_back(std::move(*sum));
  }
  for (const te::Axis& axis : map->axes) {
    if (!axis.extent.is_int() || axis.extent.as_int() == 0) return std::nullopt;
    result.shape.push_back(axis.extent.as_int());
  }
  return result;
}

/// The computation as a copy of one of its inputs: null if it is none.
NDArray rearranged(const te::Computation& computation, std::span<const NDArray> inputs,
                   Device device) {
  std::optional<Rearrangement> found = rearrangement_of(computation);
  if (!found) return {};
  NDArray result = NDArray::empty(found->shape, found->load->dtype, device);
  Copy copy(inputs[static_cast<size_t>(found->load->tensor.index)], result,
            std::move(found->indices));
  return copy.run(std::vector<int64_t>(found->shape.size(), 0), found->shape) ? result : NDArray();
}

/// The places in a result of `shape` for the elements of one dimension, by the axes that its index
/// is computed from; nothing if one has no place or several. `all`: each point has an element.
std::optional<std::vector<int64_t>> places_of(const Sum& index, int64_t extent,
                                              std::span<const size_t> axes, ShapeView shape,
                                              ShapeView strides, bool& all) {
  std::vector<int64_t> places(static_cast<size_t>(extent), -1);
  std::vector<int64_t> point(axes.size(), 0);
  while (true) {
    int64_t at = index.offset, place = 0;
    for (size_t k = 0; k < axes.size(); ++k) {
      at += index.factors[axes[k]] * point[k];
      place += strides[axes[k]] * point[k];
    }
    if (at < 0 || at >= extent) {
      all = false;
    } else if (std::exchange(places[static_cast<size_t>(at)], place) >= 0) {
      return std::nullopt;
    }
    size_t k = axes.size();
    while (k > 0 && ++point[k - 1] == shape[axes[k - 1]]) point[--k] = 0;
    if (k == 0) break;
  }
  if (std::find(places.begin(), places.end(), -1) != places.end()) return std::nullopt;
  return places;
}

}  // namespace

std::optional<Scattered> scattered_result(const te::Computation& computation) {
  std::optional<Rearrangement> found = rearrangement_of(computation);
  if (!found) return std::nullopt;
  const Shape& shape = found->shape;
  std::vector<int> used(shape.size(), 0);
  bool all = true;
  Shape strides(shape.size());
  row_major_strides(shape, strides.data());
  Scattered result;
  for (size_t d = 0; d < found->indices.size(); ++d) {
    const Sum& index = found->indices[d];
    std::vector<size_t> axes;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (index.factors[a] == 0 || shape[a] == 1) continue;
      axes.push_back(a);
      ++used[a];
    }
    // An axis of several indices moves along a diagonal.
    for (size_t a : axes) {
      if (used[a] > 1) return std::nullopt;
    }
    Dim extent = computation.info(found->load->tensor).dims[d];
    auto places = places_of(index, extent.as_int(), axes, shape, strides, all);
    if (!places) return std::nullopt;
    result.places.push_back(std::move(*places));
  }
  // One of none repeats elements.
  for (size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] > 1 && used[a] == 0) return std::nullopt;
  }
  result.result =
      all ? NDArray::empty(shape, found->load->dtype) : NDArray::zeros(shape, found->load->dtype);
  return result;
}

NDArray evaluate_constant(const te::Computation& computation, std::span<const NDArray> inputs,
                          Device device) {
  if (NDArray result = rearranged(computation, inputs, device)) return result;
  NDArray result = te::evaluate(computation, inputs, {}, device)[0];
  return result.is_uniform() ? result : result.contiguous();
}

}  // namespace relay::graph
