// PartitionGraph: regions of code generators become global functions.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <relay/analysis/regions.h>
#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/support/error.h>
#include <relay/transform/own_type_params.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

constexpr uint32_t kNone = View::kNone;

struct PartitionOptions {
  std::string mod_name;
  bool bind_constants;
};

std::string as_name(const std::string& text) {
  std::string name = text;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

/// A region that is cut out.
struct Cut {
  uint32_t id;
  std::string target;
  std::vector<uint32_t> nodes;    // between annotations, operands first
  std::vector<uint32_t> inputs;   // in the order in which they go in
  std::vector<uint32_t> results;  // in the order in which they come out
  bool done = false;
};

bool is_constant(const Expr* expr) { return expr->is<Constant>() || expr->is<Literal>(); }

/// True if nothing but names of extents is open in a type.
bool is_of_tensors(const TypeRef& type) {
  for (const TypeVarRef& var : free_type_vars(type)) {
    if (var->var_kind() != Kind::kShapeVar) return false;
  }
  return true;
}

/// Takes the regions out of one function.
class Partitioner {
 public:
  Partitioner(const FunctionRef& function, const Name& name, const Program& program,
              const PartitionOptions& options, Module& result)
      : view_(program.view(function)),
        name_(name),
        options_(options),
        module_(result),
        regions_(view_, &program.node_effects(view_), {nullptr, nullptr, "default"}),
        results_(view_.size()),
        cut_of_(view_.size(), kNone) {}

  ExprRef run() {
    find_cuts();
    return rewritten(view_.size() - 1);
  }

 private:
  void find_cuts() {
    std::vector<uint32_t> place(view_.size(), kNone);
    for (const AnnotatedRegion& region : regions_.list()) {
      Cut cut{region.id, region.target, {}, {}, {}};
      for (uint32_t node : region.nodes) {
        if (!regions_.is_inside(node)) continue;
        cut.nodes.push_back(node);
        cut_of_[node] = static_cast<uint32_t>(cuts_.size());
      }
      if (!cut.nodes.empty()) cuts_.push_back(std::move(cut));
    }
    std::vector<uint32_t> first_end(view_.size(), kNone);
    for (uint32_t id = view_.size(); id-- > 0;) {
      if (regions_.is_end(id)) first_end[view_.operands(id)[1]] = id;
    }
    using Keyed = std::vector<std::pair<uint32_t, uint32_t>>;
    std::vector<Keyed> inputs(cuts_.size()), results(cuts_.size());
    std::vector<char> leaves(view_.size(), 0);
    for (uint32_t id = 0; id < view_.size(); ++id) {
      if (regions_.is_begin(id) || regions_.is_end(id)) continue;
      auto operands = view_.operands(id);
      const uint32_t own = cut_of_[id];
      for (size_t i = own != kNone && is_call(id) ? 1 : 0; i < operands.size(); ++i) {
        const uint32_t plain = regions_.without_annotations(operands[i]);
        const uint32_t from = cut_of_[plain];
        if (from == own && own != kNone) continue;
        if (own != kNone && !(options_.bind_constants && is_constant(view_.expr(plain))))
          inputs[own].emplace_back(operands[i], plain);
        if (from == kNone || leaves[plain] != 0) continue;
        leaves[plain] = 1;
        results[from].emplace_back(first_end[plain] == kNone ? plain : first_end[plain], plain);
      }
    }
    for (size_t i = 0; i < cuts_.size(); ++i) {
      cuts_[i].inputs = in_order(inputs[i]);
      cuts_[i].results = in_order(results[i]);
    }
  }

  bool is_call(uint32_t id) const { return view_.kind(id) == ExprKind::kCall; }

  static std::vector<uint32_t> in_order(std::vector<std::pair<uint32_t, uint32_t>>& keyed) {
    std::sort(keyed.begin(), keyed.end());
    std::vector<uint32_t> list;
    std::map<uint32_t, bool> known;
    for (const auto& [key, node] : keyed) {
      if (known.emplace(node, true).second) list.push_back(node);
    }
    return list;
  }

  /// The nodes that have to be there before a node can be.
  std::span<const uint32_t> needed(uint32_t id) const {
    if (cut_of_[id] != kNone) return cuts_[cut_of_[id]].inputs;
    return view_.operands(id);
  }

  // Operands first, but the inputs of a region before anything of the region.
  ExprRef rewritten(uint32_t root) {
    struct Frame {
      uint32_t id;
      size_t next;
    };
    std::vector<Frame> stack{{root, 0}};
    while (!stack.empty()) {
      const uint32_t id = stack.back().id;
      if (results_[id]) {
        stack.pop_back();
        continue;
      }
      auto before = needed(id);
      if (stack.back().next < before.size()) {
        const uint32_t other = before[stack.back().next++];
        if (!results_[other]) stack.push_back({other, 0});
        continue;
      }
      stack.pop_back();
      if (cut_of_[id] != kNone) {
        cut_out(cuts_[cut_of_[id]]);
      } else {
        results_[id] = made(id);
      }
    }
    return results_[root];
  }

  ExprRef made(uint32_t id) {
    auto operands = view_.operands(id);
    if (regions_.is_begin(id) || regions_.is_end(id)) return results_[operands[1]];
    std::vector<ExprRef> all;
    for (uint32_t operand : operands) all.push_back(results_[operand]);
    return rebuild(view_.expr(id), all);
  }

  void cut_out(Cut& cut) {
    if (cut.done) return;
    cut.done = true;
    std::unordered_map<uint32_t, ExprRef> inside;
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    const std::string prefix = cut.target + '_' + std::to_string(cut.id);
    // A function that takes any dtype or rank has constraints, which inference finds anew.
    bool typed = true;
    for (uint32_t id : cut.inputs) typed &= is_of_tensors(TypeRef(view_.expr(id)->type()));
    for (uint32_t id : cut.results) typed &= is_of_tensors(TypeRef(view_.expr(id)->type()));
    for (uint32_t input : cut.inputs) {
      const Expr* expr = view_.expr(input);
      params.push_back(make_var(prefix + "_i" + std::to_string(params.size()),
                                typed ? TypeRef(expr->type()) : TypeRef(), expr->span()));
      inside[input] = params.back();
      args.push_back(results_[input]);
    }
    for (uint32_t node : cut.nodes) inside[node] = inner(node, inside);

    // Tuples that come out beside others, or in others, come out field by field.
    std::vector<uint32_t> fields;
    std::unordered_map<uint32_t, uint32_t> field_of;
    const bool whole = cut.results.size() == 1 && !nests(cut.results[0], cut);
    if (whole) {
      fields = cut.results;
    } else {
      for (uint32_t result : cut.results) leaves_of(result, cut, fields, field_of);
    }
    if (fields.empty()) {  // tuples of what comes from outside
      for (uint32_t result : cut.results) results_[result] = from_fields(result, cut, {}, field_of);
      keep_others(cut);
      return;
    }
    ExprRef body = inside.at(fields[0]);
    TypeRef type(view_.expr(fields[0])->type());
    if (!whole) {
      std::vector<ExprRef> exprs;
      std::vector<TypeRef> types;
      for (uint32_t field : fields) {
        exprs.push_back(inside.at(field));
        types.emplace_back(view_.expr(field)->type());
      }
      body = make_tuple(exprs);
      type = TupleType::make(std::move(types));
    }
    if (!typed) type = TypeRef();
    ExprRef call = make_call(make_global_var(add_function(cut, std::move(params), body, type)),
                             args, {}, {}, view_.expr(cut.nodes.back())->span());
    for (uint32_t result : cut.results)
      results_[result] = whole ? call : from_fields(result, cut, call, field_of);
    keep_others(cut);
  }

  // A value that only the region itself needs is asked for by nobody.
  void keep_others(const Cut& cut) {
    for (uint32_t node : cut.nodes) {
      if (!results_[node]) results_[node] = ExprRef(view_.expr(node));
    }
  }

  ExprRef inner(uint32_t node, const std::unordered_map<uint32_t, ExprRef>& inside) const {
    auto operands = view_.operands(node);
    std::vector<ExprRef> all;
    for (size_t i = 0; i < operands.size(); ++i) {
      const uint32_t plain = regions_.without_annotations(operands[i]);
      auto found = inside.find(plain);
      const bool callee = i == 0 && is_call(node);
      all.push_back(callee || found == inside.end() ? ExprRef(view_.expr(plain)) : found->second);
    }
    return rebuild(view_.expr(node), all);
  }

  bool is_tuple_inside(uint32_t node, const Cut& cut) const {
    return view_.kind(node) == ExprKind::kTuple && cut_of_[node] != kNone &&
           &cuts_[cut_of_[node]] == &cut && !view_.operands(node).empty();
  }
  bool nests(uint32_t node, const Cut& cut) const {
    if (!is_tuple_inside(node, cut)) return false;
    for (uint32_t operand : view_.operands(node)) {
      if (is_tuple_inside(regions_.without_annotations(operand), cut)) return true;
    }
    return false;
  }
  void leaves_of(uint32_t root, const Cut& cut, std::vector<uint32_t>& fields,
                 std::unordered_map<uint32_t, uint32_t>& field_of) const {
    std::vector<uint32_t> stack{root};
    std::map<uint32_t, bool> seen;
    while (!stack.empty()) {
      const uint32_t node = stack.back();
      stack.pop_back();
      if (!seen.emplace(node, true).second) continue;
      // A tuple comes out as its fields; those from outside stay outside.
      if (is_tuple_inside(node, cut)) {
        auto operands = view_.operands(node);
        for (size_t i = operands.size(); i-- > 0;)
          stack.push_back(regions_.without_annotations(operands[i]));
        continue;
      }
      if (cut_of_[node] == kNone || &cuts_[cut_of_[node]] != &cut) continue;
      const bool fresh = field_of.emplace(node, static_cast<uint32_t>(fields.size())).second;
      if (fresh) fields.push_back(node);
    }
  }
  /// A result made of the fields that the call gives.
  ExprRef from_fields(uint32_t root, const Cut& cut, const ExprRef& call,
                      const std::unordered_map<uint32_t, uint32_t>& field_of) {
    std::unordered_map<uint32_t, ExprRef> made;
    std::vector<uint32_t> stack{root};
    while (!stack.empty()) {
      const uint32_t node = stack.back();
      if (made.count(node) != 0) {
        stack.pop_back();
        continue;
      }
      if (!is_tuple_inside(node, cut)) {
        stack.pop_back();
        auto field = field_of.find(node);
        if (field == field_of.end()) {
          made[node] = is_constant(view_.expr(node)) ? ExprRef(view_.expr(node)) : results_[node];
          continue;
        }
        ExprRef& projection = projections_[{call.get(), field->second}];
        if (!projection) projection = make_projection(call, field->second, call->span());
        made[node] = projection;
        continue;
      }
      std::vector<ExprRef> fields;
      const size_t before = stack.size();
      for (uint32_t operand : view_.operands(node)) {
        const uint32_t plain = regions_.without_annotations(operand);
        auto found = made.find(plain);
        if (found == made.end()) {
          stack.push_back(plain);
        } else {
          fields.push_back(found->second);
        }
      }
      if (stack.size() != before) continue;
      stack.pop_back();
      made[node] = make_tuple(fields, view_.expr(node)->span());
    }
    return made.at(root);
  }

  Name add_function(const Cut& cut, std::vector<VarRef> params, const ExprRef& body,
                    const TypeRef& type) {
    std::string base = "tvmgen_";
    if (!options_.mod_name.empty()) base += as_name(options_.mod_name) + '_';
    base += as_name(cut.target) + '_' + as_name(name_.str()) + '_' + std::to_string(cut.id);
    const Name name =
        module_.function(Name(base)) == nullptr ? Name(base) : module_.fresh_name(base);
    AttrsRef attrs = make_dict_attrs({{"Compiler", AttrValue(cut.target)},
                                      {"global_symbol", AttrValue(name.str())},
                                      {"Inline", AttrValue(int64_t{1})},
                                      {"Primitive", AttrValue(int64_t{1})}});
    FunctionRef function =
        make_function(std::move(params), body, type, {}, {}, std::move(attrs), body->span());
    module_.add_function(name, with_own_type_params(function));
    return name;
  }

  const View& view_;
  const Name name_;
  const PartitionOptions& options_;
  Module& module_;
  AnnotatedRegions regions_;
  std::vector<Cut> cuts_;
  std::vector<ExprRef> results_;
  std::vector<uint32_t> cut_of_;
  std::map<std::pair<const Expr*, uint32_t>, ExprRef> projections_;
};

Module partition(const Module& module, const PartitionOptions& options) {
  const Program program = program_of(module);
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (!dict_attr(entry.function->attrs(), "Compiler").is_none()) continue;
    const PointerSet<Operator>& named = program.operators(entry.function);
    if (!named.contains(compiler_begin_op()) && !named.contains(compiler_end_op())) continue;
    Partitioner partitioner(entry.function, entry.name, program, options, result);
    ExprRef made = partitioner.run();
    if (!(made == entry.function))
      result.update_function(entry.name, FunctionRef(made->as<Function>()));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"PartitionGraph",
     0,
     {ProgramState::kTyped},
     "Makes each region that `annotation.compiler_begin` and `annotation.compiler_end` mark a "
     "global function with the attributes `Compiler` (the region's target), `global_symbol`, "
     "`Primitive=1` and `Inline=1`, and removes all annotations. A region of several results "
     "gives a tuple. The function is called `tvmgen_MODNAME_TARGET_FUNCTION_N`, N is the number of "
     "the region."},
    {{"mod_name", "Part of the names of the functions.", std::string("default")},
     {"bind_constants", "Constants stand in the functions; else they are arguments.", true}},
    [](const PassInfo& info, const PassOptions& options) {
      PartitionOptions given{option<std::string>(options, "mod_name"),
                             option<bool>(options, "bind_constants")};
      return make_module_pass(info, [given](const Module& module, const PassContext&) {
        return partition(module, given);
      });
    },
});

}  // namespace
}  // namespace relay
