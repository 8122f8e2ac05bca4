// Recorded questions, Python expressions over `main`, `body` and `mod`, put to relay/analysis.
#include <algorithm>
#include <regex>
#include <unordered_set>

#include <relay/analysis/counts.h>
#include <relay/analysis/fc_transpose.h>
#include <relay/analysis/features.h>
#include <relay/analysis/forms.h>
#include <relay/analysis/regions.h>
#include <relay/analysis/variables.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/print/print.h>
#include <relay/program/call_graph.h>
#include <relay/transform/pass.h>
#include <tests/conformance/data.h>

namespace relay::conformance {
namespace {

template <class Variable>
Json names(const std::vector<Ref<const Variable>>& vars) {
  Json list = Json::array();
  for (const auto& var : vars) list.push_back(var->name().str());
  return list;
}

Json features(FeatureSet set) {
  std::vector<std::string> list;
  for (Feature feature : set.list()) list.emplace_back(feature_name(feature));
  std::sort(list.begin(), list.end());
  return list;
}

/// TVM's order of visits: parameters before a function's body, a let's variable after its value.
class Visits final : public Walker {
 public:
  Json list = Json::array();

 private:
  bool enter(const Expr* expr) override {
    if (const Function* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) var(param.get());
    }
    return true;
  }
  void before(const Expr* expr, uint32_t operand) override {
    if (const Let* let = expr->as<Let>(); let != nullptr && operand == 1) var(let->var().get());
  }
  void leave(const Expr* expr) override {
    switch (expr->kind()) {
      case ExprKind::kVar:
        var(static_cast<const Var*>(expr));
        break;
      case ExprKind::kOp:
        list.push_back("op:" + op_name(expr));
        break;
      case ExprKind::kCall:
        list.push_back("call:" + op_name(expr->operands()[0].get()));
        break;
      case ExprKind::kConstant:
      case ExprKind::kLiteral:
        list.push_back("const");
        break;
      case ExprKind::kLet:
        list.push_back("let");
        break;
      case ExprKind::kIf:
        list.push_back("if");
        break;
      case ExprKind::kMatch:
        list.push_back("match");
        break;
      case ExprKind::kFunction:
        list.push_back("function");
        break;
      default:
        list.push_back(std::string(expr_kind_name(expr->kind())));
        break;
    }
  }
  static std::string op_name(const Expr* expr) {
    const Op* op = expr->as<Op>();
    return op == nullptr ? "" : op->op()->name().str();
  }
  void var(const Var* var) {
    if (seen_.insert(var).second) list.push_back("var:" + var->name().str());
  }
  std::unordered_set<const Var*> seen_;
};

/// TVM's number of a kind; nothing for a type that is wrong.
std::optional<Json> kind(const TypeRef& type, const Module& module) {
  DiagnosticSink sink;
  Kind kind = check_kind(type, module, sink);
  if (sink.has_errors()) return Json();
  switch (kind) {
    case Kind::kType:
      return 0;
    case Kind::kShapeVar:
      return 1;
    case Kind::kBaseType:
      return 2;
    case Kind::kConstraint:
      return 4;
    case Kind::kAdtHandle:
      return 5;
    case Kind::kTypeData:
      return 6;
    case Kind::kShape:
    case Kind::kNumber:
      break;
  }
  return std::nullopt;
}

/// The types that the recorded questions build in Python.
std::optional<TypeRef> written_type(const std::string& text, const Module& module) {
  TypeRef int32 = TensorType::scalar(kInt32);
  TypeRef shape = TypeVar::make("A", Kind::kShapeVar);
  if (text == "relay.TensorType([2], 'float32')")
    return TensorType::make(std::vector<Dim>{2}, kFloat32);
  if (text == "relay.TupleType([relay.scalar_type('int32')])") return TupleType::make({int32});
  if (text == "relay.FuncType([relay.scalar_type('int32')], relay.scalar_type('int32'))") {
    return FuncType::make({int32}, int32);
  }
  if (text == "relay.RefType(relay.scalar_type('int32'))") return RefType::make(int32);
  if (text == "relay.TypeVar('A', relay.TypeKind.ShapeVar)") return shape;
  if (text == "relay.TupleType([relay.TypeVar('A', relay.TypeKind.ShapeVar)])") {
    return TupleType::make({shape});
  }
  if (text ==
      "relay.FuncType([relay.TypeVar('A', relay.TypeKind.ShapeVar)], relay.scalar_type('int32'))") {
    return FuncType::make({shape}, int32);
  }
  if (text == "relay.RefType(relay.TypeVar('A', relay.TypeKind.BaseType))") {
    return RefType::make(TypeVar::make("A", Kind::kBaseType));
  }
  if (text == "mod['main'].params[0].checked_type")
    return module.function("main")->params()[0]->annotation();
  if (text == "mod.get_global_type_var('List')") return GlobalTypeVar::make("List");
  return std::nullopt;
}

Json missing_patterns(const Expr* root, const Module& module) {
  const Match* last = nullptr;
  post_order(root, [&](const Expr* expr) {
    if (const Match* match = expr->as<Match>()) last = match;
  });
  Json list = Json::array();
  if (last == nullptr) return list;
  for (const PatternRef& pattern : unmatched_cases(*last, module).examples) {
    list.push_back(print_pattern(pattern.get()));
  }
  return list;
}

/// The regions of a program whose calls of two operators are for a code generator.
Json merged_regions(const Module& module) {
  Module typed = module;
  for (const PassRef& pass :
       parse_passes("AnnotateTarget([tgr], operators=[add, nn.relu]),MergeCompilerRegions")) {
    infer_types_or_throw(typed);
    typed = (*pass)(typed);
  }
  const View view(typed.function("main")->body());
  Json list = Json::array();
  for (const AnnotatedRegion& region : AnnotatedRegions(view, nullptr, {}).list())
    list.push_back({region.target, region.nodes.size(), region.begins.size(), region.ends.size()});
  return {{"count", list.size()}, {"regions", list}};
}

Json visits(const Expr* expr) {
  Visits visits;
  visits.walk(expr);
  return visits.list;
}

}  // namespace

std::optional<Json> run_analysis(const std::string& analysis, const Module& module) {
  const Function* main = module.function("main");
  const Expr* body = main->body().get();
  if (analysis == "names(AN.all_vars(main))") return names(all_vars(main));
  if (analysis == "names(AN.all_vars(body))") return names(all_vars(body));
  if (const Function* id = module.function("id")) {
    if (analysis.find("AN.free_type_vars(mod['id'].body, mod)") != std::string::npos) {
      return names(free_type_vars(id->body().get()));
    }
    if (analysis.find("AN.bound_type_vars(mod['id'], mod)") != std::string::npos) {
      return names(bound_type_vars(id));
    }
    if (analysis.find("AN.all_type_vars(mod['id'].body, mod)") != std::string::npos) {
      return names(all_type_vars(id->body().get()));
    }
    if (analysis.find("AN.free_type_vars(mod['id'].params[0].checked_type, mod)") !=
        std::string::npos) {
      return names(free_type_vars(id->params()[0]->annotation()));
    }
  }
  if (analysis == "names(AN.free_vars(body.value))")
    return names(free_vars(body->operands()[0].get()));
  if (analysis == "bool(AN.well_formed(main))") return verify(module).empty();
  if (analysis == "bool(AN.well_formed(body))") {
    // As Python does: what is free in an expression becomes parameters.
    Module alone = module;
    alone.update_function("main", make_function(free_vars(body), main->body()));
    return verify(alone).empty();
  }
  if (analysis == "[pat(q) for q in AN.unmatched_cases(match_of(body)[-1], mod)]") {
    return missing_patterns(body, module);
  }
  constexpr std::string_view kKind = "int(AN.check_kind(";
  if (analysis.starts_with(kKind)) {
    auto type =
        written_type(analysis.substr(kKind.size(), analysis.size() - kKind.size() - 7), module);
    return type ? kind(*type, module) : std::nullopt;
  }
  if (analysis.starts_with(
          "regions(tvm.transform.Sequential([T.InferType(), byoc('tgr', ['add', 'nn.relu'])"))
    return merged_regions(module);
  if (analysis == "feats(main)") return features(detect_features(main));
  if (analysis == "feats(mod)") return features(detect_features(module));
  if (analysis == "order(main)") return visits(main);
  if (analysis == "'op:exp' in order(body)") {
    Json list = visits(body);
    return std::find(list.begin(), list.end(), "op:exp") != list.end();
  }
  if (analysis == "bool(AN.check_basic_block_normal_form(main))") return in_basic_block_form(main);
  if (analysis == "int(AN.get_total_mac_number(main))") return total_macs(main);
  if (analysis == "sorted(AN.all_dtypes(main))") return Json(all_dtypes(main));
  if (analysis.starts_with("int(AN.count_layers(main, [")) {
    std::vector<std::string> ops;
    static const std::regex kQuoted("'([^']*)'");
    for (std::sregex_iterator it(analysis.begin(), analysis.end(), kQuoted), end; it != end; ++it) {
      ops.push_back((*it)[1]);
    }
    return count_layers(main, ops);
  }
  if (analysis == "sorted(str(s) for s in AN.search_fc_transpose(main))")
    return Json(search_fc_transpose(main));
  if (analysis == "{k: int(v) for k, v in AN.list_op_freqs(T.FuseOps(2)(mod)).items()}")
    return Json(op_frequencies((*parse_passes("FuseOps(2)")[0])(module)));
  if (analysis.find("AN.CallGraph(mod)") != std::string::npos) {
    CallGraph graph(module);
    Json rows = Json::array();
    for (const char* name : {"a", "b", "main"}) {
      rows.push_back(
          {name, graph.ref_count(name), graph.global_call_count(name), graph.is_recursive(name)});
    }
    return rows;
  }
  return std::nullopt;
}

}  // namespace relay::conformance
