// The tensors of a program that differ from lane to lane.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/module.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/derived_data.h>

namespace relay::lanes {

/// A tree like a type, for each value; its leaves are tensors. A leaf *has lanes* if its tensor may
/// differ from lane to lane. Facts follow from each other: the least solution holds.
///
/// A tensor, alone or in a tuple, is written out for each lane where one with lanes is wanted. What
/// lies in data, references and in the types of functions cannot be, so there all values that meet
/// have lanes if one has.
class LaneFacts {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = UINT32_MAX;
  using TypeArgs = std::unordered_map<const Type*, Id>;

  /// `target` gets data types whose declarations hold tensors with lanes.
  LaneFacts(const Module& whole, Module& target, Dim lanes)
      : whole_(whole), lanes_(std::move(lanes)), data_(target, "_vmap") {}

  /// A fact for a value of the type. Type parameters of data have those of `args`.
  Id make(const TypeRef& type, const TypeArgs& args = {});
  /// A value of `from` is used where one of `to` is wanted.
  void flow(Id from, Id to) { join(from, to, false); }
  void equate(Id a, Id b) { join(a, b, true); }
  /// All tensors of `to` have lanes if leaf `from` has.
  void imply(Id from, Id to);
  /// All tensors in it have lanes if one has.
  void join_all(Id id);
  /// All tensors in it have lanes.
  void set(Id id);
  void solve();
  /// From now on, functions take the lanes that want the call before their arguments.
  void set_masked() { masked_ = true; }

  const TypeRef& lane_type(Id id) const { return nodes_[id].type; }
  size_t num_parts(Id id) const { return nodes_[id].parts.size(); }
  Id part(Id id, size_t i) const { return nodes_[id].parts[i]; }
  bool is_tensor(Id id) const { return nodes_[id].type->is<TensorType>(); }
  bool is_tuple(Id id) const { return nodes_[id].type->is<TupleType>(); }
  /// True for tensors and tuples of tensors.
  bool is_tensorial(Id id) const;
  /// A tensor that has lanes.
  bool has_lanes(Id id) const { return on_[id]; }
  /// True if a tensor in it has lanes.
  bool any(Id id) const;
  /// Field i of a constructor in a value of a data type.
  Id field(const Constructor& constructor, size_t i, Id data);

  /// The type of the value with its lanes.
  TypeRef type(Id id);
  /// The constructor in programs with lanes.
  ConstructorRef constructor(const ConstructorRef& old);

 private:
  struct Node {
    TypeRef type;  // of one lane
    std::vector<Id> parts;
    std::vector<Id> implies;
  };
  void join(Id from, Id to, bool both);
  void edge(Id from, Id to) { nodes_[from].implies.push_back(to); }
  const std::vector<std::vector<Id>>& declared(const TypeData& data);
  bool changes(const GlobalTypeVar* name);
  GlobalTypeVarRef changed(const GlobalTypeVar* name);
  TypeRef with_lanes(const TypeRef& type, Id id);

  const Module& whole_;
  Dim lanes_;
  bool masked_ = false;
  std::vector<Node> nodes_;
  std::vector<bool> on_;
  std::vector<Id> sources_;
  // Facts of the fields of constructors, with parameters open.
  PointerMap<Type, std::vector<std::vector<Id>>> declared_;
  DerivedData data_;
};

}  // namespace relay::lanes
