#pragma once

#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct MeshgridAttrs {
  std::string indexing = "ij";
  RELAY_ATTRS(MeshgridAttrs, (indexing, "\"ij\", or \"xy\": the first two axes change places."))
};

}  // namespace relay
