// Facts of operators under TVM's names, and those that are attached.
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include <relay/op/op.h>
#include <relay/pattern/attr_values.h>
#include <relay/pattern/pattern.h>

namespace relay {
namespace {

/// The fusion patterns that TVM 0.14 has for its operators, by its numbers: elementwise, broadcast,
/// injective, reduction, out-elementwise-fusable, opaque. FuseOps here derives its own.
struct FusionPattern {
  int64_t number;
  std::string_view operators;
};
// clang-format off
constexpr FusionPattern kFusionPatterns[] = {
    {0,
     "abs acos acosh asin asinh atan atanh bitwise_not cast cast_like ceil clip copy "
     "cos cosh dyn.full dyn.ones dyn.zeros erf exp fast_erf fast_exp fast_tanh "
     "fixed_point_multiply floor full full_like isfinite isinf isnan log log10 log2 "
     "logical_not negative nn.leaky_relu nn.relu ones ones_like qnn.dequantize "
     "qnn.quantize qnn.requantize qnn.simulated_dequantize qnn.simulated_quantize "
     "qnn.tanh reinterpret relay.op.annotation.simulated_quantize round rsqrt sigmoid "
     "sign sin sinh sqrt tan tanh trilu trunc zeros zeros_like"},
    {1,
     "add bitwise_and bitwise_or bitwise_xor broadcast_to broadcast_to_like divide "
     "dyn.broadcast_to equal expand_dims fixed_point_multiply_per_axis floor_divide "
     "floor_mod greater greater_equal left_shift less less_equal logical_and "
     "logical_or logical_xor maximum minimum mod multiply nn.bias_add nn.prelu "
     "not_equal power qnn.add qnn.mul qnn.subtract repeat right_shift subtract tile "
     "trunc_divide trunc_mod where"},
    {2,
     "adv_index concatenate contrib_reverse_reshape dyn.expand_dims dyn.image.resize2d "
     "dyn.nn.pad dyn.nn.upsampling dyn.nn.upsampling3d dyn.reshape dyn.squeeze "
     "dyn.strided_slice dyn.tile einsum gather gather_nd image.affine_grid "
     "image.crop_and_resize image.grid_sample image.resize1d image.resize2d "
     "image.resize3d invert_permutation layout_transform matrix_set_diag meshgrid "
     "ndarray_size nn.batch_flatten nn.batch_to_space_nd nn.depth_to_space nn.dilate "
     "nn.mirror_pad nn.pad nn.space_to_batch_nd nn.space_to_depth nn.upsampling "
     "nn.upsampling3d qnn.concatenate reshape reshape_like reverse reverse_sequence "
     "sequence_mask slice_like sparse_reshape split squeeze stack strided_set "
     "strided_slice take transpose unravel_index vision.yolo_reorg"},
    {3,
     "all any argmax argmin collapse_sum_like collapse_sum_to max mean min prod sum "
     "variance"},
    {4,
     "dyn.one_hot image.dilation2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d "
     "nn.adaptive_avg_pool3d nn.adaptive_max_pool1d nn.adaptive_max_pool2d "
     "nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool2d_grad "
     "nn.avg_pool3d nn.batch_matmul nn.batch_norm nn.contrib_conv2d_NCHWc "
     "nn.contrib_conv2d_gemm_weight_transform "
     "nn.contrib_conv2d_gemm_without_weight_transform "
     "nn.contrib_conv2d_winograd_weight_transform "
     "nn.contrib_conv2d_winograd_without_weight_transform "
     "nn.contrib_conv3d_winograd_weight_transform "
     "nn.contrib_conv3d_winograd_without_weight_transform nn.contrib_dense_pack "
     "nn.contrib_depthwise_conv2d_NCHWc nn.conv1d nn.conv1d_transpose nn.conv2d "
     "nn.conv2d_backward_weight nn.conv2d_transpose nn.conv3d nn.conv3d_transpose "
     "nn.correlation nn.deformable_conv2d nn.dense nn.fast_softmax "
     "nn.global_avg_pool2d nn.global_max_pool2d nn.internal.sparse_dense_padded "
     "nn.log_softmax nn.matmul nn.max_pool1d nn.max_pool2d nn.max_pool2d_grad "
     "nn.max_pool3d nn.nll_loss nn.softmax nn.sparse_conv2d nn.sparse_dense "
     "nn.sparse_transpose one_hot qnn.avg_pool2d qnn.batch_matmul "
     "qnn.contrib_dense_pack qnn.conv2d qnn.dense vision.roi_align vision.roi_pool"},
    {8,
     "annotation.cast_hint annotation.checkpoint annotation.compiler_begin "
     "annotation.compiler_end annotation.stop_fusion arange argsort argwhere cumprod "
     "cumsum debug device_copy dft dyn.sparse_to_dense dyn.topk memory.alloc_storage "
     "memory.alloc_tensor memory.kill "
     "nn.contrib_conv2d_winograd_nnpack_weight_transform nn.cross_entropy "
     "nn.cross_entropy_with_logits nn.dropout nn.fifo_buffer nn.lrn nn.sparse_add "
     "on_device random.multinomial random.normal random.threefry_generate "
     "random.threefry_split random.uniform scatter_elements scatter_nd searchsorted "
     "shape_of sliding_window sort sparse_fill_empty_rows sparse_to_dense stft topk "
     "unique vision.all_class_non_max_suppression vision.get_valid_counts "
     "vision.multibox_prior vision.multibox_transform_loc vision.non_max_suppression "
     "vision.proposal vision.regular_non_max_suppression vm.reshape_tensor vm.shape_of"},
};
// clang-format on

const std::unordered_map<std::string_view, int64_t>& fusion_patterns() {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string_view, int64_t>;
    for (const FusionPattern& entry : kFusionPatterns) {
      for (std::string_view rest = entry.operators; !rest.empty();) {
        size_t end = rest.find(' ');
        made->emplace(rest.substr(0, end), entry.number);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      }
    }
    return made;
  }();
  return *table;
}

struct Attached {
  std::shared_mutex mutex;
  std::unordered_map<const Operator*, std::map<std::string, AttrValue, std::less<>>> facts;
};
Attached& attached() {
  static auto* all = new Attached;
  return *all;
}

}  // namespace

std::optional<int64_t> fusion_pattern(std::string_view op) {
  auto found = fusion_patterns().find(op);
  return found == fusion_patterns().end() ? std::nullopt : std::optional(found->second);
}

std::optional<AttrValue> op_fact(const Operator* op, std::string_view key) {
  {
    Attached& all = attached();
    std::shared_lock lock(all.mutex);
    if (auto found = all.facts.find(op); found != all.facts.end()) {
      if (auto fact = found->second.find(key); fact != found->second.end()) return fact->second;
    }
  }
  if (key == "TOpPattern") {
    if (std::optional<int64_t> number = fusion_pattern(op->name().view()))
      return AttrValue(*number);
  }
  if (key == "TOpIsStateful") return AttrValue(!op->pure());
  return std::nullopt;
}

void set_op_fact(const Operator* op, std::string_view key, std::optional<AttrValue> value) {
  Attached& all = attached();
  std::unique_lock lock(all.mutex);
  if (value) {
    all.facts[op].insert_or_assign(std::string(key), std::move(*value));
  } else if (auto found = all.facts.find(op); found != all.facts.end()) {
    if (auto fact = found->second.find(key); fact != found->second.end()) found->second.erase(fact);
  }
}

namespace {

std::optional<AttrValue> field_of(const AttrsSchema& schema, const Attrs* attrs, const Name& name,
                                  const AttrField** found) {
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].name != name) continue;
    *found = &schema.fields[i];
    if (attrs == nullptr) return schema.defaults(i);
    for (const NamedAttr& field : attrs->fields(false)) {
      if (field.name == name) return field.value;
    }
  }
  return std::nullopt;
}

std::optional<AttrValue> find_attribute(const Expr* expr, const Name& name,
                                        const AttrField** field) {
  if (const auto* node = expr->as<Op>()) return op_fact(node->op(), name.view());
  AttrsRef attrs;
  if (const auto* function = expr->as<Function>()) attrs = function->attrs();
  if (const auto* call = expr->as<Call>()) {
    attrs = call->attrs();
    const auto* node = call->callee()->as<Op>();
    const AttrsSchema* schema = node == nullptr ? nullptr : node->op()->attrs_schema();
    if (schema != nullptr && (!attrs || &attrs->schema() == schema))
      return field_of(*schema, attrs.get(), name, field);
  }
  if (!attrs) return std::nullopt;
  for (const NamedAttr& attr : attrs->fields(false)) {
    if (attr.name == name) return attr.value;
  }
  return std::nullopt;
}

std::optional<DType> dtype_in(const AttrValue& value) {
  if (const auto* dtype = value.get<DType>()) return *dtype;
  if (const auto* text = value.get<std::string>()) return DType::parse(*text);
  return std::nullopt;
}

bool mean_the_same(const AttrValue& a, const AttrValue& b, int depth) {
  if (a == b) return true;
  std::optional<double> x = number_of(a), y = number_of(b);
  if (x && y) return *x == *y;
  if (a.get<DType>() != nullptr || b.get<DType>() != nullptr) {
    std::optional<DType> first = dtype_in(a), second = dtype_in(b);
    return first && second && *first == *second;
  }
  constexpr int kDeep = 100;
  const auto *first = a.get<AttrValue::Dict>(), *second = b.get<AttrValue::Dict>();
  if (first != nullptr && second != nullptr && depth <= kDeep) {
    return std::equal(first->begin(), first->end(), second->begin(), second->end(),
                      [&](const auto& x, const auto& y) {
                        return x.first == y.first && mean_the_same(x.second, y.second, depth + 1);
                      });
  }
  const auto *p = a.get<AttrValue::List>(), *q = b.get<AttrValue::List>();
  if (p == nullptr || q == nullptr || p->size() != q->size() || depth > kDeep) return false;
  for (size_t i = 0; i < p->size(); ++i) {
    if (!mean_the_same((*p)[i], (*q)[i], depth + 1)) return false;
  }
  return true;
}

/// Sizes for each side of each dimension from fewer.
AttrValue::List spread(const AttrValue& value, size_t count) {
  const auto* list = value.get<AttrValue::List>();
  AttrValue::List result = list == nullptr ? AttrValue::List{value} : *list;
  if (result.size() == 1) result.assign(count, AttrValue(result[0]));
  if (2 * result.size() == count) {
    AttrValue::List before = result;
    result.insert(result.end(), before.begin(), before.end());
  }
  return result;
}

}  // namespace

std::optional<double> number_of(const AttrValue& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
  if (const auto* number = value.get<int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.get<double>()) return *number;
  return std::nullopt;
}

bool same_value(const AttrValue& a, const AttrValue& b) { return mean_the_same(a, b, 0); }

std::optional<AttrValue> attribute_of(const Expr* expr, const Name& name) {
  const AttrField* field = nullptr;
  return find_attribute(expr, name, &field);
}

bool has_attribute(const Expr* expr, const NamedAttr& wanted) {
  const AttrField* field = nullptr;
  std::optional<AttrValue> value = find_attribute(expr, wanted.name, &field);
  if (!value) return false;
  if (same_value(*value, wanted.value)) return true;
  if (field == nullptr || wanted.value.is_none() || value->is_none()) return false;
  const auto *list = value->get<AttrValue::List>(), *other = wanted.value.get<AttrValue::List>();
  if (list == nullptr) return false;
  if (field->kind == AttrKind::kSizes) {
    size_t count = std::max(list->size(), other == nullptr ? 1 : other->size());
    return same_value(AttrValue(spread(*value, count)), AttrValue(spread(wanted.value, count)));
  }
  return other == nullptr && list->size() == 1 && same_value((*list)[0], wanted.value);
}

}  // namespace relay
