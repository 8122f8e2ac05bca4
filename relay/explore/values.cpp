#include <relay/explore/values.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <relay/explore/tables.h>
#include <relay/program/view.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/deadline.h>
#include <relay/vm/machine/machine.h>

namespace relay::explore {
namespace {

/// Values of later nodes are left out: they all exist at one time.
constexpr double kMostBytes = 2e9;

struct Watched {
  std::vector<ExprRef> nodes;
  std::vector<int64_t> numbers;  // in the first stage
};

// The bytes of a tensor; nothing for other types. An open extent counts as 1.
std::optional<double> tensor_bytes(const Type* type) {
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return std::nullopt;
  double bytes = static_cast<double>(tensor->dtype().size());
  for (Dim dim : tensor->dims()) bytes *= dim.is_int() ? static_cast<double>(dim.as_int()) : 1;
  return bytes;
}

// The first number of a function's nodes in the stage of its module.
int64_t first_number(const Module& module, Name entry) {
  int64_t number = 0;
  std::unordered_set<const Function*> seen;
  for (const Module::FunctionEntry& each : module.functions()) {
    if (each.name == entry) break;
    if (!seen.insert(each.function.get()).second) continue;
    const View view(each.function);
    for (uint32_t id = 0; id < view.size(); ++id) number += view.is_name(id) ? 0 : 1;
  }
  return number;
}

Watched watched_nodes(const Module& module, Name entry, const FunctionRef& function) {
  Watched watched;
  const View view(function);
  const Scopes& scopes = view.scopes();
  int64_t number = first_number(module, entry) - 1;
  double bytes = 0;
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (view.is_name(id)) continue;
    ++number;
    const uint32_t home = scopes.home(id);
    // The function's own body: the scope that the root opens.
    if (id + 1 == view.size() || home != scopes.place(view.size() - 1, 0)) continue;
    const Expr* expr = view.expr(id);
    // A variable of a let is its value; a let has the value of its body.
    if (!expr->is<Call>() && !expr->is<TupleGetItem>()) continue;
    const std::optional<double> own = tensor_bytes(expr->type());
    if (!own || bytes + *own > kMostBytes) continue;
    bytes += *own;
    watched.nodes.emplace_back(expr);
    watched.numbers.push_back(number);
  }
  return watched;
}

// A function of the same parameters that gives the values of nodes. Its lets bind what they did, so
// that what the nodes mention is in scope.
FunctionRef giving(const FunctionRef& function, const Watched& watched) {
  std::vector<const Let*> lets;
  for (const Expr* at = function->body().get(); at->is<Let>(); at = lets.back()->body().get())
    lets.push_back(at->as<Let>());
  std::vector<ExprRef> fields = watched.nodes;
  // A let's value would run twice if it were asked for itself.
  std::unordered_map<const Expr*, VarRef> bound;
  for (const Let* let : lets) bound.try_emplace(let->value().get(), let->var());
  for (ExprRef& field : fields) {
    if (auto found = bound.find(field.get()); found != bound.end()) field = found->second;
  }
  ExprRef body = make_tuple(fields);
  for (size_t i = lets.size(); i-- > 0;)
    body = make_let(lets[i]->var(), lets[i]->value(), std::move(body), lets[i]->span());
  return make_function({function->params().begin(), function->params().end()}, std::move(body), {},
                       {}, {}, function->attrs(), function->span());
}

}  // namespace

void write_values(JsonWriter& json, const Module& module, Name entry,
                  const std::vector<Value>& arguments, const Options& options) {
  const FunctionRef function(module.function(entry));
  if (function->contains(ExprPart::kEffect)) throw Error("the program has effects");
  const Watched watched = watched_nodes(module, entry, function);
  if (watched.nodes.empty()) {
    json.key("values").begin_array().end_array();
    return;
  }
  Module asked = module;
  asked.update_function(entry, giving(function, watched));
  require_typed(asked);
  vm::CompileOptions compile;
  compile.target = options.target;
  compile.threads = options.threads;
  compile.cache = options.cache;
  compile.level = 1;
  compile.winograd = false;
  std::atomic<bool> never{false};
  std::atomic<bool>& flag = options.interrupt == nullptr ? never : *options.interrupt;
  Value result;
  {
    vm::Machine machine(vm::compile(asked, entry, compile),
                        {.threads = options.threads, .interrupt = &flag});
    vm::Deadline deadline(flag, vm::seconds_from_now(options.run_seconds));
    try {
      result = machine.run(entry.view(), arguments);
    } catch (const vm::Interrupted&) {
      if (!deadline.passed()) throw;
      flag = false;
      throw Error(fmt::format("the run takes more than {} s", options.run_seconds));
    }
  }
  json.key("values").begin_array();
  for (size_t i = 0; i < watched.nodes.size(); ++i) {
    const Value& value = result.field(i);
    if (!value.is_tensor()) continue;
    json.begin_array().value(watched.numbers[i]);
    write_statistics(json, value.array());
    json.end_array();
  }
  json.end_array();
}

}  // namespace relay::explore
