// How an operator is called, for messages and documents.
#pragma once

#include <string>

#include <relay/op/op.h>

namespace relay {

/// "reshape(data, newshape=…, allowzero=False)": the inputs, and the attributes with their defaults
/// or "…" where they have none.
std::string call_form(const Operator& op);

}  // namespace relay
