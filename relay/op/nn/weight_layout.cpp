#include <relay/op/nn/weight_layout.h>

#include <relay/op/registry/layout.h>
#include <relay/support/error.h>

namespace relay {

std::string weight_layout_for(const OpCall& call, const ConvAttrs& attrs,
                              const std::string& standard, const std::string& data_layout) {
  const std::string space = standard.substr(2);
  if (data_layout == "NC" + space) return standard;
  if (data_layout != "N" + space + "C")
    throw Error(call.op()->name().str() + " has no default layout of the weights beside data in " +
                data_layout + ": give one, such as " + standard);
  Layout data = Layout::parse(attrs.data_layout, "NC" + space, "data_layout");
  const bool depthwise =
      attrs.groups > 1 && data.extent(call.tensor(0).dims, 'C').is_int(attrs.groups);
  return space + (depthwise ? "OI" : "IO");
}

}  // namespace relay
