// Guesses the name that the user meant by an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <relay/support/diagnostic.h>

namespace relay {

/// "did you mean @a, @b or @c?": the candidates nearest to `name`, each between `before` and
/// `after`. Empty if none is near, or if there are too many candidates to compare.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates,
                         std::string_view before = {}, std::string_view after = {});

/// The same, or "it has a, b and c" if none is near: the first of them, and how many others there
/// are. Empty without candidates.
std::string did_you_mean_or_has(const std::string& name, const std::vector<std::string>& candidates,
                                std::string_view before = {}, std::string_view after = {});

/// Adds the text of `did_you_mean` to a diagnostic as a help, unless it is empty.
void suggest(Diagnostic& diagnostic, const std::string& name,
             const std::vector<std::string>& candidates, std::string_view before = {},
             std::string_view after = {});

}  // namespace relay
