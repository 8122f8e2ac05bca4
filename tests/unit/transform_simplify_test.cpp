// SimplifyExpr: each rule does what it says, and the rewritten program computes the same.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/op/registry/simplify.h>
#include <relay/parse/parse.h>
#include <relay/pattern/rule.h>
#include <relay/print/print.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::transform_simplify_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("t", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

Module simplified(const Module& module, const std::string& passes = "SimplifyExpr") {
  PassContext context;
  context.opt_level = 4;
  context.config["relay.verify_passes"] = true;
  Module result = (*make_sequential(parse_passes(passes)))(module, context);
  infer_types_or_throw(result);
  return resolve_literals(result);
}

struct Case {
  const char* rule;
  const char* params;
  const char* before;
  const char* after;     // null: the same program
  double tolerance = 0;  // of floats; 0: every bit
};

// One at least for each rule, and what looks like it but is something else.
const Case kCases[] = {
    // Arithmetic.
    {"add nothing", "%x: Tensor[(2, 3), float32]", "add(-0f, %x)", "%x"},
    {"add nothing", "%x: Tensor[(2, 3), float16]", "add(%x, -0f16)", "%x"},
    {"add zero", "%x: Tensor[(5), int8]", "add(%x, 0i8)", "%x"},
    {"add zero", "%x: Tensor[(2, 3), float32]", "add(%x, zeros_like(%x))", "%x", 1e-45},
    {"add zero", "%x: Tensor[(3), float32]", "add(%x, Constant(0, (2, 3), float32))", nullptr},
    {"add zero", "%x: Tensor[(3), bool]", "add(%x, False)", nullptr},
    {"add zero", "%x: Tensor[(1), float32], %y: Tensor[(3), float32]", "add(%x, %y)", nullptr},
    {"subtract zero", "%x: Tensor[(2, 3), float32]", "subtract(%x, 0f)", "%x"},
    {"subtract zero", "%x: Tensor[(2, 3), float32]", "subtract(%x, -0f)", nullptr},
    {"subtract zero", "%x: Tensor[(2, 3), float32]", "subtract(0f, %x)", nullptr},
    {"multiply by one", "%x: float32", "multiply(1f, %x)", "%x"},
    {"multiply by one", "%x: Tensor[(2, 3), int32]", "multiply(ones_like(%x), %x)", "%x"},
    {"multiply by one", "%x: Tensor[(3), bool]", "multiply(%x, True)", nullptr},
    {"divide by one", "%x: Tensor[(4), int64]", "divide(%x, 1i64)", "%x"},
    {"divide by one", "%x: Tensor[(4), float32]", "divide(1f, %x)", nullptr},
    {"twice", "%x: Tensor[(4), float32]", "add(%x, %x)", "multiply(%x, 2f)"},
    {"twice", "%x: Tensor[(4), int8]", "add(%x, %x)", "multiply(%x, 2i8)"},
    {"inverse root", "%x: Tensor[(4), float32]", "divide(1f, sqrt(exp(%x)))", "rsqrt(exp(%x))",
     1e-6},
    {"divide by a root", "%x: Tensor[(4), float32], %y: Tensor[(4), float32]",
     "divide(%x, sqrt(exp(%y)))", "multiply(%x, rsqrt(exp(%y)))", 1e-6},
    {"factors", "%x: Tensor[(4), float32]", "multiply(multiply(%x, 2f), 3f)", "multiply(%x, 6f)",
     1e-6},
    {"factors", "%x: Tensor[(4), int8]", "multiply(100i8, multiply(3i8, %x))",
     "multiply(%x, 44i8)"},
    {"factors", "%x: Tensor[(4), float32]", "multiply(multiply(%x, 1e30f), 1e30f)", nullptr},
    {"factors", "%x: Tensor[(4), float32]", "multiply(multiply(%x, 1e-30f), 1e-30f)", nullptr},
    {"factors", "%x: Tensor[(1, 1), int32]",
     "multiply(multiply(%x, Constant(2, (1, 4), int32)), Constant(3, (5, 1), int32))", nullptr},
    {"summands", "%x: Tensor[(4), float32]", "add(add(%x, 0.5f), 0.25f)", "add(%x, 0.75f)", 1e-6},
    {"summands", "%x: Tensor[(4), uint8]", "add(add(200u8, %x), 100u8)", "add(%x, 44u8)"},
    {"factor of a sum", "%x: Tensor[(4), float32]", "multiply(add(%x, 3f), 2f)",
     "add(multiply(%x, 2f), 6f)", 1e-6},
    {"factor of a sum", "%x: Tensor[(4), float32]",
     "%0 = add(%x, 3f); multiply(multiply(%0, 2f), exp(%0))", nullptr},
    {"square of a sum", "%x: Tensor[(4), float32], %y: Tensor[(4), float32]",
     "add(add(multiply(%x, %x), multiply(multiply(2f, %x), %y)), multiply(%y, %y))",
     "%0 = add(%x, %y); multiply(%0, %0)", 1e-5},
    {"square of a sum", "%x: Tensor[(4), int32], %y: Tensor[(3, 1), int32]",
     "add(add(multiply(%x, %x), multiply(multiply(%x, 2), %y)), multiply(%y, %y))",
     "%0 = add(%x, %y); multiply(%0, %0)"},
    {"square of a sum (2y)", "%x: Tensor[(4), int8], %y: Tensor[(4), int8]",
     "add(multiply(%y, %y), add(multiply(multiply(%y, 2i8), %x), multiply(%x, %x)))",
     "%0 = add(%x, %y); multiply(%0, %0)"},
    {"square of a sum (xy)", "%x: Tensor[(4), int32], %y: Tensor[(4), int32]",
     "add(add(multiply(%x, %x), multiply(2, multiply(%x, %y))), multiply(%y, %y))",
     "%0 = add(%x, %y); multiply(%0, %0)"},
    {"square of a sum", "%x: Tensor[(4), int32], %y: Tensor[(4), int32]",
     "%0 = multiply(%x, %x); %1 = add(add(%0, multiply(multiply(2, %x), %y)), multiply(%y, %y));"
     " (%1, %0)",
     nullptr},
    // Movement.
    {"shape of another, known", "%x: Tensor[(6), float32], %y: Tensor[(2, 3), int8]",
     "reshape_like(%x, %y)", "reshape(%x, newshape=[2, 3])"},
    {"reshape to the same", "%x: Tensor[(2, 6), float32]", "reshape(%x, newshape=[2, -1])", "%x"},
    {"reshape to the same", "%x: Tensor[(2, 6), float32]",
     "contrib_reverse_reshape(%x, newshape=[-1, 6])", "%x"},
    {"reshape of a reshape", "%x: Tensor[(2, 6), float32]",
     "reshape(reshape(%x, newshape=[3, 4]), newshape=[0, 2, -1])",
     "reshape(%x, newshape=[3, 2, 2])"},
    {"reshape of a reshape", "%x: Tensor[(2, 6), float32]",
     "contrib_reverse_reshape(reshape(%x, newshape=[3, 4]), newshape=[-1])",
     "reshape(%x, newshape=[12])"},
    {"reshape of a reshape", "%x: Tensor[(0, 6), float32]",
     "reshape(reshape(%x, newshape=[3, 0, 2], allowzero=True), newshape=[0, 5], allowzero=True)",
     nullptr},
    {"axes in their order", "%x: Tensor[(2, 3), float32]", "transpose(%x, axes=[0, -1])", "%x"},
    {"axes in their order", "%x: float32", "transpose(%x)", "%x"},
    {"axes in their order", "%x: Tensor[(1, 2, 3, 4), int8]",
     "layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW\")", "%x"},
    {"transpose of a transpose", "%x: Tensor[(2, 3, 4), float32]",
     "transpose(transpose(%x, axes=[1, 2, 0]), axes=[1, 2, 0])", "transpose(%x, axes=[2, 0, 1])"},
    {"transpose of a transpose", "%x: Tensor[(2, 3, 4), float32]", "transpose(transpose(%x))",
     "%x"},
    {"transpose of a transpose", "%x: Tensor[(2, 3), float32]",
     "%0 = transpose(%x); (%0, transpose(%0))", "(transpose(%x), %x)"},
    {"transpose of a transpose", "%x: Tensor[(1, 2, 3, 4), float32]",
     "transpose(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"), axes=[3, 0, 1, 2])",
     "transpose(%x, axes=[1, 0, 2, 3])"},
    {"layout and back", "%x: Tensor[(1, 4, 2, 2), float32]",
     "layout_transform(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW2c\"), "
     "src_layout=\"NCHW2c\", dst_layout=\"NCHW\")",
     "%x"},
    {"layout and back", "%x: Tensor[(1, 4, 2, 2), float32]",
     "layout_transform(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"), "
     "src_layout=\"NHWC\", dst_layout=\"NCHW2c\")",
     "layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW2c\")"},
    {"axes and axes again", "%x: Tensor[(2, 2, 2, 2), float32]",
     "layout_transform(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"), "
     "src_layout=\"NHCW\", dst_layout=\"NHWC\")",
     "transpose(%x, axes=[0, 2, 1, 3])"},
    {"axes and axes again", "%x: Tensor[(1, 2, 3, 4), float32]",
     "layout_transform(transpose(%x, axes=[0, 2, 3, 1]), src_layout=\"NHWC\", dst_layout=\"NCHW\")",
     "%x"},
    {"layout of a transpose", "%x: Tensor[(1, 2, 3, 8), float32]",
     "layout_transform(transpose(%x, axes=[0, 3, 1, 2]), src_layout=\"NCHW\", "
     "dst_layout=\"NCHW4c\")",
     "layout_transform(%x, src_layout=\"NHWC\", dst_layout=\"NCHW4c\")"},
    {"layout of a transpose", "%x: Tensor[(1, 2, 3, 2, 4), float32]",
     "layout_transform(transpose(%x, axes=[0, 3, 1, 2, 4]), src_layout=\"NCHW4c\", "
     "dst_layout=\"NCHW\")",
     nullptr},
    {"transpose of a layout", "%x: Tensor[(1, 2, 3, 2, 4), float32]",
     "transpose(layout_transform(%x, src_layout=\"NCHW4c\", dst_layout=\"NCHW\"), axes=[0, 2, 3, "
     "1])",
     "layout_transform(%x, src_layout=\"NCHW4c\", dst_layout=\"NHWC\")"},
    {"transpose of a layout", "%x: Tensor[(1, 8, 3, 2), float32]",
     "transpose(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW4c\"), "
     "axes=[0, 2, 3, 1, 4])",
     "layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC4c\")"},
    {"transpose of a layout", "%x: Tensor[(1, 8, 3, 2), float32]",
     "transpose(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW4c\"), "
     "axes=[4, 0, 1, 2, 3])",
     nullptr},
    // Windows.
    {"taps in the padding", "%x: Tensor[(1, 2, 4, 9), float32]",
     "nn.conv2d(%x, Constant(1, (3, 2, 3, 3), float32), padding=[6, 6, 6, 6], dilation=[6, 6], "
     "channels=3, kernel_size=[3, 3])",
     "nn.conv2d(%x, Constant(1, (3, 2, 1, 3), float32), padding=[0, 6, 0, 6], dilation=[6, 6], "
     "channels=3, kernel_size=[1, 3])"},
    {"taps in the padding", "%x: Tensor[(1, 4, 4, 2), float32]",
     "nn.conv2d(%x, Constant(1, (3, 3, 2, 3), float32), padding=[6, 6, 6, 6], dilation=[6, 6], "
     "channels=3, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
     "nn.conv2d(%x, Constant(1, (1, 1, 2, 3), float32), padding=[0, 0, 0, 0], dilation=[6, 6], "
     "channels=3, kernel_size=[1, 1], "
     "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
    {"taps in the padding", "%x: Tensor[(1, 2, 5), float32]",
     "nn.conv1d(%x, Constant(1, (3, 2, 4), float32), padding=[8, 4], dilation=[4], channels=3, "
     "kernel_size=[4])",
     "nn.conv1d(%x, Constant(1, (3, 2, 3), float32), padding=[4, 4], dilation=[4], channels=3, "
     "kernel_size=[3])"},
    {"taps in the padding", "%x: Tensor[(1, 1, 2, 2, 2), int8]",
     "nn.conv3d(%x, Constant(1, (1, 1, 3, 3, 3), int8), padding=[2, 2, 2, 2, 2, 2], "
     "dilation=[2, 2, 2], channels=1, kernel_size=[3, 3, 3], out_dtype=\"int32\")",
     "nn.conv3d(%x, Constant(1, (1, 1, 1, 1, 1), int8), padding=[0, 0, 0, 0, 0, 0], dilation=[2, "
     "2, 2], channels=1, "
     "kernel_size=[1, 1, 1], out_dtype=\"int32\")"},
    // The outer taps reach a row, or reach further than the padding; weights that are no constants.
    {"taps in the padding", "%x: Tensor[(1, 2, 7, 9), float32]",
     "nn.conv2d(%x, Constant(1, (3, 2, 3, 3), float32), padding=[6, 6, 6, 6], dilation=[6, 6], "
     "channels=3, kernel_size=[3, 3])",
     nullptr},
    {"taps in the padding", "%x: Tensor[(1, 2, 4, 9), float32], %w: Tensor[(3, 2, 3, 3), float32]",
     "nn.conv2d(%x, %w, padding=[6, 6, 6, 6], dilation=[6, 6], channels=3, kernel_size=[3, 3])",
     nullptr},
    {"taps in the padding", "%x: Tensor[(1, 1, n, 9), float32]",
     "nn.conv2d(%x, Constant(1, (1, 1, 3, 3), float32), padding=[6, 6, 6, 6], dilation=[6, 6], "
     "channels=1, kernel_size=[3, 3])",
     nullptr},
    // Conversions.
    {"dtype of another, known", "%x: Tensor[(3), int8], %y: Tensor[(?), float32]",
     "cast_like(%x, %y)", "cast(%x, dtype=\"float32\")"},
    {"cast to the same", "%x: Tensor[(3), float32]", "cast(%x, dtype=\"float32\")", "%x"},
    {"clip, cast and back", "%x: Tensor[(9), int32]",
     "cast(cast(clip(%x, a_min=-5, a_max=7), dtype=\"int8\"), dtype=\"int32\")",
     "clip(%x, a_min=-5, a_max=7)"},
    {"clip, cast and back", "%x: Tensor[(9), int32]",
     "cast(cast(clip(%x, a_min=-5, a_max=7), dtype=\"uint8\"), dtype=\"int32\")", nullptr},
    {"clip, cast and back", "%x: Tensor[(9), float32]",
     "cast(cast(clip(%x, a_min=-5, a_max=7), dtype=\"int8\"), dtype=\"float32\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), int8]",
     "cast(cast(%x, dtype=\"int32\"), dtype=\"int8\")", "%x"},
    {"cast of a wider one", "%x: Tensor[(9), int8]",
     "cast(cast(%x, dtype=\"int32\"), dtype=\"uint16\")", "cast(%x, dtype=\"uint16\")"},
    {"cast of a wider one", "%x: Tensor[(9), int16]",
     "cast(cast(%x, dtype=\"float32\"), dtype=\"int64\")", "cast(%x, dtype=\"int64\")"},
    {"cast of a wider one", "%x: Tensor[(9), int16]",
     "cast(cast(%x, dtype=\"float32\"), dtype=\"uint8\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), int32]",
     "cast(cast(%x, dtype=\"float32\"), dtype=\"int32\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), int16]",
     "cast(cast(%x, dtype=\"float16\"), dtype=\"int16\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), float32]",
     "cast(cast(%x, dtype=\"float16\"), dtype=\"float32\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), float16]",
     "cast(cast(%x, dtype=\"bfloat16\"), dtype=\"float16\")", nullptr},
    {"cast of a wider one", "%x: Tensor[(9), float16]",
     "cast(cast(%x, dtype=\"float64\"), dtype=\"int8\")", "cast(%x, dtype=\"int8\")"},
    {"cast of a wider one", "%x: Tensor[(9), int8]",
     "cast(cast(%x, dtype=\"bool\"), dtype=\"int8\")", nullptr},
    {"bounds around all integers", "%x: Tensor[(9), uint8]", "clip(%x, a_min=-1, a_max=255)", "%x"},
    {"bounds around all integers", "%x: Tensor[(9), int8]", "clip(%x, a_min=-127, a_max=127)",
     nullptr},
    {"largest of quantised numbers", "%x: Tensor[(3, 4), int8]",
     "argmax(qnn.dequantize(%x, 0.5f, 3), axis=[1])", "argmax(%x, axis=[1])"},
    {"largest of quantised numbers", "%x: Tensor[(3, 4), int8]",
     "argmax(qnn.dequantize(%x, -0.5f, 3), axis=[1])", nullptr},
    {"least of quantised numbers", "%x: Tensor[(3, 4), uint8]",
     "argmin(qnn.dequantize(%x, 0.5f, 3), axis=[0], keepdims=True)",
     "argmin(%x, axis=[0], keepdims=True)"},
    {"order of quantised numbers", "%x: Tensor[(12), int8]",
     "argsort(qnn.dequantize(%x, 2f, 0), is_ascend=False, dtype=\"int32\")",
     "argsort(%x, is_ascend=False, dtype=\"int32\")"},
    // Creation.
    {"zeros, shape known", "%x: Tensor[(2), float32]", "zeros_like(%x)",
     "zeros(shape=[2], dtype=\"float32\")"},
    {"ones, shape known", "%x: Tensor[(2), int8]", "ones_like(exp(cast(%x, dtype=\"float32\")))",
     "ones(shape=[2], dtype=\"float32\")"},
    {"full, shape known", "%x: Tensor[(2), int8], %v: int8", "full_like(%x, %v)",
     "full(%v, shape=[2], dtype=\"int8\")"},
    {"broadcast, shape known", "%x: Tensor[(3), float32], %y: Tensor[(2, 3), float32]",
     "broadcast_to_like(%x, %y)", "broadcast_to(%x, shape=[2, 3])"},
    {"tensor of one number beside", "%x: Tensor[(2, 3), float32], %v: float32",
     "subtract(full(%v, shape=[2, 3], dtype=\"float32\"), %x)", "subtract(%v, %x)"},
    {"tensor of one number beside", "%x: Tensor[(2, 3), float32]",
     "power(ones(shape=[2, 3], dtype=\"float32\"), %x)", "power(1f, %x)"},
    {"tensor of one number beside", "%x: Tensor[(2, 3), int8]",
     "maximum(%x, zeros(shape=[3], dtype=\"int8\"))", "maximum(%x, 0i8)"},
    {"tensor of one number beside", "%x: Tensor[(2, 3), float32]",
     "maximum(%x, zeros(shape=[1, 2, 3], dtype=\"float32\"))", nullptr},
    {"tensor of one number beside", "%x: Tensor[(3), float32], %v: float32",
     "add(%x, full(%v, shape=[2, 3], dtype=\"float32\"))", nullptr},
    {"tensor of one number beside", "%x: Tensor[(3), float32], %v: int32",
     "add(%x, full(%v, shape=[3], dtype=\"float32\"))", nullptr},
};

// Infinities and not-a-numbers only where every bit is kept: a square of a sum meets `inf - inf`
// where the sum of squares does not.
NDArray random_input(const TensorType& type, std::mt19937& random, bool finite) {
  std::vector<int64_t> shape;
  for (Dim dim : type.dims()) shape.push_back(dim.is_int() ? dim.as_int() : 4);
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  DType dtype = type.dtype();
  NDArray wide = NDArray::empty(shape, kFloat32);
  std::uniform_real_distribution<float> real(-4, 4);
  std::uniform_int_distribution<int> integer(-200, 200);
  constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < count; ++i) {
    float value = dtype.is_float() ? real(random) : static_cast<float>(integer(random));
    if (dtype.is_float() && random() % 8 == 0) value = kSpecial[random() % (finite ? 2 : 5)];
    wide.data<float>()[i] = value;
  }
  std::vector<Value> arguments{Value(wide)};
  return apply_op(find_op("cast"),
                  Attrs::make(*find_op("cast")->attrs_schema(),
                              std::vector<NamedAttr>{{"dtype", dtype, {}}}, {}),
                  arguments)
      .array();
}

std::vector<NDArray> flat(const Value& value) {
  if (value.is_tensor()) return {value.array()};
  std::vector<NDArray> result;
  for (const Value& field : value.fields()) result.push_back(field.array());
  return result;
}

std::vector<NDArray> compiled(const Module& module, std::span<const Value> arguments, int level) {
  vm::CompileOptions options;
  options.level = level;
  vm::Machine machine(vm::compile(module, Name("main"), options));
  return flat(machine.run("main", arguments));
}

void expect_same(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted,
                 double tolerance, const std::string& where) {
  ASSERT_EQ(found.size(), wanted.size()) << where;
  for (size_t i = 0; i < found.size(); ++i) {
    if (tolerance == 0) {
      EXPECT_TRUE(bit_equal(Value(found[i]), Value(wanted[i]))) << where;
      continue;
    }
    for (int64_t k = 0; k < wanted[i].size(); ++k) {
      double a = found[i].element_as_double(k), b = wanted[i].element_as_double(k);
      bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
      EXPECT_TRUE(same) << where << ": " << a << " for " << b;
    }
  }
}

std::string program(const Case& c, const char* body) {
  return std::string("def @main(") + c.params + ") { " + body + " }";
}

TEST(SimplifyExpr, EachRuleOnRandomInputs) {
  std::mt19937 random(7);
  for (const Case& c : kCases) {
    std::string where = std::string(c.rule) + ": " + c.before;
    Module before = typed(program(c, c.before));
    Module after = simplified(before);
    Module wanted = typed(program(c, c.after != nullptr ? c.after : c.before));
    std::string why;
    EXPECT_TRUE(structural_equal(after, wanted, {}, &why)) << where << "\n"
                                                           << why << "\n"
                                                           << print_module(after);
    for (int round = 0; round < 20; ++round) {
      std::vector<Value> arguments;
      for (const VarRef& param : before.function("main")->params())
        arguments.emplace_back(
            random_input(*param->type()->as<TensorType>(), random, c.tolerance != 0));
      std::vector<NDArray> expected = flat(evaluate_function(before, "main", arguments));
      expect_same(flat(evaluate_function(after, "main", arguments)), expected, c.tolerance, where);
      if (round > 0) continue;  // compiled once for each
      expect_same(compiled(after, arguments, 0), compiled(before, arguments, 0), c.tolerance,
                  where);
      expect_same(compiled(before, arguments, 3), expected, std::max(c.tolerance, 1e-5), where);
    }
  }
}

// With `exact`, every bit stays: those that do not keep them leave floats alone.
TEST(SimplifyExpr, ExactKeepsEveryBit) {
  std::mt19937 random(11);
  for (const Case& c : kCases) {
    std::string where = std::string(c.rule) + ": " + c.before;
    Module before = typed(program(c, c.before));
    Module after = simplified(before, "SimplifyExpr(exact=True)");
    if (c.after != nullptr) {
      EXPECT_EQ(structural_equal(after, before),
                c.tolerance != 0 && c.rule != std::string("add zero"))
          << where << "\n"
          << print_module(after);
    }
    for (int round = 0; round < 20; ++round) {
      std::vector<Value> arguments;
      for (const VarRef& param : before.function("main")->params())
        arguments.emplace_back(random_input(*param->type()->as<TensorType>(), random, false));
      expect_same(flat(evaluate_function(after, "main", arguments)),
                  flat(evaluate_function(before, "main", arguments)), 0, where);
    }
  }
}

TEST(SimplifyExpr, EveryRuleHasACase) {
  std::set<std::string_view> tried{"sums, shape known"};  // below
  for (const Case& c : kCases) {
    if (c.after != nullptr) tried.insert(c.rule);
  }
  size_t rules = 0;
  for (const Rule& rule : parse_rules("arithmetic", std::string(arithmetic_rules())).rules) {
    EXPECT_TRUE(tried.count(rule.name.view()) != 0) << rule.name.view();
    ++rules;
  }
  for (auto table : {movement_rules(), conversion_rules(), creation_rules(), window_rules()}) {
    for (const OperatorRule& entry : table) {
      EXPECT_TRUE(tried.count(entry.rule.name) != 0) << entry.rule.name;
      ++rules;
    }
  }
  EXPECT_GT(rules, 40u);
}

TEST(SimplifyExpr, SumsOfKnownShape) {
  Module before = typed(
      "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { collapse_sum_like(%x, "
      "%y) "
      "}");
  Module after = simplified(before);
  EXPECT_EQ(after.function("main")->body()->as<Call>()->args()[1]->as<Constant>()->data().size(),
            1);
  std::vector<Value> arguments{
      Value(testing::random_array(std::vector<int64_t>{2, 3}, kFloat32, 1)),
      Value(testing::random_array(std::vector<int64_t>{3}, kFloat32, 2))};
  expect_same(flat(evaluate_function(after, "main", arguments)),
              flat(evaluate_function(before, "main", arguments)), 0, "collapse");
}

// Extents that have names, or none: what holds for every run is used, and nothing else.
TEST(SimplifyExpr, ExtentsThatARunKnows) {
  auto expect = [](const std::string& before, const std::string& after) {
    Module found = simplified(typed(before));
    std::string why;
    EXPECT_TRUE(structural_equal(found, typed(after), {}, &why)) << why << "\n"
                                                                 << print_module(found);
  };
  auto expect_kept = [&](const std::string& text) { expect(text, text); };
  // An extent of 1 would be broadcast by the zeros.
  expect_kept(
      "def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) {"
      " add(%x, zeros_like(%y)) }");
  expect("def @main(%x: Tensor[(?), float32]) { divide(Constant(1, (5), float32), sqrt(%x)) }",
         "def @main(%x: Tensor[(?), float32]) { multiply(Constant(1, (5), float32), rsqrt(%x)) }");
  expect("def @main(%x: Tensor[(?), float32]) { divide(Constant(1, (1), float32), sqrt(%x)) }",
         "def @main(%x: Tensor[(?), float32]) { rsqrt(%x) }");
  expect_kept(
      "def @main(%x: Tensor[(?, 6), float32]) {"
      " reshape(reshape(%x, newshape=[-1, 3]), newshape=[-1]) }");
  expect_kept("def @main(%x: Tensor[(?, 6), float32]) { reshape(%x, newshape=[-1, 6]) }");
  expect_kept("def @main(%x: Tensor[(?), float32]) { zeros_like(%x) }");
  expect("def @main(%x: Tensor[(?), float32]) { subtract(%x, 0f) }",
         "def @main(%x: Tensor[(?), float32]) { %x }");
  expect("def @main(%x: Tensor[(?, 2), float32]) { transpose(transpose(%x)) }",
         "def @main(%x: Tensor[(?, 2), float32]) { %x }");
  expect(
      "def @main[n: ShapeVar](%x: Tensor[(n, 6), float32]) {"
      " reshape(reshape(%x, newshape=[-1, 2, 3]), newshape=[-1, 6]) }",
      "def @main[n: ShapeVar](%x: Tensor[(n, 6), float32]) { %x }");
}

// Effects run once and in order, whatever a rule leaves out.
TEST(SimplifyExpr, EffectsStay) {
  const char* text =
      "def @main(%r: ref(Tensor[(2), float32])) {"
      " zeros_like((let %a = ref_write(%r, Constant(1, (2), float32)); ref_read(%r))) }";
  Module before = typed(text);
  std::string why;
  EXPECT_TRUE(structural_equal(simplified(before), before, {}, &why)) << why;
}

TEST(SimplifyExpr, LetsAndBranches) {
  auto expect = [](const std::string& before, const std::string& after) {
    Module found = simplified(typed(before));
    std::string why;
    EXPECT_TRUE(structural_equal(found, typed(after), {}, &why)) << why << "\n"
                                                                 << print_module(found);
  };
  expect("def @main(%x: Tensor[(2, 3), float32]) { let %a = transpose(%x); transpose(%a) }",
         "def @main(%x: Tensor[(2, 3), float32]) { let %a = transpose(%x); transpose(%a) }");
  expect(
      "def @main(%x: Tensor[(2), float32], %c: bool) {"
      " if (%c) { subtract(%x, 0f) } else { let %a = multiply(%x, 1f); exp(%a) } }",
      "def @main(%x: Tensor[(2), float32], %c: bool) {"
      " if (%c) { %x } else { let %a = %x; exp(%a) } }");
  // A kernel keeps its calls, and literals of open dtype theirs.
  expect(
      "def @main(%x: Tensor[(2), float32]) {"
      " fn (%y: Tensor[(2), float32], Primitive=1) { multiply(%y, 1f) }(%x) }",
      "def @main(%x: Tensor[(2), float32]) {"
      " fn (%y: Tensor[(2), float32], Primitive=1) { multiply(%y, 1f) }(%x) }");
}

// Many calls in a row are one walk's work.
TEST(SimplifyExpr, LongChains) {
  std::string text = "def @main(%x: Tensor[(2, 3), float32]) {\n%0 = transpose(%x);\n";
  for (int i = 1; i < 4000; ++i) {
    text += "%" + std::to_string(i) + " = " + (i % 2 == 0 ? "transpose(%" : "multiply(%") +
            std::to_string(i - 1) + (i % 2 == 0 ? ");\n" : ", 1f);\n");
  }
  text += "%3999 }";
  Module found = simplified(typed(text));
  std::string why;
  EXPECT_TRUE(
      structural_equal(found, typed("def @main(%x: Tensor[(2, 3), float32]) { %x }"), {}, &why))
      << why;
}

}  // namespace
}  // namespace relay::transform_simplify_test
