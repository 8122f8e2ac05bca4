// Derived fusion kinds beside the patterns that TVM declares for its operators.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/analysis.h>
#include <tests/unit/test_paths.h>

namespace relay::te_fusion_patterns_test {
namespace {

/// The kind furthest down the list over all recorded calls of each operator.
std::map<std::string, te::FusionKind> derived_kinds() {
  std::map<std::string, te::FusionKind> kinds;
  std::string folder = testing::source_dir() + "/tests/conformance/oracle/";
  for (const char* file : {"ops-core.jsonl", "ops-special.jsonl"}) {
    std::ifstream in(folder + file);
    for (std::string line; std::getline(in, line);) {
      auto json = nlohmann::json::parse(line);
      if (!json.contains("program") || !json["program"].is_string()) continue;
      ParseResult parsed = parse_text("recorded", json["program"].get<std::string>());
      if (!parsed.ok()) continue;
      bool typed = true;
      for (const Diagnostic& diagnostic : infer_types(parsed.module))
        typed &= diagnostic.severity != Severity::kError;
      if (!typed || parsed.module.entry() == nullptr) continue;
      post_order(parsed.module.entry()->function.get(), [&](const Expr* expr) {
        const auto* call = expr->as<Call>();
        const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
        if (node == nullptr || node->op()->definition() != DefinitionKind::kCompute) return;
        std::vector<TypeRef> types;
        for (const ExprRef& arg : call->args()) types.emplace_back(arg->type());
        AttrsRef attrs = call->attrs();
        if (!attrs && node->op()->attrs_schema() != nullptr)
          attrs = Attrs::make(*node->op()->attrs_schema(), {}, {});
        try {
          te::FusionKind kind = te::fusion_kind(
              build_computation(OpCall(node->op(), attrs, types, TypeRef(call->type()))));
          te::FusionKind& most = kinds.try_emplace(node->op()->name().str(), kind).first->second;
          most = std::max(most, kind);
        } catch (const Error&) {
          // Its extents are values.
        }
      });
    }
  }
  return kinds;
}

std::map<std::string, std::string> declared_patterns() {
  std::map<std::string, std::string> patterns;
  std::ifstream in(testing::source_dir() + "/tests/unit/data/fusion_patterns.tsv");
  for (std::string line; std::getline(in, line);) {
    size_t tab = line.find('\t');
    if (tab != std::string::npos) patterns[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return patterns;
}

TEST(TeFusionPatterns, AreThoseOfTvmButFor) {
  // Patterns that are derived where TVM declares something else.
  const std::map<std::string, std::string> kDifferent = {
      // No library function: a value for each element.
      {"arange", "broadcast"},
      // A scalar is read for each element.
      {"full", "broadcast"},
      {"full_like", "broadcast"},
      {"one_hot", "broadcast"},
      {"meshgrid", "broadcast"},
      // Places of the input are found by arithmetic on the index.
      {"expand_dims", "injective"},
      {"repeat", "injective"},
      {"tile", "injective"},
      // Without training it is a scale and a shift for each channel.
      {"nn.batch_norm", "broadcast"},
      // Folds and points over one row.
      {"nn.softmax", "row-program"},
      {"nn.log_softmax", "row-program"},
      {"nn.fast_softmax", "row-program"},
      {"nn.max_pool2d_grad", "row-program"},
      // Each element counts in one window.
      {"nn.global_avg_pool2d", "reduction"},
      {"nn.global_max_pool2d", "reduction"},
      // Kernels of the runtime: what is sparse, and extents that only a run knows.
      {"dyn.nn.upsampling", "opaque"},
      {"dyn.nn.upsampling3d", "opaque"},
      {"nn.sparse_dense", "opaque"},
      {"nn.sparse_transpose", "opaque"},
      {"sparse_reshape", "opaque"},
      // TVM has a function of its own for these; ours are index expressions, folds or updates.
      {"dyn.full", "broadcast"},
      {"dyn.image.resize2d", "elementwise"},
      {"dyn.one_hot", "broadcast"},
      {"dyn.tile", "elementwise"},
      {"einsum", "row-program"},
      {"invert_permutation", "opaque"},
      {"ndarray_size", "elementwise"},
      {"nn.fifo_buffer", "injective"},
      {"nn.lrn", "out-elementwise-fusable"},
      {"random.normal", "injective"},
      {"random.threefry_generate", "injective"},
      {"random.threefry_split", "injective"},
      {"random.uniform", "injective"},
      {"sequence_mask", "broadcast"},
      {"shape_of", "elementwise"},
      {"sliding_window", "injective"},
      {"strided_set", "opaque"},
      {"trilu", "broadcast"},
      {"vision.multibox_prior", "injective"},
      {"vision.roi_align", "opaque"},
      {"vision.roi_pool", "opaque"},
  };
  std::map<std::string, std::string> patterns = declared_patterns();
  size_t same = 0;
  for (const auto& [op, kind] : derived_kinds()) {
    auto pattern = patterns.find(op);
    if (pattern == patterns.end() || pattern->second.empty()) continue;
    std::string derived(te::fusion_kind_name(kind));
    // All recorded calls have operands of one shape.
    if (derived == "elementwise" && pattern->second == "broadcast") derived = "broadcast";
    auto different = kDifferent.find(op);
    if (different != kDifferent.end()) {
      EXPECT_EQ(derived, different->second) << op;
      EXPECT_NE(derived, pattern->second) << op << " agrees by now";
    } else {
      EXPECT_EQ(derived, pattern->second) << op;
      same += derived == pattern->second ? 1 : 0;
    }
  }
  EXPECT_GE(same, 80u) << "of " << patterns.size();
}

}  // namespace
}  // namespace relay::te_fusion_patterns_test
