// relay completion: what shells complete, and the manual page, made from the commands and options
// that the parser of the command line holds.
#include <algorithm>

#include <fmt/core.h>

#include <relay/op/op.h>
#include <relay/support/diagnostic_rules.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

// An option, or (without names) a word in order.
struct OptionEntry {
  std::vector<std::string> names;    // "--entry", "-h"
  std::string value;                 // of what it takes, for people: "FILE"; empty: nothing
  std::string text;                  // its description
  std::vector<std::string> choices;  // the values that it may take, if these are few
  bool repeats = false;
};

struct CommandEntry {
  std::string name;
  std::string text;
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> words;
};

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Of "TEXT:{vm,eval}" and of "text|json".
std::vector<std::string> choices_of(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}');
  if (open != std::string::npos && close != std::string::npos && close > open)
    return split(std::string_view(type).substr(open + 1, close - open - 1), ',');
  if (type.find('|') != std::string::npos) return split(type, '|');
  return {};
}

// Values that a table outside of the command line holds.
std::vector<std::string> known_values(const std::string& command, const std::string& option,
                                      const std::vector<std::string>& commands) {
  std::vector<std::string> values;
  if (command == "help") return commands;
  if (command == "explain")
    for (const DiagnosticRule& rule : diagnostic_rules()) values.emplace_back(rule.code);
  if (command == "ops")
    for (const Operator* op : all_ops()) values.push_back(op->name().str());
  if ((command == "opt" && option == "--passes") || (command == "reduce" && option == "--pass"))
    for (const PassRegistration* pass : all_passes()) values.push_back(pass->info.name.str());
  return values;
}

OptionEntry entry_of(const CLI::Option& option, const std::string& command,
                     const std::vector<std::string>& commands) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  entry.text = option.get_description();
  entry.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                  option.get_items_expected_max() != 0;
  const std::string given = option.get_option_text();
  const std::string type = given.empty() ? option.get_type_name() : given;
  if (option.get_items_expected_max() > 0) {
    entry.choices = choices_of(option.get_type_name());
    if (entry.choices.empty()) entry.choices = choices_of(given);
    // "UINT:INT in [0 - 9]" is a number; an option in order has a name already.
    entry.value = given.empty() ? type.substr(0, type.find_first_of(":, ")) : given;
    if (entry.value.empty()) entry.value = "VALUE";
    if (entry.names.empty()) entry.value = option.get_name();
    if (entry.choices.empty())
      entry.choices =
          known_values(command, entry.names.empty() ? "" : entry.names.back(), commands);
  }
  return entry;
}

CommandEntry entry_of(const CLI::App& app, const std::vector<std::string>& commands) {
  CommandEntry entry{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionEntry one = entry_of(*option, entry.name, commands);
    (one.names.empty() ? entry.words : entry.options).push_back(std::move(one));
  }
  return entry;
}

// The command itself first.
std::vector<CommandEntry> table_of(const CLI::App& app) {
  std::vector<std::string> names;
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    names.push_back(command->get_name());
    commands.push_back(command);
  }
  std::vector<CommandEntry> table{entry_of(app, names)};
  for (const CLI::App* command : commands) table.push_back(entry_of(*command, names));
  return table;
}

// The first sentence, which fits a line.
std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, std::min(text.find(". "), text.find("; ")));
  while (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// A word of a shell in single quotes. Fish knows escapes inside of them, the others do not.
std::string shell_quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string joined(const std::vector<std::string>& words, const char* by = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : by) + word;
  return text;
}

// ---- bash ---------------------------------------------------------------------------------------

// The values behind options: `run\ --executor) COMPREPLY=(…)`. Other options take files.
void append_bash_values(std::string& out, const CommandEntry& command) {
  for (const OptionEntry& option : command.options) {
    if (option.choices.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names)
      patterns.push_back((command.name == "relay" ? "*" : command.name) + "\\ " + name);
    out += "    " + joined(patterns, "|") + ") COMPREPLY=($(compgen -W " +
           shell_quoted(joined(option.choices)) + " -- \"$cur\")); return ;;\n";
  }
}

std::string bash_text(const std::vector<CommandEntry>& table) {
  std::string out =
      "# Completion of relay for bash, made by `relay completion bash`.\n"
      "_relay() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" command= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"${COMP_WORDS[i]}\" in\n";
  std::vector<std::string> names;
  for (size_t i = 1; i < table.size(); ++i) names.push_back(table[i].name);
  out += "      " + joined(names, "|") +
         ") command=\"${COMP_WORDS[i]}\"; break ;;\n    esac\n  done\n"
         "  case \"$command $prev\" in\n";
  for (size_t i = 1; i < table.size(); ++i) append_bash_values(out, table[i]);
  append_bash_values(out, table[0]);
  out += "  esac\n  local words= choices=\n  case \"$command\" in\n";
  std::vector<std::string> common;
  for (const OptionEntry& option : table[0].options)
    common.insert(common.end(), option.names.begin(), option.names.end());
  out += "    '') words=" + shell_quoted(joined(common)) +
         "; choices=" + shell_quoted(joined(names)) + " ;;\n";
  for (size_t i = 1; i < table.size(); ++i) {
    std::vector<std::string> words;
    for (const OptionEntry& option : table[i].options)
      words.insert(words.end(), option.names.begin(), option.names.end());
    out += "    " + table[i].name + ") words=" + shell_quoted(joined(words));
    for (const OptionEntry& word : table[i].words) {
      if (!word.choices.empty()) out += "; choices=" + shell_quoted(joined(word.choices));
    }
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $cur == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  elif [[ -n $choices ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _relay relay\n";
  return out;
}

// ---- zsh ----------------------------------------------------------------------------------------

// Text inside of the brackets of _arguments, and values inside of its parentheses.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(text, "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string zsh_value(const OptionEntry& option) {
  const std::string what = ":" + zsh_text(option.value);
  return what + (option.choices.empty() ? ":_files" : ":(" + joined(option.choices) + ")");
}

std::string zsh_arguments(const CommandEntry& command, const char* indent) {
  std::string out;
  for (const OptionEntry& option : command.options) {
    for (const std::string& name : option.names) {
      std::string spec =
          (option.repeats ? "*" : "") + name + "[" + zsh_text(first_sentence(option.text)) + "]";
      if (!option.value.empty()) spec += zsh_value(option);
      out += std::string(" \\\n") + indent + shell_quoted(spec);
    }
  }
  for (const OptionEntry& word : command.words)
    out += std::string(" \\\n") + indent + shell_quoted("*" + zsh_value(word));
  return out;
}

std::string zsh_text_of(const std::vector<CommandEntry>& table) {
  std::string out =
      "#compdef relay\n# Completion of relay for zsh, made by `relay completion zsh`.\n"
      "_relay() {\n  local context state line curcontext=\"$curcontext\"\n"
      "  typeset -A opt_args\n  _arguments -C" +
      zsh_arguments(table[0], "    ") +
      " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n"
      "  case $state in\n    command)\n      local -a commands=(";
  for (size_t i = 1; i < table.size(); ++i)
    out += "\n        " + shell_quoted(table[i].name + ":" + first_sentence(table[i].text));
  out += ")\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (size_t i = 1; i < table.size(); ++i) {
    out += "        " + table[i].name + ")\n          _arguments" +
           zsh_arguments(table[i], "            ") + " ;;\n";
  }
  return out + "      esac ;;\n  esac\n}\n_relay \"$@\"\n";
}

// ---- fish ---------------------------------------------------------------------------------------

std::string fish_option(const OptionEntry& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty())
    out += option.choices.empty() ? " -r" : " -x -a " + fish_quoted(joined(option.choices));
  return out + " -d " + fish_quoted(first_sentence(option.text));
}

std::string fish_text(const std::vector<CommandEntry>& table) {
  std::string out = "# Completion of relay for fish, made by `relay completion fish`.\n";
  for (const OptionEntry& option : table[0].options)
    out += "complete -c relay" + fish_option(option) + "\n";
  for (size_t i = 1; i < table.size(); ++i) {
    const CommandEntry& command = table[i];
    out += "complete -c relay -f -n __fish_use_subcommand -a " + command.name + " -d " +
           fish_quoted(first_sentence(command.text)) + "\n";
    const std::string here =
        "complete -c relay -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionEntry& option : command.options) out += here + fish_option(option) + "\n";
    for (const OptionEntry& word : command.words) {
      if (!word.choices.empty()) out += here + " -f -a " + fish_quoted(joined(word.choices)) + "\n";
    }
  }
  return out;
}

// ---- The manual page ----------------------------------------------------------------------------

std::string roff(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (out.starts_with(".") || out.starts_with("'")) out = "\\&" + out;
  return replaced(out, "\n", "\n\\&");
}

void append_man_option(std::string& out, const OptionEntry& option) {
  out += ".TP\n";
  if (option.names.empty()) {
    out += "\\fI" + roff(option.value) + "\\fR";
  } else {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
    out += joined(names, ", ");
    if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  }
  out += "\n" + roff(option.text) + "\n";
  // Long lists, such as that of all operators, have commands of their own.
  constexpr size_t kFew = 12;
  if (!option.choices.empty() && option.choices.size() <= kFew)
    out += "One of " + roff(joined(option.choices, ", ")) + ".\n";
}

std::string man_text(const std::vector<CommandEntry>& table, const std::string& footer) {
  std::string out =
      ".\\\" Made by `relay completion man`.\n.TH RELAY 1 \"\" \"relay " RELAY_VERSION
      "\" \"User Commands\"\n.SH NAME\nrelay \\- " +
      roff(first_sentence(replaced(table[0].text, "Relay: ", ""))) +
      "\n.SH SYNOPSIS\n.B relay\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n"
      ".SH OPTIONS\n";
  for (const OptionEntry& option : table[0].options) append_man_option(out, option);
  out += ".SH COMMANDS\n";
  for (size_t i = 1; i < table.size(); ++i) {
    out += ".SS " + roff(table[i].name) + "\n" + roff(table[i].text) + "\n";
    for (const OptionEntry& word : table[i].words) append_man_option(out, word);
    for (const OptionEntry& option : table[i].options) append_man_option(out, option);
  }
  out += ".SH EXIT STATUS\n" + roff(footer) + "\n.SH SEE ALSO\n";
  return out + "\\fBrelay help\\fR \\fIcommand\\fR prints the same for one command.\n";
}

}  // namespace

void add_completion(CLI::App& app, Context& context) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion",
      "Print a file by which a shell completes commands and options, or the manual "
      "page.");
  command
      ->add_option("SHELL", *what,
                   "bash, zsh or fish; man for the manual page. `relay completion bash > "
                   "~/.local/share/bash-completion/completions/relay` installs it for one user.")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  context.actions[command] = [what, &app] {
    const std::vector<CommandEntry> table = table_of(app);
    std::string footer = app.get_footer();
    footer = footer.substr(0, footer.find('\n'));
    print_out(*what == "bash"   ? bash_text(table)
              : *what == "zsh"  ? zsh_text_of(table)
              : *what == "fish" ? fish_text(table)
                                : man_text(table, footer));
  };
}

}  // namespace relay::tool
