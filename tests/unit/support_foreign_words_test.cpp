#include <gtest/gtest.h>

#include <set>

#include <relay/op/op.h>
#include <relay/support/foreign_words.h>

namespace relay {
namespace support_foreign_words_test {

TEST(ForeignWords, OperatorsExist) {
  std::set<std::string_view> names;
  for (const ForeignOperator& line : foreign_operators()) {
    EXPECT_NE(find_op(Name(line.ours)), nullptr) << line.name << " -> " << line.ours;
    EXPECT_EQ(find_op(Name(line.name)), nullptr) << line.name << " is an operator here";
    EXPECT_TRUE(names.insert(line.name).second) << line.name;
  }
}

TEST(ForeignWords, AttributesExist) {
  std::set<std::string> known;
  for (const Operator* op : all_ops()) {
    if (op->attrs_schema() == nullptr) continue;
    for (const AttrField& field : op->attrs_schema()->fields) known.insert(field.name.str());
  }
  for (const ForeignAttribute& line : foreign_attributes()) {
    for (const std::string& ours : foreign_attribute(line.name))
      EXPECT_EQ(known.count(ours), 1u) << line.name << " -> " << ours;
  }
}

TEST(ForeignWords, DTypesExist) {
  for (const ForeignDType& line : foreign_dtypes())
    EXPECT_TRUE(DType::parse(line.ours).has_value()) << line.name;
  EXPECT_EQ(foreign_dtype("torch.float16"), "float16");
  EXPECT_EQ(foreign_dtype("np.double"), "float64");
  EXPECT_EQ(foreign_dtype("color"), "");
}

TEST(ForeignWords, LibrariesAreLeftOut) {
  EXPECT_EQ(without_library("torch.nn.functional.relu"), "relu");
  EXPECT_EQ(without_library("jax.lax.select"), "select");
  EXPECT_EQ(without_library("nn.relu"), "nn.relu");
  ASSERT_NE(foreign_operator("torch.unsqueeze"), nullptr);
  EXPECT_EQ(foreign_operator("torch.unsqueeze")->ours, "expand_dims");
  EXPECT_EQ(foreign_operator("nonsense"), nullptr);
}

}  // namespace support_foreign_words_test
}  // namespace relay
