// SPDX-License-Identifier: Apache-2.0
#include "core/line_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "os/unique_fd.h"

namespace holdfast {
namespace line_writer_test {

using namespace std::chrono_literals;

constexpr std::size_t kMostKept = 4096;

std::string Report(std::uint64_t count) { return fmt::format("{} dropped\n", count); }

// A pipe whose reader reads on request.
struct Fixture {
  Fixture() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    reader = os::UniqueFd(ends[0]);
    pipe = os::UniqueFd(ends[1]);
    REQUIRE(::fcntl(pipe.get(), F_SETPIPE_SZ, 4096) == 4096);
  }
  // The pipe's content, until all of it is read and the writer has nothing left.
  std::string ReadAll(LineWriter& writer) const {
    std::string text;
    std::array<char, 4096> buffer;
    pollfd watched{reader.get(), POLLIN, 0};
    bool flushed = false;
    while (::poll(&watched, 1, 0) == 1 || !flushed) {
      if (watched.revents == 0) {
        flushed = writer.Flush(1ms);
        continue;
      }
      const ssize_t count = ::read(reader.get(), buffer.data(), buffer.size());
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  os::UniqueFd reader;
  os::UniqueFd pipe;
};

std::string Line(int number) { return fmt::format("line {:>90}\n", number); }

TEST_CASE_METHOD(Fixture, "a line is written before Write returns") {
  LineWriter writer(pipe.get(), kMostKept, Report);
  writer.Write("one\n");
  std::array<char, 16> buffer;
  REQUIRE(::read(reader.get(), buffer.data(), buffer.size()) == 4);
  CHECK(writer.Flush(0ms));
}

TEST_CASE_METHOD(Fixture,
                 "a reader that has stopped is not waited for, and then gets all in order") {
  LineWriter writer(pipe.get(), 1 << 20, Report);
  std::string wanted;
  for (int i = 0; i < 1000; ++i) {
    wanted += Line(i);
    writer.Write(Line(i));
  }
  CHECK_FALSE(writer.Flush(0ms));
  CHECK(ReadAll(writer) == wanted);
  writer.Write("again\n");
  CHECK(ReadAll(writer) == "again\n");
}

TEST_CASE_METHOD(Fixture,
                 "what finds no room is counted, and the count is told where it is missing") {
  LineWriter writer(pipe.get(), kMostKept, Report);
  int written = 0;
  for (; written < 1000; ++written) writer.Write(Line(written));
  // Only the progress of the writing thread decides which lines find space.
  std::istringstream text(ReadAll(writer));
  int next = 0;
  int dropped = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with(" dropped")) {
      dropped += std::stoi(line);
      next += std::stoi(line);
    } else {
      CHECK(line + "\n" == Line(next++));
    }
  }
  CHECK(next == written);
  CHECK(dropped > 500);
}

TEST_CASE_METHOD(Fixture, "a line that is longer than a pipe takes stays whole") {
  LineWriter writer(pipe.get(), kMostKept, Report);
  const std::string line = std::string(100'000, 'x') + "\n";
  writer.Write(line);
  CHECK(ReadAll(writer) == line);
}

TEST_CASE_METHOD(Fixture, "without a reader lines are lost, not waited for") {
  std::signal(SIGPIPE, SIG_IGN);
  LineWriter writer(pipe.get(), kMostKept, Report);
  reader = os::UniqueFd();
  for (int i = 0; i < 1000; ++i) writer.Write(Line(i));
  CHECK(writer.Flush(0ms));
}

TEST_CASE_METHOD(Fixture, "lines of many threads are neither mixed nor lost") {
  LineWriter writer(pipe.get(), 1 << 20, Report);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 200; ++i) writer.Write(Line(thread * 1000 + i));
      });
    }
  }
  std::vector<int> next(8);
  const std::string text = ReadAll(writer);
  std::size_t at = 0;
  for (; at < text.size(); at = text.find('\n', at) + 1) {
    const int number = std::stoi(text.substr(at + 5, 90));
    CHECK(number % 1000 == next.at(static_cast<std::size_t>(number / 1000))++);
  }
  CHECK(next == std::vector<int>(8, 200));
}

}  // namespace line_writer_test
}  // namespace holdfast
