// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/inventory_selection.h"
#include "cli/inventory_tables.h"
#include "cli/output.h"
#include "cli/restored_objects.h"
#include "cli/unreachable.h"
#include "core/config.h"
#include "core/kubernetes_name.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;

constexpr char kTrashFooter[] = R"(Examples:

  holdfast trash list
  holdfast trash list --node n1 --output json     every field, sizes in bytes, for scripts
  holdfast trash restore --storage-class fast ID | kubectl apply -f -
  holdfast trash purge ID...

Deleted volumes and snapshots are kept as long as keepDeleted of their class, or of their pool, says. OF is the
claim or VolumeSnapshot as NAMESPACE/NAME. PURGED IN is how long the pool still has to be served until the
entry is purged. An ID is that of an entry, not the one that the volume had.

restore gives a volume or snapshot back its id, with its data, and prints the PersistentVolume (or the
VolumeSnapshotContent and VolumeSnapshot) that brings it back to Kubernetes, as JSON. It is for the claim that
is recorded; make that claim again with spec.volumeName. Reclaim policy is Retain: set it to Delete when all is
well. purge removes entries and their data for good.)";

struct TrashFlags {
  std::string endpoint = Config().endpoint;
  std::string output = "table";
  std::string action;
  std::vector<std::string> ids;
  Selection selection;
  RestorationChoices choices;
};

int ShowList(Admin::Stub& stub, const TrashFlags& flags) {
  if (!flags.ids.empty()) return ExitCode(InvalidArgument("list takes no ID"));
  admin::v1::ListRequest request;
  request.set_node(flags.selection.node);
  auto response = CallForParts(stub, &Admin::Stub::ListTrash, request);
  if (!response.ok()) return ExitCode(response.status());
  Select(flags.selection, *response);
  if (flags.output == "json") {
    std::cout << AsJson(*response, {"trash", "unreachable"});
  } else if (response->trash_size() == 0) {
    std::cerr << "nothing in the trash\n";
  } else {
    std::cout << TableOf(*response, flags.output == "wide").Text(WantsColours());
  }
  std::cout << std::flush;
  return ReportUnreachable(response->unreachable());
}

admin::v1::TrashRequest RequestOf(const std::string& id) {
  admin::v1::TrashRequest request;
  request.set_id(id);
  return request;
}

int Restore(Admin::Stub& stub, const TrashFlags& flags) {
  if (flags.ids.size() != 1) return ExitCode(InvalidArgument("restore takes one ID"));
  if (!flags.choices.claim.empty() && !IsNamespacedName(flags.choices.claim)) {
    return ExitCode(InvalidArgument("--claim: '{}' must be NAMESPACE/NAME", flags.choices.claim));
  }
  const auto restored = Call(stub, &Admin::Stub::RestoreTrash, RequestOf(flags.ids.front()));
  if (!restored.ok()) return ExitCode(restored.status());
  std::cerr << Printable(fmt::format("restored {} '{}'", restored->entry().kind(),
                                     restored->entry().volume_id()))
            << "\n";
  const auto objects = ObjectsFor(*restored, flags.choices);
  if (!objects.ok()) return ExitCode(objects.status());
  std::cout << *objects << std::flush;
  return 0;
}

// Goes on after one that cannot be purged.
int Purge(Admin::Stub& stub, const TrashFlags& flags) {
  if (flags.ids.empty()) return ExitCode(InvalidArgument("purge takes at least one ID"));
  int code = 0;
  for (const std::string& id : flags.ids) {
    const absl::Status purged = Call(stub, &Admin::Stub::PurgeTrash, RequestOf(id)).status();
    if (purged.ok()) {
      std::cout << Printable("purged " + id) << std::endl;
    } else {
      code = ExitCode(Annotate(purged, fmt::format("'{}' is not purged", id)));
    }
  }
  return code;
}

int Run(const TrashFlags& flags) {
  const auto channel = Connect(flags.endpoint);
  if (!channel.ok()) return ExitCode(channel.status());
  const auto stub = Admin::NewStub(*channel);
  if (flags.action == "restore") return Restore(*stub, flags);
  if (flags.action == "purge") return Purge(*stub, flags);
  return ShowList(*stub, flags);
}

}  // namespace

void AddTrashCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand(
      "trash", "List, restore or purge deleted volumes and snapshots that are kept for a while");
  verb.footer(kTrashFooter);
  const auto flags = std::make_shared<TrashFlags>();
  verb.add_option("ACTION", flags->action, "What to do")
      ->check(CLI::IsMember({"list", "restore", "purge"}))
      ->required();
  verb.add_option("ID", flags->ids, "Of entries, as list shows them");
  verb.add_option("--endpoint", flags->endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  verb.add_option("-o,--output", flags->output, "How to show the list")
      ->check(CLI::IsMember({"table", "wide", "json"}))
      ->capture_default_str();
  verb.add_option("--node", flags->selection.node, "List only what this node has")
      ->type_name("NODE");
  verb.add_option("--pool", flags->selection.pool, "List only what is in pools of this name")
      ->type_name("POOL");
  verb.add_option("--namespace", flags->selection.name_space,
                  "List only what was made for this namespace of Kubernetes")
      ->type_name("NAMESPACE");
  verb.add_option("--storage-class", flags->choices.storage_class,
                  "Storage class of the printed PersistentVolume, which must be its claim's")
      ->type_name("NAME");
  verb.add_option("--access-mode", flags->choices.access_mode, "Access mode of that")
      ->check(CLI::IsMember({"ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany"}))
      ->capture_default_str();
  verb.add_option("--claim", flags->choices.claim,
                  "Claim or VolumeSnapshot that it is for, instead of the recorded one")
      ->type_name("NAMESPACE/NAME");
  verb.callback([flags, &run] { run = [flags] { return Run(*flags); }; });
}

}  // namespace holdfast::cli
