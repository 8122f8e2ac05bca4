#include <relay/transform/gradient/loop_points.h>

#include <algorithm>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/counts.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/lets.h>

namespace relay::grad {
namespace {

// A saved tensor takes this many bytes besides its elements.
constexpr int64_t kBytesOfTensor = 64;
// Below this many states the bytes do not count.
constexpr int64_t kLeastStates = 4;

using namespace counts;

TypeRef count_type() { return counts::type(); }
VarRef count_var(const char* name) { return make_var(name, count_type()); }

int64_t bytes_of(const Type* type) {
  int64_t bytes = 0;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) bytes += bytes_of(field.get());
    return bytes;
  }
  const auto size = static_cast<int64_t>(type->as<TensorType>()->dtype().size());
  return *num_elements(type) * size + kBytesOfTensor;
}

ExprRef call(const Name& name, std::vector<ExprRef> args) {
  return make_call(make_global_var(name), args);
}

void append(std::vector<ExprRef>& to, std::span<const ExprRef> more) {
  to.insert(to.end(), more.begin(), more.end());
}
std::vector<ExprRef> as_exprs(std::span<const VarRef> vars) { return {vars.begin(), vars.end()}; }

}  // namespace

Loops::Points::Points(Loops& loops, const Loop& loop, std::span<const WayGradient> ways)
    : loops_(loops), loop_(loop), ways_(ways) {
  find_state();
  for (size_t i : state_) state_bytes_ += bytes_of(loop.function->params()[i]->type());
  state_bytes_ = std::max<int64_t>(state_bytes_, 1);
}

// The parameters that gradients of turns read, and those that turns need to compute these.
void Loops::Points::find_state() {
  const std::vector<VarRef>& params = loop_.function->params();
  std::vector<bool> needed(params.size(), false);
  for (size_t w = 0; w < ways_.size(); ++w) {
    for (size_t i : ways_[w].params)
      needed[i] = needed[i] || (loop_.ways[w].again && !loop_.invariant[i]);
  }
  for (bool more = true; more;) {
    more = false;
    state_.clear();
    for (size_t i = 0; i < params.size(); ++i) {
      if (needed[i] && !loop_.invariant[i]) state_.push_back(i);
    }
    const ExprRef none = make_tuple(std::vector<ExprRef>());
    const ExprRef body = with_ends(loop_, [&](size_t way, const Expr* end) -> ExprRef {
      return loop_.ways[way].again ? make_tuple(next_state(end)) : none;
    });
    FunctionRef function = make_function(params, body);
    function = without_dead_lets(function);
    PointerSet<Var> used;
    for (const VarRef& var : free_vars(function->body().get())) used.insert(var.get());
    for (size_t i = 0; i < params.size(); ++i) {
      if (needed[i] || !used.contains(params[i].get())) continue;
      needed[i] = true;
      more = true;
    }
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (needed[i] && loop_.invariant[i]) shared_.push_back(i);
  }
}

std::vector<TypeRef> Loops::Points::make_type() {
  Module& module = loops_.target_;
  const auto name = GlobalTypeVar::make(free_name(
      loop_.base + "_points", [&](const Name& text) { return module.type_data(text) != nullptr; }));
  module.add_type(TypeData::make(name, {}, {}));  // takes the name until it is complete
  auto taken = [&](const Name& text) { return module.constructor(text) != nullptr; };
  type_ = TypeCall::make(name, {});
  std::vector<TypeRef> fields{count_type()};
  for (size_t i : state_) fields.emplace_back(loop_.function->params()[i]->type());
  fields.push_back(type_);
  none_ = make_constructor(free_name(loop_.base + "_no_point", taken), name, 0, {});
  point_ = make_constructor(free_name(loop_.base + "_point", taken), name, 1, std::move(fields));
  module.add_type(TypeData::make(name, {}, {none_, point_}), true);
  return {count_type(), count_type(), type_};
}

Name Loops::Points::make_name(const char* what) const {
  return loops_.target_.fresh_name(loop_.base + "_" + what);
}

ExprRef Loops::Points::point(const ExprRef& turn, std::span<const ExprRef> state,
                             const ExprRef& before) const {
  std::vector<ExprRef> fields{turn};
  append(fields, state);
  fields.push_back(before);
  return make_call(point_, fields);
}

std::vector<VarRef> Loops::Points::state_params() const {
  std::vector<VarRef> params;
  for (size_t i : state_) params.push_back(like_param(*loop_.function, i));
  return params;
}

std::vector<ExprRef> Loops::Points::next_state(const Expr* end) const {
  std::vector<ExprRef> next;
  for (size_t i : state_) next.push_back(static_cast<const Call*>(end)->args()[i]);
  return next;
}

void Loops::Points::add(const Name& name, std::vector<VarRef> params, ExprRef body,
                        const TypeRef& result) {
  FunctionRef function =
      make_function(std::move(params), std::move(body), result, {}, {}, {}, loop_.function->span());
  function = without_dead_lets(function);
  loops_.add_as(name, FunctionRef(copy_with_fresh_vars(function)->as<Function>()));
}

// A match on points: `none` if there is none, else what `some` makes of the fields of the last.
ExprRef Loops::Points::match_points(const VarRef& points, const ExprRef& none,
                                    const OfPoint& some) const {
  const VarRef turn = make_var("at");
  const VarRef before = make_var("before");
  std::vector<VarRef> state;
  for (size_t i : state_) state.push_back(make_var(loop_.function->params()[i]->name()));
  std::vector<PatternRef> fields{Pattern::var(turn)};
  for (const VarRef& var : state) fields.push_back(Pattern::var(var));
  fields.push_back(Pattern::var(before));
  std::vector<PatternRef> patterns{Pattern::constructor(none_, {}),
                                   Pattern::constructor(point_, std::move(fields))};
  std::vector<ExprRef> bodies{none, some(turn, as_exprs(state), before)};
  return make_match(points, std::move(patterns), bodies);
}

// ---- Forward -------------------------------------------------------------------------------

// The points in the other order, before `out`.
Name Loops::Points::write_turned() {
  const Name name = make_name("points_turned");
  const VarRef points = make_var("points", type_), out = make_var("out", type_);
  add(name, {points, out},
      match_points(
          points, out,
          [&](const ExprRef& at, const std::vector<ExprRef>& state, const ExprRef& before) {
            return call(name, {before, point(at, state, out)});
          }),
      type_);
  return name;
}

// The points whose turn is a multiple of a number.
Name Loops::Points::write_thin() {
  const Name turned = write_turned();
  const Name name = make_name("points_thin");
  const VarRef points = make_var("points", type_), out = make_var("out", type_);
  const VarRef distance = count_var("distance");
  const ExprRef none = make_call(none_, std::vector<ExprRef>());
  add(name, {points, distance, out},
      match_points(
          points, call(turned, {out, none}),
          [&](const ExprRef& at, const std::vector<ExprRef>& state, const ExprRef& before) {
            return make_if(divides(distance, at),
                           call(name, {before, distance, point(at, state, out)}),
                           call(name, {before, distance, out}));
          }),
      type_);
  return name;
}

// The distance, the number of points and the points after one more.
Name Loops::Points::write_keep(const Slope& slope) {
  const Name thin = write_thin();
  const Name name = make_name("points_keep");
  std::vector<VarRef> params = state_params();
  const std::vector<ExprRef> state = as_exprs(params);
  const VarRef turn = count_var("turn"), distance = count_var("distance");
  const VarRef count = count_var("count"), points = make_var("points", type_);
  params.insert(params.end(), {turn, distance, count, points});
  const ExprRef limit =
      slope.saving.bytes == 0 ? counts::twice(distance) : number(states(slope) / 2);
  const VarRef twice = count_var("twice"), half = count_var("half"), fewer = make_var("fewer");
  // The points are all multiples of the distance below the turn.
  ExprRef thinned = make_if(
      divides(twice, turn),
      make_tuple(std::vector<ExprRef>{twice, plus(half, number(1)), point(turn, state, fewer)}),
      make_tuple(std::vector<ExprRef>{twice, half, fewer}));
  const ExprRef none = make_call(none_, std::vector<ExprRef>());
  thinned = make_let(fewer, call(thin, {points, twice, none}), thinned);
  thinned = make_let(half, quotient(plus(count, number(1)), number(2)), thinned);
  thinned = make_let(twice, counts::twice(distance), thinned);
  const ExprRef more = make_tuple(
      std::vector<ExprRef>{distance, plus(count, number(1)), point(turn, state, points)});
  add(name, params, make_if(less(count, limit), more, thinned),
      TupleType::make({count_type(), count_type(), type_}));
  return name;
}

void Loops::Points::write_run(const Slope& slope, const Records& records) {
  const Function& function = *loop_.function;
  const Name keep = write_keep(slope);
  const Name name = make_name("points_run");
  const TypeRef result = TupleType::make({TypeRef(function.body()->type()), records.run});
  const VarRef turn = count_var("turn"), distance = count_var("distance");
  const VarRef count = count_var("count"), points = make_var("points", type_);
  std::vector<ExprRef> state;
  for (size_t i : state_) state.push_back(function.params()[i]);
  ExprRef body = with_ends(loop_, [&](size_t way, const Expr* end) -> ExprRef {
    if (!loop_.ways[way].again) {
      std::vector<ExprRef> fields = record_fields(loop_, ways_[way]);
      fields.insert(fields.end(), {turn, count, points});
      const ExprRef record = make_call(records.of_way[way], fields, {}, {}, end->span());
      return make_tuple(std::vector<ExprRef>{ExprRef(end), record});
    }
    std::vector<ExprRef> kept_args = state;
    kept_args.insert(kept_args.end(), {turn, distance, count, points});
    const VarRef kept = make_var("kept");
    auto old = static_cast<const Call*>(end)->args();
    std::vector<ExprRef> args(old.begin(), old.end());
    args.push_back(plus(turn, number(1)));
    for (uint32_t k = 0; k < 3; ++k) args.push_back(make_projection(kept, k));
    return make_let(kept,
                    make_if(divides(distance, turn), call(keep, kept_args),
                            make_tuple(std::vector<ExprRef>{distance, count, points})),
                    make_call(make_global_var(name), args, {}, {}, end->span()));
  });
  std::vector<VarRef> params = function.params();
  params.insert(params.end(), {turn, distance, count, points});
  const FunctionRef made =
      make_function(std::move(params), std::move(body), result, {}, {}, {}, function.span());
  loops_.add_as(name, FunctionRef(copy_with_fresh_vars(made)->as<Function>()));
  const std::vector<ExprRef> start{number(0), number(1), number(0),
                                   make_call(none_, std::vector<ExprRef>())};
  loops_.add_as(slope.run, started(function, name, start, result));
}

// ---- Backward ------------------------------------------------------------------------------

int64_t Loops::Points::states(const Slope& slope) const {
  return std::max(slope.saving.bytes / state_bytes_, kLeastStates);
}

// A function that runs turns: of the state, of what turns share and of its `own` parameters. It
// gives `otherwise` once it is done.
void Loops::Points::add_turns(const Name& name, const std::vector<VarRef>& own, const ExprRef& done,
                              const ExprRef& otherwise, const EndOfWay& again,
                              const TypeRef& result) {
  std::vector<VarRef> params;
  for (size_t i : state_) params.push_back(loop_.function->params()[i]);
  for (size_t i : shared_) params.push_back(loop_.function->params()[i]);
  params.insert(params.end(), own.begin(), own.end());
  const ExprRef body = with_ends(loop_, [&](size_t way, const Expr* end) {
    return loop_.ways[way].again ? again(way, end) : otherwise;
  });
  add(name, std::move(params), make_if(done, otherwise, body), result);
}

std::vector<ExprRef> Loops::Points::with_shared(std::vector<ExprRef> state) const {
  for (size_t i : shared_) state.push_back(loop_.function->params()[i]);
  return state;
}

// Runs `left` turns and saves what their gradients read.
Name Loops::Points::write_again(const Records& records) {
  const Name name = make_name("again");
  const VarRef left = count_var("left"), turns = make_var("turns", records.turns);
  auto again = [&](size_t way, const Expr* end) -> ExprRef {
    std::vector<ExprRef> fields = record_fields(loop_, ways_[way]);
    fields.push_back(turns);
    std::vector<ExprRef> args = with_shared(next_state(end));
    append(args,
           std::vector<ExprRef>{minus(left, number(1)), make_call(records.of_way[way], fields)});
    return call(name, args);
  };
  add_turns(name, {left, turns}, less(left, number(1)), turns, again, records.turns);
  return name;
}

// Runs turns to the one before `until` and sets a point after each `distance` of them.
Name Loops::Points::write_spread() {
  const Name name = make_name("spread");
  const VarRef turn = count_var("turn"), until = count_var("until");
  const VarRef distance = count_var("distance"), left = count_var("left");
  const VarRef points = make_var("points", type_);
  const ExprRef next = plus(turn, number(1));
  auto again = [&](size_t, const Expr* end) -> ExprRef {
    const std::vector<ExprRef> state = next_state(end);
    const ExprRef here = less(left, number(2));
    std::vector<ExprRef> args = with_shared(state);
    append(args, std::vector<ExprRef>{next, until, distance,
                                      where(here, distance, minus(left, number(1))),
                                      make_if(here, point(next, state, points), points)});
    return call(name, args);
  };
  add_turns(name, {turn, until, distance, left, points}, less(until, plus(next, number(1))), points,
            again, type_);
  return name;
}

Name Loops::Points::write_back(const Slope& slope, const Records& records) {
  const Name turns_back = loops_.write_turns_back(loop_, slope, records, ways_);
  const Name again = write_again(records);
  const Name name = make_name("points_back");
  const VarRef turn = count_var("turn"), count = count_var("count");
  const VarRef points = make_var("points", type_);
  const std::vector<VarRef> kept = kept_params(loop_, slope);
  const std::vector<VarRef> gradients = gradient_params(loop_, slope);
  std::vector<VarRef> params{turn, count, points};
  params.insert(params.end(), kept.begin(), kept.end());
  params.insert(params.end(), gradients.begin(), gradients.end());
  std::vector<ExprRef> shared;
  for (size_t i : shared_) {
    const auto at = std::lower_bound(slope.kept.begin(), slope.kept.end(), i);
    shared.push_back(kept[static_cast<size_t>(at - slope.kept.begin())]);
  }
  // The turns behind the last point, all saved.
  auto all = [&](const ExprRef& at, std::vector<ExprRef> args, const ExprRef& before) {
    append(args, shared);
    append(args,
           std::vector<ExprRef>{minus(turn, at), make_call(records.start, std::vector<ExprRef>())});
    std::vector<ExprRef> back{call(again, args)};
    append(back, as_exprs(kept));
    append(back, as_exprs(gradients));
    const VarRef sent = make_var("sent");
    std::vector<ExprRef> next{at, minus(count, number(1)), before};
    append(next, as_exprs(kept));
    for (uint32_t k = 0; k < gradients.size(); ++k) next.push_back(make_projection(sent, k));
    return make_let(sent, call(turns_back, back), call(name, next));
  };
  const Name spread = slope.saving.bytes == 0 ? Name() : write_spread();
  auto some = [&](const ExprRef& at, const std::vector<ExprRef>& state,
                  const ExprRef& before) -> ExprRef {
    if (slope.saving.bytes == 0) return all(at, state, before);
    const VarRef left = count_var("left"), free = count_var("free");
    // With few states left, one point goes √(2 · left) turns before the end: two states are enough
    // for so many turns with as many runs of them.
    const VarRef few = make_var("few"), parts = count_var("parts"),
                 distance = count_var("distance");
    std::vector<ExprRef> args = state;
    append(args, shared);
    append(args, std::vector<ExprRef>{at, where(few, plus(plus(at, distance), number(1)), turn),
                                      distance, distance, points});
    const ExprRef added = where(few, number(1), quotient(minus(left, number(1)), distance));
    std::vector<ExprRef> next{turn, plus(count, added), call(spread, args)};
    append(next, as_exprs(kept));
    append(next, as_exprs(gradients));
    ExprRef more = call(name, next);
    const ExprRef behind = where(less(free, number(2)), number(1), root_of_twice(left));
    const ExprRef fits = smaller(at_least(behind, 1), minus(left, number(1)));
    const ExprRef spaced = quotient(plus(left, minus(parts, number(1))), parts);
    more = make_let(distance, where(few, minus(left, fits), spaced), more);
    more = make_let(parts, quotient(at_least(free, kLeastStates), number(2)), more);
    more = make_let(few, less(free, number(kLeastStates)), more);
    more = make_if(less(at_least(free, 1), left), more, all(at, state, before));
    more = make_let(free, minus(number(states(slope)), count), more);
    return make_let(left, minus(turn, at), more);
  };
  const ExprRef given = make_tuple(as_exprs(gradients));
  add(name, params, match_points(points, given, some), gradient_result(loop_, slope));
  return name;
}

}  // namespace relay::grad
