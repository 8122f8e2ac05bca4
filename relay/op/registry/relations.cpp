#include <relay/op/registry/relation.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <relay/ir/dim_extents.h>
#include <relay/op/registry/batch.h>
#include <relay/op/registry/gradient.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {

namespace {

struct Registry {
  ForkMutex mutex;
  std::unordered_map<Name, std::unique_ptr<Relation>> relations;
  std::vector<std::unique_ptr<Relation>> removed;  // types may still name them

  static Registry& instance() {
    static Registry* registry = new Registry;
    return *registry;
  }
};

TypeRef infer_identity(const RelationCall& call) {
  te::TensorInfo first = call.tensor(0);
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    te::TensorInfo other = call.tensor(i);
    if (other.dtype != first.dtype || other.dims.size() != first.dims.size()) {
      call.fail("types " + call.input(0)->str() + " and " + call.input(i)->str() + " differ");
    }
    for (size_t d = 0; d < first.dims.size(); ++d) {
      call.require_equal(
          first.dims[d], other.dims[d],
          "types " + call.input(0)->str() + " and " + call.input(i)->str() + " differ");
    }
  }
  return call.input(0);
}

// A dimension that inference has yet to solve cannot be broadcast, except against a known extent
// other than 1 or against itself.
bool must_wait(Dim a, Dim b) {
  if (a == b) return false;
  return a.has_variable() || b.has_variable();
}

TypeRef infer_elementwise(const RelationCall& call, std::optional<DType> result) {
  te::TensorInfo lhs = call.tensor(0);
  te::TensorInfo rhs = call.tensor(1);
  if (lhs.dtype != rhs.dtype) {
    call.fail("dtypes " + std::string(lhs.dtype.name()) + " and " + std::string(rhs.dtype.name()) +
              " differ, in " + call.input(0)->str() + " and " + call.input(1)->str());
  }
  size_t shared = std::min(lhs.dims.size(), rhs.dims.size());
  for (size_t i = 1; i <= shared; ++i) {
    Dim a = lhs.dims[lhs.dims.size() - i];
    Dim b = rhs.dims[rhs.dims.size() - i];
    if (must_wait(a, b) && !broadcast(a, b)) continue;
    if (must_wait(a, b)) return {};
  }
  std::optional<std::vector<Dim>> dims = broadcast_shapes(lhs.dims, rhs.dims);
  if (!dims) {
    call.fail("the shapes " + shape_str(lhs.dims) + " and " + shape_str(rhs.dims) +
              " do not broadcast");
  }
  std::string message =
      "the shapes " + shape_str(lhs.dims) + " and " + shape_str(rhs.dims) + " do not broadcast";
  call.require_broadcasts(lhs.dims, *dims, message);
  call.require_broadcasts(rhs.dims, *dims, message);
  return TensorType::make(*dims, result.value_or(lhs.dtype));
}

TypeRef infer_broadcast(const RelationCall& call) { return infer_elementwise(call, std::nullopt); }
TypeRef infer_compare(const RelationCall& call) { return infer_elementwise(call, kBool); }

}  // namespace

const Relation* find_relation(const Name& name) {
  broadcast_relation();
  compare_relation();
  identity_relation();
  Registry& registry = Registry::instance();
  {
    std::lock_guard lock(registry.mutex);
    auto found = registry.relations.find(name);
    if (found != registry.relations.end()) return found->second.get();
  }
  // The relation of a derived operator comes with the operator.
  const bool derived = is_gradient_name(name) || is_batch_name(name);
  const Operator* op = derived ? find_op(name) : nullptr;
  return op == nullptr ? nullptr : op->relation();
}

const Relation* register_relation(Relation relation) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  auto [entry, added] = registry.relations.try_emplace(relation.name);
  if (!added) throw Error("relation " + relation.name.str() + " is registered already");
  entry->second = std::make_unique<Relation>(std::move(relation));
  return entry->second.get();
}

void unregister_relation(const Name& name) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  auto found = registry.relations.find(name);
  RELAY_CHECK(found != registry.relations.end(), "no relation " + name.str());
  registry.removed.push_back(std::move(found->second));
  registry.relations.erase(found);
}

std::vector<std::string> relation_names() {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto& [name, relation] : registry.relations) names.push_back(name.str());
  return names;
}

const Relation* identity_relation() {
  static const Relation* relation =
      register_relation({"Identity", Relation::Form::kIdentity, infer_identity,
                         "All inputs and the result are tensors of one type."});
  return relation;
}
const Relation* broadcast_relation() {
  static const Relation* relation = register_relation(
      {"Broadcast", Relation::Form::kBroadcast, infer_broadcast,
       "Two tensors of one dtype; the result has it too and the broadcast shape."});
  return relation;
}
const Relation* compare_relation() {
  static const Relation* relation = register_relation(
      {"BroadcastComp", Relation::Form::kCompare, infer_compare,
       "Two tensors of one dtype; the result is bool and has the broadcast shape."});
  return relation;
}

namespace {
te::TensorInfo tensor_info(const RelationCall& call, const Type* type, const std::string& what) {
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) call.fail(what + " must be a tensor, found " + type->str());
  if (!tensor->has_rank() || !tensor->has_dtype()) {
    call.fail(what + " must have a known rank and dtype, found " + type->str());
  }
  auto dims = tensor->dims();
  return {std::vector<Dim>(dims.begin(), dims.end()), tensor->dtype()};
}
std::string ordinal(size_t i) { return "argument " + std::to_string(i + 1); }
}  // namespace

te::TensorInfo RelationCall::tensor(size_t i) const {
  return tensor_info(*this, input(i).get(), ordinal(i));
}

std::vector<te::TensorInfo> RelationCall::tensors(size_t i) const {
  const auto* tuple = input(i)->as<TupleType>();
  if (tuple == nullptr) fail(ordinal(i) + " must be a tuple of tensors, found " + input(i)->str());
  std::vector<te::TensorInfo> result;
  for (const TypeRef& field : tuple->fields()) {
    result.push_back(tensor_info(*this, field.get(), "every field of " + ordinal(i)));
  }
  return result;
}

std::optional<NDArray> RelationCall::value(size_t i) const {
  return values_ ? values_(i) : std::nullopt;
}

Dim RelationCall::value_dim(size_t i, size_t k) const {
  if (std::optional<NDArray> known = value(i)) {
    const void* element = known->element(static_cast<int64_t>(k));
    return dispatch(known->dtype(), [&](auto tag) -> Dim {
      using T = typename decltype(tag)::type;
      constexpr int64_t kFar = int64_t{1} << 60;  // a Dim holds less than int64_t does
      return Dim(std::clamp(static_cast<int64_t>(*static_cast<const T*>(element)), -kFar, kFar));
    });
  }
  return Dim::value(static_cast<uint32_t>(i), static_cast<uint32_t>(k));
}

void RelationCall::require_equal(Dim a, Dim b, const std::string& message) const {
  if (a == b || a.is_any() || b.is_any()) return;
  if (solver_ != nullptr && (a.has_variable() || b.has_variable())) {
    if (!solver_->unify(a, b)) fail(message);
    return;
  }
  Truth equal = dims_equal(a, b);
  if (equal == Truth::kNo) fail(message);
  if (equal == Truth::kUnknown && solver_ != nullptr) solver_->check(a, b, message);
}

void RelationCall::leave_check(Dim a, Dim b, const std::string& message) const {
  if (solver_ == nullptr || a.is_any() || b.is_any() || a.has_variable() || b.has_variable() ||
      a == b)
    return;
  solver_->check(a, b, message);
}

void RelationCall::require_at_most(Dim a, Dim b, const std::string& message) const {
  Dim room = b - a;
  if (room.is_int()) return require(room.as_int() >= 0, message);
  if (room.is_any()) return;
  leave_check(max(a, b), b, message);
}

void RelationCall::require_multiple(Dim a, Dim divisor, const std::string& message) const {
  if (divisor.is_int(0)) fail(message);
  if (a.is_any() || divisor.is_any()) return;
  Dim rest = floor_mod(a, divisor);
  if (rest.is_int()) return require(rest.as_int() == 0, message);
  leave_check(rest, 0, message);
}

void RelationCall::require_broadcasts(std::span<const Dim> from, std::span<const Dim> to,
                                      const std::string& message) const {
  require(from.size() <= to.size(), message);
  for (size_t i = 0; i < from.size(); ++i) {
    Dim a = from[i];
    Dim b = to[to.size() - from.size() + i];
    if (a == b || a.is_int(1) || a.is_any() || b.is_any()) continue;
    if (a.is_int() && b.is_int()) fail(message);
    // Terms that broadcast to their common extent fail by themselves if they do not. Those that it
    // left out, since others stand for them, do not: min(n, 7) beside n.
    const std::vector<Dim> whole = joined_extents(b), parts = joined_extents(a);
    const bool joined = whole.size() > 1 && std::all_of(parts.begin(), parts.end(), [&](Dim part) {
                          return std::find(whole.begin(), whole.end(), part) != whole.end();
                        });
    if (!joined) leave_check((a - 1) * (a - b), 0, message);
    if (whole.size() > 1) explain(b, message);
  }
}

void RelationCall::require_some(std::span<const Dim> folded, std::span<const Dim> result,
                                const std::string& message) const {
  auto is_zero = [](Dim dim) { return dim.is_int(0); };
  if (std::any_of(result.begin(), result.end(), is_zero)) return;
  Dim points = 1;  // of the result: 0 or 1
  for (Dim dim : result) {
    if (!dim.is_int()) points = points * min(dim, 1);
  }
  for (Dim dim : folded) {
    if (is_zero(dim) && points.is_int()) fail(message);
    if (!dim.is_int() || is_zero(dim)) leave_check((Dim(1) - min(dim, 1)) * points, 0, message);
  }
}

void RelationCall::explain(Dim term, const std::string& message, bool division) const {
  if (solver_ != nullptr && term.is_term() && !term.has_variable())
    solver_->may_fail(term, message, division);
}

void RelationCall::fail(const std::string& message) const { throw Error(message); }

TypeRef expect_vector(const RelationCall& call, int64_t axis) {
  if (!call.input(0)) return {};
  te::TensorInfo data = call.tensor(0);
  Dim dims[] = {data.dims[static_cast<size_t>(normalize_axis(call, axis, data.rank()))]};
  return TensorType::make(dims, data.dtype);
}

std::optional<std::vector<Dim>> broadcast_shapes(std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<Dim> result(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    std::optional<Dim> joined = broadcast(a[offset + i], b[i]);
    if (!joined) return std::nullopt;
    result[offset + i] = *joined;
  }
  return result;
}

std::string shape_str(std::span<const Dim> dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i].str();
  }
  return text + ")";
}

int64_t normalize_axis(const RelationCall& call, int64_t axis, size_t rank, std::string_view what) {
  auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    call.fail(std::string(what) + " " + std::to_string(axis) + " is out of range for rank " +
              std::to_string(rank));
  }
  return axis < 0 ? axis + limit : axis;
}

}  // namespace relay
