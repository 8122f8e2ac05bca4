// FlattenAtrousConv: a convolution of every n-th pixel, written with blocks, becomes a dilated one.
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/space_attrs.h>
#include <relay/program/view.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

using Pairs = std::vector<std::vector<int64_t>>;

bool all_are(std::span<const int64_t> values, int64_t wanted) {
  for (int64_t value : values) {
    if (value != wanted) return false;
  }
  return true;
}

// The blocks, the convolution in them and its way back, each used by the next alone.
struct Atrous {
  const Call* into_blocks;
  const Call* conv;
  Conv2DAttrs attrs;  // of the one convolution
};

std::optional<Atrous> find_atrous(const View& view, uint32_t id) {
  auto out = call_attrs<BatchToSpaceNDAttrs>(view.expr(id));
  if (!out) return std::nullopt;
  auto argument = [&](uint32_t call, size_t i) { return view.operands(call)[i + 1]; };
  const uint32_t conv = argument(id, 0);
  auto attrs = call_attrs<Conv2DAttrs>(view.expr(conv));
  if (!attrs || view.users()[conv].size() != 1) return std::nullopt;
  const uint32_t blocks = argument(conv, 0);
  auto in = call_attrs<SpaceToBatchNDAttrs>(view.expr(blocks));
  if (!in || view.users()[blocks].size() != 1) return std::nullopt;
  // Axes 1 and 2 are the ones with blocks; the convolution adds nothing and steps over nothing.
  const Pairs& paddings = in->paddings;
  const Pairs& crops = out->crops;
  const bool plain = std::string_view(attrs->data_layout) == "NHWC" &&
                     in->block_shape == out->block_shape && in->block_shape.size() == 2 &&
                     in->pad_value == 0 && paddings.size() == 2 && crops.size() == 2 &&
                     all_are(attrs->padding, 0) && all_are(attrs->strides, 1) &&
                     all_are(attrs->dilation, 1);
  if (!plain) return std::nullopt;
  // Padding in pixels: what was added, but for what is cut off again.
  std::vector<int64_t> padding;
  for (size_t side = 0; side < 2; ++side) {
    for (size_t axis = 0; axis < 2; ++axis) {
      padding.push_back(paddings[axis][side] - crops[axis][side]);
      if (padding.back() < 0) return std::nullopt;
    }
  }
  attrs->padding = attr::Sizes(padding);
  attrs->dilation = attr::Sizes(in->block_shape);
  return Atrous{static_cast<const Call*>(view.expr(blocks)),
                static_cast<const Call*>(view.expr(conv)), std::move(*attrs)};
}

FunctionRef flatten(const FunctionRef& function, const Module&, const PassContext&) {
  View view(function);
  PointerMap<Expr, uint32_t> places;  // of the ways back
  std::vector<Atrous> found;
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (view.kind(id) != ExprKind::kCall) continue;
    if (auto atrous = find_atrous(view, id)) {
      places[view.expr(id)] = static_cast<uint32_t>(found.size());
      found.push_back(std::move(*atrous));
    }
  }
  if (found.empty()) return function;
  class Writer final : public Rewriter {
   public:
    Writer(const PointerMap<Expr, uint32_t>& places, const std::vector<Atrous>& found)
        : places_(places), found_(found) {}

   private:
    ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
      const uint32_t* place = places_.find(expr);
      if (place == nullptr) return rebuild(expr, operands);
      const Atrous& atrous = found_[*place];
      // The rewritten convolution, whose data is the rewritten call that made blocks.
      const auto& conv = static_cast<const Call&>(*operands[1]);
      const auto& blocks = static_cast<const Call&>(*conv.args()[0]);
      std::vector<ExprRef> args(conv.args().begin(), conv.args().end());
      args[0] = blocks.args()[0];
      return make_call(conv.callee(), args, Attrs::make(atrous.attrs), {}, expr->span());
    }
    const PointerMap<Expr, uint32_t>& places_;
    const std::vector<Atrous>& found_;
  };
  return FunctionRef(Writer(places, found).run(function)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"FlattenAtrousConv",
     0,
     {ProgramState::kTyped},
     "Makes nn.space_to_batch_nd, nn.conv2d and nn.batch_to_space_nd one dilated convolution, "
     "where "
     "each is used by the next alone and what is cut off at the end is not more than what was "
     "added."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, flatten); },
});

}  // namespace
}  // namespace relay
