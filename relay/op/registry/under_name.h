// Adds an operator's name to messages about it.
#pragma once

#include <string>

#include <relay/support/name.h>

namespace relay {

/// "NAME: MESSAGE", unless the message begins with the name already.
std::string under_name(Name name, std::string message);

}  // namespace relay
