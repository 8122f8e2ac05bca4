#include <relay/explore/values.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <relay/eval/eval.h>
#include <relay/explore/tables.h>
#include <relay/program/view.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
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

struct Seen {
  NDArray value;
  uint64_t times = 0;
};
/// By the number of the node in the first stage.
using SeenValues = std::map<int64_t, Seen>;

// Runs something until a flag or the clock ends it. Throws Error if it was the clock.
template <class Run>
void run_for(double seconds, const Options& options, const Run& run) {
  std::atomic<bool> never{false};
  std::atomic<bool>& flag = options.interrupt == nullptr ? never : *options.interrupt;
  vm::Deadline deadline(flag, vm::seconds_from_now(seconds));
  auto end = [&] {
    if (!deadline.passed()) throw;
    flag = false;
    throw Error(fmt::format("the run takes more than {} s", seconds));
  };
  try {
    run(flag);
  } catch (const vm::Interrupted&) {
    end();
  } catch (const Stopped&) {
    end();
  }
}

void own_values(SeenValues& seen, const Module& module, Name entry,
                const std::vector<Value>& arguments, const Options& options) {
  const FunctionRef function(module.function(entry));
  if (function->contains(ExprPart::kEffect)) throw Error("the program has effects");
  const Watched watched = watched_nodes(module, entry, function);
  if (watched.nodes.empty()) return;
  Module asked = module;
  asked.update_function(entry, giving(function, watched));
  require_typed(asked);
  vm::CompileOptions compile;
  compile.target = options.target;
  compile.threads = options.threads;
  compile.cache = options.cache;
  compile.level = 1;
  compile.winograd = false;
  const auto executable = vm::compile(asked, entry, compile);
  run_for(options.run_seconds, options, [&](std::atomic<bool>& flag) {
    vm::Machine machine(executable, {.threads = options.threads, .interrupt = &flag});
    const Value result = machine.run(entry.view(), arguments);
    for (size_t i = 0; i < watched.nodes.size(); ++i) {
      const Value& value = result.field(i);
      if (value.is_tensor()) seen[watched.numbers[i]] = {value.array(), 1};
    }
  });
}

// The numbers of calls and projections by their places: passes copy nodes, and keep the places. -1
// for a place that several nodes have.
std::map<std::pair<uint64_t, uint64_t>, int64_t> numbers_by_place(const Module& module) {
  std::map<std::pair<uint64_t, uint64_t>, int64_t> numbers;
  std::unordered_set<const Function*> functions;
  int64_t number = 0;
  for (const Module::FunctionEntry& each : module.functions()) {
    if (!functions.insert(each.function.get()).second) continue;
    const View view(each.function);
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (view.is_name(id)) continue;
      const Expr* expr = view.expr(id);
      if ((expr->is<Call>() || expr->is<TupleGetItem>()) && expr->span().known()) {
        auto [found, fresh] =
            numbers.try_emplace({expr->span().begin(), expr->span().length()}, number);
        if (!fresh) found->second = -1;
      }
      ++number;
    }
  }
  return numbers;
}

void inner_values(SeenValues& seen, const Module& module, Name entry,
                  const std::vector<Value>& arguments, const Options& options) {
  constexpr double kMostSeconds = 2;
  const auto numbers = numbers_by_place(module);
  const bool all_known = std::ranges::all_of(
      numbers, [&](const auto& known) { return known.second < 0 || seen.contains(known.second); });
  if (all_known) return;
  double bytes = 0;
  SeenValues inner;
  const auto watch = [&](const Expr& expr, const Value& value) {
    if (!value.is_tensor()) return;
    auto found = numbers.find(std::pair(expr.span().begin(), expr.span().length()));
    if (found == numbers.end() || found->second < 0 || seen.contains(found->second)) return;
    Seen& at = inner[found->second];
    const double more = static_cast<double>(value.array().byte_size()) -
                        (at.times == 0 ? 0 : static_cast<double>(at.value.byte_size()));
    if (bytes + more > kMostBytes) return;
    bytes += more;
    at.value = value.array();
    ++at.times;
  };
  try {
    run_for(std::min(kMostSeconds, options.run_seconds), options, [&](std::atomic<bool>& flag) {
      StopScope stop(&flag);
      evaluate_watched(module, entry, arguments, watch);
    });
  } catch (const Error&) {
    seen.merge(inner);  // what ran before the end is shown
    throw;
  }
  seen.merge(inner);
}

}  // namespace

std::optional<std::string> write_values(JsonWriter& json, const Module& module, Name entry,
                                        const std::vector<Value>& arguments,
                                        const Options& options) {
  SeenValues seen;
  std::optional<Error> problem, cut;
  try {
    own_values(seen, module, entry, arguments, options);
  } catch (const Error& error) {
    problem = error;  // the run that looks inside may see these, too
  }
  try {
    inner_values(seen, module, entry, arguments, options);
  } catch (const Error& error) {
    cut = error;
  }
  if (seen.empty() && (problem || cut)) throw Error(problem ? *problem : *cut);
  json.key("values").begin_array();
  for (const auto& [number, each] : seen) {
    if (each.times == 0) continue;
    json.begin_array().value(number);
    write_statistics(json, each.value);
    json.value(each.times).end_array();
  }
  json.end_array();
  if (!cut) return {};
  return "Some values are those before the run ended: " + std::string(cut->what());
}

}  // namespace relay::explore
