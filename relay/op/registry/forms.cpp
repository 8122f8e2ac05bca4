#include <relay/op/registry/forms.h>

#include <relay/op/annotation/annotation_attrs.h>
#include <relay/op/nn/sparse_attrs.h>
#include <relay/op/registry/barrier.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {

OpColumn<std::string>& fast_forms() {
  static auto* column = new OpColumn<std::string>("fast_form");
  return *column;
}

OpColumn<ExpandFn>& reciprocal_forms() {
  static auto* column = new OpColumn<ExpandFn>("reciprocal_form");
  return *column;
}

OpColumn<std::map<std::string, std::string>>& static_attributes() {
  static auto* column = new OpColumn<std::map<std::string, std::string>>("static_attributes");
  return *column;
}

ExprRef make_stop_fusion(const ExprRef& data, Span span) {
  const ExprRef args[] = {data};
  return make_call(make_op(get_op("annotation.stop_fusion")), args, {}, {}, span);
}

bool is_stop_fusion(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  return callee != nullptr && callee->op() == get_op("annotation.stop_fusion");
}

const Operator* compiler_begin_op() { return get_op("annotation.compiler_begin"); }
const Operator* compiler_end_op() { return get_op("annotation.compiler_end"); }

namespace {

ExprRef annotate(const Operator* op, const ExprRef& data, const std::string& compiler, Span span) {
  const ExprRef args[] = {data};
  return make_call(make_op(op), args, Attrs::make(CompilerAttrs{{compiler}}), {}, span);
}

}  // namespace

ExprRef make_compiler_begin(const ExprRef& data, const std::string& compiler, Span span) {
  return annotate(compiler_begin_op(), data, compiler, span);
}

ExprRef make_compiler_end(const ExprRef& data, const std::string& compiler, Span span) {
  return annotate(compiler_end_op(), data, compiler, span);
}

ExprRef make_kill(const ExprRef& data, Span span) {
  const ExprRef args[] = {data};
  return make_call(make_op(get_op("memory.kill")), args, {}, {}, span);
}

bool is_kill(const Expr* expr) {
  static const Operator* const kill = get_op("memory.kill");
  const auto* call = expr->as<Call>();
  const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  return op != nullptr && op->op() == kill;
}

ExprRef make_cast_hint(const ExprRef& data, DType dtype, Span span) {
  return call_op("annotation.cast_hint", {data}, Attrs::make(CastHintAttrs{{dtype}}), span);
}

bool is_cast_hint(const Expr* expr) {
  static const Operator* const hint = get_op("annotation.cast_hint");
  const auto* call = expr->as<Call>();
  const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  return op != nullptr && op->op() == hint;
}

ExprRef make_clip(const ExprRef& data, double least, double most, Span span) {
  return call_op("clip", {data}, Attrs::make(ClipAttrs{{least}, {most}}), span);
}

ExprRef make_sparse_dense(const ExprRef& data, std::span<const ExprRef> matrix, Span span) {
  return call_op("nn.sparse_dense", {data, matrix[0], matrix[1], matrix[2]}, {}, span);
}

ExprRef make_sparse_conv2d(const ExprRef& data, std::span<const ExprRef> matrix,
                           const std::string& layout, int64_t kernel_size, Span span) {
  SparseConv2DAttrs attrs{attr::Layout(layout), attr::Sizes({kernel_size, kernel_size})};
  return call_op("nn.sparse_conv2d", {data, matrix[0], matrix[1], matrix[2]}, Attrs::make(attrs),
                 span);
}

ExprRef make_cast(const ExprRef& data, DType dtype, Span span) {
  const ExprRef args[] = {data};
  return make_call(make_op(get_op("cast")), args, Attrs::make(CastAttrs{{dtype}}), {}, span);
}

bool is_checkpoint(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  return callee != nullptr && callee->op() == get_op("annotation.checkpoint");
}

int64_t checkpoint_bytes(const Expr* checkpoint) {
  const AttrsRef& attrs = static_cast<const Call*>(checkpoint)->attrs();
  return attrs ? attrs->as<CheckpointAttrs>().bytes : 0;
}

ExprRef make_checkpoint(const ExprRef& data, Span span) {
  return call_op("annotation.checkpoint", {data}, {}, span);
}

ExprRef make_barrier(const ExprRef& data, const ExprRef& after, Span span) {
  return call_op("annotation.barrier", {data, after}, {}, span);
}

}  // namespace relay
