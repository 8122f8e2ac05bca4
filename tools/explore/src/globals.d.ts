// In browsers, and not in this version of the compiler's library.
declare class DecompressionStream { constructor(format: string); readonly readable: ReadableStream; readonly writable: WritableStream; }
