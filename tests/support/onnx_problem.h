// Models that are refused.
#pragma once

#include <string>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::testing {

/// The first message of the importer about a model; empty if it takes it.
inline std::string import_problem(const Proto& proto) {
  try {
    from_onnx(proto.span(), {}, "m.onnx");
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

}  // namespace relay::testing
