// ConvertLayout: operators work in the layouts that the caller wants, and others follow.
#include <relay/transform/convert_layout.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/transform/layouts.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

std::vector<std::shared_ptr<LayoutConfig>>& entered_configs() {
  static thread_local std::vector<std::shared_ptr<LayoutConfig>> configs;
  return configs;
}

using DesiredLayouts = std::unordered_map<const Operator*, std::vector<std::string>>;

/// The words of `nn.conv2d: NHWC default`.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != ',' && c != ':') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

DesiredLayouts desired_layouts(const std::vector<std::string>& entries) {
  DesiredLayouts desired;
  for (const std::string& entry : entries) {
    std::vector<std::string> words = words_of(entry);
    const Operator* op = words.empty() ? nullptr : find_op(Name(words[0]));
    if (op == nullptr) {
      Diagnostic diagnostic = Diagnostic::error(
          words.empty() ? "desired_layouts has an entry without an operator"
                        : "desired_layouts names operator " + words[0] + ", which does not exist");
      std::vector<std::string> names;
      for (const Operator* known : all_ops()) names.push_back(known->name().str());
      if (!words.empty()) suggest(diagnostic, words[0], names);
      throw Error(std::move(diagnostic));
    }
    words.erase(words.begin());
    if (words.empty())
      throw Error("desired_layouts gives no layout for " + op->name().str() + ": write `" +
                  op->name().str() + ": NHWC default`");
    const AttrsSchema* schema = op->attrs_schema();
    const bool has_layouts =
        schema != nullptr &&
        std::any_of(schema->fields.begin(), schema->fields.end(),
                    [](const AttrField& f) { return f.kind == AttrKind::kLayout; });
    if (!has_layouts)
      throw Error("desired_layouts names operator " + op->name().str() +
                  ", which has no attribute for a layout");
    if (!desired.emplace(op, std::move(words)).second)
      throw Error("desired_layouts names operator " + op->name().str() + " twice");
  }
  return desired;
}

class LayoutConverter final : public LayoutRewriter {
 public:
  explicit LayoutConverter(const DesiredLayouts& desired) : desired_(desired) {}

 private:
  std::optional<Written> write(const Call& call, const OpCall& typed,
                               const std::function<ExprRef(size_t)>&) override {
    auto wanted = desired_.find(typed.op());
    if (wanted == desired_.end() || skipped(typed)) return std::nullopt;
    try {
      std::optional<CallFlow> flow = choose_layouts(typed, wanted->second);
      if (!flow) return std::nullopt;
      return Written{call.callee(), std::move(*flow), {}};
    } catch (const Error& error) {
      throw Error(Diagnostic::error(error.what(), call.span()));
    }
  }

  static bool skipped(const OpCall& typed) {
    LayoutConfig* config = LayoutConfig::current();
    if (config == nullptr) return false;
    auto layouts = operand_layouts(*typed.op(), typed.attrs_ref(), typed.num_inputs());
    if (!layouts || std::all_of(layouts->inputs.begin() + 1, layouts->inputs.end(),
                                [](const std::string& text) { return text.empty(); }))
      return false;
    const std::vector<int64_t>& skip = config->skip_layers;
    return std::find(skip.begin(), skip.end(), config->seen++) != skip.end();
  }

  const DesiredLayouts& desired_;
};

RELAY_REGISTER_PASS({
    {"ConvertLayout",
     3,
     {ProgramState::kTyped},
     "Makes operators work in the layouts that they are given by name: `nn.conv2d: NHWC default`, "
     "for the data, the weights (default: what goes with the data) and the result. Operators that "
     "work in any layout, or whose attributes can say the same of another one, follow; tensors are "
     "transformed where layouts meet, once for each."},
    {{"desired_layouts", "For each operator its name and layouts: a dictionary.",
      std::vector<std::string>(), OptionEntries::kTextsByName}},
    [](const PassInfo& info, const PassOptions& options) {
      DesiredLayouts desired =
          desired_layouts(option<std::vector<std::string>>(options, "desired_layouts"));
      return make_function_pass(
          info, [desired = std::move(desired)](const FunctionRef& function, const Module&,
                                               const PassContext&) {
            return LayoutConverter(desired).apply(function);
          });
    },
});

}  // namespace

LayoutConfig* LayoutConfig::current() {
  return entered_configs().empty() ? nullptr : entered_configs().back().get();
}
void LayoutConfig::enter(std::shared_ptr<LayoutConfig> config) {
  config->seen = 0;
  entered_configs().push_back(std::move(config));
}
void LayoutConfig::exit() {
  if (!entered_configs().empty()) entered_configs().pop_back();
}

}  // namespace relay
