// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/lost_node.h"
#include "core/config.h"

namespace holdfast::cli {
namespace {

constexpr char kNodeFooter[] = R"(Examples:

  holdfast node lost worker-3 --dry-run objects.json
                                    that is what `kubectl get pv,pods -A -o json` printed
  kubectl get pv,pods -A -o json | kubectl holdfast node lost worker-3 --pool=second --dry-run -
                                    a disk that is lost in a node that lives on

Prints what is lost with a node that is gone for good, or with a disk of it, as comments: the PersistentVolumes and
snapshots, and the entries of lostPools that declare it. Then come the kubectl commands that replace it, in their
order: claims first, then pods, so that a StatefulSet makes both again where there is room. Nothing is changed by this.
Holdfast has no right to delete objects: read the commands, and run them yourself. Ask the controller; a node knows
nothing of the others. Add volumesnapshotcontents to `kubectl get` if the cluster has snapshots.)";

struct NodeFlags {
  std::string endpoint = Config().endpoint;
  std::string action;
  std::string node;
  std::string file;
  std::string pool;
  std::string output = "script";
  bool dry_run = false;
};

absl::StatusOr<std::string> TextOf(const NodeFlags& flags) {
  ASSIGN_OR_RETURN(const KubernetesObjects objects, ReadKubernetesObjects(flags.file));
  ASSIGN_OR_RETURN(const auto channel, Connect(flags.endpoint));
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(channel));
  ASSIGN_OR_RETURN(const LostNode lost, FindLost(flags.node, flags.pool, objects, inventory));
  return flags.output == "json" ? LostNodeJson(lost) : LostNodeScript(lost);
}

int RunLost(const NodeFlags& flags) {
  if (!flags.dry_run) {
    return ExitCode(InvalidArgument(
        "Holdfast deletes no objects of Kubernetes; --dry-run prints the commands that do"));
  }
  const auto text = TextOf(flags);
  if (!text.ok()) return ExitCode(text.status());
  std::cout << *text << std::flush;
  return 0;
}

}  // namespace

void AddNodeCommand(CLI::App& app, Action& run) {
  CLI::App& verb =
      *app.add_subcommand("node", "Print how to replace what is lost with a node or a disk");
  verb.footer(kNodeFooter);
  const auto flags = std::make_shared<NodeFlags>();
  verb.add_option("ACTION", flags->action, "What has happened to it")
      ->check(CLI::IsMember({"lost"}))
      ->required();
  verb.add_option("NODE", flags->node, "Its name, as `holdfast nodes` shows it")->required();
  verb.add_option("FILE", flags->file,
                  "What `kubectl get pv,pods -A -o json` printed; - is standard input")
      ->required();
  verb.add_flag("--dry-run", flags->dry_run, "Only print what to do; required");
  verb.add_option("--pool", flags->pool, "Only this pool is lost, not the node")->type_name("POOL");
  verb.add_option("-o,--output", flags->output, "How to show it")
      ->check(CLI::IsMember({"script", "json"}))
      ->capture_default_str();
  verb.add_option("--endpoint", flags->endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  verb.callback([flags, &run] { run = [flags] { return RunLost(*flags); }; });
}

}  // namespace holdfast::cli
