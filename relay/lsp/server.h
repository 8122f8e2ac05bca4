// A language server: answers an editor by the Language Server Protocol.
#pragma once

namespace relay::lsp {

/// Serves on two file descriptors until the client says `exit` or closes its end. The exit code
/// that the protocol wants: 0 after `shutdown`, else 1.
int serve(int input, int output);

}  // namespace relay::lsp
