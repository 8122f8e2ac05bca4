#include <relay/support/suggest.h>

#include <algorithm>

#include <relay/support/quote.h>

namespace relay {

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates,
                         std::string_view before, std::string_view after) {
  // Edit distances to very many names take longer than anything else that is done with them.
  constexpr size_t kMost = 5000;
  if (candidates.size() > kMost) return {};
  std::vector<std::string> near = nearest_names(name, candidates);
  if (near.empty()) return {};
  std::string text = "did you mean ";
  for (size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text.append(before).append(near[i]).append(after);
  }
  return text + "?";
}

std::string did_you_mean_or_has(const std::string& name, const std::vector<std::string>& candidates,
                                std::string_view before, std::string_view after) {
  constexpr size_t kMost = 20;
  std::string text = did_you_mean(name, candidates, before, after);
  if (!text.empty() || candidates.empty()) return text;
  const size_t shown = std::min(candidates.size(), kMost);
  const size_t others = candidates.size() - shown;
  text = "it has ";
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == shown && others == 0 ? " and " : ", ";
    text.append(before).append(word_or_quoted(candidates[i])).append(after);
  }
  if (others > 0) text += " and " + std::to_string(others) + " others";
  return text;
}

void suggest(Diagnostic& diagnostic, const std::string& name,
             const std::vector<std::string>& candidates, std::string_view before,
             std::string_view after) {
  std::string text = did_you_mean(name, candidates, before, after);
  if (!text.empty()) diagnostic.help(std::move(text));
}

}  // namespace relay
