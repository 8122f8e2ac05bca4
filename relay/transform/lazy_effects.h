// The effects of a module, found when a pass first asks for them.
#pragma once

#include <memory>
#include <optional>

#include <relay/ir/effects.h>

namespace relay {

/// Copies share the result. The module must outlive them.
class LazyEffects {
 public:
  explicit LazyEffects(const Module& module)
      : module_(&module), found_(std::make_shared<std::optional<Effects>>()) {}

  const Effects& get() const {
    if (!found_->has_value()) found_->emplace(*module_);
    return **found_;
  }

 private:
  const Module* module_;
  std::shared_ptr<std::optional<Effects>> found_;
};

}  // namespace relay
