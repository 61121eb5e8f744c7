// SPDX-License-Identifier: Apache-2.0
#include "rbd/monitor_answers.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::rbd {
namespace monitor_answers_test {

TEST_CASE("what could still be stored in a pool") {
  const char answer[] =
      R"({"stats": {"total_bytes": 100, "total_avail_bytes": 90},
          "pools": [{"name": "a", "id": 1, "stats": {"stored": 1, "max_avail": 7, "quota_bytes": 0}},
                    {"name": "b", "id": 2, "stats": {"stored": 2, "max_avail": 8, "quota_bytes": 0}}]})";
  const auto statistics = test::Value(ParseStatistics(answer, "b"));
  REQUIRE(statistics.has_value());
  CHECK(statistics->stored == 2);
  CHECK(statistics->available == 8);
  CHECK_FALSE(test::Value(ParseStatistics(answer, "c")).has_value());
}

TEST_CASE("a quota leaves less") {
  const auto available = [](int quota) {
    const auto answer = fmt::format(
        R"({{"stats": {{"total_bytes": 100}},
             "pools": [{{"name": "a", "stats": {{"stored": 20, "max_avail": 70, "quota_bytes": {}}}}}]}})",
        quota);
    return test::Value(ParseStatistics(answer, "a"))->available;
  };
  CHECK(available(0) == 70);
  CHECK(available(1000) == 70);
  CHECK(available(50) == 30);
  CHECK(available(10) == 0);
}

TEST_CASE("a cluster without statistics is not a full one") {
  const char answer[] =
      R"({"stats": {"total_bytes": 0}, "pools": [{"name": "a", "stats": {"stored": 0, "max_avail": 0}}]})";
  CHECK_FALSE(test::Value(ParseStatistics(answer, "a")).has_value());
}

const std::vector<NamedPool> kPools = {{1, "rbd"}, {3, "data"}};

// As Ceph 16.2 answers.
std::string HealthOf(const std::string& checks) {
  return R"({"status": "HEALTH_WARN", "checks": {)" + checks + R"(}, "mutes": []})";
}

std::string Check(const std::string& name, const std::string& severity, const std::string& summary,
                  const std::string& detail = "", bool muted = false) {
  const std::string details = detail.empty() ? "" : R"({"message": ")" + detail + R"("})";
  return fmt::format(
      R"("{}": {{"severity": "{}", "summary": {{"message": "{}", "count": 1}},
                 "detail": [{}], "muted": {}}})",
      name, severity, summary, details, muted);
}

std::string ProblemOf(const std::string& checks) {
  return test::Value(ParseDataProblem(HealthOf(checks), kPools));
}

TEST_CASE("a cluster whose data is served and sound") {
  CHECK(test::Value(ParseDataProblem(R"({"status": "HEALTH_OK", "checks": {}, "mutes": []})",
                                     kPools)) == "");
  CHECK(ProblemOf(Check("AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED", "HEALTH_WARN",
                        "mon is allowing insecure global_id reclaim",
                        "mon.a has auth_allow_insecure_global_id_reclaim set to true")) == "");
  for (const char* warning : {"OSD_DOWN", "PG_DEGRADED", "MON_CLOCK_SKEW", "RECENT_CRASH",
                              "POOL_NEAR_FULL", "TOO_FEW_PGS"}) {
    CAPTURE(warning);
    CHECK(ProblemOf(Check(warning, "HEALTH_WARN", "a warning")) == "");
  }
  for (const char* other : {"MDS_ALL_DOWN", "FS_DEGRADED", "MGR_DOWN", "DAEMON_OLD_VERSION"}) {
    CAPTURE(other);
    CHECK(ProblemOf(Check(other, "HEALTH_ERR", "of another service")) == "");
  }
}

TEST_CASE("checks that tell of data") {
  CHECK(ProblemOf(Check("PG_DAMAGED", "HEALTH_ERR", "Possible data damage: 1 pg inconsistent",
                        "pg 1.5 is active+clean+inconsistent, acting [0]") +
                  "," +
                  Check("POOL_FULL", "HEALTH_WARN", "1 pool(s) full",
                        "pool 'rbd' is full (running out of quota)")) ==
        "PG_DAMAGED (Possible data damage: 1 pg inconsistent), POOL_FULL (1 pool(s) full)");
  CHECK(ProblemOf(Check("PG_AVAILABILITY", "HEALTH_WARN", "1 pg inactive",
                        "pg 3.1f is stuck inactive for 8s, current state undersized+peered, last "
                        "acting [0]")) == "PG_AVAILABILITY (1 pg inactive)");
  CHECK(ProblemOf(Check("OBJECT_UNFOUND", "HEALTH_WARN", "1/9 objects unfound (11.111%)",
                        "pg 1.0 has 1 unfound objects")) != "");
  CHECK(ProblemOf(Check("OSD_FULL", "HEALTH_ERR", "1 full osd(s)", "osd.0 is full")) != "");
}

TEST_CASE("flags of the cluster that stop requests") {
  const auto problem = [](const std::string& flags) {
    return ProblemOf(Check("OSDMAP_FLAGS", "HEALTH_WARN", flags + " flag(s) set"));
  };
  CHECK(problem("pauserd,pausewr") == "OSDMAP_FLAGS (pauserd,pausewr flag(s) set)");
  CHECK(problem("full") != "");
  CHECK(problem("noout,full") != "");
  CHECK(problem("noout,norecover") == "");
  CHECK(problem("nearfull,noscrub") == "");
}

TEST_CASE("what is muted, or of other pools") {
  const auto full = [](const std::string& pool, bool muted) {
    return ProblemOf(Check("POOL_FULL", "HEALTH_WARN", "1 pool(s) full",
                           "pool '" + pool + "' is full (running out of quota)", muted));
  };
  CHECK(full("data", false) != "");
  CHECK(full("data", true) == "");
  CHECK(full("datastore", false) == "");
  const auto inactive = [](const std::string& pgs) {
    return ProblemOf(Check("PG_AVAILABILITY", "HEALTH_WARN", "8 pgs inactive", pgs));
  };
  CHECK(inactive("pg 2.0 is stuck inactive") == "");
  CHECK(inactive("pg 31.0 is stuck inactive") == "");
  CHECK(inactive(R"(pg 2.0 is stuck inactive"}, {"message": "pg 3.7 is stuck inactive)") != "");
  CHECK(inactive("some pgs are stuck") != "");
  // Ceph omits everything beyond its fifty lines: they may concern our pool.
  std::string many = "pg 2.0 is stuck inactive";
  for (int i = 1; i < 50; ++i) many += R"("}, {"message": "pg 2.0 is stuck inactive)";
  CHECK(inactive(many) != "");
}

TEST_CASE("addresses for the kernel") {
  const char both[] =
      R"({"mons": [{"public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:3300"},
                                                 {"type": "v1", "addr": "10.0.0.1:6789"}]}},
                   {"public_addrs": {"addrvec": [{"type": "v1", "addr": "10.0.0.2:6789"}]}}]})";
  const auto first = test::Value(ParseMonitorAddresses(both));
  CHECK(first.addresses == std::vector<std::string>{"10.0.0.1:6789", "10.0.0.2:6789"});
  CHECK_FALSE(first.messenger_v2);
  const char second_only[] =
      R"({"mons": [{"public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:3300"}]}}]})";
  const auto second = test::Value(ParseMonitorAddresses(second_only));
  CHECK(second.addresses == std::vector<std::string>{"10.0.0.1:3300"});
  CHECK(second.messenger_v2);
}

TEST_CASE("an answer that is none is an error") {
  for (const char* answer : {"", "{}", "[]", "{\"stats\": {\"total_bytes\": \"x\"}}"}) {
    CAPTURE(answer);
    CHECK_FAILS(ParseStatistics(answer, "a"), kInternal, "monitors' answer");
    CHECK_FAILS(ParseMonitorAddresses(answer), kInternal, "monitors' answer");
    CHECK_FAILS(ParseDataProblem(answer, kPools), kInternal, "monitors' answer");
  }
}

TEST_CASE("whether a client is fenced") {
  const char answer[] = R"([{"addr": "10.0.0.1:0/12", "until": "2027-01-01T00:00:00"},
                            {"addr": "10.0.0.2:0/3", "until": "2027-01-01T00:00:00"}])";
  CHECK(test::Value(ParseFenced(answer, "10.0.0.1:0/12")));
  CHECK_FALSE(test::Value(ParseFenced(answer, "10.0.0.1:0/1")));
  CHECK_FALSE(test::Value(ParseFenced("[]", "10.0.0.1:0/12")));
  CHECK_FALSE(test::Value(ParseFenced("[][]\n", "10.0.0.1:0/12")));
  CHECK(test::Value(ParseFenced(std::string("[]") + answer, "10.0.0.2:0/3")));
  CHECK(test::Value(ParseFenced(std::string(answer) + "[]", "10.0.0.2:0/3")));
  CHECK_FAILS(ParseFenced("[]x", "10.0.0.1:0/12"), kInternal, "answer");
  CHECK_FAILS(ParseFenced("", "10.0.0.1:0/12"), kInternal, "answer");
  CHECK_FAILS(ParseFenced(R"([{"address": ""}])", "10.0.0.1:0/12"), kInternal, "answer");
}

}  // namespace monitor_answers_test
}  // namespace holdfast::rbd
