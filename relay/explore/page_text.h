// The page as the build took it from tools/explore/page.html.
#pragma once

#include <string_view>

namespace relay::explore {

std::string_view page_text();

}  // namespace relay::explore
