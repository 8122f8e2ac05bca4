// Whatever the program: a pass keeps it well formed, well typed, printable, and its meaning.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

#include <tests/support/random_program.h>
#include <tests/support/setting.h>
#include <tests/support/typed_program.h>
#include <tests/unit/test_paths.h>

namespace relay::transform_property_test {
namespace {

const char* const kSequences[] = {
    "InferType",
    "ToANormalForm",
    "ToGraphNormalForm",
    "ToBasicBlockNormalForm",
    "DeadCodeElimination",
    "DeadCodeElimination(inline_once=True)",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "SimplifyInference",
    "SimplifyInference(elementwise=True)",
    "BackwardFoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FoldScaleAxis",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "ExpandOps,ExpandGradients",
    "MarkCompilerFunctionsAsExtern,OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "PlanDevices",
    "FoldExplicitPadding",
    "SimplifyExpr",
    "SimplifyExpr(exact=True)",
    "LazyGradientInit",
    "ApplyRules(rules=\"rule a: %x + 0 => %x; rule b: %x * %y + %x * %z => %x * (%y + %z) where "
    "integer(%x); rule c: (%x, %y).0 => %x; rule d: (%x, %y).1 => %y;\")",
    "BatchingOps",
    "FoldConstant,SimplifyExpr,EliminateCommonSubexpr,FoldConstant",
    "FuseOps(through_reshapes=True)",
    "FuseOps(around_folds=True)",
    "CanonicalizeOps",
    "RemoveUnusedFunctions",
    "Inline",
    "FuseOps",
    "EtaExpand",
    "EtaExpand(expand_constructor=True,expand_global_var=True)",
    "ToCPS,UnCPS",
    "PartialEvaluate,DeadCodeElimination",
    "AnnotateSpans,InferType",
    "CapturePostDfsIndexInSpans",
    "ManifestLifetimes",
    "FastMath",
    "DivToMul",
    "CanonicalizeCast",
    "SplitArgs(2)",
    "FlattenAtrousConv",
    "DynamicToStatic",
    "SimplifyFCTranspose",
    "DenseToSparse",
    "DenseToSparse2(sparsity_threshold=0.0)",
    "Conv2dToSparse",
    "Conv2dToSparse2(sparsity_threshold=0.0)",
    "ChangeBatch",
    "QuantizePartition",
    "QuantizeAnnotate",
    "QuantizeCalibrate,QuantizeRealize",
    "Quantize(skip_conv_layers=[])",
    "ToMixedPrecision",
    "ConvertLayout({\"nn.conv2d\": [\"NHWC\", \"default\"]})",
    "AlterOpLayout",
    "Legalize",
    "FakeQuantizationToInteger",
    "QnnCanonicalize",
    "QnnCanonicalize(exact=False)",
    "QnnLegalize(products=True)",
    "LambdaLift",
    "LambdaLift,InferType,FuseOps",
    "DefuseOps,DefuseOps",
    "FuseOps,DefuseOps,EliminateCommonSubexpr,FuseOps",
    "EliminateCommonSubexpr,FuseOps,ToANormalForm,FoldConstant,DeadCodeElimination",
    "MergeComposite(pattern_table=\"pattern t.sum: add(multiply(_, _), _); pattern t.twice: "
    "add(%a, "
    "%a); pattern t.any: subtract(_, _);\")",
    "AnnotateTarget([t], operators=[add, multiply, equal, where]),MergeCompilerRegions",
    "AnnotateTarget([t, u], operators=[add, multiply, subtract, negative, less]),"
    "MergeCompilerRegions,PartitionGraph",
    "ToANormalForm,MergeComposite(pattern_table=\"pattern t.sum: add(_, _); pattern u.difference: "
    "subtract(_, _);\"),AnnotateTarget([u, t], operators=[multiply]),PartitionGraph(m, "
    "bind_constants=False),InlineCompilerFunctions(u),InferType",
    "ToANormalForm,ToGraphNormalForm",
    "ToGraphNormalForm,EliminateCommonSubexpr,ToANormalForm",
    "EliminateCommonSubexpr,FoldConstant,DeadCodeElimination(inline_once=True)",
    "ToBasicBlockNormalForm,EliminateCommonSubexpr,FoldConstant,ToANormalForm,DeadCodeElimination",
    "ToANormalForm,EliminateCommonSubexpr,DeadCodeElimination(inline_once=True),"
    "ToBasicBlockNormalForm",
};

Module transformed(const Module& module, const std::string& passes) {
  PassContext context;
  context.opt_level = 5;
  context.config["relay.verify_passes"] = true;
  return (*make_sequential(parse_passes(passes)))(module, context);
}

void expect_round_trip(const Module& module, const std::string& where) {
  std::string text = print_module(module);
  ParseResult again = parse_text("printed", text);
  ASSERT_TRUE(again.ok()) << where << "\n" << text << render(again.diagnostics);
  std::string why;
  ASSERT_TRUE(structural_equal(module, again.module, {}, &why)) << where << ": " << why << "\n"
                                                                << text;
}

std::optional<Value> result(const Module& module, std::span<const Value> arguments) {
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  try {
    return evaluate_function(specialize(module, module.entry()->name, types), module.entry()->name,
                             arguments);
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
}

void check_random(uint32_t seed, bool references) {
  Module module = testing::TypedProgram(seed, references).module();
  ASSERT_TRUE(verify(module).empty()) << seed << render(verify(module)) << "\n"
                                      << print_module(module);
  infer_types_or_throw(module);
  std::vector<std::vector<Value>> inputs;
  for (int32_t k : {0, 1, -3}) {
    inputs.push_back({Value::scalar<int32_t>(k), Value::scalar<int32_t>(2 - k),
                      Value(NDArray::from<int32_t>({3}, {k, 4, -1})), Value::scalar(Bool(k != 1))});
  }
  std::vector<std::optional<Value>> wanted;
  for (const auto& arguments : inputs) wanted.push_back(result(module, arguments));

  for (const char* passes : kSequences) {
    std::string where =
        "seed " + std::to_string(seed) + (references ? " with references" : "") + ", " + passes;
    Module after;
    try {
      after = transformed(module, passes);
      infer_types_or_throw(after);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!wanted[i]) continue;  // a pass may remove failures
        std::optional<Value> found = result(after, inputs[i]);
        ASSERT_TRUE(found.has_value()) << where << " fails\n"
                                       << print_module(module) << print_module(after);
        ASSERT_TRUE(bit_equal(*found, *wanted[i])) << where << "\n"
                                                   << print_module(module) << print_module(after);
      }
    } catch (const std::exception& error) {
      FAIL() << where << ": " << error.what() << "\n"
             << print_module(module) << print_module(after);
    }
    // Once done there is nothing left to do. (Sequences undo each other's work.)
    if (std::string(passes).find(',') == std::string::npos) {
      Module again = transformed(after, passes);
      ASSERT_TRUE(same_functions(after, again)) << where << "\n"
                                                << print_module(after) << print_module(again);
    }
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(after, where));
  }
}

// RELAY_PROPERTY_PROGRAMS: how many programs of each kind; RELAY_RANDOM_SEED: from which on.
uint32_t wanted(uint32_t usual) { return testing::setting("RELAY_PROPERTY_PROGRAMS", usual); }

void check_random_programs(bool references) {
  const uint32_t first = testing::setting("RELAY_RANDOM_SEED", 0);
  for (uint32_t i = 0; i < wanted(150); ++i)
    ASSERT_NO_FATAL_FAILURE(check_random(first + i, references));
}

TEST(PassProperties, RandomPrograms) { check_random_programs(false); }

TEST(PassProperties, RandomProgramsWithReferences) { check_random_programs(true); }

// Those passes that need no types, on programs with every construct in every position.
TEST(PassProperties, UntypedPrograms) {
  const uint32_t first = testing::setting("RELAY_RANDOM_SEED", 0);
  for (uint32_t seed = first; seed < first + wanted(200); ++seed) {
    testing::RandomProgramOptions options;
    options.references = seed % 2 == 1;
    Module module = testing::RandomProgram(seed, options).module();
    if (!verify(module).empty()) continue;
    PassContext unchecked;
    unchecked.config["relay.verify_passes"] = false;
    for (const char* passes : {"ToANormalForm", "ToBasicBlockNormalForm"}) {
      std::string where = "seed " + std::to_string(seed) + ", " + passes;
      Module after = (*create_pass(passes))(module, unchecked);
      ASSERT_TRUE(verify(after).empty()) << where << "\n"
                                         << print_module(module) << render(verify(after));
      ASSERT_TRUE(same_functions(after, transformed(after, passes))) << where << "\n"
                                                                     << print_module(after);
      ASSERT_NO_FATAL_FAILURE(expect_round_trip(after, where));
    }
  }
}

TEST(PassProperties, ExamplePrograms) {
  size_t count = 0;
  const size_t limit = wanted(1000);
  for (const auto& path : testing::program_files({"examples"})) {
    if (count == limit) break;
    ParseResult parsed = parse_text(path.string(), testing::read_text(path));
    if (!parsed.ok()) continue;  // examples of errors
    bool typed = true;
    for (const Diagnostic& diagnostic : infer_types(parsed.module)) {
      typed &= diagnostic.severity != Severity::kError;
    }
    if (!typed || !verify(parsed.module).empty()) continue;
    ++count;
    Module module = parsed.module;
    std::string name = path.filename().string();
    for (const char* passes : kSequences) {
      std::string where = name + ", " + passes;
      try {
        Module after = transformed(module, passes);
        infer_types_or_throw(after);
        const Module::FunctionEntry* main = module.entry();
        if (main != nullptr && main->function->params().empty() && after.entry() != nullptr) {
          std::optional<Value> wanted = result(module, {});
          std::optional<Value> found = result(after, {});
          ASSERT_EQ(wanted.has_value(), found.has_value()) << where;
          if (wanted && wanted->is_tensor()) {
            ASSERT_TRUE(bit_equal(*wanted, *found)) << where << "\n" << print_module(after);
          }
        }
      } catch (const std::exception& error) {
        // Passes over the entry refuse a program without one.
        const bool refused = module.entry() == nullptr &&
                             std::string_view(error.what()) == "the program has no @main";
        EXPECT_TRUE(refused) << where << ": " << error.what();
      }
    }
  }
  EXPECT_GE(count, std::min<size_t>(limit, 20));
}

}  // namespace
}  // namespace relay::transform_property_test
