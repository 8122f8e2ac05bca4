// Columns of facts: levels, and use by several threads at once.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <relay/op/op.h>
#include <relay/support/error.h>

namespace relay::op_column_test {
namespace {

TEST(OpColumn, AHigherLevelReplacesALowerOne) {
  OpColumn<std::string> column{Name("test.column")};
  const Operator* op = find_op(Name("add"));
  EXPECT_EQ(column.find(op), nullptr);
  column.set(op, "first");
  const std::string* first = column.find(op);
  column.set(op, "lower", 5);
  EXPECT_EQ(*column.find(op), "first");
  column.set(op, "higher", 11);
  EXPECT_EQ(*column.find(op), "higher");
  EXPECT_EQ(*first, "first");  // who holds it may go on
  try {
    column.set(op, "again", 11);
    FAIL() << "an equal level was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "operator add already has an entry of level 11 in column test.column");
  }
}

TEST(OpColumn, IsReadWhileItIsSet) {
  OpColumn<std::vector<int>> column{Name("test.column")};
  const Operator* add = find_op(Name("add"));
  column.set(add, std::vector<int>(100, 0), 0);
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done) {
        const std::vector<int>& value = *column.find(add);
        if (value.front() != value.back()) ++torn;
      }
    });
  }
  for (int level = 1; level < 2000; ++level) column.set(add, std::vector<int>(100, level), level);
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(column.find(add)->front(), 1999);
}

}  // namespace
}  // namespace relay::op_column_test
