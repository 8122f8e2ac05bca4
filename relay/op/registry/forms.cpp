#include <relay/op/registry/forms.h>

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

ExprRef make_cast(const ExprRef& data, DType dtype, Span span) {
  const ExprRef args[] = {data};
  return make_call(make_op(get_op("cast")), args, Attrs::make(CastAttrs{{dtype}}), {}, span);
}

}  // namespace relay
