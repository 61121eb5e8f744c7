// SPDX-License-Identifier: Apache-2.0
// A volume's steps as the calls that a CO makes, with the CO's part of the work (its directories)
// done beforehand.
#pragma once

#include <string>

#include "client/connection.h"
#include "common/options.h"

namespace bench {

class DriverVolume final {
 public:
  // Below `options.directory` the directories staging and pods must exist.
  DriverVolume(const Options& options, int number);

  // Idempotent like CreateVolume: it also finds a volume that an earlier run has made.
  void Create(Connection& driver);
  void Stage(Connection& driver);
  void Publish(Connection& driver);
  void Stats(Connection& driver);
  void ExpandController(Connection& driver);  // to twice its size
  void ExpandNode(Connection& driver);
  void Unpublish(Connection& driver);
  void Unstage(Connection& driver);
  void Delete(Connection& driver);

 private:
  const Options& options_;
  std::string name_;
  std::string staging_;
  std::string target_;
  std::string id_;
};

}  // namespace bench
