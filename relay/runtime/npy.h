// NumPy's .npy files.
#pragma once

#include <relay/runtime/file.h>
#include <relay/runtime/ndarray.h>

#include <string>

namespace relay {

/// Reads a .npy file: format versions 1 to 3, both byte orders, both memory orders, boolean,
/// integer and floating-point elements; two-byte void elements ("V2") are read as bfloat16, because
/// ml_dtypes stores it so. The result is row-major. Throws `Error` with the name and the reason for
/// anything else, before it allocates more than the file holds.
NDArray read_npy(const std::string& path);

/// Reads one array that fills the whole source.
NDArray read_npy(ByteSource& source);

/// Writes a .npy file (version 1, little-endian, row-major), all or nothing.
void write_npy(const std::string& path, const NDArray& array);

void write_npy(ByteSink& sink, const NDArray& array);

/// The number of bytes that `write_npy` writes for the array.
uint64_t npy_size(const NDArray& array);

}  // namespace relay
