/**
 * Relay's program text, both spellings, for tree-sitter.
 *
 * The grammar follows docs/language.md §1. It leaves to the compiler what needs names: a dot in a name, numbers of arguments, types.
 */

// How strongly operators bind; from the left.
const INFIX = [
  [1, ["||"]],
  [2, ["&&"]],
  [3, ["==", "!="]],
  [4, ["<", "<=", ">", ">="]],
  [5, ["+", "-"]],
  [6, ["*", "/"]],
];
const UNARY = 7;

const sep1 = (rule) => seq(rule, repeat(seq(",", rule)), optional(","));
const sep = (rule) => optional(sep1(rule));

// A block comment with comments inside, which are a regular language up to a depth. Without externals a token has no memory.
const COMMENTS_IN_COMMENTS = 5;
function blockComment() {
  let inner = "";
  for (let depth = 0; depth < COMMENTS_IN_COMMENTS; ++depth) {
    const nested = inner === "" ? "" : "|/*" + inner;
    inner = "/\\*([^*/]|/+[^*/]|\\*+[^*/]" + nested + ")*\\*+/";
  }
  return new RegExp(inner);
}

module.exports = grammar({
  name: "relay",

  word: ($) => $.identifier,

  extras: ($) => [/\s/, /\uFEFF/, $.line_comment, $.block_comment],

  conflicts: ($) => [
    // `%1 = %f` and, behind a blank, `(%x)`: arguments, or the next expression. `<`: type arguments, or less-than.
    [$._expression, $.call],
    // `where R {`: attributes of the relation, or the function's body.
    [$.relation],
  ],

  rules: {
    source_file: ($) =>
      seq(
        optional($.version),
        repeat(choice($.import, $.definition, $.data_type, $.extern_type)),
        optional($._body_of_file),
        optional($.metadata),
      ),

    // ---- The text as a whole ----

    version: ($) => seq(token(prec(1, /#\[[ \t]*version/)), "=", $.string, "]"),
    metadata: () => token(prec(1, /#\[[ \t]*metadata[ \t]*\](.|\s)*/)),
    import: ($) => seq("import", field("file", $.string), optional(";")),

    definition: ($) =>
      seq("def", field("name", $.global), $._signature, field("body", $.block), optional(";")),

    data_type: ($) =>
      seq(
        field("keyword", choice("type", "data")),
        field("name", $._name),
        optional(field("parameters", $.type_parameters)),
        "{",
        repeat(seq($.constructor, optional(choice(",", ";")))),
        "}",
      ),
    constructor: ($) =>
      seq(
        field("name", $._name),
        optional(
          choice(
            field("fields", $.constructor_fields),
            seq(":", optional(choice("fn", "fun")), field("fields", $.constructor_fields), "->", field("result", $._type)),
          ),
        ),
      ),
    constructor_fields: ($) => seq("(", sep($._type), ")"),
    extern_type: ($) =>
      seq("extern", "type", field("name", $._name), optional(field("parameters", $.type_parameters)), optional(";")),

    // ---- Functions ----

    _signature: ($) =>
      seq(
        optional(field("type_parameters", $.type_parameters)),
        field("parameters", $.parameters),
        optional(seq("->", field("result", $._type))),
        repeat($.where_clause),
      ),
    function: ($) => seq("fn", $._signature, field("body", $.block)),
    parameters: ($) => seq("(", sep(choice($.parameter, $.attribute)), ")"),
    parameter: ($) =>
      seq(field("name", $.local), optional($.placement), optional(seq(":", field("type", $._type)))),
    placement: ($) => seq("{", sep1($.attribute), "}"),
    attribute: ($) => seq(field("name", $._name), "=", field("value", $._attribute_value)),

    type_parameters: ($) => choice(seq("[", sep($.type_parameter), "]"), seq("<", sep($.type_parameter), ">")),
    type_parameter: ($) => seq(field("name", $._name), optional(seq(":", field("kind", $.identifier)))),
    where_clause: ($) => prec.right(seq("where", $.relation, repeat(seq(",", $.relation)))),
    relation: ($) =>
      seq(field("name", $.identifier), optional($.placement), optional(seq("(", sep($._type), ")"))),

    // ---- Bindings ----

    block: ($) => seq("{", $._body, "}"),
    _body: ($) => seq(repeat($._binding), field("result", $._expression)),
    _body_of_file: ($) => seq(repeat(choice($._binding, $.free_variable)), field("result", $._expression)),
    _binding: ($) => choice($.let, $.graph_binding, $.statement),
    let: ($) => seq("let", field("target", $._target), "=", field("value", $._value), ";"),
    graph_binding: ($) => seq(field("name", $.local), "=", field("value", $._value), optional(";")),
    statement: ($) => seq($._expression, ";"),
    free_variable: ($) =>
      seq("free_var", field("name", $.local), optional($.placement), optional(seq(":", field("type", $._type))), ";"),

    _target: ($) => choice($.target, $.tuple_target),
    target: ($) => seq(choice($.local, "_"), optional($.placement), optional(seq(":", field("type", $._type)))),
    tuple_target: ($) => seq("(", sep($._target), ")", optional(seq(":", field("type", $._type)))),

    // A let where a value stands ends with its first expression.
    _value: ($) => choice($._expression, $.let_expression),
    let_expression: ($) =>
      seq("let", field("target", $._target), "=", field("value", $._value), ";", field("result", $._value)),

    // ---- Expressions ----

    _expression: ($) => choice($._operand, $.unary_expression, $.binary_expression),
    _operand: ($) =>
      choice(
        $.local,
        $.global,
        $.identifier,
        $.string,
        $.number,
        $.boolean,
        $.constant,
        $.meta_reference,
        $.call,
        $.projection,
        $.tuple,
        $.parenthesized,
        $.sequence,
        $.block,
        $.function,
        $.if,
        $.match,
      ),

    binary_expression: ($) =>
      choice(
        ...INFIX.map(([strength, signs]) =>
          prec.left(
            strength,
            seq(field("left", $._expression), field("operator", choice(...signs)), field("right", $._expression)),
          ),
        ),
      ),
    unary_expression: ($) => prec(UNARY, seq(field("operator", choice("-", "!")), field("operand", $._expression))),

    call: ($) =>
      choice(
        seq(field("callee", $._operand), field("arguments", $.arguments)),
        prec.dynamic(
          1,
          seq(field("callee", $._operand), field("type_arguments", $.type_arguments), field("arguments", $.arguments)),
        ),
      ),
    // Directly behind the callee `(` can only begin arguments.
    arguments: ($) =>
      seq(choice(alias(token.immediate(prec(1, "(")), "("), "("), sep(choice($._value, $.attribute)), ")"),
    type_arguments: ($) => seq("<", sep1($._type), ">"),
    projection: ($) => seq(field("value", $._operand), field("index", $.index)),
    index: () => /\.[0-9]+/,

    tuple: ($) =>
      choice(
        seq("(", ")"),
        seq("(", $._expression, ",", ")"),
        seq("(", $._expression, repeat1(seq(",", $._value)), optional(","), ")"),
      ),
    parenthesized: ($) => seq("(", $._expression, ")"),
    sequence: ($) => seq("(", repeat1($._binding), field("result", $._expression), ")"),

    if: ($) =>
      seq(
        "if",
        "(",
        field("condition", $._value),
        ")",
        field("then", $.block),
        "else",
        field("else", choice($.block, $.if)),
      ),

    match: ($) =>
      seq(
        "match",
        optional("?"),
        "(",
        field("value", $._expression),
        ")",
        "{",
        repeat(choice(seq($.clause, ","), seq(alias($._block_clause, $.clause), optional(",")))),
        optional($.clause),
        "}",
      ),
    clause: ($) =>
      seq(optional("case"), field("pattern", $._pattern), "=>", repeat($.graph_binding), field("body", $._value)),
    _block_clause: ($) => seq(optional("case"), field("pattern", $._pattern), field("body", $.block)),

    _pattern: ($) => choice($.variable_pattern, $.tuple_pattern, $.constructor_pattern),
    variable_pattern: ($) => seq($.local, optional(seq(":", field("type", $._type)))),
    tuple_pattern: ($) => seq("(", sep($._pattern), ")"),
    constructor_pattern: ($) => seq(field("name", $._name), optional(seq("(", sep($._pattern), ")"))),

    // ---- Literals and attributes ----

    number: () => /[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?[A-Za-z0-9_]*/,
    boolean: () => choice("True", "False"),
    string: () => /"([^"\\\n]|\\[^\n])*"/,
    constant: ($) => seq("Constant", "(", choice($.list, $._value), repeat(seq(",", $._value)), optional(","), ")"),
    meta_reference: ($) => seq("meta", "[", field("type", $.identifier), "]", "[", field("index", $.number), "]"),

    _attribute_value: ($) => choice($._expression, $.list, $.dictionary),
    list: ($) => seq("[", sep($._attribute_value), "]"),
    dictionary: ($) => seq("{", sep($.entry), "}"),
    entry: ($) => seq(field("key", $.string), ":", field("value", $._attribute_value)),

    // ---- Types, and the dimensions, shapes and element types inside them ----

    _type: ($) =>
      choice($.type_name, $.applied_type, $.type_call, $.tuple_type, $.function_type, $.number, $.unknown, $.dimension),
    type_name: ($) => $._name,
    // `Tensor[(2, n), float32]`, `List[A]`
    applied_type: ($) => seq(field("name", $._name), "[", sep($._type), "]"),
    // `ref(T)`, and among dimensions `min(n, 4)`
    type_call: ($) => seq(field("name", $._name), "(", sep1($._type), ")"),
    tuple_type: ($) => seq("(", sep($._type), ")"),
    function_type: ($) =>
      choice(
        seq(choice("fn", "fun"), "(", sep($._type), ")", "->", field("result", $._type)),
        // Only a type with parameters of its own has constraints: else they are the function's around it.
        prec.right(
          seq(
            choice("fn", "fun"),
            field("parameters", $.type_parameters),
            "(",
            sep($._type),
            ")",
            "->",
            field("result", $._type),
            repeat($.where_clause),
          ),
        ),
      ),
    unknown: () => "?",
    dimension: ($) =>
      choice(
        prec.left(5, seq($._type, choice("+", "-"), $._type)),
        prec.left(6, seq($._type, "*", $._type)),
        prec(UNARY, seq("-", $._type)),
      ),

    // ---- Names ----

    _name: ($) => choice($.identifier, $.string),
    identifier: () => /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*/,
    // A number behind the last dot projects: `%t.0`.
    local: () => /%([A-Za-z0-9_]+((\.[0-9]+)*\.[A-Za-z_][A-Za-z0-9_]*)*|"([^"\\\n]|\\[^\n])*")/,
    global: () => /@([A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*|"([^"\\\n]|\\[^\n])*")/,

    line_comment: () => token(choice(/\/\/[^\n]*/, /#[^\n]*/)),
    block_comment: () => token(blockComment()),
  },
});
