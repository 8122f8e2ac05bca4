// The steps for each kind of case.
#include <algorithm>
#include <regex>

#include <tests/conformance/data.h>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>

namespace relay::conformance {

namespace {

std::string messages(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::kError) continue;
    if (!text.empty()) text += "; ";
    text += diagnostic.message;
  }
  return text;
}

// The program, parsed and typed; or why it is wrong.
struct Checked {
  Module module;
  std::string error;
  Refusal refusal;
};

Checked check(const std::string& program) {
  std::shared_ptr<const Source> source = SourceMap::add("case", program);
  ParseResult parsed = parse_source(source);
  if (!parsed.ok()) {
    return {Module(), messages(parsed.diagnostics), {true, parsed.diagnostics, source}};
  }
  std::vector<Diagnostic> diagnostics = infer_types(parsed.module);
  std::string error = messages(diagnostics);
  return {std::move(parsed.module), error, {false, std::move(diagnostics), source}};
}

Outcome refused(const Json& json, const Refusal& refusal) {
  std::optional<std::string> why = other_reason(json, refusal);
  return why ? Outcome::failed(*why) : Outcome::passed();
}

// Some types are recorded as TVM's Python says them: T.Tuple(I.TensorType([2, T.Any()], "int64")).
std::string type_text(std::string text) {
  constexpr std::pair<const char*, const char*> kSpellings[] = {{"T.Tuple(", "("},
                                                                {"T.Any()", "?"},
                                                                {"I.TensorType([", "Tensor[("},
                                                                {"], \"", "), "},
                                                                {"\")", "]"}};
  if (!text.starts_with("T.")) return text;
  for (auto [theirs, ours] : kSpellings) {
    for (size_t at = text.find(theirs); at != std::string::npos; at = text.find(theirs, at))
      text.replace(at, std::string_view(theirs).size(), ours);
  }
  return text;
}

// A type in the scope of the program's data types: that of a parameter added to it.
TypeRef read_type(const std::string& program, const std::string& type) {
  size_t end = std::min(program.find("#[metadata]"), program.size());
  std::string text = program.substr(0, end) + "\ndef @recorded_type(%t: " + type + ") { () }\n" +
                     program.substr(end);
  Module module = parse_module("recorded type", text);
  return module.function("recorded_type")->params()[0]->annotation();
}

// TVM's text without the types that it has in comments, and without constants.
std::string bare_text(const std::string& text) {
  static const std::regex types(R"( /\* ty=.*?\*/)");
  return std::regex_replace(text.substr(0, text.find("\n#[metadata]")), types, "");
}

// Recorded text must come out as it went in.
Outcome print_case(const std::string& recorded) {
  Checked read = check(recorded);
  if (!read.error.empty()) return Outcome::failed("TVM's text is rejected: " + read.error);
  ParseResult parsed = parse_text("recorded", recorded);  // without what inference writes
  std::string wanted = bare_text(recorded), found = bare_text(print_module(parsed.module));
  if (found == wanted) return Outcome::passed();
  size_t at = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end()).first -
              wanted.begin();
  size_t line = at == 0 ? std::string::npos : wanted.rfind('\n', at - 1);
  size_t begin = line == std::string::npos ? 0 : line + 1;
  return Outcome::failed("prints `" + first_line(found.substr(std::min(begin, found.size()))) +
                         "` for `" + first_line(wanted.substr(begin)) + "`");
}

}  // namespace

Outcome run_op_case(const Json& json) {
  const std::string program = json.at("program");
  bool wants_error = json.contains("error");
  if (auto missing = undeclared_operator(program)) {
    return Outcome::not_applicable("operator " + *missing);
  }
  try {
    Checked checked = check(program);
    if (!checked.error.empty()) {
      return wants_error ? refused(json, checked.refusal)
                         : Outcome::failed("rejected: " + checked.error);
    }
    if (wants_error) {
      if (json.value("when", "") != "run")
        return Outcome::failed("accepted, though " + json["error"].get<std::string>());
      try {
        run_main(checked.module, json.at("inputs"));
      } catch (const Error& error) {
        return refused(json, {false, error.diagnostics(), nullptr});
      }
      return Outcome::failed("ran, though " + json["error"].get<std::string>());
    }
    TypeRef signature = function_signature(checked.module, "main");
    TypeRef wanted = parse_type(type_text(json.at("type")));
    const auto* function = signature->as<FuncType>();
    if (function == nullptr || !type_agrees(function->result().get(), wanted.get())) {
      return Outcome::failed("type " + signature->str() + " for " + wanted->str());
    }
    if (!json.contains("outputs")) return Outcome::passed();
    std::vector<NDArray> found = flatten(run_main(checked.module, json.at("inputs")));
    const Json& outputs = json.at("outputs");
    if (found.size() != outputs.size()) return Outcome::failed("another number of outputs");
    for (size_t i = 0; i < found.size(); ++i) {
      if (auto why = difference(found[i], read_array(outputs[i]), tolerance_of(json, 0.0))) {
        return Outcome::failed("output " + std::to_string(i) + ": " + *why);
      }
    }
    return Outcome::passed();
  } catch (const Error& error) {
    return Outcome::failed(std::string("error: ") + error.what());
  } catch (const InternalError& error) {
    return Outcome::failed(error.what());
  }
}

Outcome run_type_case(const Json& json) {
  const std::string name = json.at("name");
  const std::string program = json.at("program");
  if (auto missing = undeclared_operator(program)) {
    return Outcome::not_applicable("operator " + *missing);
  }
  try {
    Checked checked = check(program);
    // Names odd/…: TVM accepts what it should not.
    bool wants_error = json.contains("error") || name.starts_with("odd/");
    if (wants_error) {
      return checked.error.empty() ? Outcome::failed("accepted") : refused(json, checked.refusal);
    }
    if (!checked.error.empty()) return Outcome::failed("rejected: " + checked.error);
    if (json.contains("printed")) {
      std::string text = print_module(checked.module);
      ParseResult again = parse_text("printed", text);
      if (!again.ok())
        return Outcome::failed("our text does not parse: " + messages(again.diagnostics));
      std::string why;
      if (!structural_equal(checked.module, again.module, {}, &why)) {
        return Outcome::failed("our text parses to another program: " + why);
      }
      return print_case(json.at("printed"));
    }
    TypeRef signature = function_signature(checked.module, "main");
    TypeRef wanted = read_type(program, json.at("type"));
    if (!type_agrees(signature.get(), wanted.get())) {
      return Outcome::failed("type " + signature->str() + " for " + wanted->str());
    }
    return Outcome::passed();
  } catch (const Error& error) {
    return Outcome::failed(std::string("error: ") + error.what());
  } catch (const InternalError& error) {
    return Outcome::failed(error.what());
  }
}

Outcome run_analysis_case(const Json& json) {
  const std::string analysis = json.at("analysis");
  const std::string program = json.at("program");
  if (auto missing = undeclared_operator(program))
    return Outcome::not_applicable("operator " + *missing);
  auto names = [](const std::vector<VarRef>& vars) {
    Json list = Json::array();
    for (const VarRef& var : vars) list.push_back(var->name().str());
    return list;
  };
  try {
    Checked checked = check(program);
    if (!checked.error.empty()) return Outcome::failed("rejected: " + checked.error);
    const Function* main = checked.module.function("main");
    Json found;
    if (analysis == "names(AN.free_vars(body))") {
      found = names(free_vars(main->body().get()));
    } else if (analysis == "names(AN.free_vars(main))") {
      found = names(free_vars(main));
    } else if (analysis == "names(AN.bound_vars(body))") {
      found = names(bound_vars(main->body().get()));
    } else if (analysis == "names(AN.bound_vars(main))") {
      found = names(bound_vars(main));
    } else if (auto answer = run_analysis(analysis, checked.module)) {
      found = std::move(*answer);
    } else {
      return Outcome::not_applicable(analysis);
    }
    // Where TVM raises instead of answering, the answer is no, or an error as well.
    if (!json.contains("result")) {
      bool agrees = found.is_null() || found == false;
      return agrees ? Outcome::passed() : Outcome::failed(found.dump() + " for an error");
    }
    if (found != json.at("result"))
      return Outcome::failed(found.dump() + " for " + json["result"].dump());
    return Outcome::passed();
  } catch (const Error& error) {
    return Outcome::failed(std::string("error: ") + error.what());
  }
}

}  // namespace relay::conformance
