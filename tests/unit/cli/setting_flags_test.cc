// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_flags.h"

#include <catch2/catch.hpp>

#include "core/config_file.h"
#include "core/settings.h"
#include "support/known_pools.h"
#include "support/outcome.h"

namespace holdfast::cli {
namespace setting_flags_test {

struct Sample {
  std::string key;
  std::string yaml;
  std::vector<std::string> words;  // of the command line, without the flag's name
  std::string (*read)(const Config&);
  std::string expected;
};

constexpr char kUuid[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";

template <std::string Config::*member>
std::string Read(const Config& config) {
  return config.*member;
}

std::string ReadPools(const Config& config) {
  std::string text;
  for (const PoolConfig& pool : config.pools) {
    text += pool.name + "@" + pool.location + "/" + pool.default_filesystem + " ";
  }
  return text;
}

std::string ReadTopology(const Config& config) {
  std::string text;
  for (const TopologySegment& segment : config.topology) {
    text += segment.key + "=" + segment.value + " ";
  }
  return text;
}

std::string ReadLostPools(const Config& config) {
  std::string text;
  for (const LostPool& lost : config.lost_pools) text += lost.ToString() + " ";
  return text;
}

std::string ReadRole(const Config& config) {
  return config.role == Role::kNode ? "node" : "another";
}
std::string ReadLevel(const Config& config) {
  return config.log_level == LogLevel::kError ? "error" : "another";
}
std::string ReadAttach(const Config& config) { return config.attach ? "on" : "off"; }
std::string ReadVolumeMetrics(const Config& config) { return config.volume_metrics ? "on" : "off"; }
std::string ReadCopyRate(const Config& config) { return FormatBytes(config.copy_rate); }
std::string ReadTrimInterval(const Config& config) {
  return fmt::format("{} s", config.trim_interval.count());
}
std::string ReadMaxVolumes(const Config& config) { return fmt::to_string(config.max_volumes); }

std::vector<Sample> Samples() {
  std::vector<Sample> samples = {
      {"role", "node", {"node"}, ReadRole, "node"},
      {"logLevel", "error", {"error"}, ReadLevel, "error"},
      {"attach", "true", {}, ReadAttach, "on"},
      {"volumeMetrics", "true", {}, ReadVolumeMetrics, "on"},
      {"lostPools",
       fmt::format("[n1/a={}]", kUuid),
       {fmt::format("n1/a={}", kUuid)},
       ReadLostPools,
       fmt::format("n1/a={} ", kUuid)},
      {"maxVolumes", "20", {"20"}, ReadMaxVolumes, "20"},
      {"copyRate", "3Mi", {"3Mi"}, ReadCopyRate, "3 MiB"},
      {"trimInterval", "90m", {"90m"}, ReadTrimInterval, "5400 s"},
      {"topology", "[zone=a, rack=b]", {"zone=a", "rack=b"}, ReadTopology, "zone=a rack=b "},
      {"pools",
       "[{name: a, file: /a, fs: xfs}, {name: b, file: /b}]",
       {"a=file:/a,fs=xfs", "b=file:/b"},
       ReadPools,
       "a@/a/xfs b@/b/ext4 "},
  };
  const std::pair<const char*, std::string (*)(const Config&)> texts[] = {
      {"endpoint", Read<&Config::endpoint>},
      {"nodeId", Read<&Config::node_id>},
      {"stateDir", Read<&Config::state_dir>},
      {"driverName", Read<&Config::driver_name>},
      {"kubeletRegistrationDir", Read<&Config::kubelet_registration_dir>},
      {"linkListen", Read<&Config::link_listen>},
      {"linkController", Read<&Config::link_controller>},
      {"linkTls", Read<&Config::link_tls>},
      {"linkToken", Read<&Config::link_token>},
      {"linkTokenKeys", Read<&Config::link_token_keys>},
      {"linkTokenAudience", Read<&Config::link_token_audience>},
      {"linkTokenSubject", Read<&Config::link_token_subject>},
      {"healthAddress", Read<&Config::health_address>},
      {"metricsAddress", Read<&Config::metrics_address>},
      {"eventsApi", Read<&Config::events_api>}};
  for (const auto& [key, read] : texts) samples.push_back({key, "some", {"some"}, read, "some"});
  return samples;
}

absl::StatusOr<Config> FromFlags(const std::vector<std::string>& words) {
  CLI::App serve;
  SettingFlags flags;
  AddServeFlags(serve, flags, server::KnownPoolSyntaxes());
  serve.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // from the last on
  return BuildConfig(flags, server::KnownPoolSyntaxes());
}

std::vector<std::string> WithFlag(std::string_view flag, const std::vector<std::string>& words) {
  std::vector<std::string> all;
  if (words.empty()) all.emplace_back(flag);
  for (const std::string& word : words) all.push_back(fmt::format("{}={}", flag, word));
  return all;
}

TEST_CASE("flag and YAML key of each setting set the same member, and no other") {
  const std::vector<Sample> samples = Samples();
  REQUIRE(samples.size() == Settings().size());
  for (const Sample& sample : samples) {
    CAPTURE(sample.key);
    const Setting* const setting = FindSetting(sample.key);
    REQUIRE(setting != nullptr);
    const Config file =
        test::Value(ParseConfig(sample.key + ": " + sample.yaml, server::KnownPoolSyntaxes()));
    const Config flag = test::Value(FromFlags(WithFlag(setting->flag, sample.words)));
    CHECK(sample.read(file) == sample.expected);
    CHECK(sample.read(flag) == sample.expected);
    for (const Sample& other : samples) {
      CAPTURE(other.key);
      if (other.key == sample.key) continue;
      CHECK(other.read(file) == other.read(Config()));
      if (other.key != "nodeId") CHECK(other.read(flag) == other.read(Config()));
    }
  }
}

TEST_CASE("the node is named after the host, but for a controller with a link") {
  CHECK_FALSE(test::Value(FromFlags({})).node_id.empty());
  CHECK(test::Value(FromFlags({"--link-listen=:9443", "--node-id=n1"})).node_id.empty());
}

TEST_CASE("an empty flag is one that is not given") {
  CHECK(test::Value(FromFlags({"--state-dir", ""})).state_dir == Config().state_dir);
  CHECK(test::Value(FromFlags({"--role", ""})).role == Role::kAll);
}

TEST_CASE("a switch is on, or is said to be off") {
  CHECK(test::Value(FromFlags({"--attach", "--attach"})).attach);
  CHECK(test::Value(FromFlags({"--attach=true"})).attach);
  CHECK_FALSE(test::Value(FromFlags({"--attach=false"})).attach);
}

TEST_CASE("a wrong flag is named") {
  CHECK_FAILS(FromFlags({"--role=boss"}), kInvalidArgument, "--role: role 'boss'");
  CHECK_FAILS(FromFlags({"--attach=perhaps"}), kInvalidArgument,
              "--attach: 'perhaps' must be true or false");
  CHECK_FAILS(FromFlags({"--max-volumes=many"}), kInvalidArgument,
              "--max-volumes: 'many' must be a whole number");
  CHECK_FAILS(FromFlags({"--topology=zone"}), kInvalidArgument, "--topology: 'zone' must be");
  CHECK_FAILS(FromFlags({"--pool=a=file:a"}), kInvalidArgument, "--pool: pool 'a'");
  CHECK_FAILS(FromFlags({"--accept-moved-pool=a"}), kInvalidArgument,
              "--accept-moved-pool: there is no pool 'a'");
}

}  // namespace setting_flags_test
}  // namespace holdfast::cli
