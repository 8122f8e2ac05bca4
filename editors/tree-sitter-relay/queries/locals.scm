; Where names are seen.
(definition) @local.scope
(function) @local.scope
(block) @local.scope
(sequence) @local.scope
(let_expression) @local.scope
(clause) @local.scope

(definition name: (global) @local.definition.function)
(parameter name: (local) @local.definition.parameter)
(target (local) @local.definition.var)
(graph_binding name: (local) @local.definition.var)
(free_variable name: (local) @local.definition.var)
(variable_pattern (local) @local.definition.var)
(data_type name: (_) @local.definition.type)
(extern_type name: (_) @local.definition.type)
(type_parameter name: (_) @local.definition.type)

(local) @local.reference
(global) @local.reference
