#include <relay/transform/batch/lane_facts.h>

#include <relay/ir/type_fields.h>
#include <relay/support/error.h>

namespace relay::lanes {

LaneFacts::Id LaneFacts::make(const TypeRef& type, const TypeArgs& args) {
  if (auto known = args.find(type.get()); known != args.end()) return known->second;
  Node node{type, {}, {}};
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) node.parts.push_back(make(field, args));
  } else if (const auto* function = type->as<FuncType>()) {
    for (const TypeRef& param : function->params()) node.parts.push_back(make(param, args));
    node.parts.push_back(make(function->result(), args));
  } else if (const auto* ref = type->as<RefType>()) {
    node.parts.push_back(make(ref->value(), args));
  } else if (const auto* data = type->as<TypeCall>()) {
    for (const TypeRef& arg : data->args()) node.parts.push_back(make(arg, args));
  }
  nodes_.push_back(std::move(node));
  on_.push_back(false);
  return static_cast<Id>(nodes_.size() - 1);
}

void LaneFacts::join(Id from, Id to, bool both) {
  if (from == to || nodes_[from].type->is<TypeVar>() || nodes_[to].type->is<TypeVar>()) return;
  const Node& node = nodes_[from];
  if (node.type->is<TensorType>()) {
    edge(from, to);
    if (both) edge(to, from);
    return;
  }
  const size_t count = std::min(node.parts.size(), nodes_[to].parts.size());
  const bool inner = both || !node.type->is<TupleType>();
  for (size_t i = 0; i < count; ++i) join(nodes_[from].parts[i], nodes_[to].parts[i], inner);
}

void LaneFacts::imply(Id from, Id to) {
  std::unordered_set<const Type*> seen;
  std::vector<Id> work{to};
  while (!work.empty()) {
    const Id id = work.back();
    work.pop_back();
    if (is_tensor(id)) edge(from, id);
    work.insert(work.end(), nodes_[id].parts.begin(), nodes_[id].parts.end());
    const auto* data = lane_type(id)->as<TypeCall>();
    if (data == nullptr || !seen.insert(data->callee().get()).second) continue;
    const TypeData* declaration = whole_.type_data(data->callee()->as<GlobalTypeVar>());
    if (declaration == nullptr) continue;
    for (const std::vector<Id>& fields : declared(*declaration))
      work.insert(work.end(), fields.begin(), fields.end());
  }
}

void LaneFacts::join_all(Id id) {
  std::vector<Id> work{id};
  Id first = kNone, last = kNone;  // a ring of tensors
  while (!work.empty()) {
    const Id one = work.back();
    work.pop_back();
    work.insert(work.end(), nodes_[one].parts.begin(), nodes_[one].parts.end());
    if (!is_tensor(one)) continue;
    if (first == kNone) first = one;
    if (last != kNone) edge(last, one);
    last = one;
  }
  if (last != kNone) edge(last, first);
}

void LaneFacts::set(Id id) {
  const Id source = make(TensorType::scalar(kBool));
  sources_.push_back(source);
  imply(source, id);
}

void LaneFacts::solve() {
  std::vector<Id> work = sources_;
  for (Id id : work) on_[id] = true;
  while (!work.empty()) {
    const Id id = work.back();
    work.pop_back();
    for (Id next : nodes_[id].implies) {
      if (on_[next]) continue;
      on_[next] = true;
      work.push_back(next);
    }
  }
}

bool LaneFacts::is_tensorial(Id id) const {
  if (is_tensor(id)) return true;
  if (!is_tuple(id)) return false;
  for (Id part : nodes_[id].parts) {
    if (!is_tensorial(part)) return false;
  }
  return true;
}

bool LaneFacts::any(Id id) const {
  if (on_[id]) return true;
  for (Id part : nodes_[id].parts) {
    if (any(part)) return true;
  }
  return false;
}

const std::vector<std::vector<LaneFacts::Id>>& LaneFacts::declared(const TypeData& data) {
  const Type* name = data.name().get();
  if (const auto* known = declared_.find(name)) return *known;
  declared_[name] = {};  // a data type in itself has no tensors of its own
  std::vector<std::vector<Id>> fields;
  for (const ConstructorRef& constructor : data.constructors()) {
    fields.emplace_back();
    for (const TypeRef& input : constructor->inputs()) fields.back().push_back(make(input));
  }
  return declared_[name] = std::move(fields);
}

LaneFacts::Id LaneFacts::field(const Constructor& constructor, size_t i, Id data) {
  const auto* call = lane_type(data)->as<TypeCall>();
  const TypeData* declaration = whole_.type_data(constructor.type_name().get());
  RELAY_CHECK(call != nullptr && declaration != nullptr, "a constructor of no data type");
  const Id open = declared(*declaration)[constructor.ctor_tag()][i];
  // The declaration's fact, with those of this value in the place of its parameters.
  TypeArgs args;
  for (size_t k = 0; k < declaration->type_vars().size(); ++k)
    args[declaration->type_vars()[k].get()] = part(data, k);
  const Id made = make(constructor.inputs()[i], args);
  equate(made, open);
  return made;
}

TypeRef LaneFacts::type(Id id) { return with_lanes(lane_type(id), id); }

TypeRef LaneFacts::with_lanes(const TypeRef& type, Id id) {
  if (const auto* tensor = type->as<TensorType>()) {
    if (!on_[id]) return type;
    if (!tensor->has_rank())
      throw Error("vmap needs the rank of each tensor, found " + type->str());
    std::vector<Dim> dims{lanes_};
    dims.insert(dims.end(), tensor->dims().begin(), tensor->dims().end());
    return TensorType::make(ShapeType::make(dims), tensor->dtype_type());
  }
  size_t next = 0;
  const std::vector<Id>& parts = nodes_[id].parts;
  if (const auto* data = type->as<TypeCall>()) {
    std::vector<TypeRef> args;
    for (Id part : parts) args.push_back(this->type(part));
    const auto* name = data->callee()->as<GlobalTypeVar>();
    return TypeCall::make(changes(name) ? TypeRef(changed(name)) : data->callee(), std::move(args));
  }
  if (const auto* function = type->as<FuncType>()) {
    std::vector<TypeRef> params;
    const Dim mask[] = {lanes_};
    if (masked_) params.push_back(TensorType::make(mask, kBool));
    for (size_t i = 0; i + 1 < parts.size(); ++i) params.push_back(this->type(parts[i]));
    return FuncType::make(std::move(params), this->type(parts.back()),
                          {function->type_params().begin(), function->type_params().end()});
  }
  if (parts.empty()) return type;
  return map_parts(
      type, [&](const TypeRef&) { return this->type(parts.at(next++)); },
      [](Dim dim) { return dim; });
}

// True if the declaration holds tensors with lanes, or data of which that is true.
bool LaneFacts::changes(const GlobalTypeVar* name) {
  std::vector<const GlobalTypeVar*> work{name};
  std::unordered_set<const GlobalTypeVar*> seen{name};
  while (!work.empty()) {
    const TypeData* data = whole_.type_data(work.back());
    work.pop_back();
    if (data == nullptr || !declared_.contains(data->name().get())) continue;
    std::vector<Id> ids;
    for (const std::vector<Id>& fields : declared(*data))
      ids.insert(ids.end(), fields.begin(), fields.end());
    while (!ids.empty()) {
      const Id id = ids.back();
      ids.pop_back();
      if (is_tensor(id) && on_[id]) return true;
      if (const auto* call = lane_type(id)->as<TypeCall>()) {
        const auto* inner = call->callee()->as<GlobalTypeVar>();
        if (seen.insert(inner).second) work.push_back(inner);
      }
      ids.insert(ids.end(), nodes_[id].parts.begin(), nodes_[id].parts.end());
    }
  }
  return false;
}

GlobalTypeVarRef LaneFacts::changed(const GlobalTypeVar* name) {
  if (!lanes_.is_int())
    throw Error(Diagnostic::error("the data type " + name->name().str() +
                                  " holds tensors that differ from lane to lane, so the number of "
                                  "lanes must be known")
                    .help("give axis_size"));
  const TypeDataRef data(whole_.type_data(name));
  return data_.type(data, [&](const Constructor& old, size_t i) {
    return type(declared(*data)[old.ctor_tag()][i]);
  });
}

ConstructorRef LaneFacts::constructor(const ConstructorRef& old) {
  const GlobalTypeVar* name = old->type_name().get();
  if (!changes(name)) return old;
  changed(name);
  return data_.constructor(old.get());
}

}  // namespace relay::lanes
