// Attributes of reductions and scans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

struct ReduceAttrs {
  std::optional<attr::Axes> axis;
  bool keepdims = false;
  bool exclude = false;
  RELAY_ATTRS(ReduceAttrs, (axis, "Axes to reduce over; all of them by default."),
              (keepdims, "Keep reduced axes with extent 1."),
              (exclude, "Reduce over the axes that are not in `axis` instead."))
};

struct ExtremumAttrs {
  std::optional<attr::Axes> axis;
  bool keepdims = false;
  bool exclude = false;
  bool allow_empty = false;
  RELAY_ATTRS(ExtremumAttrs, (axis, "Axes to reduce over; all of them by default."),
              (keepdims, "Keep reduced axes with extent 1."),
              (exclude, "Reduce over the axes that are not in `axis` instead."),
              (allow_empty,
               "True gives the identity over nothing: for max the least number of the dtype "
               "(-inf of floats), for min the greatest. By default that is an error."))
};

struct ArgReduceAttrs {
  std::optional<attr::Axes> axis;
  bool keepdims = false;
  bool select_last_index = false;
  bool exclude = false;
  RELAY_ATTRS(ArgReduceAttrs, (axis, "Axes to search; all of them by default."),
              (keepdims, "Keep searched axes with extent 1."),
              (select_last_index, "True takes the last of equal elements."),
              (exclude, "Search the axes that are not in `axis` instead."))
};

struct VarianceAttrs {
  std::optional<attr::Axes> axis;
  bool keepdims = false;
  bool exclude = false;
  bool unbiased = false;
  RELAY_ATTRS(VarianceAttrs, (axis, "Axes to reduce over; all of them by default."),
              (keepdims, "Keep reduced axes with extent 1."),
              (exclude, "Reduce over the axes that are not in `axis` instead."),
              (unbiased, "Divide by the number of elements less one."))
};

struct ScanopAttrs {
  std::optional<attr::Axis> axis;
  std::optional<DType> dtype;
  std::optional<bool> exclusive;
  bool reverse = false;
  RELAY_ATTRS(ScanopAttrs, (axis, "Axis to run along; by default the data is flattened."),
              (dtype, "Dtype of the result and of the running value; the data's by default."),
              (exclusive, "Leave each element itself out of its result."),
              (reverse, "Run from the last element to the first."))
};

}  // namespace relay
