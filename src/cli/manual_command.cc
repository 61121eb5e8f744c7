// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/verbs.h"

namespace holdfast::cli {
namespace {

constexpr char kManualFooter[] = R"(Examples:

  holdfast man | man -l -
  holdfast man > /usr/local/share/man/man1/holdfast.1

Prints the manual page, which is made of the help of all verbs.)";

// As roff prints it unaltered: groff_char(7), and no line is a request.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '\\') {
      escaped += "\\e";
    } else if (character == '-') {
      escaped += "\\-";
    } else {
      if ((character == '.' || character == '\'') && (escaped.empty() || escaped.back() == '\n')) {
        escaped += "\\&";
      }
      escaped += character;
    }
  }
  return escaped;
}

std::string FlagEntry(const VerbFlag& flag) {
  std::string entry = fmt::format(".TP\n\\fB{}\\fR", Roff(flag.name));
  if (!flag.value.empty()) entry += fmt::format(" \\fI{}\\fR", Roff(flag.value));
  entry += "\n" + Roff(flag.help);
  if (!flag.environment.empty()) entry += fmt::format(" (or {})", Roff(flag.environment));
  if (!flag.default_value.empty()) entry += fmt::format("; default: {}", Roff(flag.default_value));
  return entry + "\n";
}

std::string Page(const CLI::App& app) {
  std::string page = fmt::format(
      ".TH HOLDFAST 1 \"\" Holdfast\n.SH NAME\nholdfast \\- {}\n.SH SYNOPSIS\n.B holdfast\n.I "
      "VERB\n"
      "[\\fIFLAG\\fR]...\n.SH VERBS\n",
      Roff(app.get_description()));
  for (const Verb& verb : VerbsOf(app)) {
    page += fmt::format(".SS holdfast {}{}\n{}\n", verb.name,
                        verb.arguments.empty() ? "" : " " + verb.arguments, Roff(verb.help));
    for (const VerbFlag& flag : verb.flags) page += FlagEntry(flag);
    page += fmt::format(".PP\n.nf\n{}\n.fi\n", Roff(verb.footer));
  }
  return page +
         ".SH EXIT STATUS\n0: done; 1: failed, or something is missing; 2: wrong flags. audit has "
         "its own.\n";
}

}  // namespace

void AddManualCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand("man", "Print the manual page");
  verb.footer(kManualFooter);
  verb.callback([&app, &run] {
    run = [&app] {
      std::cout << Page(app);
      return 0;
    };
  });
}

}  // namespace holdfast::cli
