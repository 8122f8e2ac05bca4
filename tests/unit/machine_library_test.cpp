// Library kernels in executables from anywhere: a call that a kernel cannot work on is refused
// before it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_file.h>
#include <tests/unit/library_cases.h>

namespace relay::vm::machine_library_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using ::testing::StartsWith;

LibraryCase case_of(const std::string& kernel, size_t which = 0) {
  for (const LibraryCase& each : library_cases()) {
    if (each.kernel == kernel && which-- == 0) return each;
  }
  throw Error("no case of " + kernel);
}

// The message about a call, from bytes on; empty if it runs.
std::string refusal(const std::shared_ptr<Executable>& e, const std::vector<Value>& arguments) {
  try {
    auto loaded = load_executable(executable_bytes(*e), "a.rlx");
    run(loaded, "main", arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
std::string refusal(const LibraryCase& of) { return refusal(executable_of(of), arguments_of(of)); }

TEST(MachineLibrary, EachKernelSaysWhatItTakes) {
  std::vector<std::string> cases;
  for (const LibraryCase& each : library_cases()) cases.push_back(each.kernel);
  for (const std::string& name : library_kernel_names()) {
    if (name.find("test") != std::string::npos || name == "relay.direct") continue;
    EXPECT_NE(find_library_rule(name), nullptr) << name;
    if (name.find("onednn.") == std::string::npos) {
      EXPECT_THAT(cases, ::testing::Contains(name));
    }
  }
}

TEST(MachineLibrary, CallsThatFitRun) {
  for (const LibraryCase& each : library_cases()) EXPECT_EQ(refusal(each), "") << each.kernel;
}

// Each operand gets another type, another extent, another rank. No kernel takes all of that, and
// what it takes it runs with.
TEST(MachineLibrary, OtherOperandsAreRefused) {
  for (const LibraryCase& each : library_cases()) {
    if (each.kernel == "debug") continue;
    auto tensor = [](LibraryCase& of, size_t k) -> LibraryCase::Tensor& {
      return k < of.inputs.size() ? of.inputs[k] : of.outputs[k - of.inputs.size()];
    };
    for (size_t k = 0; k < each.inputs.size() + each.outputs.size(); ++k) {
      const bool output = k >= each.inputs.size();
      const std::string where = each.kernel + " operand " + std::to_string(k);
      // An output of one more element along an axis, or one less, or counted, or of another rank.
      LibraryCase changed = each;
      tensor(changed, k).shape.push_back(2);
      if (output) {
        EXPECT_THAT(refusal(changed), StartsWith("library kernel " + each.kernel)) << where;
      }
      refusal(changed);
      for (size_t axis = 0; axis < tensor(changed = each, k).shape.size(); ++axis) {
        for (int64_t extent : {0, 1, 2, 3, 7, -1}) {
          changed = each;
          if (!output && extent < 0) continue;
          if (tensor(changed, k).shape[axis] == extent) continue;
          tensor(changed, k).shape[axis] = extent;
          const std::string said = refusal(changed);
          // k of topk, the bins of regions, room for detections and rows of proposals are what the
          // result says; the rest follows from the inputs.
          const bool own =
              (each.kernel == "topk" && axis == 1) ||
              (each.kernel.starts_with("roi_") && (axis == 1 || axis == 2 || axis == 3)) ||
              each.kernel == "regular_non_max_suppression" || each.kernel == "proposal" ||
              each.kernel == "sparse_fill_empty_rows";
          if (output && !own) {
            EXPECT_THAT(said, HasSubstr("library kernel " + each.kernel)) << where;
          }
        }
      }
      for (DType dtype : {kInt8, kInt64, kFloat16, kFloat64, kBool}) {
        changed = each;
        if (tensor(changed, k).dtype == dtype) continue;
        tensor(changed, k).dtype = dtype;
        const std::string said = refusal(changed);
        const bool any = each.kernel == "argsort" || each.kernel == "topk" || dtype == kInt64;
        if (output && !any) {
          EXPECT_THAT(said, HasSubstr("library kernel " + each.kernel)) << where;
        }
      }
    }
  }
}

TEST(MachineLibrary, WhatIsSaid) {
  LibraryCase copy = case_of("device_copy");
  copy.outputs[0].shape = {2};
  EXPECT_EQ(refusal(copy),
            "library kernel device_copy: output 0 is float32 of shape (2,), not of shape (2, 3)");
  copy.outputs[0] = {kInt32, {2, 3}};
  EXPECT_EQ(refusal(copy),
            "library kernel device_copy: output 0 is int32 of shape (2, 3), not float32");
  LibraryCase sort = case_of("sort");
  sort.outputs[0].shape = {2, 4};
  EXPECT_EQ(refusal(sort),
            "library kernel sort: output 0 is float32 of shape (2, 4), not of shape (2, 5)");
  sort = case_of("sort");
  sort.params[0] = {"axis", 2};
  EXPECT_EQ(refusal(sort), "library kernel sort wants an axis of its operand");
  LibraryCase where = case_of("argwhere");
  where.outputs[0].shape = {6, 2};
  EXPECT_EQ(refusal(where),
            "library kernel argwhere: output 0 is int64 of shape (6, 2), not of shape (?, 2)");
  where.outputs[0] = {kFloat32, {-1, 2}};
  EXPECT_EQ(refusal(where),
            "library kernel argwhere: output 0 is float32 of shape (?, 2), not int32 or int64");
  LibraryCase roi = case_of("roi_align");
  roi.inputs[0] = {kInt32, {1, 2, 5, 6}};
  EXPECT_EQ(refusal(roi),
            "library kernel roi_align: input 0 is int32 of shape (1, 2, 5, 6), not of a "
            "floating-point type");
  roi.inputs[0] = {kFloat32, {2, 5, 6}};
  EXPECT_EQ(refusal(roi),
            "library kernel roi_align: input 0 is float32 of shape (2, 5, 6), not of rank 4");
  LibraryCase nms = case_of("non_max_suppression");
  nms.inputs[1].shape = {1};
  EXPECT_EQ(
      refusal(nms),
      "library kernel non_max_suppression: input 1 is int32 of shape (1,), not of 2 elements");
  nms = case_of("non_max_suppression");
  nms.inputs[4].shape = {2};
  EXPECT_EQ(
      refusal(nms),
      "library kernel non_max_suppression: input 4 is float32 of shape (2,), not of 1 element");
  // Empty ones, too, have extents to reckon with.
  LibraryCase huge = case_of("device_copy");
  huge.inputs[0].shape = huge.outputs[0].shape = {0, int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(refusal(huge), "library kernel device_copy wants extents within any memory");
  LibraryCase fill = case_of("sparse_fill_empty_rows");
  fill.outputs[2].shape = {7};
  EXPECT_EQ(refusal(fill), "dense_shape has 0 rows, and there is room for 7");
}

// Parameters of a kind are not all that a kernel knows.
TEST(MachineLibrary, ParametersAreRefused) {
  auto said = [](const std::string& kernel, const KernelParam& param, size_t which = 0) {
    LibraryCase of = case_of(kernel, which);
    for (KernelParam& each : of.params) {
      if (each.name == param.name) each = param;
    }
    return refusal(of);
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(said("topk", {"results", "some"}),
            "library kernel topk wants results that are values, indices or both");
  EXPECT_EQ(said("topk", {"results", "values"}),
            "library kernel topk wants outputs for its results");
  EXPECT_EQ(said("topk", {"axis", -1}), "library kernel topk wants an axis of its operand");
  EXPECT_EQ(said("all_class_non_max_suppression", {"output_format", "caffe"}),
            "library kernel all_class_non_max_suppression wants the format of onnx or tensorflow");
  EXPECT_EQ(said("non_max_suppression", {"return_indices", false}),
            "library kernel non_max_suppression wants outputs for its results");
  EXPECT_EQ(said("sparse_conv2d", {"layout", "HWIO"}),
            "library kernel sparse_conv2d wants layout NHWC or NCHW");
  EXPECT_EQ(said("sparse_conv2d", {"kernel_size", List{3, 2}}),
            "library kernel sparse_conv2d wants two odd extents of its window");
  for (const List& axes : {List{2, 2}, List{2, 4}, List{-1, 2}}) {
    EXPECT_EQ(said("upsampling", {"axes", axes}),
              "library kernel upsampling wants different axes of its operand");
  }
  EXPECT_EQ(said("upsampling", {"axes", List{2}}),
            "library kernel upsampling wants two or three axes");
  EXPECT_EQ(said("upsampling", {"axes", List{1, 2, 3}}),
            "library kernel upsampling wants a factor for each axis");
  EXPECT_THAT(said("upsampling", {"axes", List{1, 3}}),
              StartsWith("library kernel upsampling: output 0 is"));
}

TEST(MachineLibrary, AKernelWritesToNothingThatItReads) {
  auto e = executable_of(case_of("sort"));
  Graph& graph = e->graphs[0];
  // Into a copy of the input and back: the places are one.
  Kernel copy = e->kernels[0];
  copy.name = copy.library = "device_copy";
  e->kernels.push_back(copy);
  Place fresh = graph.places[1];
  graph.places.push_back(fresh);
  Launch first;
  first.kernel = 1;
  first.arguments = {{0, false}, {2, true}};
  graph.launches.insert(graph.launches.begin(), first);
  graph.launches[1].arguments = {{2, false}, {1, true}};
  const std::vector<Value> arguments = arguments_of(case_of("sort"));
  EXPECT_EQ(refusal(e, arguments), "");
  graph.places[1].alias = 2;
  EXPECT_EQ(refusal(e, arguments),
            "library kernel sort would write to its operand 0 with its operand 1");
  graph.places[1].alias = kNone;
  graph.launches[1].in_place = {{1, 0, false}};
  EXPECT_THAT(refusal(e, arguments),
              HasSubstr("library kernel sort would write over its operands"));
}

// An output seen as numbers of another type keeps the memory that it lies in.
TEST(MachineLibrary, ResultsOfAnotherTypeOutliveTheMachine) {
  LibraryCase copy = case_of("device_copy");
  auto e = executable_of(copy);
  Graph& graph = e->graphs[0];
  Place bits = graph.places[1];
  bits.dtype = kInt32;
  bits.alias = 1;
  graph.places.push_back(bits);
  graph.outputs = {2};
  const NDArray x = NDArray::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const NDArray result = run(e, "main", {Value(x)}).array();
  for (int k = 0; k < 20; ++k) NDArray::zeros(Shape{2, 3}, kFloat32);
  const NDArray other = NDArray::zeros(Shape{2, 3}, kFloat32);
  EXPECT_EQ(0, std::memcmp(result.raw(), x.raw(), x.byte_size()));
}

TEST(MachineLibrary, KernelsOfOneProcessAreNotLoaded) {
  [[maybe_unused]] static const bool registered =
      register_library_kernel("machine_library_test.own", [](LibraryCall&) {}, {1, 1, {}});
  LibraryCase copy = case_of("device_copy");
  copy.kernel = "machine_library_test.own";
  EXPECT_EQ(refusal(copy),
            "a.rlx cannot be loaded: library kernel machine_library_test.own is only for programs "
            "that are compiled here");
  copy.kernel = "relay.direct";
  copy.params = {{"work", 0}};
  EXPECT_THAT(refusal(copy),
              HasSubstr("library kernel relay.direct is only for programs that are"));
}

}  // namespace
}  // namespace relay::vm::machine_library_test
