// Attributes of all operators by what they mean: fields say their kind, and an axis that the tensor
// does not have is refused by every operator.
#include <gtest/gtest.h>

#include <set>

#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>

#include <tests/unit/lower_cases.h>

namespace relay::testing::op_attrs_test {
namespace {

TEST(OpAttrs, FieldsSayWhatTheyMean) {
  // Names that mean something else there: an axis that is an argument, a text with a grammar of its
  // own, a choice among ways to compute, what a value or a code generator is called.
  const std::set<std::string> kOthers = {"dyn.squeeze axis", "einsum equation",
                                         "qnn.requantize compute_dtype", "debug debug_func",
                                         "assert_op message", "dyn.squeeze message",
                                         "annotation.compiler_begin compiler",
                                         "annotation.compiler_end compiler"};
  for (const Operator* op : all_ops()) {
    if (op->attrs_schema() == nullptr) continue;
    for (const AttrField& field : op->attrs_schema()->fields) {
      if (kOthers.count(op->name().str() + " " + field.name.str()) != 0) continue;
      std::string name = field.name.str(), where = op->name().str() + " " + name;
      bool is_axis = field.kind == AttrKind::kAxis || field.kind == AttrKind::kAxes ||
                     field.kind == AttrKind::kNewAxis;
      bool named_axis = name == "axis" || name == "axes";
      EXPECT_TRUE(is_axis || !named_axis) << where;
      EXPECT_TRUE(field.kind == AttrKind::kLayout || !name.ends_with("layout")) << where;
      EXPECT_TRUE(field.kind == AttrKind::kDType || !name.ends_with("dtype")) << where;
      // A text is a layout or a choice.
      bool is_text = field.type == "str" || field.type == "optional<str>";
      EXPECT_TRUE(field.kind != AttrKind::kPlain || !is_text) << where;
      EXPECT_EQ(field.kind == AttrKind::kWord, !field.words.empty()) << where;
      std::set<std::string_view> words;
      for (const AttrWord& word : field.words) {
        EXPECT_TRUE(words.insert(word.text).second) << where << " has " << word.text << " twice";
        EXPECT_FALSE(word.doc.empty()) << where << " " << word.text;
      }
    }
  }
}

// The rank of the first tensor of a type.
std::optional<int64_t> rank_of(const Type* type) {
  if (const auto* tuple = type->as<TupleType>()) {
    return tuple->fields().empty() ? std::nullopt : rank_of(tuple->fields()[0].get());
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) return std::nullopt;
  return static_cast<int64_t>(tensor->dims().size());
}

// The call's attributes with another value of one field.
AttrsRef with(const AttrsRef& attrs, const AttrField& field, AttrValue value) {
  std::vector<NamedAttr> values = attrs->fields(false);
  for (NamedAttr& attr : values) {
    if (attr.name == field.name) attr.value = value;
  }
  return Attrs::make(attrs->schema(), values, {});
}

TEST(OpAttrs, AnAxisOutOfRangeIsRefused) {
  std::set<std::string> tried, wanted;
  auto look = [&](const Call& call) {
    const auto* node = call.callee()->as<Op>();
    if (node == nullptr || node->op()->attrs_schema() == nullptr || call.args().empty()) return;
    const Operator* op = node->op();
    AttrsRef attrs = call.attrs() ? call.attrs() : Attrs::make(*op->attrs_schema(), {}, {});
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
    for (const AttrField& field : op->attrs_schema()->fields) {
      bool is_new = field.kind == AttrKind::kNewAxis;
      if (!is_new && field.kind != AttrKind::kAxis && field.kind != AttrKind::kAxes) continue;
      std::optional<int64_t> rank = rank_of(is_new ? call.type() : types[0].get());
      std::string name = op->name().str() + " " + field.name.str();
      if (!rank || !tried.insert(name + std::to_string(*rank)).second) continue;
      wanted.erase(name);
      // A scale of a scalar runs along no axis.
      if (*rank == 0 && op->name().str().starts_with("qnn.")) continue;
      int64_t far = int64_t{1} << 62;
      for (int64_t axis : {*rank, -*rank - 1, far, -far - far}) {
        AttrValue value(axis);
        if (field.kind == AttrKind::kAxes) value = AttrValue::List{axis};
        try {
          TypeRef type = infer_call_type(op, types, with(attrs, field, value));
          ADD_FAILURE() << name << " = " << axis << " of rank " << *rank << " gives "
                        << (type ? type->str() : "nothing");
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("ax"), std::string::npos)
              << name << " = " << axis << ": " << error.what();
        }
      }
    }
  };
  for (const Operator* op : all_ops()) {
    if (op->attrs_schema() == nullptr) continue;
    for (const AttrField& field : op->attrs_schema()->fields) {
      if (field.kind == AttrKind::kAxis || field.kind == AttrKind::kAxes ||
          field.kind == AttrKind::kNewAxis)
        wanted.insert(op->name().str() + " " + field.name.str());
    }
  }
  for (const std::string& file : lower_case_files()) {
    for (const LowerCase& one : lower_cases(file)) {
      post_order(one.function.get(), [&](const Expr* expr) {
        if (const auto* call = expr->as<Call>()) look(*call);
      });
    }
  }
  for (const std::string& name : wanted) ADD_FAILURE() << name << " is in no recorded call";
}

}  // namespace
}  // namespace relay::testing::op_attrs_test
