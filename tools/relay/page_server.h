// One page on the loopback, for one person's browser.
#pragma once

#include <string>

namespace relay::tool {

/// Serves a page until Ctrl-C, and prints its address first. The address has a token that no other
/// page in the browser knows; requests without it, or for another host's name, are refused. `port`
/// 0 takes a free one. Throws `Error` if the port cannot be taken.
void serve_page(const std::string& page, int port);

}  // namespace relay::tool
