"""Program text of Relay in colour."""

from __future__ import annotations

from pygments import lexers
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["RelayLexer"]  # where Pygments looks


class RelayLexer(RegexLexer):
    name = "Relay"
    aliases = ["relay"]
    filenames = ["*.rly"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//.*?$", Comment.Single),
            (r"#\[.*?\]", Comment.Preproc),
            (r"#.*?$", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'[%@]"(\\.|[^"\\])*"', Name.Variable),
            (r"%[\w.]+", Name.Variable),
            (r"@[\w.]+", Name.Function),
            (r'"(\\.|[^"\\])*"', String),
            (words(("def", "fn", "fun", "let", "if", "else", "match?", "match", "type", "data", "case", "extern", "free_var", "where", "ref",
                    "ref_read", "ref_write", "meta"), prefix=r"(?<![\w.])", suffix=r"(?![\w.])"), Keyword),
            (r"(Tensor|bool|int\d+|uint\d+|float\d+|bfloat16|Type|Shape|BaseType|ShapeVar)\b", Keyword.Type),
            (r"(True|False|None)\b", Keyword.Constant),
            (r"\d+(\.\d+)?([eE][+-]?\d+)?(bf16|[iuf]\d+|f)?\b", Number),
            (r"[A-Za-z_][\w.]*", Name),
            (r"->|=>|[-+*/<>=!&|?]+", Operator),
            (r".", Punctuation),
        ],
        "comment": [(r"[^*/]+", Comment.Multiline), (r"/\*", Comment.Multiline, "#push"), (r"\*/", Comment.Multiline, "#pop"), (r"[*/]", Comment.Multiline)],
    }  # fmt: skip


def register() -> None:
    """Lets Pygments find it by its name."""
    lexers.LEXERS["RelayLexer"] = (__name__, "Relay", ("relay",), ("*.rly",), ())
