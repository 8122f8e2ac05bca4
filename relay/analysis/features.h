// Finds the constructs of the language that a program uses.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// The numbers are those of TVM's `Feature`.
enum class Feature : uint8_t {
  kVar,
  kGlobalVar,
  kConstant,  // literals too
  kTuple,
  kTupleGetItem,
  kFunction,
  kOp,
  kCall,
  kLet,
  kIf,
  kRefCreate,
  kRefRead,
  kRefWrite,
  kConstructor,
  kMatch,
  kGraph,   // a compound node with several uses
  kLetRec,  // a let whose value mentions its variable
  kCount
};

/// "fVar", "fGlobalVar", ….
std::string_view feature_name(Feature feature);

class FeatureSet {
 public:
  void add(Feature feature) { bits_ |= uint32_t{1} << static_cast<int>(feature); }
  bool has(Feature feature) const { return (bits_ >> static_cast<int>(feature) & 1) != 0; }
  std::vector<Feature> list() const;
  friend bool operator==(FeatureSet, FeatureSet) = default;
  friend FeatureSet operator|(FeatureSet a, FeatureSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  uint32_t bits_ = 0;
};

FeatureSet detect_features(const Expr* root);
FeatureSet detect_features(const Module& module);

}  // namespace relay
