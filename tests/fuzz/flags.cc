// SPDX-License-Identifier: Apache-2.0
// The command line of `holdfast serve`: arguments that end in NUL each.
#include "cli/setting_flags.h"

#include "valid_config.h"

namespace holdfast::fuzz {
namespace {

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words = {"holdfast", "serve"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void Try(const std::vector<std::string>& words) {
  CLI::App app;
  cli::SettingFlags flags;
  cli::AddServeFlags(*app.add_subcommand("serve"), flags, Kinds());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError&) {  // all that main expects
    return;
  }
  if (!flags.config_path.empty()) return;  // any file of the host
  const auto config = cli::BuildConfig(flags, Kinds());
  if (!config.ok()) {
    Require(absl::IsInvalidArgument(config.status()), "a mistake is called one");
    return;
  }
  const auto given = [&](std::string_view key) {
    const auto texts = flags.settings.find(key);
    return texts == flags.settings.end() ? std::vector<std::string>() : texts->second;
  };
  Require(config->pools.size() == given("pools").size(), "no pool is lost");
  Require(given("maxVolumes").empty() || std::stoll(given("maxVolumes")[0]) == config->max_volumes,
          "no number is passed over");
  RequireSound(*config);
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  Try(Split({reinterpret_cast<const char*>(data), size}));
  return 0;
}
