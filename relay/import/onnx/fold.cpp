#include <relay/import/onnx/fold.h>

#include <algorithm>
#include <numeric>

#include <relay/ir/dim_error.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

bool none_known(const Elements& elements) {
  return std::all_of(elements.begin(), elements.end(), [](Dim dim) { return dim.is_any(); });
}

bool in_range(Dim dim, DType dtype) {
  if (!dim.is_int()) return true;
  if (dtype.bits >= 62) return dtype.is_signed() || dim.as_int() >= 0;
  int64_t limit = int64_t{1} << (dtype.bits - (dtype.is_signed() ? 1 : 0));
  return dim.as_int() < limit && dim.as_int() >= (dtype.is_signed() ? -limit : 0);
}

}  // namespace

bool any_unknown(std::span<const Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); });
}

Truth surely_equal(Dim a, Dim b) {
  if (a.is_any() || b.is_any()) return Truth::kUnknown;
  bool apart = (a.is_natural() && (Dim(-1) - b).is_natural()) ||
               (b.is_natural() && (Dim(-1) - a).is_natural());
  return apart ? Truth::kNo : dims_equal(a, b);
}

Dim equality(Dim a, Dim b) {
  Truth known = surely_equal(a, b);
  if (known != Truth::kUnknown) return known == Truth::kYes ? 1 : 0;
  Dim difference = a - b;
  return Dim(1) - min(1, max(difference, Dim(0) - difference));
}

GraphValue known_or(NodeContext& node, Elements elements, std::span<const Dim> dims, DType dtype,
                    const std::function<GraphValue()>& emit) {
  if (!any_unknown(elements)) return node.known_value(std::move(elements), dims, dtype);
  return emit().knowing(std::move(elements));
}

std::optional<GraphValue> fold_elementwise(NodeContext& node, const std::vector<GraphValue>& args,
                                           DType dtype, const ElementFn& element,
                                           const std::function<GraphValue()>& emit) {
  std::vector<Dim> dims;
  for (const GraphValue& arg : args) {
    if (!arg.elements()) return std::nullopt;
    std::optional<std::vector<Dim>> joined = broadcast_shapes(dims, arg.dims());
    if (!joined) return std::nullopt;
    dims = *joined;
  }
  Dim size = product(dims);
  if (!size.is_int() || size.as_int() > static_cast<int64_t>(kMostElements)) return std::nullopt;
  Elements result;
  std::vector<Dim> operands(args.size());
  try {
    for (int64_t k = 0; k < size.as_int(); ++k) {
      for (size_t a = 0; a < args.size(); ++a) {
        std::span<const Dim> own = args[a].dims();
        int64_t at = 0, stride = 1, rest = k;
        for (size_t axis = dims.size(); axis-- > 0;) {
          int64_t i = rest % dims[axis].as_int();
          rest /= dims[axis].as_int();
          if (dims.size() - axis > own.size()) continue;
          Dim extent = own[axis + own.size() - dims.size()];
          if (!extent.is_int(1)) at += i * stride;
          stride *= extent.as_int();
        }
        operands[a] = (*args[a].elements())[static_cast<size_t>(at)];
      }
      bool open = any_unknown(operands);
      result.push_back(open && args.size() < 3 ? Dim::any() : element(operands));
      if (!in_range(result.back(), dtype)) return std::nullopt;
    }
  } catch (const Error&) {
    return std::nullopt;  // numbers or terms beyond what a Dim holds
  }
  if (!result.empty() && none_known(result)) return std::nullopt;
  return known_or(node, std::move(result), dims, dtype, emit);
}

std::optional<GraphValue> fold_rearranged(NodeContext& node, const GraphValue& value,
                                          const std::vector<int64_t>& positions,
                                          std::span<const Dim> dims,
                                          const std::function<GraphValue()>& emit) {
  if (!value.elements() || positions.size() > kMostElements) return std::nullopt;
  Elements result;
  for (int64_t at : positions) result.push_back((*value.elements())[static_cast<size_t>(at)]);
  if (!result.empty() && none_known(result)) return std::nullopt;
  return known_or(node, std::move(result), dims, value.dtype(), emit);
}

std::optional<std::vector<std::vector<int64_t>>> all_places(const GraphValue& value) {
  if (!value.elements()) return std::nullopt;
  std::vector<std::vector<int64_t>> places;
  for (Dim extent : value.dims()) {
    // Beside an axis without places another may be of any length.
    if (!extent.is_int() || extent.as_int() > static_cast<int64_t>(kMostElements))
      return std::nullopt;
    places.emplace_back(static_cast<size_t>(extent.as_int()));
    std::iota(places.back().begin(), places.back().end(), 0);
  }
  return places;
}

std::optional<GraphValue> fold_places(NodeContext& node, const GraphValue& value,
                                      const std::vector<std::vector<int64_t>>& places,
                                      const std::vector<int64_t>& order,
                                      const std::function<GraphValue()>& emit) {
  std::vector<Dim> dims;
  for (int64_t axis : order)
    dims.emplace_back(static_cast<int64_t>(places[static_cast<size_t>(axis)].size()));
  if (!value.elements() || value.elements()->empty())
    return fold_rearranged(node, value, {}, dims, emit);
  std::vector<int64_t> steps(value.rank(), 1);
  for (size_t axis = value.rank(); axis-- > 1;)
    steps[axis - 1] = steps[axis] * value.dim(axis).as_int();
  std::vector<int64_t> positions{0};
  for (int64_t at : order) {
    const auto axis = static_cast<size_t>(at);
    std::vector<int64_t> longer;
    for (int64_t position : positions) {
      for (int64_t place : places[axis]) longer.push_back(position + place * steps[axis]);
    }
    positions = std::move(longer);
  }
  return fold_rearranged(node, value, positions, dims, emit);
}

}  // namespace relay::onnx
