// relay ops and relay doc: what is declared.
#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient.h>
#include <relay/parse/parse.h>
#include <relay/runtime/format.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/tensor_expr/precision.h>
#include <relay/transform/pass.h>

#include <tools/relay/bind.h>
#include <tools/relay/command.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

std::string attribute_line(const AttrsSchema& schema, size_t i) {
  const AttrField& field = schema.fields[i];
  std::string value = field.required ? "required" : "= " + schema.defaults(i).str();
  const std::string& type = field.words.empty() ? field.type : field.type_text();
  return fmt::format("{}: {} {}", field.name.view(), type, value);
}

// A line for each word of a choice; `mark` stands before each.
std::string word_lines(const AttrField& field, std::string_view mark) {
  std::string text;
  for (const AttrWord& word : field.words)
    text += fmt::format("{}\"{}\": {}\n", mark, word.text, word.doc);
  return text;
}

std::string signature(const Operator& op) {
  std::string text = op.name().str() + "(";
  for (size_t i = 0; i < op.inputs().size(); ++i) {
    text += (i > 0 ? ", " : "") + op.inputs()[i].name.str();
  }
  if (op.attrs_schema() != nullptr) {
    for (const AttrField& field : op.attrs_schema()->fields) {
      text += (text.back() == '(' ? "" : ", ") + field.name.str() + "=…";
    }
  }
  return text + ")";
}

// "Tensor of any shape. (tensor of T: float)".
std::string described(const std::string& doc, const ValueSpec& spec) {
  std::string what = spec.str();
  return what.empty() ? doc : doc + " (" + what + ")";
}

// `relay run` of an example, as a line of a shell.
std::string example_line(const OpExample& example) {
  std::string text = example.program;
  for (const std::string& argument : example.arguments) text += "  --arg '" + argument + "'";
  return text;
}

// An example for its arguments.
Program read_example(const OpExample& example) {
  ProgramSource source;
  source.module = parse_module("example", example.program);
  infer_types_or_throw(source.module);
  return bind_program(std::move(source), "", {example.arguments, {}}, Arguments::kGiven);
}

// The type with float16 for every float.
TypeRef with_narrow_floats(const TypeRef& type) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(with_narrow_floats(field));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->dtype().is_float()) return type;
  return TensorType::make(tensor->dims(), kFloat16);
}

// The calls of an operator in an example.
std::vector<OpCall> calls_of(const Operator* op, const Program& example) {
  std::vector<OpCall> calls;
  post_order(example.module.function(example.entry), [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (callee == nullptr || callee->op() != op) return;
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call->args()) types.emplace_back(arg->type());
    calls.emplace_back(op, call->attrs(), std::move(types), TypeRef(call->type()));
  });
  return calls;
}

// The first call of an operator in its examples.
std::optional<OpCall> first_call(const Operator* op, const std::vector<Program>& examples) {
  for (const Program& example : examples) {
    std::vector<OpCall> calls = calls_of(op, example);
    if (!calls.empty()) return calls[0];
  }
  return std::nullopt;
}

std::vector<Program> read_examples(const Operator& op) {
  std::vector<Program> examples;
  for (const OpExample& example : op.examples()) examples.push_back(read_example(example));
  return examples;
}

// The dtype that an operator calculates with narrow floats in, by the definition of the calls in an
// example; nothing where that is no wider than they are.
std::optional<DType> calculates_in(const Operator* op, const Program& example) {
  std::optional<DType> widest;
  for (const OpCall& call : calls_of(op, example)) {
    std::vector<TypeRef> types;
    for (size_t i = 0; i < call.num_inputs(); ++i)
      types.push_back(with_narrow_floats(call.input(i)));
    try {
      TypeRef result = infer_call_type(op, types, call.attrs_ref());
      if (!result) continue;
      std::optional<DType> wide =
          te::wider_float(build_computation(OpCall(op, call.attrs_ref(), types, result)));
      if (wide && (!widest || wide->bits > widest->bits)) widest = wide;
    } catch (const Error&) {
      // Not for narrow floats, or of extents that are values.
    }
  }
  return widest;
}

// The facts that passes are told of a call.
std::string facts(const OpCall& call) {
  LayoutRule layout = layout_rule(call);
  QuantisedRule quantised = quantised_rule(call);
  const Operator* form = quantised_form(*call.op());
  Cost cost = cost_of(call);
  std::string text =
      fmt::format("layout\n  {}: {}\nquantised numbers\n  {}: {}\n", word_text(layout),
                  word_doc(layout), word_text(quantised), word_doc(quantised));
  if (form != nullptr) text += fmt::format("  {} works on them\n", form->name().view());
  text += fmt::format("cost of the first example\n  {} operations, {} bytes\n",
                      cost.operations.str(), cost.bytes.str());
  return text;
}

// How its gradient comes about.
std::string gradient(const Operator& op) {
  const GradientEntry* entry = gradient_column().find(&op);
  std::string derived = std::string(kGradientPrefix) + op.name().str();
  if (entry != nullptr && !entry->rule) return "gradient\n  none: " + entry->none + "\n";
  if (op.definition() != DefinitionKind::kCompute) {
    return entry == nullptr ? std::string() : "gradient\n  by a rule\n";
  }
  return "gradient\n  " + (entry == nullptr ? derived : "by a rule; derived: " + derived) + "\n";
}

// "rule", "none", "derived", or "definition": that of the operators that it is defined by.
std::string_view gradient_kind(const Operator& op) {
  const GradientEntry* entry = gradient_column().find(&op);
  if (entry != nullptr) return entry->rule ? "rule" : "none";
  return op.definition() == DefinitionKind::kCompute ? "derived" : "definition";
}

void show(const Operator& op) {
  std::string text = signature(op) + "\n  " + op.doc() + "\n";
  if (!op.inputs().empty()) text += "inputs\n";
  for (const OpInput& input : op.inputs())
    text += fmt::format("  {}: {}\n", input.name.view(), described(input.doc, input.spec));
  if (!op.outputs().empty()) text += "results\n";
  for (const OpOutput& output : op.outputs())
    text += fmt::format("  {}: {}\n", output.name.view(), described(output.doc, output.spec));
  if (const AttrsSchema* schema = op.attrs_schema()) {
    text += fmt::format("attributes ({})\n", schema->name.view());
    for (size_t i = 0; i < schema->fields.size(); ++i) {
      text += fmt::format("  {}\n      {}\n", attribute_line(*schema, i), schema->fields[i].doc);
      text += word_lines(schema->fields[i], "        ");
    }
  }
  std::vector<Program> examples = read_examples(op);
  for (const Program& example : examples) {
    if (op.definition() != DefinitionKind::kCompute) break;
    if (std::optional<DType> wide = calculates_in(&op, example)) {
      text += fmt::format("narrow floats are computed in {}\n", wide->name());
      break;
    }
  }
  // A relation of the operator's own says no more than its documentation.
  if (op.relation()->name != op.name()) {
    text += fmt::format("relation\n  {}: {}\n", op.relation()->name.view(), op.relation()->doc);
  }
  if (!op.examples().empty()) text += "examples\n";
  for (size_t i = 0; i < examples.size(); ++i) {
    text += "  " + example_line(op.examples()[i]) + "\n";
    const Program& example = examples[i];
    std::string result =
        format_value(evaluate_function(example.module, example.entry, example.arguments));
    for (size_t at = 0; at < result.size();) {
      size_t end = std::min(result.find('\n', at), result.size());
      text += "      " + result.substr(at, end - at) + "\n";
      at = end + 1;
    }
  }
  if (std::optional<OpCall> call = first_call(&op, examples)) text += facts(*call);
  text += gradient(op);
  print_out(text);
}

// Everything that declarations say, for tests and for tools that make something of it.
std::string registry_json() {
  using nlohmann::ordered_json;
  auto value = [](const auto& one) {
    return ordered_json{{"name", one.name.str()}, {"doc", one.doc}, {"spec", one.spec.str()}};
  };
  ordered_json all = ordered_json::array();
  for (const Operator* op : all_ops()) {
    ordered_json entry{{"name", op->name().str()}, {"doc", op->doc()}};
    entry["inputs"] = ordered_json::array();
    for (const OpInput& input : op->inputs()) entry["inputs"].push_back(value(input));
    entry["outputs"] = ordered_json::array();
    for (const OpOutput& output : op->outputs()) entry["outputs"].push_back(value(output));
    entry["attributes"] = ordered_json::array();
    if (const AttrsSchema* schema = op->attrs_schema()) {
      for (size_t i = 0; i < schema->fields.size(); ++i) {
        const AttrField& field = schema->fields[i];
        ordered_json attribute{
            {"name", field.name.str()}, {"doc", field.doc}, {"type", field.type}};
        attribute["kind"] = attr_kind_name(field.kind);
        for (const AttrWord& word : field.words) attribute["words"].push_back(word.text);
        attribute["default"] =
            field.required ? ordered_json() : ordered_json(schema->defaults(i).str());
        entry["attributes"].push_back(attribute);
      }
    }
    entry["examples"] = ordered_json::array();
    for (const OpExample& example : op->examples()) {
      entry["examples"].push_back({{"program", example.program}, {"arguments", example.arguments}});
    }
    if (std::optional<OpCall> call = first_call(op, read_examples(*op))) {
      Cost cost = cost_of(*call);
      entry["layout"] = word_text(layout_rule(*call));
      entry["quantised"] = word_text(quantised_rule(*call));
      entry["cost"] = {{"operations", cost.operations.str()},
                       {"macs", cost.macs.str()},
                       {"bytes", cost.bytes.str()}};
    }
    const Operator* form = quantised_form(*op);
    entry["quantised_form"] = form == nullptr ? ordered_json() : ordered_json(form->name().str());
    entry["gradient"] = gradient_kind(*op);
    if (gradient_kind(*op) == "none") entry["no_gradient"] = no_gradient_reason(*op);
    entry["no_data"] = op->no_data();
    entry["own_relation"] = op->relation() != nullptr && op->relation()->name == op->name();
    all.push_back(entry);
  }
  return all.dump(1) + "\n";
}

std::string op_line(const Operator& op) {
  return fmt::format("{:28} {}\n", op.name().view(), op.doc());
}

// True if the words of a pattern stand in a text, in any case of letters.
bool mentions(std::string_view text, std::string_view pattern) {
  auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), pattern.begin(), pattern.end(), same) != text.end();
}

void ops(const std::string& name) {
  if (name.empty()) {
    std::string text;
    for (const Operator* op : all_ops()) text += op_line(*op);
    print_out(text);
    return;
  }
  if (const Operator* op = find_op(name)) {
    show(*op);
    return;
  }
  std::string found;
  for (const Operator* op : all_ops()) {
    if (mentions(op->name().view(), name) || mentions(op->doc(), name)) found += op_line(*op);
  }
  if (!found.empty()) {
    print_out(found);
    return;
  }
  std::vector<std::string> names;
  for (const Operator* op : all_ops()) names.push_back(op->name().str());
  Diagnostic diagnostic = Diagnostic::error("there is no operator " + name);
  suggest(diagnostic, name, names);
  throw Error(std::move(diagnostic));
}

std::string operators_page() {
  std::string text =
      "# Operators\n\nGenerated by `relay doc operators` from the declarations; do not edit.\n";
  for (const Operator* op : all_ops()) {
    text += fmt::format("\n## {}\n\n`{}`\n\n{}\n\n", op->name().view(), signature(*op), op->doc());
    for (const OpInput& input : op->inputs())
      text += fmt::format("- `{}`: {}\n", input.name.view(), described(input.doc, input.spec));
    if (const AttrsSchema* schema = op->attrs_schema()) {
      for (size_t i = 0; i < schema->fields.size(); ++i) {
        text += fmt::format("- `{}`: {}\n", attribute_line(*schema, i), schema->fields[i].doc);
        text += word_lines(schema->fields[i], "  - ");
      }
    }
    for (const OpOutput& output : op->outputs())
      text += fmt::format("- → `{}`: {}\n", output.name.view(), described(output.doc, output.spec));
    if (!op->examples().empty()) text += "\n";
    for (const OpExample& example : op->examples()) {
      text += "```\n" + example_line(example) + "\n```\n";
    }
    if (std::optional<OpCall> call = first_call(op, read_examples(*op))) {
      text += fmt::format(
          "\nLayout: {}. Quantised: {}. Gradient: {}. Cost of the first example: {} operations, {} "
          "bytes.\n",
          word_text(layout_rule(*call)), word_text(quantised_rule(*call)), gradient_kind(*op),
          cost_of(*call).operations.str(), cost_of(*call).bytes.str());
    }
  }
  return text;
}

}  // namespace

void add_ops(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("ops", "List the operators, or describe one.");
  command->add_option("NAME", *name,
                      "The operator; else a text that is looked for in names and descriptions.");
  context.actions[command] = [name] { ops(*name); };
}

void add_doc(CLI::App& app, Context& context) {
  auto page = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("doc", "Print a generated page of the documentation.");
  command->group("");  // for the build, not in the help
  command->add_option("PAGE", *page)
      ->required()
      ->check(CLI::IsMember({"operators", "passes", "registry"}));
  context.actions[command] = [page] {
    print_out(*page == "operators"  ? operators_page()
              : *page == "registry" ? registry_json()
                                    : pass_reference_markdown());
  };
}

}  // namespace relay::tool
