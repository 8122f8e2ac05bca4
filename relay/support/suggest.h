// What somebody may have meant by a name that is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <relay/support/diagnostic.h>

namespace relay {

/// "did you mean @a, @b or @c?": the candidates nearest to `name`, each between `before` and
/// `after`. Empty if none is near, or there are too many to look at.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates,
                         std::string_view before = {}, std::string_view after = {});

/// The same as a help of a diagnostic, if there is anything to say.
void suggest(Diagnostic& diagnostic, const std::string& name,
             const std::vector<std::string>& candidates, std::string_view before = {},
             std::string_view after = {});

}  // namespace relay
