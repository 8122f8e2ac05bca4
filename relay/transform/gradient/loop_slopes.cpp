// The forward and the backward loop of a loop.
#include <relay/transform/gradient/loops.h>

#include <algorithm>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/gradient/loop_points.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/gradient/reverse.h>

namespace relay::grad {

std::vector<size_t> positions_of(const std::vector<bool>& chosen) {
  std::vector<size_t> positions;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) positions.push_back(i);
  }
  return positions;
}

TypeRef types_of(const Function& function, std::span<const size_t> params) {
  std::vector<TypeRef> types;
  for (size_t i : params) types.emplace_back(function.params()[i]->type());
  return TupleType::make(std::move(types));
}

VarRef like_param(const Function& function, size_t i) {
  const VarRef& param = function.params()[i];
  return make_var(param->name(), TypeRef(param->type()), param->span());
}

const Loops::Slope& Loops::slope(const Call& call, const std::vector<bool>& active, Saving saving) {
  Loop& loop = loops_.at(call.callee()->as<GlobalVar>()->name());
  const std::vector<bool> all = all_active(loop, active);
  auto [entry, fresh] = loop.slopes.try_emplace({all, saving});
  Slope& slope = entry->second;
  if (!fresh) return slope;
  slope.active = all;
  slope.saving = saving;
  const std::vector<WayGradient> ways = way_gradients(loop, all);
  std::vector<bool> kept(all.size(), false);
  for (const WayGradient& way : ways) {
    for (size_t i : way.params) kept[i] = kept[i] || loop.invariant[i];
  }
  std::optional<Points> points;
  if (saving.few) {
    points.emplace(*this, loop, ways);
    for (size_t i : points->shared()) kept[i] = true;
  }
  slope.kept = positions_of(kept);
  slope.run = target_.fresh_name(loop.base + "_run");
  slope.back = target_.fresh_name(loop.base + "_back");
  if (!points) {
    const Records records = make_records(loop, ways, {});
    write_run(loop, slope, records, ways);
    const Name turns_back = write_turns_back(loop, slope, records, ways);
    write_back(loop, slope, records, ways, {"before"}, turns_back);
  } else {
    const Records records = make_records(loop, ways, points->make_type());
    points->write_run(slope, records);
    write_back(loop, slope, records, ways, {"turn", "count", "points"},
               points->write_back(slope, records));
  }
  return slope;
}

// With the parameters that get values which depend on active ones, in this turn or a later one.
std::vector<bool> Loops::all_active(const Loop& loop, std::vector<bool> active) {
  std::vector<FunctionRef> steps;
  for (const Way& way : loop.ways) {
    if (way.again) steps.push_back(way_function(loop, way, {}));
  }
  for (bool more = true; more;) {
    more = false;
    for (const FunctionRef& step : steps) {
      Reverse reverse(step.get(), this);
      for (size_t i = 0; i < active.size(); ++i) {
        const uint32_t id = reverse.variable(step->params()[i].get());
        reverse.set_value(id, step->params()[i]);
        if (active[i]) reverse.set_varied(id);
      }
      const uint32_t body = reverse.regions().first_region(0);
      reverse.find_varied(body);
      const uint32_t result = reverse.result_of(body);
      for (size_t i = 0; i < active.size(); ++i) {
        const uint32_t arg = reverse.target(result, i);
        const Type* type = step->params()[i]->type();
        if (active[i] || arg == Reverse::kNone || !reverse.varied(arg)) continue;
        if (reverse.leaf_table().count(type) == 0) continue;
        active[i] = true;
        more = true;
      }
    }
  }
  return active;
}

std::vector<Loops::WayGradient> Loops::way_gradients(const Loop& loop,
                                                     const std::vector<bool>& active) {
  GradientForm form;
  form.params = positions_of(active);
  form.from_result = true;
  form.with_value = false;
  std::vector<WayGradient> found;
  for (const Way& way : loop.ways) {
    const FunctionRef whole = dataflow_gradient(*way_function(loop, way, active), form, this);
    WayGradient gradient;
    PointerSet<Var> used;
    for (const VarRef& var : free_vars(whole->body().get())) used.insert(var.get());
    std::vector<VarRef> params;
    for (size_t i = 0; i + 1 < whole->params().size(); ++i) {
      if (!used.contains(whole->params()[i].get())) continue;
      gradient.params.push_back(i);
      params.push_back(whole->params()[i]);
    }
    params.push_back(whole->params().back());
    gradient.function = make_function(std::move(params), whole->body());
    found.push_back(std::move(gradient));
  }
  return found;
}

// The constructor of a way holds the parameters that change and that its gradient reads, and the
// turns before.
Loops::Records Loops::make_records(const Loop& loop, std::span<const WayGradient> ways,
                                   const std::vector<TypeRef>& behind_run) {
  auto type_taken = [&](const Name& text) { return target_.type_data(text) != nullptr; };
  auto taken = [&](const Name& text) { return target_.constructor(text) != nullptr; };
  const std::string& base = loop.base;
  const auto turns = GlobalTypeVar::make(free_name(base + "_turns", type_taken));
  target_.add_type(TypeData::make(turns, {}, {}));  // takes the name until it is complete
  const auto run = GlobalTypeVar::make(free_name(base + "_run", type_taken));
  Records records;
  records.turns = TypeCall::make(turns, {});
  records.run = TypeCall::make(run, {});
  std::vector<ConstructorRef> of_turns, of_run;
  records.start = make_constructor(free_name(base + "_start", taken), turns, 0, {});
  of_turns.push_back(records.start);
  for (size_t w = 0; w < ways.size(); ++w) {
    std::vector<TypeRef> fields;
    for (size_t i : ways[w].params) {
      if (!loop.invariant[i]) fields.emplace_back(loop.function->params()[i]->type());
    }
    const bool again = loop.ways[w].again;
    if (again || behind_run.empty()) {
      fields.push_back(records.turns);
    } else {
      fields.insert(fields.end(), behind_run.begin(), behind_run.end());
    }
    auto& list = again ? of_turns : of_run;
    const std::string kind = again ? "_turn" : "_end";
    const Name name = free_name(base + kind + std::to_string(list.size() - (again ? 1 : 0)), taken);
    list.push_back(make_constructor(name, again ? turns : run, static_cast<uint32_t>(list.size()),
                                    std::move(fields)));
    records.of_way.push_back(list.back());
  }
  target_.add_type(TypeData::make(turns, {}, std::move(of_turns)), true);
  target_.add_type(TypeData::make(run, {}, std::move(of_run)));
  return records;
}

// The loop's body with other ends of its ways, which come in the order of branches.
ExprRef Loops::with_ends(const Loop& loop, const EndOfWay& end) {
  size_t next = 0;
  auto rebuilt = [&](auto&& self, const Expr* expr) -> ExprRef {
    std::vector<const Let*> lets;
    for (const auto* let = expr->as<Let>(); let != nullptr; let = expr->as<Let>()) {
      const bool names_value = let->body().get() == let->var().get();
      if (!names_value) lets.push_back(let);
      expr = (names_value ? let->value() : let->body()).get();
    }
    ExprRef made;
    if (expr != loop.ways[next].end) {
      const auto operands = expr->operands();
      ExprRef first = self(self, operands[1].get());
      made = make_if(operands[0], first, self(self, operands[2].get()), expr->span());
    } else {
      const size_t way = next++;
      made = end(way, expr);
    }
    for (size_t i = lets.size(); i-- > 0;)
      made = make_let(lets[i]->var(), lets[i]->value(), std::move(made), lets[i]->span());
    return made;
  };
  return rebuilt(rebuilt, loop.function->body().get());
}

std::vector<ExprRef> Loops::record_fields(const Loop& loop, const WayGradient& way) {
  std::vector<ExprRef> fields;
  for (size_t i : way.params) {
    if (!loop.invariant[i]) fields.push_back(loop.function->params()[i]);
  }
  return fields;
}

// The loop with a list of turns that grows by one in each, and with a record as its second result.
void Loops::write_run(const Loop& loop, const Slope& slope, const Records& records,
                      std::span<const WayGradient> ways) {
  const Function& function = *loop.function;
  const TypeRef result = TupleType::make({TypeRef(function.body()->type()), records.run});
  std::vector<VarRef> params = function.params();
  VarRef turns = make_var("turns", records.turns);
  params.push_back(turns);
  const Name name = target_.fresh_name(loop.base + "_turns");
  ExprRef body = with_ends(loop, [&](size_t way, const Expr* end) -> ExprRef {
    std::vector<ExprRef> fields = record_fields(loop, ways[way]);
    fields.push_back(turns);
    const ExprRef record = make_call(records.of_way[way], fields, {}, {}, end->span());
    if (!loop.ways[way].again) return make_tuple(std::vector<ExprRef>{ExprRef(end), record});
    auto old = static_cast<const Call*>(end)->args();
    std::vector<ExprRef> args(old.begin(), old.end());
    args.push_back(record);
    return make_call(make_global_var(name), args, {}, {}, end->span());
  });
  const FunctionRef made =
      make_function(std::move(params), std::move(body), result, {}, {}, {}, function.span());
  add_as(name, FunctionRef(copy_with_fresh_vars(made)->as<Function>()));
  std::vector<ExprRef> start{make_call(records.start, std::vector<ExprRef>())};
  add_as(slope.run, started(function, name, start, result));
}

// A function of the loop's parameters that calls `name` with these, and with what it starts from.
FunctionRef Loops::started(const Function& function, const Name& name,
                           std::span<const ExprRef> start, const TypeRef& result) {
  std::vector<VarRef> outer;
  for (size_t i = 0; i < function.params().size(); ++i) outer.push_back(like_param(function, i));
  std::vector<ExprRef> args(outer.begin(), outer.end());
  args.insert(args.end(), start.begin(), start.end());
  return make_function(outer, make_call(make_global_var(name), args), result);
}

std::vector<VarRef> Loops::kept_params(const Loop& loop, const Slope& slope) {
  std::vector<VarRef> kept;
  for (size_t i : slope.kept) kept.push_back(like_param(*loop.function, i));
  return kept;
}

std::vector<VarRef> Loops::gradient_params(const Loop& loop, const Slope& slope) {
  std::vector<VarRef> params;
  for (size_t i : positions_of(slope.active))
    params.push_back(make_var("g", TypeRef(loop.function->params()[i]->type())));
  return params;
}

TypeRef Loops::gradient_result(const Loop& loop, const Slope& slope) {
  return types_of(*loop.function, positions_of(slope.active));
}

// A clause for a way's record: it sends the gradients that are given to it on to what the record
// ends with, by a call of `next`.
void Loops::add_clause(const Loop& loop, const Slope& slope, const BackClause& clause,
                       std::vector<PatternRef>& patterns, std::vector<ExprRef>& bodies) {
  const Function& function = *loop.function;
  const WayGradient& gradient = *clause.gradient;
  std::vector<PatternRef> fields;
  const std::vector<VarRef>& params = gradient.function->params();
  std::unordered_map<const Var*, ExprRef> args{{params.back().get(), clause.given}};
  for (size_t k = 0; k < gradient.params.size(); ++k) {
    const size_t i = gradient.params[k];
    if (loop.invariant[i]) {
      const auto at = std::lower_bound(slope.kept.begin(), slope.kept.end(), i);
      args[params[k].get()] = clause.kept[static_cast<size_t>(at - slope.kept.begin())];
      continue;
    }
    VarRef var = make_var(function.params()[i]->name());
    fields.push_back(Pattern::var(var));
    args[params[k].get()] = var;
  }
  std::vector<ExprRef> next;
  for (const char* name : clause.tail) {
    VarRef var = make_var(name);
    fields.push_back(Pattern::var(var));
    next.push_back(var);
  }
  patterns.push_back(Pattern::constructor(clause.constructor, std::move(fields)));
  VarRef sent = make_var("sent");
  next.insert(next.end(), clause.kept.begin(), clause.kept.end());
  const size_t active = positions_of(slope.active).size();
  for (uint32_t k = 0; k < active; ++k) next.push_back(make_projection(sent, k));
  bodies.push_back(make_let(sent, substitute(gradient.function->body(), args),
                            make_call(make_global_var(clause.next), next)));
}

// Goes back over a list of turns.
Name Loops::write_turns_back(const Loop& loop, const Slope& slope, const Records& records,
                             std::span<const WayGradient> ways) {
  const Name name = target_.fresh_name(loop.base + "_turns_back");
  VarRef record = make_var("turns", records.turns);
  std::vector<VarRef> params{record};
  const std::vector<VarRef> kept = kept_params(loop, slope);
  const std::vector<VarRef> gradients = gradient_params(loop, slope);
  params.insert(params.end(), kept.begin(), kept.end());
  params.insert(params.end(), gradients.begin(), gradients.end());
  const ExprRef given = make_tuple(std::vector<ExprRef>(gradients.begin(), gradients.end()));
  std::vector<PatternRef> patterns{Pattern::constructor(records.start, {})};
  std::vector<ExprRef> bodies{given};
  for (size_t way = 0; way < ways.size(); ++way) {
    if (!loop.ways[way].again) continue;
    add_clause(loop, slope, {&ways[way], records.of_way[way], kept, given, {"before"}, name},
               patterns, bodies);
  }
  ExprRef body = make_match(record, std::move(patterns), bodies);
  add_as(name, make_function(std::move(params), std::move(body), gradient_result(loop, slope), {},
                             {}, {}, loop.function->span()));
  return name;
}

// Goes back over a run: over the way to its result, then over what is before, by `next`.
void Loops::write_back(const Loop& loop, const Slope& slope, const Records& records,
                       std::span<const WayGradient> ways, std::vector<const char*> tail,
                       const Name& next) {
  VarRef record = make_var("run", records.run);
  std::vector<VarRef> params{record};
  const std::vector<VarRef> kept = kept_params(loop, slope);
  params.insert(params.end(), kept.begin(), kept.end());
  params.push_back(make_var("g", TypeRef(loop.function->body()->type())));
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
  for (size_t way = 0; way < ways.size(); ++way) {
    if (loop.ways[way].again) continue;
    add_clause(loop, slope, {&ways[way], records.of_way[way], kept, params.back(), tail, next},
               patterns, bodies);
  }
  ExprRef body = make_match(record, std::move(patterns), bodies);
  add_as(slope.back, make_function(std::move(params), std::move(body), gradient_result(loop, slope),
                                   {}, {}, {}, loop.function->span()));
}

}  // namespace relay::grad
