"""Program text of several versions, and errors in it."""
import tvm
from tvm import relay

for text in ('v0.0.4\ndef @main(%x: Tensor[(2), float32]) { add(%x, %x) }', '#[version = "0.0.5"]\ndef @main[A](%x: A) -> A { %x }', 'fn (%x : int32, %y : int32) -> int32 { %x + %y }', 'free_var %x: Tensor[(2), float32];\nnn.relu(%x)'):
    print(tvm.parser.fromtext(text))
assert isinstance(tvm.parser.parse_expr('(1, 2).0'), relay.TupleGetItem)
try:
    tvm.parser.fromtext('#[version = "0.0.5"]\ndef @main( { 1 }')
except tvm.error.DiagnosticError as e:
    assert 'from_string:2' in str(e), e
else:
    raise AssertionError('the text has a mistake')
try:
    tvm.relay.parse('def @m() { add(1) }')
except tvm.TVMError as e:
    assert 'add' in str(e), e
else:
    raise AssertionError('add has two operands')
