// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/verbs.h"

namespace holdfast::cli {
namespace {

constexpr char kCompletionFooter[] = R"(Examples:

  source <(holdfast completion bash)
  holdfast completion bash > /etc/bash_completion.d/holdfast

Prints a script that makes the shell complete verbs and flags.)";

// One function for all verbs. A word that is no flag, such as a path, is completed as the shell
// does without it.
constexpr char kBash[] = R"(_holdfast() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=''
  if [[ $COMP_CWORD -eq 1 ]]; then
    words='{}'
  elif [[ ${{COMP_WORDS[COMP_CWORD - 1]}} == --output ]]; then
    words='table wide json'
  else
    case ${{COMP_WORDS[1]}} in
{}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _holdfast holdfast
)";

std::string ForBash(const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  std::string cases;
  for (const Verb& verb : verbs) {
    std::vector<std::string> words;
    for (const VerbFlag& flag : verb.flags) words.push_back(flag.name);
    if (verb.name == "completion") words.insert(words.begin(), "bash");
    names.push_back(verb.name);
    cases += fmt::format("      {}) words='{}' ;;\n", verb.name, fmt::join(words, " "));
  }
  return fmt::format(kBash, fmt::join(names, " "), cases);
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Action& run) {
  CLI::App& verb =
      *app.add_subcommand("completion", "Print a script that completes verbs and flags");
  const auto shell = std::make_shared<std::string>("bash");
  verb.add_option("SHELL", *shell, "bash, so far")->check(CLI::IsMember({"bash"}));
  verb.callback([shell, &app, &run] {
    run = [&app] {
      std::cout << ForBash(VerbsOf(app));
      return 0;
    };
  });
  verb.footer(kCompletionFooter);
}

}  // namespace holdfast::cli
