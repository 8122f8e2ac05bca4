// Attributes of operators for programs that tests make.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/op/op.h>

namespace relay::testing {

using AttrEntry = std::pair<const char*, AttrValue>;

/// Numbers as an attribute.
inline AttrValue list(const std::vector<int64_t>& values) {
  AttrValue::List items;
  for (int64_t value : values) items.emplace_back(value);
  return AttrValue(std::move(items));
}

/// The attributes of an operator that has some; others than these have their defaults.
inline AttrsRef op_attrs(const char* op, const std::vector<AttrEntry>& entries) {
  std::vector<NamedAttr> values;
  for (const AttrEntry& entry : entries) values.push_back({entry.first, entry.second, {}});
  return Attrs::make(*get_op(op)->attrs_schema(), values, {});
}

}  // namespace relay::testing
