// The programs that a command line names: files, and those of folders.
#pragma once

#include <string>
#include <vector>

namespace relay::tool {

/// The paths, with each folder replaced by the files in it, and in its folders, that end in `.rly`
/// or `.relay`, by name. Hidden folders and links to folders are passed over. Throws `Error` for a
/// folder without programs or one that cannot be read.
std::vector<std::string> program_files(const std::vector<std::string>& paths);

}  // namespace relay::tool
