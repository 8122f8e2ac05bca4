// Kinds of types (language.md §3).
#pragma once

#include <relay/ir/module.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// Reports mistakes in a type that stands in the place of a type of values.
void check_annotation(const TypeRef& type, const Module& module, DiagnosticSink& sink, Span span);

}  // namespace relay::inference
