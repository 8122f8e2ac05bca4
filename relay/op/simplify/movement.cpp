// Elements that move and move again: transposes, layouts, reshapes.
#include <algorithm>
#include <cctype>
#include <vector>

#include <relay/op/registry/simplify.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/op/shape/window_attrs.h>

namespace relay {
namespace {

using Permutation = std::vector<int64_t>;

bool is_identity(const Permutation& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool has_blocks(const std::string& layout) {
  return std::any_of(layout.begin(), layout.end(),
                     [](unsigned char c) { return std::isupper(c) == 0; });
}

/// Result axis i is data axis `[i]`, of a call that only puts axes in another order.
std::optional<Permutation> permutation_of(const OpCall& call) {
  std::string_view op = call.op()->name().view();
  if (op == "transpose") {
    const auto& given = call.attrs<TransposeAttrs>().axes;
    auto rank = static_cast<int64_t>(call.tensor(0).rank());
    Permutation axes(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) {
      int64_t axis = given ? (*given)[static_cast<size_t>(i)] : rank - 1 - i;
      axes[static_cast<size_t>(i)] = axis < 0 ? axis + rank : axis;
    }
    return axes;
  }
  if (op == "layout_transform") {
    const auto& attrs = call.attrs<LayoutTransformAttrs>();
    if (has_blocks(*attrs.src_layout) || has_blocks(*attrs.dst_layout)) return std::nullopt;
    Permutation axes;
    for (char axis : *attrs.dst_layout)
      axes.push_back(static_cast<int64_t>(attrs.src_layout->find(axis)));
    return axes;
  }
  return std::nullopt;
}

ExprRef no_permutation(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<Permutation> axes = permutation_of(call);
  return axes && is_identity(*axes) ? args[0] : ExprRef();
}

ExprRef two_permutations(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get());
  std::optional<Permutation> then = permutation_of(call);
  std::optional<Permutation> first = inner ? permutation_of(*inner) : std::nullopt;
  if (!first || !then || first->size() != then->size()) return {};
  Permutation axes;
  for (int64_t axis : *then) axes.push_back((*first)[static_cast<size_t>(axis)]);
  const ExprRef& data = first_arg(args[0]);
  if (is_identity(axes)) return data;
  return call_op("transpose", {data}, Attrs::make(TransposeAttrs{attr::Axes(std::move(axes))}));
}

ExprRef two_layouts(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "layout_transform");
  if (!inner) return {};
  const auto& first = inner->attrs<LayoutTransformAttrs>();
  const auto& then = call.attrs<LayoutTransformAttrs>();
  if (*first.dst_layout != *then.src_layout) return {};
  const ExprRef& data = first_arg(args[0]);
  if (*first.src_layout == *then.dst_layout) return data;
  return call_op("layout_transform", {data},
                 Attrs::make(LayoutTransformAttrs{first.src_layout, then.dst_layout}));
}

/// The axes of a layout, one by one: "NCHW4c" is N, C, H, W, 4c.
std::vector<std::string> axes_of_layout(const std::string& layout) {
  std::vector<std::string> axes;
  std::string digits;
  for (char letter : layout) {
    if (std::isdigit(static_cast<unsigned char>(letter)) != 0) {
      digits += letter;
      continue;
    }
    axes.push_back(digits + letter);
    digits.clear();
  }
  return axes;
}

/// layout_transform(transpose(x), S, D), where D has blocks: x is in a layout itself.
ExprRef layout_of_axes(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "transpose");
  const auto& attrs = call.attrs<LayoutTransformAttrs>();
  if (!inner || has_blocks(*attrs.src_layout)) return {};
  const std::optional<Permutation> axes = permutation_of(*inner);
  if (!axes || axes->size() != attrs.src_layout->size()) return {};
  std::string source = *attrs.src_layout;
  for (size_t i = 0; i < axes->size(); ++i)
    source[static_cast<size_t>((*axes)[i])] = (*attrs.src_layout)[i];
  return call_op("layout_transform", {first_arg(args[0])},
                 Attrs::make(LayoutTransformAttrs{std::move(source), attrs.dst_layout}));
}

/// transpose(layout_transform(x, S, D)), where a layout has blocks: another layout, if a block
/// comes behind its axis in it.
ExprRef axes_of_blocks(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "layout_transform");
  if (!inner) return {};
  const auto& attrs = inner->attrs<LayoutTransformAttrs>();
  const std::vector<std::string> old = axes_of_layout(*attrs.dst_layout);
  const std::optional<Permutation> axes = permutation_of(call);
  if (!axes || axes->size() != old.size()) return {};
  std::string layout;
  for (int64_t axis : *axes) {
    const std::string& next = old[static_cast<size_t>(axis)];
    const char whole = static_cast<char>(std::toupper(static_cast<unsigned char>(next.back())));
    if (next.back() != whole && layout.find(whole) == std::string::npos) return {};
    layout += next;
  }
  if (layout == *attrs.src_layout) return first_arg(args[0]);
  return call_op("layout_transform", {first_arg(args[0])},
                 Attrs::make(LayoutTransformAttrs{attrs.src_layout, std::move(layout)}));
}

/// A shape in the form of `newshape`: at most one extent that is not a number. Nothing for `?` and
/// 0, which have another meaning there.
std::optional<std::vector<int64_t>> new_shape(const std::vector<Dim>& dims) {
  std::vector<int64_t> shape;
  bool open = false;
  for (const Dim& dim : dims) {
    if (dim.is_any() || dim.is_int(0) || (!dim.is_int() && open)) return std::nullopt;
    open |= !dim.is_int();
    shape.push_back(dim.is_int() ? dim.as_int() : -1);
  }
  return shape;
}

ExprRef reshaped(const ExprRef& data, const std::vector<Dim>& dims) {
  std::optional<std::vector<int64_t>> shape = new_shape(dims);
  if (!shape) return {};
  return call_op("reshape", {data}, Attrs::make(ReshapeAttrs{{std::move(*shape)}, false}));
}

ExprRef same_shape(const OpCall& call, std::span<const ExprRef> args) {
  return call.input(0) == call.output() && !call.output()->has_any_dim() ? args[0] : ExprRef();
}

ExprRef two_reshapes(const OpCall& call, std::span<const ExprRef> args) {
  for (std::string_view op : {"reshape", "contrib_reverse_reshape", "reshape_like"}) {
    if (tensor_call(args[0].get(), op)) return reshaped(first_arg(args[0]), call.result().dims);
  }
  return {};
}

ExprRef known_reshape(const OpCall& call, std::span<const ExprRef> args) {
  return reshaped(args[0], call.result().dims);
}

}  // namespace

std::span<const OperatorRule> movement_rules() {
  // clang-format off
  static const OperatorRule kRules[] = {
      {"reshape_like",            {"shape of another, known", Keeps::kBits, known_reshape}},
      {"reshape",                 {"reshape to the same",     Keeps::kBits, same_shape}},
      {"reshape",                 {"reshape of a reshape",    Keeps::kBits, two_reshapes}},
      {"contrib_reverse_reshape", {"reshape to the same",     Keeps::kBits, same_shape}},
      {"contrib_reverse_reshape", {"reshape of a reshape",    Keeps::kBits, two_reshapes}},
      {"transpose",               {"axes in their order",     Keeps::kBits, no_permutation}},
      {"transpose",               {"transpose of a transpose",Keeps::kBits, two_permutations}},
      {"transpose",               {"transpose of a layout",   Keeps::kBits, axes_of_blocks}},
      {"layout_transform",        {"axes in their order",     Keeps::kBits, no_permutation}},
      {"layout_transform",        {"axes and axes again",     Keeps::kBits, two_permutations}},
      {"layout_transform",        {"layout and back",         Keeps::kBits, two_layouts}},
      {"layout_transform",        {"layout of a transpose",   Keeps::kBits, layout_of_axes}},
  };
  // clang-format on
  return kRules;
}

}  // namespace relay
