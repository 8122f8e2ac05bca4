// Attributes at the ends of their range, for every operator: the call is refused or fails with a
// message of ours, and no number is taken for another.
#include <gtest/gtest.h>

#include <limits>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>

#include <tests/unit/op_samples.h>

namespace relay::op_extremes_test {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargestDim = (int64_t{1} << 61) - 1;
/// A number that is 1 when the two highest bits are lost, as of a `Dim`.
constexpr int64_t kLikeOne = (int64_t{1} << 62) + 1;

/// So that what is too large fails at once.
class SmallMemory {
 public:
  SmallMemory() : before_(memory_limit()) { set_memory_limit(size_t{256} << 20); }
  ~SmallMemory() { set_memory_limit(before_); }
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;

 private:
  size_t before_;
};

/// Values with `number` in place of the integers in a value of an attribute.
template <class T>
std::vector<AttrValue> with_number(const AttrValue& value, T number) {
  if (value.get<T>() != nullptr) return {AttrValue(number)};
  const auto* list = value.get<AttrValue::List>();
  if (list == nullptr || list->empty()) return {};
  AttrValue::List all = *list;
  for (AttrValue& item : all) {
    if (item.get<T>() == nullptr) return {};
    item = AttrValue(number);
  }
  if (all.size() == 1) return {AttrValue(all)};
  AttrValue::List some = all;
  some[0] = AttrValue(T{0});
  return {AttrValue(all), AttrValue(some)};
}

AttrValue value_of(const Sample& sample, size_t field) {
  if (!sample.attrs) return sample.op->attrs_schema()->defaults(field);
  return sample.attrs->fields(false)[field].value;
}

/// True if inference takes the call. Throws for a defect of ours.
bool accepted(const Sample& sample, Name name, const AttrValue& value) {
  try {
    return refusal_of(with_attribute(sample, name, value)).empty();
  } catch (const Error&) {
    return false;
  }
}

void run(const Sample& sample) {
  SampleProgram program = program_of(sample);
  Module module;
  module.add_function("main", program.function);
  try {
    infer_types_or_throw(module);
    evaluate_function(module, "main", program.arguments);
  } catch (const Error&) {
  }
}

/// Calls `visit` for each attribute of each example that has a value.
void each_attribute(
    const std::function<void(const Sample&, Name name, const AttrValue& value)>& visit) {
  each_sample([&](const Sample& sample) {
    const AttrsSchema* schema = sample.op->attrs_schema();
    if (schema == nullptr) return;
    for (size_t i = 0; i < schema->fields.size(); ++i)
      visit(sample, schema->fields[i].name, value_of(sample, i));
  });
}

/// How many calls were made or refused.
template <class T>
size_t run_extremes(std::initializer_list<T> numbers) {
  SmallMemory limit;
  size_t count = 0;
  each_attribute([&](const Sample& sample, Name name, const AttrValue& value) {
    for (T number : numbers) {
      for (const AttrValue& extreme : with_number<T>(value, number)) {
        std::string what = sample.op->name().str() + " with " + name.str() + "=" + extreme.str();
        SCOPED_TRACE(what);
        try {
          ++count;
          if (accepted(sample, name, extreme)) run(with_attribute(sample, name, extreme));
        } catch (const std::exception& error) {
          ADD_FAILURE() << what << ": " << error.what();
        }
      }
    }
  });
  return count;
}

TEST(OpExtremes, Integers) {
  EXPECT_GT(run_extremes<int64_t>({kMost, kLeast, kLikeOne, kLargestDim, int64_t{1} << 60}), 1000u);
}

TEST(OpExtremes, Floats) {
  EXPECT_GT(run_extremes<double>({std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(), -1e308}),
            50u);
}

TEST(OpExtremes, NoIntegerIsTakenForAnother) {
  size_t count = 0;
  each_attribute([&](const Sample& sample, Name name, const AttrValue& value) {
    std::vector<AttrValue> like_one = with_number<int64_t>(value, kLikeOne);
    std::vector<AttrValue> largest = with_number<int64_t>(value, kLargestDim);
    for (size_t i = 0; i < like_one.size(); ++i) {
      ++count;
      if (accepted(sample, name, like_one[i])) {
        EXPECT_TRUE(accepted(sample, name, largest[i]))
            << sample.op->name().view() << " takes " << name.view() << "=" << like_one[i].str();
      }
    }
  });
  EXPECT_GT(count, 200u);
}

}  // namespace
}  // namespace relay::op_extremes_test
