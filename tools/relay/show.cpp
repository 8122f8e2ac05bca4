// relay show: what is in a compiled model.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include <relay/print/text.h>
#include <relay/runtime/format.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>
#include <relay/vm/machine/executable_file.h>

#include <tools/relay/command.h>
#include <tools/relay/json_text.h>
#include <tools/relay/native.h>

namespace relay::tool {

namespace {

// "24 bytes", "1.5 MB".
std::string size_text(size_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 10000) return fmt::format("{} bytes", bytes);
  if (size < 1e6) return fmt::format("{:.1f} kB", size / 1e3);
  if (size < 1e9) return fmt::format("{:.1f} MB", size / 1e6);
  return fmt::format("{:.2f} GB", size / 1e9);
}

std::string counted_text(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string name_of(char sigil, const std::string& name) {
  std::string text;
  printing::append_name(text, sigil, name);
  return text;
}

// Constants of one type, counted.
struct ConstantType {
  std::string type;
  size_t count = 0;
  size_t bytes = 0;  // of all of them, written out
};

size_t element_bytes(const Value& constant) {
  return static_cast<size_t>(element_count(constant.shape())) * constant.dtype().size();
}

// The largest first.
std::vector<ConstantType> constant_types(const vm::Executable& model) {
  std::map<std::string, ConstantType> found;
  for (const Value& constant : model.constants) {
    const std::string type = value_type_text(constant);
    ConstantType& entry = found[type];
    entry.type = type;
    ++entry.count;
    if (constant.is_tensor()) entry.bytes += element_bytes(constant);
  }
  std::vector<ConstantType> types;
  for (auto& [text, entry] : found) types.push_back(std::move(entry));
  std::stable_sort(types.begin(), types.end(),
                   [](const ConstantType& a, const ConstantType& b) { return a.bytes > b.bytes; });
  return types;
}

size_t code_bytes(const vm::Executable& model, const vm::Kernel& kernel) {
  return kernel.blob == vm::kNone ? 0 : model.blobs[kernel.blob]->bytes.size();
}

size_t launch_count(const vm::Executable& model, size_t kernel) {
  size_t count = 0;
  for (const vm::Graph& graph : model.graphs) {
    count += static_cast<size_t>(
        std::count_if(graph.launches.begin(), graph.launches.end(),
                      [&](const vm::Launch& launch) { return launch.kernel == kernel; }));
  }
  return count;
}

size_t all_code(const vm::Executable& model) {
  size_t bytes = 0;
  for (const auto& blob : model.blobs) bytes += blob->bytes.size();
  return bytes;
}

size_t all_constants(const std::vector<ConstantType>& types) {
  size_t bytes = 0;
  for (const ConstantType& type : types) bytes += type.bytes;
  return bytes;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string text_of(const vm::Executable& model) {
  std::string text = fmt::format("format {}, target {}", vm::executable_version(), model.target);
  if (!model.features.empty()) text += " (" + joined(model.features) + ")";
  text += "\n";
  for (const vm::Entry& entry : model.entries) {
    text += name_of('@', entry.name) + "(";
    for (size_t i = 0; i < entry.params.parts.size(); ++i) {
      const TypeCheck::Part& part = entry.params.parts[i];
      text += (i > 0 ? ", " : "") + name_of('%', part.what) + ": " + part.text;
    }
    text += ") -> " + entry.result.text + "\n";
    for (const vm::Entry::Result& result : entry.results) {
      if (!result.name.empty())
        text += "  output " + word_or_quoted(result.name) + ": " + result.type + "\n";
    }
  }
  const std::vector<ConstantType> types = constant_types(model);
  text += fmt::format("{}, {}\n", counted_text(model.constants.size(), "constant"),
                      size_text(all_constants(types)));
  for (const ConstantType& type : types)
    text += fmt::format("  {} x {}, {}\n", type.count, type.type, size_text(type.bytes));
  text += fmt::format("{}, {} of code\n", counted_text(model.kernels.size(), "kernel"),
                      size_text(all_code(model)));
  for (size_t i = 0; i < model.kernels.size(); ++i) {
    const vm::Kernel& kernel = model.kernels[i];
    text += fmt::format("  {}: {}, {}, {}\n", kernel.name, kernel.implementation,
                        size_text(code_bytes(model, kernel)),
                        counted_text(launch_count(model, i), "call"));
  }
  return text;
}

std::string json_of(const vm::Executable& model) {
  std::string text =
      fmt::format("{{\"format\": {}, \"target\": {}, \"features\": {}", vm::executable_version(),
                  quoted_json(model.target), json_list(model.features, quoted_json));
  text += ", \"functions\": " + json_list(model.entries, [](const vm::Entry& entry) {
            return fmt::format(
                "{{\"name\": {}, \"parameters\": {}, \"result\": {}, \"results\": {}}}",
                quoted_json(entry.name),
                json_list(entry.params.parts,
                          [](const TypeCheck::Part& part) {
                            return fmt::format("{{\"name\": {}, \"type\": {}}}",
                                               quoted_json(part.what), quoted_json(part.text));
                          }),
                quoted_json(entry.result.text),
                json_list(entry.results, [](const vm::Entry::Result& result) {
                  return fmt::format("{{\"name\": {}, \"type\": {}}}",
                                     result.name.empty() ? "null" : quoted_json(result.name),
                                     quoted_json(result.type));
                }));
          });
  text += ", \"constants\": " + json_list(model.constants, [](const Value& constant) {
            const bool tensor = constant.is_tensor();
            std::string one = "{\"type\": " + quoted_json(value_type_text(constant));
            if (tensor) {
              one += ", \"dtype\": " + quoted_json(std::string(constant.dtype().name()));
              const Shape shape(constant.shape().begin(), constant.shape().end());
              one += ", \"shape\": " +
                     json_list(shape, [](int64_t extent) { return std::to_string(extent); });
            }
            return one + fmt::format(", \"bytes\": {}}}", tensor ? element_bytes(constant) : 0);
          });
  std::vector<size_t> kernels(model.kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i] = i;
  text += ", \"kernels\": " + json_list(kernels, [&](size_t i) {
            const vm::Kernel& kernel = model.kernels[i];
            return fmt::format(
                "{{\"name\": {}, \"implementation\": {}, \"source\": {}, \"code_bytes\": {}, "
                "\"calls\": {}}}",
                quoted_json(kernel.name), quoted_json(kernel.implementation),
                quoted_json(kernel.source), code_bytes(model, kernel), launch_count(model, i));
          });
  return text + "}\n";
}

void show(const std::string& path, bool json) {
  if (!is_model_file(path)) {
    throw Error(
        Diagnostic::error((path == "-" ? "<stdin>" : path) + " is no file of `relay compile`")
            .help("`relay check` prints the signatures of a program"));
  }
  const std::shared_ptr<vm::Executable> model =
      path == "-" ? vm::load_executable(std::as_bytes(std::span(standard_input())), "<stdin>")
                  : vm::load_executable(path);
  print_out(json ? json_of(*model) : text_of(*model));
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "show", "Tell what is in a compiled model: signatures, constants, kernels, target, format.");
  command->add_option("MODEL", *path, "A file of `relay compile`; - is standard input.")
      ->required();
  command->add_flag("--json", *json, "Write one line of JSON.");
  context.actions[command] = [path, json] { show(*path, *json); };
}

}  // namespace relay::tool
