// Internal: the unknowns of device inference, a tree for the tensors in each value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/infer/devices/devices.h>

namespace relay {

inline constexpr uint32_t kNoNode = ~uint32_t{0};

struct Devices::Graph {
  enum class NodeKind : uint8_t {
    kNone,      // no tensor in it: numbers, ()
    kOne,       // everything in it is on one device
    kTuple,     // children: the fields
    kFunction,  // children: parameters and result
    kCell       // child: the value in the reference
  };

  struct Node {
    NodeKind kind = NodeKind::kNone;
    uint32_t first = 0, count = 0;  // in children
    // kOne: a set of unknowns.
    uint32_t parent = kNoNode;
    std::optional<Device> device;
    Span said;  // the place that requires it
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> children;
  std::unordered_map<const Expr*, uint32_t> of;
  /// Constants, operators and constructors have a node at each use.
  std::map<std::pair<const Expr*, size_t>, uint32_t> of_use;
  std::unordered_map<Name, uint32_t> globals;

  uint32_t find(uint32_t at) const {
    while (nodes[at].parent != kNoNode) at = nodes[at].parent;
    return at;
  }
  uint32_t find_short(uint32_t at);  // shortens the path

  uint32_t add(NodeKind kind, std::span<const uint32_t> fields = {});
  std::span<const uint32_t> fields(uint32_t node) const {
    return std::span(children).subspan(nodes[node].first, nodes[node].count);
  }

  // A type with more parts than this is one part.
  static constexpr int kMostParts = 2000;
  uint32_t make(const Type* type);
  // Types nest no deeper than Type::kMaxDepth.
  uint32_t make(const Type* type, int& left);

  uint32_t node_of(const Expr* expr) const;
  uint32_t use_of(const Expr* parent, size_t operand) const;

  // The first set of unknowns in a node.
  uint32_t first_in(uint32_t root) const;
  // The devices of all sets of unknowns in it, in order.
  void leaves(uint32_t root, std::vector<Device>& result) const;
  Device device(uint32_t node) const;
  DeviceTree tree(uint32_t node) const;
};

}  // namespace relay
