// The `#[metadata]` section: TVM's JSON form of an object graph.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/runtime/ndarray.h>

namespace relay::parsing {

class Metadata {
 public:
  /// Throws `Error` if the text is not such a section.
  explicit Metadata(std::string_view json);
  ~Metadata();

  /// `meta[relay.Constant][index]`.
  NDArray constant(size_t index) const;
  /// The fields of `meta[key][index]` for an operator with attributes `schema`.
  std::vector<NamedAttr> attrs(const std::string& key, size_t index,
                               const AttrsSchema& schema) const;
  /// The value of an attribute: numbers, strings, lists and dictionaries (`meta[Map][0]`). Other
  /// objects are text: a device in the form of its attribute ("cpu(1)"), else `Target(kind=4, …)`.
  AttrValue value(const std::string& key, size_t index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace relay::parsing
