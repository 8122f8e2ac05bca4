// Computations of many lanes: of every recorded operator case against its lanes one by one,
// evaluated and lowered, with inputs that lanes share and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/batch.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::te::te_batch_test {
namespace {

using testing::LowerCase;

constexpr int64_t kLanes = 3;

std::vector<int64_t> with_axis(ShapeView shape, int64_t extent) {
  std::vector<int64_t> result{extent};
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

/// Lanes one after another. Throws `Error` if their shapes differ, as results that a kernel counts
/// may.
NDArray stacked(const std::vector<NDArray>& lanes) {
  const NDArray first = lanes[0].contiguous();
  NDArray result =
      NDArray::empty(with_axis(first.shape(), static_cast<int64_t>(lanes.size())), first.dtype());
  const auto bytes = static_cast<size_t>(first.size()) * first.dtype().size();
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const NDArray from = lanes[lane].contiguous();
    if (!std::ranges::equal(from.shape(), first.shape())) throw Error("lanes of several shapes");
    if (bytes != 0) std::memcpy(static_cast<char*>(result.raw()) + lane * bytes, from.raw(), bytes);
  }
  return result;
}

/// Input i of each lane: floats differ, all else, of which operators expect more, is as recorded.
NDArray lane_of(const NDArray& input, size_t i, int64_t lane) {
  if (input.dtype() != kFloat64 || lane == 0) return input.contiguous();
  const NDArray shift = testing::random_array(
      input.shape(), kFloat64, static_cast<uint32_t>(i * 7 + static_cast<size_t>(lane)));
  NDArray moved = NDArray::empty(input.shape(), kFloat64);
  const NDArray from = input.contiguous();
  for (int64_t k = 0; k < input.size(); ++k)
    moved.data<double>()[k] = from.data<double>()[k] * (1 + 1e-3 * shift.data<double>()[k]);
  return moved;
}

struct Lanes {
  std::vector<std::vector<NDArray>> each;  // by lane
  std::vector<NDArray> all;
  std::vector<Dim> extents;
};

/// Bit i of `share`: all lanes have one input i.
Lanes lanes_of(const LowerCase& one, uint32_t share) {
  Lanes lanes;
  lanes.each.resize(kLanes);
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const bool shared = ((share >> (i % 32)) & 1) != 0;
    std::vector<NDArray> values;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const NDArray value = lane_of(one.inputs[i], i, shared ? 0 : lane);
      lanes.each[static_cast<size_t>(lane)].push_back(value);
      if (lane == 0 || !shared) values.push_back(value);
    }
    lanes.all.push_back(stacked(values));
    lanes.extents.emplace_back(shared ? 1 : kLanes);
  }
  return lanes;
}

std::vector<NDArray> one_by_one(const Computation& one, const Lanes& lanes) {
  std::vector<std::vector<NDArray>> results;
  for (const std::vector<NDArray>& inputs : lanes.each) {
    const std::vector<NDArray> found = evaluate(one, inputs);
    results.resize(found.size());
    for (size_t k = 0; k < found.size(); ++k) results[k].push_back(found[k]);
  }
  std::vector<NDArray> all;
  for (const std::vector<NDArray>& each : results) all.push_back(stacked(each));
  return all;
}

template <class Check>
void for_each_case(const Check& check) {
  std::map<std::string, int> seen;
  for (const std::string& file : testing::lower_case_files()) {
    for (const LowerCase& one : testing::lower_cases_in_double(file)) {
      Computation computation;
      try {
        computation = graph::compose(*one.function, one.types).computation;
      } catch (const Error&) {
        continue;  // cannot be composed
      }
      if (computation.inputs.size() != one.inputs.size() || one.inputs.empty()) continue;
      SCOPED_TRACE(file + ": " + one.name);
      const std::string op = one.name.substr(0, one.name.find('/'));
      check(op, ++seen[op], one, computation);
    }
  }
}

double tolerance(DType) { return 1e-9; }

TEST(Batch, LanesOfEveryRecordedCase) {
  std::map<std::string, int> done;
  std::map<std::string, std::string> refused;
  for_each_case(
      [&](const std::string& op, int count, const LowerCase& one, const Computation& computation) {
        // All lanes with inputs of their own, and then some of the inputs shared.
        for (uint32_t share : {0u, 1u + static_cast<uint32_t>(count % 3)}) {
          const Lanes lanes = lanes_of(one, share);
          try {
            const bool any = std::any_of(lanes.extents.begin(), lanes.extents.end(),
                                         [](const Dim& d) { return !d.is_int(1); });
            if (!any) continue;
            const Computation all = batched(computation, kLanes, lanes.extents);
            const std::vector<NDArray> wanted = one_by_one(computation, lanes);
            EXPECT_EQ(testing::difference(evaluate(all, lanes.all), wanted, tolerance), "")
                << computation.str() << "\n"
                << all.str();
            ++done[op];
          } catch (const NoBatch& error) {
            refused.emplace(op, error.what());
          } catch (const InternalError& error) {
            ADD_FAILURE() << error.what() << "\n" << computation.str();
          } catch (const Error&) {
            // The values of a lane are none for the operator.
          }
        }
      });
  for (const auto& [op, why] : refused)
    EXPECT_NE(why.find("counts its results"), std::string::npos) << op << ": " << why;
  EXPECT_GT(done.size(), 200u);
}

TEST(Batch, Lowered) {
  int done = 0;
  for_each_case([&](const std::string&, int count, const LowerCase& one,
                    const Computation& computation) {
    if (count % 4 != 1) return;
    const Lanes lanes = lanes_of(one, static_cast<uint32_t>(count % 3 == 0 ? 1 : 0));
    try {
      const Computation all = batched(computation, kLanes, lanes.extents);
      const std::vector<NDArray> wanted = evaluate(all, lanes.all);
      const lower::Lowered lowered = lower::lower(all, "k", {});
      EXPECT_EQ(testing::difference(testing::interpret(lowered, lanes.all), wanted, tolerance), "")
          << all.str();
      ++done;
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what() << "\n" << computation.str();
    } catch (const Error&) {
      return;
    }
  });
  EXPECT_GT(done, 200);
}

TEST(Batch, KernelsOfManyLanes) {
  Builder b({{{4}, kFloat32}});
  const std::vector<Tensor> inputs{b.input(0)};
  const KernelParams order{{"axis", size_t{0}}, {"ascending", true}};
  b.output(b.library("sort", inputs, {{{4}, kFloat32}}, order)[0]);
  const Computation one = b.finish();
  EXPECT_NO_THROW(batched(one, kMaxUnrolledLanes, {Dim(kMaxUnrolledLanes)}));
  try {
    batched(one, kMaxUnrolledLanes + 1, {Dim(kMaxUnrolledLanes + 1)});
    FAIL() << "expected a refusal";
  } catch (const NoBatch& error) {
    EXPECT_NE(std::string(error.what()).find("at most 64"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace relay::te::te_batch_test
