// Values as text: for people, and as JSON. Numbers are written with the fewest digits that read
// back to the same bits. Nothing here recurses.
#pragma once

#include <relay/runtime/value.h>

#include <string>

namespace relay {

struct FormatOptions {
  /// Arrays with more elements are summarised …
  int64_t threshold = 1000;
  /// … to this many elements at both ends of each axis.
  int64_t edge = 3;
  size_t line_width = 88;
};

/// Appends a finite float with the fewest digits that read back the same as `dtype`, always with a
/// point or an exponent ("1.0", "1e+20"); "nan", "inf" or "-inf" otherwise.
void append_float(std::string& out, DType dtype, double value);

/// Appends the element of type `dtype` at `bytes`: "True", "-3", "0.1", "nan".
void append_element(std::string& out, DType dtype, const void* bytes);

/// An array in NumPy's layout, with commas so that it can be read back: aligned columns, wrapped
/// lines, "..." in place of omitted elements.
std::string format_array(const NDArray& array, const FormatOptions& options = {});

/// A value for people: tuples "(1, 2)", data values "Cons(1, Nil)", closures "<fn>", references
/// "ref(1)".
std::string format_value(const Value& value, const FormatOptions& options = {});

/// The form of a value as a pattern sees it: "Cons", "(Nil, a number)"; a tuple in a tuple is "a
/// tuple".
std::string made_by(const Value& value);

/// Appends a value as JSON on one line: nested lists, scalars bare, tuples as lists, data values as
/// {"Cons": […]}, closures as "<fn>", references as {"ref": …}, floats that are not finite as
/// "nan", "inf", "-inf". A reference inside itself is {"ref": "<cycle>"}. Throws `Error` if the
/// text passes the memory limit (shared parts are written each time).
void append_json(std::string& out, const Value& value);

}  // namespace relay
