// Writes the rules of a tree-sitter grammar as JSON, as `tree-sitter generate` does in src/grammar.json:
//
//   node scripts/tree_sitter_grammar.js editors/tree-sitter-relay/grammar.js > editors/tree-sitter-relay/src/grammar.json
//
// The functions below are tree-sitter's language for grammars; a grammar that calls another one does not load.
"use strict";

const path = require("path");

const rule = (value) => {
  if (value instanceof RegExp) return { type: "PATTERN", value: value.source };
  if (typeof value === "string") return { type: "STRING", value };
  if (value && typeof value.type === "string") return value;
  throw new TypeError(`not a rule: ${value}`);
};
const members = (type) => (...list) => ({ type, members: list.map(rule) });
// A strength may be left out: `prec.left(rule)`.
const strength = (type) => (...given) => ({
  type,
  value: given.length > 1 ? given[0] : 0,
  content: rule(given[given.length - 1]),
});

const seq = members("SEQ");
const choice = members("CHOICE");
const prec = Object.assign(strength("PREC"), {
  left: strength("PREC_LEFT"),
  right: strength("PREC_RIGHT"),
  dynamic: strength("PREC_DYNAMIC"),
});
const token = Object.assign((content) => ({ type: "TOKEN", content: rule(content) }), {
  immediate: (content) => ({ type: "IMMEDIATE_TOKEN", content: rule(content) }),
});

function alias(content, name) {
  const named = typeof name !== "string";
  return { type: "ALIAS", content: rule(content), named, value: named ? rule(name).name : name };
}

function grammar(options) {
  const names = Object.keys(options.rules);
  const symbols = {};
  for (const name of names) symbols[name] = { type: "SYMBOL", name };
  const $ = new Proxy(symbols, {
    get(all, name) {
      if (Object.hasOwn(all, name)) return all[name];
      throw new ReferenceError(`the grammar has no rule ${String(name)}`);
    },
  });
  const made = { name: options.name };
  if (options.word) made.word = options.word($).name;
  made.rules = {};
  for (const name of names) made.rules[name] = rule(options.rules[name]($));
  made.extras = (options.extras ? options.extras($) : [/\s/]).map(rule);
  made.conflicts = (options.conflicts ? options.conflicts($) : []).map((set) => set.map((symbol) => symbol.name));
  made.precedences = [];
  made.externals = [];
  made.inline = (options.inline ? options.inline($) : []).map((symbol) => symbol.name);
  made.supertypes = (options.supertypes ? options.supertypes($) : []).map((symbol) => symbol.name);
  return { grammar: made };
}

Object.assign(globalThis, {
  alias,
  choice,
  field: (name, content) => ({ type: "FIELD", name, content: rule(content) }),
  grammar,
  optional: (content) => choice(content, { type: "BLANK" }),
  prec,
  repeat: (content) => ({ type: "REPEAT", content: rule(content) }),
  repeat1: (content) => ({ type: "REPEAT1", content: rule(content) }),
  seq,
  token,
});

const { grammar: made } = require(path.resolve(process.argv[2]));
process.stdout.write(JSON.stringify(made, null, 2) + "\n");
