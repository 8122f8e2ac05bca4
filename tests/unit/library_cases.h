// One call of each library kernel of the runtime that it can work on, as an executable without
// native code.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <relay/runtime/library_kernel.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::testing {

struct LibraryCase {
  struct Tensor {
    DType dtype;
    Shape shape;  // -1: counted
  };
  std::string kernel;
  std::vector<Tensor> inputs, outputs;
  KernelParams params;
  int fill = 0;  // of all inputs
};

inline std::vector<LibraryCase> library_cases() {
  const DType f = kFloat32, i = kInt32, l = kInt64;
  const KernelParams order{{"axis", 1}, {"ascending", true}};
  return {
      {"device_copy", {{f, {2, 3}}}, {{f, {2, 3}}}, {}},
      {"assert", {{kBool, {}}, {f, {2, 3}}}, {{f, {2, 3}}}, {{"message", "m"}}, 1},
      {"argwhere", {{f, {2, 3}}}, {{l, {-1, 2}}}, {}},
      {"debug", {{f, {2}}}, {{f, {2}}}, {{"label", "x"}, {"tuple", false}}},
      {"dft", {{f, {2, 6}}, {f, {2, 6}}}, {{f, {2, 6}}, {f, {2, 6}}}, {{"inverse", false}}},
      {"sort", {{f, {2, 5}}}, {{f, {2, 5}}}, order},
      {"argsort", {{f, {2, 5}}}, {{i, {2, 5}}}, order},
      {"topk",
       {{f, {2, 5}}},
       {{f, {2, 3}}, {l, {2, 3}}},
       {{"axis", 1}, {"ascending", false}, {"results", "both"}}},
      {"unique",
       {{f, {5}}},
       {{f, {-1}}, {i, {-1}}, {i, {5}}, {i, {1}}, {i, {-1}}},
       {{"sorted", true}}},
      {"searchsorted", {{f, {2, 5}}, {f, {2, 3}}}, {{i, {2, 3}}}, {{"right", true}}},
      {"tree_leaves", {{f, {2, 3}}, {i, {4, 4}}, {i, {2}}}, {{i, {2, 2}}}, {}, -1},
      {"get_valid_counts",
       {{f, {2, 4, 6}}, {f, {}}},
       {{i, {2}}, {f, {2, 4, 6}}, {i, {2, 4}}},
       {{"id_index", 0}, {"score_index", 1}}},
      {"non_max_suppression",
       {{f, {2, 4, 6}}, {i, {2}}, {i, {2, 4}}, {i, {}}, {f, {}}},
       {{i, {2, 4}}, {i, {2, 1}}},
       {{"force_suppress", false},
        {"top_k", -1},
        {"coord_start", 2},
        {"score_index", 1},
        {"id_index", 0},
        {"return_indices", true},
        {"invalid_to_bottom", false}}},
      {"all_class_non_max_suppression",
       {{f, {2, 4, 4}}, {f, {2, 3, 4}}, {l, {}}, {f, {}}, {f, {}}},
       {{l, {-1, 3}}, {l, {1}}},
       {{"output_format", "onnx"}}},
      {"all_class_non_max_suppression",
       {{f, {2, 4, 4}}, {f, {2, 3, 4}}, {l, {}}, {f, {}}, {f, {}}},
       {{l, {2, -1, 2}}, {f, {2, -1}}, {l, {2}}},
       {{"output_format", "tensorflow"}}},
      {"regular_non_max_suppression",
       {{f, {2, 4, 4}}, {f, {2, 4, 3}}},
       {{f, {2, 5, 4}}, {f, {2, 5}}, {f, {2, 5}}, {i, {2}}},
       {{"max_detections_per_class", 3},
        {"num_classes", 3},
        {"iou_threshold", 0.5},
        {"score_threshold", 0.0}}},
      {"proposal",
       {{f, {2, 6}}, {f, {2, 6, 4}}},
       {{f, {6, 5}}},
       {{"pre_nms_top_n", 4}, {"threshold", 0.5}}},
      {"roi_align",
       {{f, {1, 2, 5, 6}}, {f, {3, 5}}},
       {{f, {3, 2, 2, 2}}},
       {{"spatial_scale", 1.0},
        {"sample_ratio", 2},
        {"max", false},
        {"channels_last", false},
        {"aligned", false}}},
      {"roi_pool",
       {{f, {1, 5, 6, 2}}, {f, {3, 5}}},
       {{f, {3, 2, 2, 2}}},
       {{"spatial_scale", 1.0}, {"channels_last", true}}},
      {"sparse_dense",
       {{f, {3, 6}}, {f, {0, 2, 3}}, {i, {0}}, {i, {3}}},
       {{f, {3, 4}}},
       {{"sparse_lhs", false}}},
      {"sparse_add", {{f, {3, 6}}, {f, {0}}, {i, {0}}, {i, {4}}}, {{f, {3, 6}}}, {}},
      {"sparse_transpose", {{f, {0}}, {i, {0}}, {i, {4}}}, {{f, {0}}, {i, {0}}, {i, {4}}}, {}},
      {"sparse_conv2d",
       {{f, {1, 5, 6, 2}}, {f, {0}}, {i, {0}}, {i, {4}}},
       {{f, {1, 5, 6, 3}}},
       {{"layout", "NHWC"}, {"kernel_size", std::vector<int64_t>{3, 3}}}},
      {"sparse_reshape", {{l, {0, 2}}, {l, {2}}, {l, {3}}}, {{l, {0, 3}}, {l, {3}}}, {}},
      {"sparse_fill_empty_rows",
       {{l, {0, 2}}, {f, {0}}, {l, {2}}, {f, {}}},
       {{l, {-1, 2}}, {f, {-1}}, {kBool, {0}}},
       {}},
      {"upsampling",
       {{f, {1, 2, 3, 4}}, {f, {}}, {f, {}}},
       {{f, {1, 2, -1, -1}}},
       {{"axes", std::vector<int64_t>{2, 3}}, {"method", "cubic"}, {"places", "half_pixel"}},
       1},
  };
}

/// @main of the inputs gives all outputs.
inline std::shared_ptr<Executable> executable_of(const LibraryCase& of) {
  auto e = std::make_shared<Executable>();
  Kernel kernel;
  kernel.name = kernel.library = of.kernel;
  kernel.implementation = "library";
  e->kernels.push_back(kernel);
  GraphAssembler g("call");
  auto add = [&](const LibraryCase::Tensor& tensor, bool input) {
    std::vector<uint32_t> extents;
    for (int64_t extent : tensor.shape) extents.push_back(extent < 0 ? kNone : g.size(extent));
    return input ? g.input(tensor.dtype, std::move(extents))
                 : g.place(tensor.dtype, std::move(extents));
  };
  std::vector<Launch::Argument> arguments;
  for (const LibraryCase::Tensor& input : of.inputs) arguments.push_back({add(input, true), false});
  for (const LibraryCase::Tensor& output : of.outputs) {
    arguments.push_back({add(output, false), true});
    g.g.outputs.push_back(arguments.back().place);
  }
  g.launch(0, std::move(arguments)).params = of.params;
  graph_entry(*e, "main", g.add_to(*e));
  return e;
}

/// Tensors of one number.
inline std::vector<Value> arguments_of(const LibraryCase& of) {
  std::vector<Value> values;
  for (const LibraryCase::Tensor& input : of.inputs) {
    values.emplace_back(
        NDArray::uniform(NDArray::scalar_int(input.dtype, of.fill), input.shape).contiguous());
  }
  return values;
}

}  // namespace relay::vm::testing
