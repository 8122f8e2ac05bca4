// The regions of a program that annotations mark for code generators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/analysis/contraction.h>
#include <relay/program/program.h>

namespace relay {

/// The part of a program between calls of two operators, by default `annotation.compiler_begin` and
/// `annotation.compiler_end`: nodes that belong to one code generator.
struct AnnotatedRegion {
  /// TVM's number: that of its first `begin`, in the order of the view.
  uint32_t id;
  std::string target;
  /// All of its nodes, annotations included, in ascending order.
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> begins;
  std::vector<uint32_t> ends;
};

/// Finds the regions of an expression. A call, tuple or projection belongs to the region of its
/// arguments up to an `end`. A region lies in one scope, has no effects, and nothing that it needs
/// is computed from what it gives; where annotations say otherwise it is several regions. Throws
/// `Error`, with the place, where annotations name different code generators for one node.
class AnnotatedRegions {
 public:
  struct Options {
    const Operator* begin = nullptr;  // null for the compiler's own
    const Operator* end = nullptr;
    /// Annotations of this target are as none.
    std::string left_out;
  };
  /// `effects` may be null for a program without any.
  AnnotatedRegions(const View& view, const NodeEffects* effects, const Options& options);

  /// Makes one region of regions of one target where the first gives the second a value, as far as
  /// no cycle results. True if it did all that it could: large programs have a limit.
  bool merge();
  /// In the order of their numbers.
  std::vector<AnnotatedRegion> list() const;
  static constexpr uint32_t kNone = UINT32_MAX;
  /// A number that the nodes of one region share; kNone for a node without a region.
  uint32_t region_of(uint32_t node) const;
  const std::string& target_of(uint32_t node) const;
  bool is_begin(uint32_t node) const { return kinds_[node] == Kind::kBegin; }
  bool is_end(uint32_t node) const { return kinds_[node] == Kind::kEnd; }
  /// True for a node between annotations.
  bool is_inside(uint32_t node) const {
    return kinds_[node] == Kind::kOther && region_of(node) != kNone;
  }
  /// The node itself, or what the annotation is about.
  uint32_t without_annotations(uint32_t node) const { return plain_[node]; }

 private:
  enum class Kind : uint8_t { kOther, kBegin, kEnd };
  struct Label {
    uint32_t id = kNone;
    uint32_t target = 0;  // an index of targets_
  };
  void classify(const Options& options);
  void find();
  void find_end(uint32_t node);
  void find_inner(uint32_t node);
  bool can_be_inside(uint32_t node) const;
  bool join(uint32_t from, uint32_t into);
  Label& label(uint32_t node) { return labels_[groups_.find(node)]; }
  [[noreturn]] void refuse(uint32_t node, uint32_t one, uint32_t other) const;

  const View& view_;
  const NodeEffects* effects_;
  mutable Contraction groups_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> targets_of_;  // of annotations: an index of targets_
  std::vector<std::string> targets_;
  std::vector<uint32_t> plain_;
  std::vector<Label> labels_;  // by group
  uint32_t next_ = 0;
};

}  // namespace relay
