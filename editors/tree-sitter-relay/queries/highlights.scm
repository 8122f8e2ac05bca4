; Later patterns win over earlier ones.

; Names
(local) @variable
(global) @function
(identifier) @variable
(string) @string
(number) @number
(boolean) @boolean
(index) @property

(parameter name: (local) @variable.parameter)
(attribute name: (_) @attribute)
(entry key: (string) @property)
(relation name: (identifier) @type)

; A word that is called is an operator, or a constructor if it begins with a capital.
(call callee: (identifier) @function.builtin)
((call callee: (identifier) @constructor)
  (#match? @constructor "^[A-Z]"))
((identifier) @constructor
  (#match? @constructor "^[A-Z]"))
(call callee: (global) @function.call)
(call callee: (local) @function.call)
((identifier) @constant.builtin
  (#any-of? @constant.builtin "None" "inf" "nan" "inff" "nanf"))

; Types
(type_name (identifier) @type)
(applied_type name: (identifier) @type)
(type_call name: (identifier) @type)
((type_name (identifier) @type.builtin)
  (#match? @type.builtin "^(bool|u?int[0-9]+|b?float[0-9]+)$"))
((applied_type name: (identifier) @type.builtin)
  (#eq? @type.builtin "Tensor"))
(type_parameter name: (_) @type)
(type_parameter kind: (identifier) @type.builtin)
(unknown) @type.builtin

; Definitions
(definition name: (global) @function)
(data_type name: (_) @type.definition)
(extern_type name: (_) @type.definition)
(constructor name: (_) @constructor)
(constructor_pattern name: (_) @constructor)

; Words and signs
["def" "fn" "fun" "type" "data" "extern" "where"] @keyword
["let" "free_var"] @keyword
["if" "else" "match" "case"] @keyword.conditional
"import" @keyword.import
"_" @variable.builtin
["Constant" "meta"] @keyword
(version) @keyword.directive
(metadata) @keyword.directive

(binary_expression operator: _ @operator)
(unary_expression operator: _ @operator)
["=" "->" "=>"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":"] @punctuation.delimiter
(type_parameters ["<" ">"] @punctuation.bracket)
(type_arguments ["<" ">"] @punctuation.bracket)

(line_comment) @comment
(block_comment) @comment
