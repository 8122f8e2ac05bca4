// Cases of passes.jsonl: a program before and after a pass of TVM.
#include <map>
#include <regex>
#include <unordered_map>

#include <tests/conformance/data.h>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay::conformance {

namespace {

// `relay.transform.A(x=1)`, a Sequential of such, or one that is applied to the module, as a list
// for parse_passes; empty if it is something else.
std::string pass_list(std::string text) {
  // `byoc(target, operators, passes…)`, and a table of patterns as text.
  static const std::regex annotated(R"(^byoc\('(\w+)', (\[[^\]]*\])(.*)\)$)");
  text =
      std::regex_replace(text, annotated, "relay.transform.AnnotateTarget(['$1'], operators=$2)$3");
  static const std::regex checked(
      R"(\[\('([\w.]+)', (.*), lambda e: e\.checked_type\.dtype == '(\w+)'\)\])");
  text = std::regex_replace(text, checked, "\"pattern $1: %root = $2 where dtype(%root) == $3;\"");
  static const std::regex table(R"(\[\('([\w.]+)', (.*)\)\])");
  text = std::regex_replace(text, table, "\"pattern $1: $2;\"");
  static const std::regex op(R"(is_op\('([\w.]+)'\))"), wildcard(R"(wildcard\(\))");
  text = std::regex_replace(std::regex_replace(text, op, "$1"), wildcard, "_");
  static const std::regex sequential(R"(^tvm\.transform\.Sequential\(\[(.*)\]\)$)");
  static const std::regex applied(R"(^(?:with_target\('llvm', lambda: )?(.*)\(mod\)\)?$)");
  static const std::regex of_main(R"(^relay\.transform\.(\w+)\(mod\['main'\], mod\)$)");
  static const std::regex prefix(R"(relay\.(qnn\.)?transform\.)");
  // Functions of functions, and how the pass of that name is called.
  static const std::map<std::string, std::string> functions{
      {"to_cps", "ToCPS()"}, {"Defunctionalization", "Defunctionalization()"}};
  if (text.find("relay.transform.un_cps(") == 0) return "ToCPS(),UnCPS()";
  if (text.find("relay.transform.gradient(") == 0) {
    const bool first = text.find("first_order") != std::string::npos;
    return first ? "Gradient(mode=\"first_order\")" : "Gradient()";
  }
  // For the processor, and for no machine at all.
  const bool for_processor = text.find("with_target('llvm'") == 0;
  std::smatch match;
  if (std::regex_match(text, match, of_main)) {
    auto found = functions.find(match[1]);
    return found == functions.end() ? "" : found->second;
  }
  if (std::regex_match(text, match, sequential) || std::regex_match(text, match, applied))
    text = match[1].str();
  if (text.find("mod[") != std::string::npos || text.find("lambda") != std::string::npos ||
      !std::regex_search(text, prefix))
    return "";
  static const std::regex canonical(R"(qnn\.CanonicalizeOps\()");
  static const std::regex legal(R"(qnn\.Legalize\()");
  // Two devices, which the program's own annotations name.
  static const std::regex targets(R"(PlanDevices\(config2\(\)\))");
  text = std::regex_replace(text, targets, "PlanDevices()");
  text = std::regex_replace(std::regex_replace(text, prefix, "$1"), canonical,
                            "QnnCanonicalize(exact=False");
  return std::regex_replace(text, legal,
                            for_processor ? "QnnLegalize(products=True" : "QnnLegalize(");
}

// Names of passes in such a list that are not ours.
std::string missing_pass(const std::string& list) {
  static const std::regex name(R"(((?:qnn\.)?[A-Z]\w*)\()");
  for (std::sregex_iterator it(list.begin(), list.end(), name), end; it != end; ++it) {
    if (find_pass((*it)[1].str()) == nullptr) return (*it)[1];
  }
  return "";
}

// Lets that only give another name go; where TVM puts them is of no interest.
class AliasRemover final : public Rewriter {
 private:
  ExprRef enter(const Expr* expr) override {
    const auto* var = expr->as<Var>();
    auto entry = var == nullptr ? names_.end() : names_.find(var);
    return entry == names_.end() ? ExprRef() : entry->second;
  }
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let != nullptr && operand == 1 && done[0]->is<Var>()) names_[let->var().get()] = done[0];
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    return expr->is<Let>() && operands[0]->is<Var>() ? operands[1] : rebuild(expr, operands);
  }
  std::unordered_map<const Var*, ExprRef> names_;
};

// Typed, literals resolved, without names for names and without annotations (TVM writes the
// inferred ones).
Module normal(Module module) {
  // TVM writes the scheme of a let's variable as its annotation.
  auto without_schemes = [](const TypeRef& type) {
    const auto* function = type ? type->as<FuncType>() : nullptr;
    return function != nullptr && function->is_scheme() ? TypeRef() : type;
  };
  const Module given = module;
  for (const auto& entry : given.functions()) {
    ExprRef plain = copy_with_fresh_vars(entry.function, without_schemes);
    module.update_function(entry.name, FunctionRef(plain->as<Function>()));
  }
  infer_types_or_throw(module);
  Module result = resolve_literals(module);
  auto without_annotations = [](const TypeRef& type) {
    bool declared = type->is<TypeVar>() || type->is<DimType>() || type->is<RelationType>();
    return declared ? type : TypeRef();
  };
  for (const auto& entry : module.functions()) {
    FunctionRef function(result.function(entry.name));
    ExprRef plain = AliasRemover().run(function);
    plain = copy_with_fresh_vars(plain, without_annotations);
    result.update_function(entry.name, FunctionRef(plain->as<Function>()));
  }
  return result;
}

// The module with its new functions named in the order in which the others reach them: TVM's names
// of lifted functions have hashes.
Module renamed(const Module& module, const Module& given) {
  std::unordered_map<Name, Name> names;
  std::vector<Name> reached;
  for (const auto& entry : given.functions()) {
    if (module.function(entry.name) != nullptr) reached.push_back(entry.name);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    post_order(module.function(reached[i]), [&](const Expr* expr) {
      const auto* global = expr->as<GlobalVar>();
      if (global == nullptr || given.function(global->name()) != nullptr ||
          module.function(global->name()) == nullptr || names.count(global->name()) > 0)
        return;
      names[global->name()] = Name("new_" + std::to_string(names.size()));
      reached.push_back(global->name());
    });
  }
  auto name_of = [&](const Name& name) {
    auto found = names.find(name);
    return found == names.end() ? name : found->second;
  };
  Module result = module;
  for (const auto& entry : module.functions()) result.remove_function(entry.name);
  for (const auto& entry : module.functions()) {
    ExprRef function = rewrite_post_order(
        entry.function, [&](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
          const auto* global = expr->as<GlobalVar>();
          return global == nullptr || names.count(global->name()) == 0
                     ? ExprRef()
                     : make_global_var(name_of(global->name()));
        });
    result.add_function(name_of(entry.name), FunctionRef(function->as<Function>()));
  }
  return result;
}

// The element that all others are equal to; an empty handle if they differ.
NDArray only_element(const NDArray& data) {
  if (data.rank() == 0 || data.size() == 0) return {};
  const bool real = data.dtype().is_float();
  for (int64_t i = 1; i < data.size(); ++i) {
    if (real ? data.element_as_double(i) != data.element_as_double(0)
             : data.element_as_int64(i) != data.element_as_int64(0))
      return {};
  }
  return real ? NDArray::scalar(data.dtype(), data.element_as_double(0))
              : NDArray::scalar_int(data.dtype(), data.element_as_int64(0));
}

// A tensor of equal elements as a scalar, in calls without attributes, where it broadcasts to the
// others: TVM makes the constants of its forms as large as the operands beside them.
Module with_scalar_constants(const Module& module) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    ExprRef function = rewrite_post_order(
        entry.function, [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          const auto* call = expr->as<Call>();
          if (call == nullptr || call->attrs() || operands.size() < 3) return {};
          std::vector<ExprRef> changed(operands.begin(), operands.end());
          for (size_t i = 1; i < changed.size(); ++i) {
            const auto* constant = changed[i]->as<Constant>();
            NDArray only = constant == nullptr ? NDArray() : only_element(constant->data());
            if (only) changed[i] = make_constant(only);
          }
          return rebuild(expr, changed);
        });
    result.update_function(entry.name, FunctionRef(function->as<Function>()));
  }
  return result;
}

// Casts to the dtype that something has, constants that are computed from others, and such: what
// TVM's forms have of these says nothing.
Module tidy(const Module& module) {
  PassRef plain = make_sequential(parse_passes("FoldConstant,SimplifyExpr"));
  return (*plain)(with_scalar_constants((*plain)(module)));
}

Outcome compare_outputs(const Module& module, const Json& json) {
  const bool others = json.contains("result_outputs") && !json.contains("result_wrong");
  const char* key = others ? "result_outputs" : "outputs";
  if (!json.contains("inputs") || !json.contains(key) || json[key].is_null())
    return Outcome::passed();
  if (module.function("main") == nullptr) return Outcome::passed();
  std::vector<NDArray> found = flatten(run_main(module, json["inputs"]));
  const Json& wanted = json[key];
  if (found.size() != wanted.size()) return Outcome::failed("another number of outputs");
  for (size_t i = 0; i < found.size(); ++i) {
    if (auto why = difference(found[i], read_array(wanted[i]), tolerance_of(json, 1e-4))) {
      return Outcome::failed("output " + std::to_string(i) + ": " + *why);
    }
  }
  return Outcome::passed();
}

bool can_be_read(const std::string& text) {
  try {
    parse_module("result", text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Outcome run_pass_case(const Json& json) {
  const std::string program = json.at("program");
  std::string list = pass_list(json.at("pass"));
  if (list.empty()) return Outcome::not_applicable("a call of another kind");
  if (std::string name = missing_pass(list); !name.empty()) {
    return Outcome::not_applicable("pass " + name);
  }
  if (auto missing = undeclared_operator(program))
    return Outcome::not_applicable("operator " + *missing);
  try {
    Module module = parse_module("case", program);
    PassContext context;
    context.opt_level = json.value("level", 2);
    context.config["relay.verify_passes"] = true;
    const Json config = json.value("config", Json::object());
    for (const auto& [key, value] : config.items()) {
      if (value.is_boolean()) context.config[key] = value.get<bool>();
      if (value.is_number_integer()) context.config[key] = value.get<int64_t>();
    }
    std::vector<PassRef> passes = parse_passes(list);
    passes.insert(passes.begin(), create_pass("InferType"));
    passes.push_back(create_pass("InferType"));
    Module found = (*make_sequential(passes))(module, context);

    if (Outcome outcome = compare_outputs(found, json); outcome.verdict == Verdict::kFailed)
      return outcome;
    // Where TVM gave up or is wrong there is nothing to compare with.
    bool nothing =
        (json.contains("result") && json["result"].is_null()) || json.contains("result_wrong");
    if (nothing) return Outcome::passed();
    const std::string result =
        json.value("unchanged", false) ? program : json.at("result").get<std::string>();
    if (auto missing = undeclared_operator(result))
      return Outcome::not_applicable("operator " + *missing);
    // TVM's text of some results cannot be read, by TVM neither: their outputs are all there is.
    if (json.contains("result_reparses") && !can_be_read(result)) return Outcome::passed();
    const Module given = module;
    Module read = parse_module("result", result);
    // TVM says devices at parameters, which PlanDevices reads and says where they are used.
    if (list.find("PlanDevices") == 0) {
      infer_types_or_throw(read);
      read = (*make_sequential(parse_passes("PlanDevices,InferType")))(read);
    }
    const bool quantised = list.find("Qnn") == 0;
    Module ours = normal(renamed(quantised ? tidy(found) : found, given));
    Module theirs = normal(renamed(quantised ? tidy(read) : read, given));
    if (list.find("Gradient") != std::string::npos) {
      // The way there is ours: what counts are the type and the numbers.
      for (const auto& entry : theirs.functions()) {
        const Function* mine = ours.function(entry.name);
        if (mine == nullptr || !types_equal(mine->type(), entry.function->type()))
          return Outcome::failed("another type\n" + print_module(found));
      }
      return Outcome::passed();
    }
    if (list.find("PartialEvaluate") == 0) {
      // TVM leaves bindings that nobody needs, and binds constants.
      PassRef plain = make_sequential(parse_passes("DeadCodeElimination,ToGraphNormalForm"));
      ours = normal((*plain)(ours));
      theirs = normal((*plain)(theirs));
    }
    std::string why;
    if (!structural_equal(ours, theirs, {}, &why)) {
      return Outcome::failed("another program: " + why + "\n" + print_module(found));
    }
    return Outcome::passed();
  } catch (const Error& error) {
    return Outcome::failed(std::string("error: ") + error.what());
  } catch (const InternalError& error) {
    return Outcome::failed(error.what());
  }
}

}  // namespace relay::conformance
