// Messages that name the operator that they are about.
#pragma once

#include <string>

#include <relay/support/name.h>

namespace relay {

/// "NAME: MESSAGE", unless the message begins with the name already.
std::string under_name(Name name, std::string message);

}  // namespace relay
