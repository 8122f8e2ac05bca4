// The page that shows documents: one file of HTML, which asks nothing of any other host.
#pragma once

#include <string>
#include <vector>

namespace relay::explore {

/// The page with documents in it: the first is shown, a second one beside it. Documents are
/// compressed, and in letters that mean nothing to HTML.
std::string page_with(const std::string& title, const std::vector<std::string>& documents);

}  // namespace relay::explore
