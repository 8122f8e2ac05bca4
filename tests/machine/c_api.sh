#!/bin/sh
# usage: c_api.sh WRITE_PROGRAM C_API_TEST EXAMPLE UNLOAD_TEST LIBRARY [RELAY]
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder/program.rlx"
"$2" "$folder/program.rlx"
"$3" "$folder/program.rlx" main > "$folder/out"
cat "$folder/out"
grep -q '^main(%x: Tensor\[(?, 2), float32\], %scale: float32) -> Tensor\[(?, 2), float32\]$' "$folder/out"
grep -q 'float32 (1, 2): 0 0' "$folder/out"
# A program with native code, compiled here and run where there is no compiler.
if [ -n "$6" ]; then
  cat > "$folder/native.rly" << 'END'
def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(3), float32]) {
  (cos(%x) + %y, sum(exp(%x), axis=[0, 1]))
}
END
  "$6" compile "$folder/native.rly" -o "$folder/native.rlx"
  "$3" "$folder/native.rlx" main > "$folder/out"
  cat "$folder/out"
  grep -q 'float32 (1, 3): 1 1 1' "$folder/out"
  grep -q 'float32 (): 3' "$folder/out"
  # Kernels that threads share, in a library that is closed under them.
  cat > "$folder/shared.rly" << 'END'
def @main(%x: Tensor[(512, 512), float32]) { cos(%x) }
END
  "$6" compile "$folder/shared.rly" -o "$folder/shared.rlx"
  "$4" "$5" "$folder/shared.rlx"
fi
# The machine's threads are its own.
for each in "$5" ${6:+"$6"}; do
  if ldd "$each" | grep -E 'lib(gomp|omp|iomp5)\.'; then
    echo "$each is linked with OpenMP"
    exit 1
  fi
done
# Only the C interface is visible, and the library is small.
if command -v nm > /dev/null; then
  other=$(nm -D --defined-only "$5" | awk '$2 != "A" && $3 !~ /^relay_/ { print $3 }')
  [ -z "$other" ] || { echo "visible besides the C interface: $other"; exit 1; }
fi
strip -o "$folder/stripped.so" "$5"
size=$(stat -c %s "$folder/stripped.so")
echo "librelay_runtime.so: $size bytes stripped"
# Sanitizers make it larger.
[ "$size" -le 3145728 ] || ldd "$5" | grep -q 'lib[aut]san' || exit 1
