// DenseToSparse, DenseToSparse2, Conv2dToSparse, Conv2dToSparse2: products with sparse weights.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/registry/forms.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/entry.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>
#include <relay/transform/sparse/sparse.h>

namespace relay::sparse {
namespace {

using Texts = std::vector<std::string>;
using Parts = std::array<ExprRef, 3>;

// A call whose weight, operand 2, may be a sparse matrix.
struct SparseForm {
  /// Axes of the weight: that of the matrix's rows, then those of its columns. Empty for a call
  /// that has no such form.
  std::function<std::vector<size_t>(const Call& call)> axes;
  std::function<ExprRef(const ExprRef& data, const Parts& matrix, Span span)> make;
};

SparseForm dense_form() {
  auto axes = [](const Call& call) -> std::vector<size_t> {
    const auto attrs = call_attrs<DenseAttrs>(&call);
    const TensorType* data = tensor_of(call.args()[0].get());
    const TensorType* weight = tensor_of(call.args()[1].get());
    if (!attrs || data == nullptr || weight == nullptr) return {};
    // The sparse product has one dtype.
    if (data->dims().size() != 2 || data->dtype() != weight->dtype() || !data->dtype().is_float() ||
        attrs->out_dtype.value_or(data->dtype()) != data->dtype())
      return {};
    return {0, 1};
  };
  return {axes, [](const ExprRef& data, const Parts& matrix, Span span) {
            return make_sparse_dense(data, matrix, span);
          }};
}

// Those of stride 1 whose result is as large as the data.
SparseForm conv2d_form(const std::string& layout, int64_t kernel_size) {
  if (layout != "NHWC" && layout != "NCHW")
    throw Error("option layout is NHWC or NCHW, not " + layout);
  if (kernel_size < 1 || kernel_size % 2 == 0)
    throw Error("option kernel_size is an odd extent, not " + std::to_string(kernel_size));
  const bool last = layout == "NHWC";
  auto axes = [=](const Call& call) -> std::vector<size_t> {
    const auto attrs = call_attrs<Conv2DAttrs>(&call);
    const TensorType* data = tensor_of(call.args()[0].get());
    const TensorType* weight = tensor_of(call.args()[1].get());
    if (!attrs || data == nullptr || weight == nullptr || weight->dims().size() != 4) return {};
    auto all = [](const std::vector<int64_t>& numbers, int64_t wanted) {
      return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
    };
    const std::string& kernel = last ? "HWIO" : "OIHW";
    const std::vector<size_t> order =
        last ? std::vector<size_t>{3, 0, 1, 2} : std::vector<size_t>{0, 2, 3, 1};
    const bool same = all(attrs->strides, 1) && all(attrs->dilation, 1) && attrs->groups == 1 &&
                      all(attrs->padding, kernel_size / 2) && attrs->data_layout == layout &&
                      attrs->kernel_layout == kernel &&
                      (attrs->out_layout.empty() || attrs->out_layout == layout) &&
                      weight->dims()[order[1]].is_int(kernel_size) &&
                      weight->dims()[order[2]].is_int(kernel_size);
    // The sparse product has one dtype.
    const bool one_dtype = data->dtype() == weight->dtype() && data->dtype().is_float() &&
                           tensor_of(&call) != nullptr &&
                           tensor_of(&call)->dtype() == data->dtype();
    return same && one_dtype ? order : std::vector<size_t>();
  };
  return {axes, [=](const ExprRef& data, const Parts& matrix, Span span) {
            return make_sparse_conv2d(data, matrix, layout, kernel_size, span);
          }};
}

bool has_form(const Expr* expr, const SparseForm& form) {
  return called_op(expr) != nullptr && static_cast<const Call*>(expr)->args().size() == 2 &&
         !form.axes(static_cast<const Call&>(*expr)).empty();
}

// ---- Weights that are parameters ---------------------------------------------------------------

using Extents = std::map<std::string, std::vector<int64_t>>;  // of elements, columns, beginnings

std::vector<int64_t> integers(const std::string& option, const std::string& text) {
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t number = 0;
    auto [after, error] = std::from_chars(at, end, number);
    // int32 counts elements.
    if (error != std::errc() || number < 0 || number > std::numeric_limits<int32_t>::max())
      throw Error("option " + option + " takes lists of extents, not " + text);
    numbers.push_back(number);
    at = after;
  }
  return numbers;
}

Extents extents(const PassOptions& options) {
  const auto& names = option<Texts>(options, "weight_name");
  const auto& shapes = option<Texts>(options, "weight_shape");
  if (names.size() != shapes.size()) {
    throw Error(std::to_string(names.size()) + " weights have " + std::to_string(shapes.size()) +
                " shapes");
  }
  Extents result;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<int64_t> shape = integers("weight_shape", shapes[i]);
    if (shape.size() != 3 && shape.size() != 5) {
      throw Error("the shape of weight " + names[i] +
                  " has the extents of elements, columns and beginnings, not \"" + shapes[i] +
                  "\"");
    }
    result[names[i]] = std::move(shape);
  }
  return result;
}

// Throws `Error` unless a sparse matrix of these extents can be that of the weight.
void check_extents(const Var& weight, const std::vector<size_t>& axes,
                   const std::vector<int64_t>& extents) {
  const bool in_blocks = extents.size() == 5;
  const int64_t height = in_blocks ? extents[1] : 1;
  const int64_t width = in_blocks ? extents[2] : 1;
  const int64_t columns = extents[extents.size() - 2];
  const int64_t block_rows = extents.back() - 1;
  const std::string name = "%" + weight.name().str();
  auto refuse = [&](const std::string& problem) { throw Error(problem, weight.span()); };
  if (extents[0] != columns) {
    refuse("the sparse form of " + name + " has " + std::to_string(extents[0]) +
           (in_blocks ? " blocks" : " elements") + ", but columns for " + std::to_string(columns));
  }
  const std::span<const Dim> dims = tensor_of(&weight)->dims();
  if (block_rows < 0 || !dims[axes[0]].is_int(block_rows * height)) {
    refuse(name + " has " + dims[axes[0]].str() + " rows, but its sparse form has " +
           std::to_string(block_rows < 0 ? 0 : block_rows * height));
  }
  Dim all(1);
  for (size_t i = 1; i < axes.size(); ++i) all = all * dims[axes[i]];
  if (width < 1 || !all.is_int() || all.as_int() % width != 0) {
    refuse(name + " has " + all.str() + " columns, which blocks of width " + std::to_string(width) +
           " do not divide");
  }
}

class ParamsToSparse {
 public:
  ParamsToSparse(const FunctionRef& function, const Extents& extents, const SparseForm& form)
      : function_(function), form_(form) {
    for (const VarRef& param : function->params()) {
      auto found = extents.find(param->name().str());
      if (found != extents.end() && tensor_of(param.get()) != nullptr)
        extents_[param.get()] = &found->second;
    }
  }

  FunctionRef run() {
    if (extents_.empty()) return function_;
    ExprRef body = rewrite_post_order(
        function_->body(), [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (!has_form(expr, form_)) return {};
          const auto* weight = static_cast<const Call*>(expr)->args()[1]->as<Var>();
          if (weight == nullptr || !extents_.contains(weight)) return {};
          check_extents(*weight, form_.axes(static_cast<const Call&>(*expr)), *extents_.at(weight));
          return form_.make(operands[1], parts_of(weight), expr->span());
        });
    if (order_.empty()) return function_;
    PointerSet<Expr> used;
    post_order(body.get(), [&](const Expr* expr) {
      if (expr->is<Var>()) used.insert(expr);
    });
    std::vector<VarRef> params;
    for (const VarRef& param : function_->params()) {
      if (!parts_.contains(param.get()) || used.contains(param.get())) params.push_back(param);
    }
    for (const Var* weight : order_) {
      for (const ExprRef& part : parts_.at(weight)) params.emplace_back(part->as<Var>());
    }
    return with_body(function_, std::move(params), std::move(body));
  }

 private:
  const Parts& parts_of(const Var* weight) {
    auto [parts, fresh] = parts_.insert(weight);
    if (!fresh) return *parts;
    order_.push_back(weight);
    const std::vector<int64_t>& given = *extents_.at(weight);
    const std::vector<Dim> dims(given.begin(), given.end());
    const std::string name = weight->name().str();
    auto part = [&](const char* suffix, std::span<const Dim> shape, DType dtype) {
      return make_var(name + suffix, TensorType::make(shape, dtype), weight->span());
    };
    const std::span<const Dim> all(dims);
    *parts = {part(".data", all.first(all.size() - 2), tensor_of(weight)->dtype()),
              part(".indices", all.subspan(all.size() - 2, 1), kInt32),
              part(".indptr", all.last(1), kInt32)};
    return *parts;
  }

  const FunctionRef& function_;
  const SparseForm& form_;
  PointerMap<Var, const std::vector<int64_t>*> extents_;
  PointerMap<Var, Parts> parts_;
  std::vector<const Var*> order_;
};

PassRef params_to_sparse(const PassInfo& info, const PassOptions& options, SparseForm form) {
  return make_prepared_function_pass(
      info, [given = extents(options), form](const Module& module, const PassContext&) {
        return [entry = entry_of(module), &given, &form](const FunctionRef& function) {
          if (entry.function != function) return function;
          for (const auto& [name, extents] : given) find_parameter(*function, entry.name, name);
          return ParamsToSparse(function, given, form).run();
        };
      });
}

// ---- Weights that are constants ----------------------------------------------------------------

struct Blocks {
  int64_t height;
  int64_t width;
  double threshold;
};

Blocks blocks(const PassOptions& options) {
  const auto& texts = option<Texts>(options, "blocksize");
  std::string all;
  for (const std::string& text : texts) all += text + " ";
  const std::vector<int64_t> extents = integers("blocksize", all);
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1)
    throw Error("option blocksize is the height and the width of blocks");
  const auto threshold = option<double>(options, "sparsity_threshold");
  if (!(threshold >= 0 && threshold <= 1))
    throw Error("option sparsity_threshold is a share, between 0 and 1");
  return {extents[0], extents[1], threshold};
}

// The weight as a sparse matrix; nothing if it has too few zeros, or if blocks do not divide it.
std::optional<Parts> sparse_weight(const Constant& weight, const std::vector<size_t>& axes,
                                   const Blocks& blocks) {
  const NDArray& values = weight.data();
  if (share_of_zeros(values) < blocks.threshold) return std::nullopt;
  const NDArray turned = values.transpose(axes).contiguous();
  const int64_t rows = turned.extent(0);
  if (rows == 0 || values.size() == 0) return std::nullopt;
  const int64_t extents[] = {rows, values.size() / rows};
  if (!can_be_blocks(extents, blocks.height, blocks.width)) return std::nullopt;
  BlockMatrix matrix = block_matrix(turned.reshape(extents), blocks.height, blocks.width);
  auto constant = [&](const NDArray& array) { return make_constant(array, weight.span()); };
  return Parts{constant(matrix.elements), constant(matrix.columns), constant(matrix.beginnings)};
}

PassRef constants_to_sparse(const PassInfo& info, const PassOptions& options, SparseForm form) {
  return make_function_pass(
      info, [chosen = blocks(options), form](const FunctionRef& function, const Module&,
                                             const PassContext&) {
        PointerMap<Expr, std::optional<Parts>> known;
        auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (!has_form(expr, form)) return {};
          const auto& call = static_cast<const Call&>(*expr);
          const auto* weight = call.args()[1]->as<Constant>();
          if (weight == nullptr) return {};
          auto [parts, fresh] = known.insert(weight);
          if (fresh) *parts = sparse_weight(*weight, form.axes(call), chosen);
          return *parts ? form.make(operands[1], **parts, call.span()) : ExprRef();
        };
        return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
      });
}

const PassRegistration::Option kNames{"weight_name", "Names of parameters.", Texts{}};
const PassRegistration::Option kShapes{
    "weight_shape",
    "The extents of the elements (or blocks), columns and beginnings of each, as `6 2 2 6 3`.",
    Texts{}, OptionEntries::kIntegerLists};
const PassRegistration::Option kLayout{"layout", "NHWC with HWIO weights, or NCHW with OIHW.",
                                       std::string("NHWC")};
const PassRegistration::Option kKernelSize{"kernel_size", "The extent of kernels, odd.",
                                           int64_t{1}};
const PassRegistration::Option kBlocks{"blocksize", "Height and width of blocks.", Texts{"1", "1"},
                                       OptionEntries::kIntegers};
const PassRegistration::Option kThreshold{
    "sparsity_threshold", "The share of zeros from which on a weight is sparse.", 0.8};

RELAY_REGISTER_PASS({
    {"DenseToSparse",
     4,
     {ProgramState::kTyped},
     "Makes `nn.dense` with these parameters of the entry as weights `nn.sparse_dense`: `w.data`, "
     "`w.indices` "
     "and `w.indptr` take the place of `w`. `relay.sparse.process_dense_params` in Python makes "
     "the arrays and gives the extents.",
     {},
     false,
     PassInfo::Signature::kOther,
     PassInfo::ResultOf::kOptions},
    {kNames, kShapes},
    [](const PassInfo& info, const PassOptions& options) {
      return params_to_sparse(info, options, dense_form());
    },
});

RELAY_REGISTER_PASS({
    {"DenseToSparse2",
     4,
     {ProgramState::kTyped},
     "Makes `nn.dense` whose weight is a constant with enough zeros `nn.sparse_dense`, where "
     "blocks "
     "divide the weight."},
    {kBlocks, kThreshold},
    [](const PassInfo& info, const PassOptions& options) {
      return constants_to_sparse(info, options, dense_form());
    },
});

RELAY_REGISTER_PASS({
    {"Conv2dToSparse",
     4,
     {ProgramState::kTyped},
     "Does what DenseToSparse does for `nn.conv2d` of stride 1 whose result is as large as its "
     "data, as `nn.sparse_conv2d`. `relay.sparse.process_conv2d_params` makes the arrays.",
     {},
     false,
     PassInfo::Signature::kOther,
     PassInfo::ResultOf::kOptions},
    {kNames, kShapes, kLayout, kKernelSize},
    [](const PassInfo& info, const PassOptions& options) {
      return params_to_sparse(info, options,
                              conv2d_form(option<std::string>(options, "layout"),
                                          option<int64_t>(options, "kernel_size")));
    },
});

RELAY_REGISTER_PASS({
    {"Conv2dToSparse2",
     5,
     {ProgramState::kTyped},
     "Does the same for weights that are constants with enough zeros, where blocks divide them."},
    {kLayout, kKernelSize, kBlocks, kThreshold},
    [](const PassInfo& info, const PassOptions& options) {
      return constants_to_sparse(info, options,
                                 conv2d_form(option<std::string>(options, "layout"),
                                             option<int64_t>(options, "kernel_size")));
    },
});

}  // namespace
}  // namespace relay::sparse
