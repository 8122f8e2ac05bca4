// Patterns as text.
//
//   _               anything                       const, var, var("x")    a constant, a variable
//   %x              anything, the same node        0, -1.5                 a tensor of this number
//                   wherever %x stands             %c = P                  what fits P, named
//   add(P, Q)       a call; P + Q, P * Q, …        exp, nn.conv2d          an operator
//   add(..)         whatever the arguments         _(P)                    a call of anything
//   add(P, axis=1)  a call with an attribute       P.has_attr(k=v)         the same, of anything
//   (P, Q), (..)    a tuple, any tuple             P.0, P._                a projection, any
//   fn (P) { Q }    a function; fn (..) { Q }      let P = Q; R            a let
//   if (P) { Q } else { R }                        P | Q                   the first that fits
//   P.has_type(T), P.has_dtype(d), P.has_shape((2, 3))
//   dominates(PARENT, PATH, CHILD)                 rec(%w, P)              P, %w being all of it
//   expr("add(%x, 1f)")  an equal expression       Cons(P, Q), @f(P)       by name
//   ref(P), ref_read(P), ref_write(P, Q)           match (P) { .. }        by what it matches on
#pragma once

#include <string>

#include <relay/pattern/pattern.h>

namespace relay {

/// The text of a pattern, on one line; parses back to an equal one unless it has expressions with
/// free variables or large constants.
std::string pattern_text(const DFPattern* pattern);
/// The same for messages, in quotes and cut to about `width` characters.
std::string short_text(const DFPattern* pattern, size_t width = 60);
/// Numbers and attributes as patterns and rules write them.
std::string pattern_number_text(double value);
std::string pattern_value_text(const AttrValue& value);
/// Reads a pattern; throws `Error` with its place in a source `name`.
DFPatternRef parse_pattern(std::string name, std::string text);

/// The text of a file of rules or patterns. Throws `Error` if it cannot be read, or has more than
/// 16 MiB.
std::string read_rules_file(const std::string& path);

}  // namespace relay
