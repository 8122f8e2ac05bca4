// ConvertLayout and AlterOpLayout: random networks of random shapes compute the same in other
// layouts.
#include <gtest/gtest.h>

#include <random>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/registry/attached.h>
#include <relay/op/registry/layout_flow.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/convert_layout.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

#include <tests/unit/lower_cases.h>

namespace relay::transform_layout_test {
namespace {

// A network over images, as text. Each step adds a value made of earlier ones.
class Network {
 public:
  explicit Network(uint32_t seed) : random_(seed) {
    const int64_t n = 1 + pick(2), h = 3 + pick(4), w = 3 + pick(4);
    add_param("x", {n, 4 * (1 + pick(2)), h, w});
    values_.push_back({"%x", {n, channels_of("x"), h, w}});
    for (int step = 0; step < 7; ++step) add_step();
  }

  std::string text() const {
    std::string result = "def @main(";
    for (size_t i = 0; i < params_.size(); ++i)
      result += (i > 0 ? ", " : "") + ("%" + params_[i].first) + ": Tensor[(" +
                list(params_[i].second) + "), float32]";
    result += ") {\n" + body_ + "  (";
    for (size_t i = 1; i < values_.size(); ++i) result += (i > 1 ? ", " : "") + values_[i].name;
    return result + ",)\n}\n";
  }

  std::vector<Value> arguments() {
    std::vector<Value> result;
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (const auto& [name, shape] : params_) {
      int64_t count = 1;
      for (int64_t extent : shape) count *= extent;
      std::vector<float> data(static_cast<size_t>(count));
      for (float& number : data) number = numbers(random_);
      result.emplace_back(NDArray::from<float>(shape, data));
    }
    return result;
  }

 private:
  using Shape = std::vector<int64_t>;
  struct Image {
    std::string name;
    Shape shape;
  };

  int64_t pick(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint32_t>(count));
  }
  static std::string list(const Shape& shape) {
    std::string text;
    for (int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return text;
  }
  int64_t channels_of(const std::string& name) const {
    for (const auto& [param, shape] : params_) {
      if (param == name) return shape[1];
    }
    return 0;
  }
  std::string add_param(const std::string& name, Shape shape) {
    params_.emplace_back(name, std::move(shape));
    return "%" + name;
  }
  std::string weight(Shape shape) {
    return add_param("w" + std::to_string(params_.size()), std::move(shape));
  }
  std::string bind(const std::string& call) {
    std::string name = "%" + std::to_string(next_++);
    body_ += "  " + name + " = " + call + ";\n";
    return name;
  }
  void value(const std::string& call, Shape shape) {
    values_.push_back({bind(call), std::move(shape)});
  }

  void add_step() {
    const Image data = values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))];
    const Shape& s = data.shape;
    const std::string axis = std::to_string(pick(4) - (pick(2) == 0 ? 4 : 0));
    switch (pick(20)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const int64_t out = 4 * (1 + pick(2));
        value("nn.conv2d(" + data.name + ", " + weight({out, s[1], 3, 1}) +
                  ", padding=[1, 0, 1, 0], channels=" + std::to_string(out) +
                  ", kernel_size=[3, 1])",
              {s[0], out, s[2], s[3]});
        return;
      }
      case 4:
        value("nn.conv2d(" + data.name + ", " + weight({s[1], 1, 1, 1}) +
                  ", groups=" + std::to_string(s[1]) + ", kernel_size=[1, 1])",
              s);
        return;
      case 5:
        value("add(" + data.name + ", " + weight({s[1], 1, 1}) + ")", s);
        return;
      case 6:
        value("nn.bias_add(multiply(2f, " + data.name + "), " + weight({s[1]}) + ")", s);
        return;
      case 7:
        value("nn.max_pool2d(" + data.name + ", pool_size=[2, 1], padding=[1, 0, 0, 0])", s);
        return;
      case 8:
        value("concatenate((" + data.name + ", nn.relu(" + data.name + ")), axis=1)",
              {s[0], 2 * s[1], s[2], s[3]});
        return;
      case 9: {
        const std::string parts = bind("split(" + data.name + ", indices_or_sections=2, axis=1)");
        value("subtract(" + parts + ".1, " + parts + ".0)", {s[0], s[1] / 2, s[2], s[3]});
        values_.back().shape[1] % 4 != 0 ? values_.pop_back() : void();
        return;
      }
      case 10:
        value("nn.softmax(" + data.name + ", axis=" + axis + ")", s);
        return;
      case 11:
        value("subtract(" + data.name + ", mean(" + data.name + ", axis=[" + axis +
                  "], keepdims=True))",
              s);
        return;
      case 12:
        value("nn.pad(" + data.name + ", 0.5f, pad_width=[[0, 0], [0, 0], [1, 0], [0, 2]])",
              {s[0], s[1], s[2] + 1, s[3] + 2});
        return;
      case 13: {
        const std::string v = weight({s[1]});
        value("nn.batch_norm(" + data.name + ", " + v + ", " + v + ", " + v + ", exp(" + v + ")).0",
              s);
        return;
      }
      case 14:
        value(
            "strided_slice(" + data.name + ", begin=[0, 0, 1], end=[9, 99, 99], strides=[1, 1, 2])",
            {s[0], s[1], s[2] / 2, s[3]});
        if (values_.back().shape[2] < 1) values_.pop_back();
        return;
      case 15:
        value("transpose(transpose(" + data.name + ", axes=[0, 3, 1, 2]), axes=[0, 2, 3, 1])", s);
        return;
      case 16:
        value("expand_dims(squeeze(sum(" + data.name +
                  ", axis=[2], keepdims=True), axis=[2]), axis=2)",
              {s[0], s[1], 1, s[3]});
        return;
      case 17:
        value("layout_transform(nn.global_avg_pool2d(layout_transform(" + data.name +
                  ", src_layout=\"NCHW\", dst_layout=\"NHWC\"), layout=\"NHWC\"), "
                  "src_layout=\"NHWC\", dst_layout=\"NCHW\")",
              {s[0], s[1], 1, 1});
        return;
      case 18:
        value("if (less(sum(" + data.name + "), 0f)) { reverse(" + data.name + ", axis=" + axis +
                  ") } else { nn.relu(" + data.name + ") }",
              s);
        return;
      default:
        value("where(greater(" + data.name + ", 0f), nn.prelu(" + data.name + ", " +
                  weight({s[1]}) + "), cumsum(" + data.name + ", axis=" + axis + "))",
              s);
    }
  }

  std::mt19937 random_;
  std::vector<std::pair<std::string, Shape>> params_;
  std::vector<Image> values_;
  std::string body_;
  int next_ = 0;
};

Module transformed(const Module& module, const std::string& passes) {
  PassContext context;
  context.opt_level = 4;
  context.config["relay.verify_passes"] = true;
  return (*make_sequential(parse_passes(passes)))(module, context);
}

void expect_close(const Value& a, const Value& b, const std::string& where) {
  ASSERT_TRUE(a.is_tuple() && b.is_tuple()) << where;
  for (size_t i = 0; i < a.fields().size(); ++i) {
    NDArray x = a.field(i).array(), y = b.field(i).array();
    ASSERT_TRUE(std::equal(x.shape().begin(), x.shape().end(), y.shape().begin(), y.shape().end()))
        << where;
    for (int64_t k = 0; k < x.size(); ++k)
      ASSERT_NEAR(x.data<float>()[k], y.data<float>()[k], 1e-3) << where << " result " << i;
  }
}

const char* const kSequences[] = {
    "ConvertLayout({\"nn.conv2d\": [\"NHWC\", \"default\"]})",
    "ConvertLayout({'nn.conv2d': ['HWNC', 'OHWI']})",
    "ConvertLayout({'nn.conv2d': ['NCHW4c', 'OIHW4o']})",
    "ConvertLayout({'nn.max_pool2d': ['NHWC'], 'nn.conv2d': ['NHWC', 'default']})",
    "AlterOpLayout",
};

TEST(Layouts, RandomNetworks) {
  // To blocks of four channels, with weights that the function arranges itself.
  attach_rewrite(get_op("nn.conv2d"), kAlterLayoutKey,
                 [](const OpCall& call, std::span<const ExprRef> args) -> ExprRef {
                   Conv2DAttrs attrs = call.attrs<Conv2DAttrs>();
                   if (attrs.groups > 1 || attrs.data_layout != "NCHW") return {};
                   attrs.data_layout = "NCHW4c";
                   attrs.kernel_layout = "HWIO";
                   return call_op("nn.conv2d",
                                  {args[0], make_layout_transform(args[1], "OIHW", "HWIO", {})},
                                  Attrs::make(attrs));
                 });
  size_t moved = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Network network(seed);
    Module module = parse_module("network", network.text());
    infer_types_or_throw(module);
    std::vector<Value> arguments = network.arguments();
    const Value wanted = evaluate_function(module, "main", arguments);
    for (const char* passes : kSequences) {
      const std::string where =
          "seed " + std::to_string(seed) + ", " + passes + "\n" + network.text();
      try {
        Module after = transformed(module, passes);
        infer_types_or_throw(after);
        moved += same_functions(module, after) ? 0 : 1;
        const Value found = evaluate_function(after, "main", arguments);
        ASSERT_NO_FATAL_FAILURE(expect_close(wanted, found, where + print_module(after)));
        if (std::string(passes) != "AlterOpLayout") {
          ASSERT_TRUE(same_functions(after, transformed(after, passes)))
              << where << print_module(after);
        }
      } catch (const Error& error) {
        FAIL() << where << error.what();
      }
    }
  }
  attach_rewrite(get_op("nn.conv2d"), kAlterLayoutKey, {});
  EXPECT_GE(moved, 200u);
}

}  // namespace
}  // namespace relay::transform_layout_test
