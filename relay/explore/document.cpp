#include <relay/explore/document.h>

#include <fmt/format.h>

#include <relay/explore/native.h>
#include <relay/explore/recorder.h>
#include <relay/explore/values.h>
#include <relay/infer/infer.h>
#include <relay/reduce/predicates.h>
#include <relay/support/error.h>
#include <relay/transform/pass_context.h>
#include <relay/vm/compiler/compile.h>

namespace relay::explore {
namespace {

std::string first_message(const Error& error) {
  return error.diagnostics().empty() ? std::string(error.what())
                                     : error.diagnostics().front().message;
}

void write_head(JsonWriter& json, const Options& options, const std::string& entry,
                const vm::Executable& executable) {
  json.field("format", kFormat).field("title", options.title).field("entry", entry);
  json.field("target", executable.target).field("level", options.level);
  json.field("features", executable.features);
}

}  // namespace

std::string program_document(const Module& module, Name entry, std::vector<Value> arguments,
                             const Options& options) {
  Tables tables;
  Recorder recorder(tables);
  JsonWriter json;
  json.begin_object();
  recorder.module("program", module);
  vm::CompileOptions compile;
  compile.target = options.target;
  compile.level = options.level;
  compile.threads = options.threads;
  compile.winograd = options.winograd;
  compile.onednn = options.onednn;
  compile.cache = options.cache;
  compile.on_graphs = recorder.rewrites();
  std::vector<std::shared_ptr<const lower::Kernel>> kernels;
  compile.kernels = &kernels;
  std::shared_ptr<const vm::Executable> executable;
  {
    PassContext context = PassContext::current();
    context.instruments.push_back(recorder.passes());
    PassContext::Scope scope(context);
    const auto rules = recorder.rules();
    executable = vm::compile(module, entry, compile);
  }
  recorder.executable(*executable);
  write_head(json, options, entry.str(), *executable);
  std::vector<std::string> notes;
  bool made_up = false;
  if (arguments.empty() && options.run_seconds > 0) {
    reduce::Arguments asked;
    asked.entry = entry;
    try {
      if (auto made = reduce::arguments_for(module, asked)) {
        arguments = std::move(*made);
        made_up = true;
      } else {
        notes.push_back("The program was not run: its arguments cannot be made up.");
      }
    } catch (const Error& error) {
      notes.push_back("The program was not run: " + first_message(error));
    }
  }
  const bool runs = options.run_seconds > 0 && notes.empty();
  json.field("made_up", made_up);
  Native native(*executable, tables);
  native.loops(kernels, options.target);
  if (runs) {
    try {
      native.run(executable, entry.str(), arguments, options);
    } catch (const Error& error) {
      notes.push_back("The program has no profile: " + first_message(error));
    }
  }
  native.write(json, options);
  recorder.write(json);
  if (runs) {
    try {
      if (auto note = write_values(json, module, entry, arguments, options)) notes.push_back(*note);
    } catch (const Error& error) {
      notes.push_back("Values are not known: " + first_message(error));
    }
  }
  json.field("notes", notes);
  tables.write(json);
  json.end_object();
  return json.take();
}

std::string executable_document(std::shared_ptr<const vm::Executable> executable,
                                const std::string& entry, std::vector<Value> arguments,
                                const Options& options) {
  Tables tables;
  Recorder recorder(tables);
  JsonWriter json;
  json.begin_object();
  recorder.executable(*executable);
  write_head(json, options, entry, *executable);
  Native native(*executable, tables);
  std::vector<std::string> notes;
  if (options.run_seconds > 0 && !arguments.empty()) {
    try {
      native.run(executable, entry, arguments, options);
    } catch (const Error& error) {
      notes.push_back("The model has no profile: " + first_message(error));
    }
  } else {
    notes.push_back("The model was not run: --arg gives it arguments.");
  }
  json.field("made_up", false);
  native.write(json, options);
  recorder.write(json);
  json.field("notes", notes);
  tables.write(json);
  json.end_object();
  return json.take();
}

}  // namespace relay::explore
