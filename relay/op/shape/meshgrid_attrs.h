#pragma once

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(Indexing, (kMatrix, "ij", "Result k varies along axis k."),
            (kCartesian, "xy", "The first two axes change places."))
struct MeshgridAttrs {
  Indexing indexing = Indexing::kMatrix;
  RELAY_ATTRS(MeshgridAttrs, (indexing, "Order of the axes."))
};

}  // namespace relay
