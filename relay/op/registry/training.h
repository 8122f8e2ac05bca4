// Facts about operators while a network learns.
#pragma once

#include <relay/op/op.h>

namespace relay {

/// The operators whose results are random while a network learns, although they are the identity
/// here: equal calls stay apart, and no call is computed before the program runs. SimplifyInference
/// removes them.
OpColumn<bool>& random_in_training();

}  // namespace relay
