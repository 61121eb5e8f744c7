// SPDX-License-Identifier: Apache-2.0
// The table of csi.v1.Controller's RPCs for a controller with nodes: where each is answered, under
// which lock, and what is used of a node's answer. The controller forwards by this
// table, and the node carries out by it. RPCs that are not in it are not served.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "controller/node_calls.h"
#include "controller/service.h"

namespace holdfast::controller {

enum class AnsweredBy {
  kOwner,       // the node of the volume that is named, or the own service if no node has it
  kChosenNode,  // the node that the controller chooses
  kEveryNode,   // the controller, from what each node says of its own volumes
  kController,  // only the controller: no node carries it out
};

// What the controller holds while a node is asked; the node takes locks of its own.
enum class Lock { kNone, kSubject, kName, kSnapshotName };

struct Rpc {
  using Message = google::protobuf::Message;

  std::string_view method;
  AnsweredBy answered_by;
  Lock lock;
  Codes codes;         // that a node's answer may have
  bool changes_space;  // of the pool
  LogLevel level;      // of the line for a success

  // The request and the response, empty.
  const Message* request = nullptr;
  const Message* response = nullptr;
  // All below accept only messages of these types.
  std::function<grpc::Status(Service&, grpc::ServerContext*, const Message&, Message&)> run = {};
  // What is refused before a node is asked; may be empty.
  std::function<absl::Status(const Message& request)> check = {};
  // Makes the response from what the owner has answered (node_calls.h); empty if nothing of it
  // is of interest.
  std::function<absl::Status(const Message& request, const Asked&, const Message& answered,
                             Message& response)>
      take = {};
};

[[nodiscard]] std::span<const Rpc> Rpcs();
// nullptr if there is none.
[[nodiscard]] const Rpc* FindRpc(std::string_view method);
// The one that the request is of. It must be in the table.
[[nodiscard]] const Rpc& RpcOf(const google::protobuf::Message& request);

// Id or name of the volume or snapshot that the request is about, or the id of the volume that it
// is to be made of; empty if it is about none.
[[nodiscard]] std::string SubjectOf(const google::protobuf::Message& request);
// The key in KeyLock of what the row locks; not for Lock::kNone.
[[nodiscard]] std::string KeyOf(Lock lock, const google::protobuf::Message& request);

}  // namespace holdfast::controller
