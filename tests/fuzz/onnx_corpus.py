#!/usr/bin/env python3
"""Makes what onnx_fuzz begins with: scripts/python tests/fuzz/onnx_corpus.py FOLDER [CASES]

Writes FOLDER/models, the small models among the tests' and the backend tests of the `onnx` package (those that
tests/onnx/write_cases.py has written to CASES, if that is given), and FOLDER/onnx.dict: the names of operators,
attributes and domains as fields of a message, with their lengths.
"""

import argparse
import pathlib
import shutil

import onnx

LARGEST = 4096
# Field numbers of onnx.proto: NodeProto.op_type, NodeProto.domain, AttributeProto.name.
OP_TYPE, DOMAIN, NAME = 4, 7, 1
ROOT = pathlib.Path(__file__).resolve().parent.parent


def field(number, text):
    data = bytes([number << 3 | 2, len(text)]) + text.encode()
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def models(cases):
    yield from ROOT.glob("import/Inputs/*.onnx")
    yield from ROOT.glob("onnx/recorded/*/*.onnx")
    if cases is not None:
        yield from cases.glob("**/*.onnx")
    else:
        data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
        yield from data.glob("**/*.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    folder = options.folder / "models"
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in models(options.cases):
        if path.stat().st_size <= LARGEST:
            shutil.copyfile(path, folder / f"{path.parent.name}.{path.name}")
            count += 1
    entries = {field(DOMAIN, "com.microsoft")}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            entries.add(field(OP_TYPE, schema.name))
            entries.update(field(NAME, name) for name in schema.attributes)
    (options.folder / "onnx.dict").write_text("".join(entry + "\n" for entry in sorted(entries)))
    print(f"{count} models, {len(entries)} words")


if __name__ == "__main__":
    main()
