// Products that run block by block, one after the other: against the definition, by the interpreter
// of nests and natively.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_blocks_test {
namespace {

// Extents that a case decides: rows and columns of what stands between the products.
constexpr int64_t kN = -1, kM = -2;

struct Program {
  const char* name;
  const char* body;                          // over %a, %b, …
  std::vector<std::vector<int64_t>> shapes;  // of %a, %b, …
  bool joins = true;
};

const Program kPrograms[] = {
    {"softmax",
     "nn.batch_matmul(nn.softmax(nn.batch_matmul(%a, %b, transpose_b=True)), %c)",
     {{2, kN, 8}, {2, kM, 8}, {2, kM, 6}}},
    {"scaled_and_masked",
     "nn.batch_matmul(nn.softmax(nn.batch_matmul(%a, %b, transpose_b=True) * FLOAT(0.3) + %d), %c)",
     {{2, kN, 8}, {2, kM, 8}, {2, kM, 6}, {kN, kM}}},
    {"causal",
     "nn.batch_matmul(nn.masked_softmax(nn.batch_matmul(%a, %b, transpose_b=True), True, "
     "causal=True), %c)",
     {{2, kN, 8}, {2, kM, 8}, {2, kM, 6}}},
    {"causal_at_the_end",
     "nn.batch_matmul(nn.masked_softmax(nn.batch_matmul(%a, %b, transpose_b=True), True, "
     "causal=True, align=\"bottom_right\"), %c)",
     {{2, kN, 8}, {2, kM, 8}, {2, kM, 6}}},
    {"window",
     "nn.batch_matmul(nn.masked_softmax(nn.batch_matmul(%a, %b, transpose_b=True), True, "
     "causal=True, window=9), %c)",
     {{2, kN, 8}, {2, kM, 8}, {2, kM, 6}}},
    {"relu", "nn.relu(nn.dense(nn.relu(nn.dense(%a, %b)), %c))", {{kN, 8}, {kM, 8}, {7, kM}}},
    {"gated",
     "nn.dense(nn.silu(nn.dense(%a, %b)) * %d, %c) + mean(%a)",
     {{kN, 8}, {kM, 8}, {7, kM}, {kN, kM}}},
    {"norm_between",
     "nn.dense(nn.l2_normalize(nn.dense(%a, %b), eps=1e-6, axis=[1]), %c)",
     {{kN, 8}, {kM, 8}, {7, kM}}},
    {"heads_that_share",
     "einsum((nn.softmax(einsum((%a, %b), equation=\"tkgd,ckd->ktgc\")), %c), "
     "equation=\"ktgc,ckd->tkgd\")",
     {{kN, 2, 3, 8}, {kM, 2, 8}, {kM, 2, 6}}},
    {"masks_of_two_columns",
     "{ let %s = nn.batch_matmul(%a, %b, transpose_b=True); "
     "let %z = sum(trilu(expand_dims(%s, axis=1) + expand_dims(transpose(%s, axes=[0, 2, 1]), "
     "axis=3), 0i64, upper=False), axis=[1]); "
     "nn.batch_matmul(trilu(%z, 0i64, upper=False), %c, transpose_b=True) }",
     {{2, kN, 8}, {2, kM, 8}, {2, 4, kM}}},
    {"divided_by_columns",
     "nn.dense(nn.masked_softmax(nn.dense(%a, %b), True, causal=True) / (%d + FLOAT(0.3)), %c)",
     {{kN, 8}, {kM, 8}, {7, kM}, {kM}}},
    {"read_elsewhere",
     "{ let %d = nn.relu(nn.dense(%a, %b)); (nn.dense(%d, %c), sum(%d)) }",
     {{kN, 8}, {kM, 8}, {7, kM}},
     false},
    {"columns_mixed_with_rows",
     "nn.dense(nn.softmax(nn.dense(%a, %b), axis=0), %c)",
     {{kN, 8}, {kM, 8}, {7, kM}},
     false},
};

class LowerBlocks : public ::testing::TestWithParam<std::tuple<Program, DType>> {};

void check(const graph::Group& group, const std::vector<NDArray>& inputs, bool joins, DType dtype,
           const relay::testing::SymbolValues& symbols) {
  const std::vector<NDArray> wanted = te::evaluate(group.computation, inputs, symbols);
  auto tolerance = [&](DType) { return dtype == kFloat64 ? 1e-11 : 1e-4; };
  LowerOptions options;
  options.blocks = BlocksIf::kPossible;
  std::vector<codegen::Target> targets = relay::testing::targets_here();
  // Compiling takes the time.
  if (symbols || dtype == kFloat64) targets = {codegen::Target::host()};
  for (const codegen::Target& target : targets) {
    SCOPED_TRACE("on " + std::string(target.name()));
    options.processor = target.processor;
    const Lowered lowered = lower(group.computation, "k", options);
    std::string text;
    int blocks = 0;
    for (const auto& kernel : lowered.kernels) {
      blocks += kernel->implementation == "blocks" ? 1 : 0;
      text += kernel->implementation + "\n" + kernel->str();
    }
    SCOPED_TRACE(text);
    EXPECT_EQ(blocks, joins ? 1 : 0);
    EXPECT_EQ(relay::testing::difference(relay::testing::interpret(lowered, inputs, symbols),
                                         wanted, tolerance),
              "");
    relay::testing::RunnableGroups native({lowered}, target);
    const std::vector<NDArray> one = native.run(0, inputs, 1, symbols),
                               three = native.run(0, inputs, 3, symbols);
    EXPECT_EQ(relay::testing::difference(one, wanted, tolerance), "");
    for (size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(bit_equal(one[k], three[k]));
  }
}

TEST_P(LowerBlocks, AgreesWithTheDefinition) {
  const auto& [program, dtype] = GetParam();
  struct Size {
    int64_t n, m;
    bool open;
  };
  const TypeVarRef rows = TypeVar::make("n", Kind::kShapeVar);
  const TypeVarRef columns = TypeVar::make("m", Kind::kShapeVar);
  // The last block overlaps the one before; behind a causal mask columns are left out.
  for (const Size size : {Size{23, 150, false}, Size{70, 66, false}, Size{23, 150, true},
                          Size{1, 1, true}, Size{0, 5, true}}) {
    SCOPED_TRACE(std::to_string(size.n) + " rows, " + std::to_string(size.m) + " columns" +
                 (size.open ? ", open" : ""));
    std::vector<NDArray> inputs;
    std::vector<TypeRef> known, types;
    std::string parameters;
    for (size_t k = 0; k < program.shapes.size(); ++k) {
      std::vector<int64_t> shape = program.shapes[k];
      std::vector<Dim> dims;
      for (int64_t& extent : shape) {
        const bool is_row = extent == kN, is_column = extent == kM;
        if (is_row) extent = size.n;
        if (is_column) extent = size.m;
        const bool open = size.open && (is_row || is_column);
        dims.push_back(open ? Dim::symbol((is_row ? rows : columns).get()) : Dim(extent));
      }
      inputs.push_back(
          relay::testing::random_array(shape, dtype, static_cast<uint32_t>(7 * k + 1)));
      known.push_back(relay::testing::array_type(inputs.back()));
      types.push_back(TensorType::make(dims, dtype));
      parameters += std::string(k == 0 ? "%" : ", %") + static_cast<char>('a' + k) + ": " +
                    known.back()->str();
    }
    std::string body = program.body;
    if (size_t at = body.find("FLOAT(0.3)"); at != std::string::npos)
      body.replace(at, 10, dtype == kFloat64 ? "0.3f64" : "0.3f");
    const FunctionRef function =
        relay::testing::main_function("def @main(" + parameters + ") { " + body + " }", known);
    check(graph::compose(*function, types), inputs, program.joins, dtype,
          size.open ? relay::testing::SymbolValues([&](const TypeVar* symbol) {
            return symbol == rows.get() ? size.n : size.m;
          })
                    : relay::testing::SymbolValues());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LowerBlocks,
                         ::testing::Combine(::testing::ValuesIn(kPrograms),
                                            ::testing::Values(kFloat32, kFloat64)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(std::get<1>(info.param).name());
                         });

}  // namespace
}  // namespace relay::lower::lower_blocks_test
