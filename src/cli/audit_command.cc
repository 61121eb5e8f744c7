// SPDX-License-Identifier: Apache-2.0
#include <absl/time/clock.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/audit_adoption.h"
#include "cli/audit_deletion.h"
#include "cli/audit_report.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "core/config.h"

namespace holdfast::cli {
namespace {

constexpr char kAuditFooter[] = R"(Examples:

  holdfast audit pvs.json        that is what `kubectl get pv -o json` printed
  kubectl get pv,volumesnapshotcontent -o json | kubectl holdfast audit -
  kubectl get pv -o json | kubectl holdfast audit --adopt - | kubectl apply -f -

Compares the PersistentVolumes of this driver in FILE (- is standard input) with the volumes of a running
Holdfast. It changes nothing. KIND of a finding:

  volume-without-pv         no PersistentVolume has the volume's id; CLAIM is for which it was made
  pv-without-data           the node or pool that would have the volume says that it does not exist
  size-differs              spec.capacity is not the volume's size
  node-differs              the node affinity does not name the node that has the bytes
  two-pvs                   another PersistentVolume has the same id
  snapshot-without-content  and content-without-data: the same of snapshots, if the list has
                            VolumeSnapshotContents, or with --snapshots
  leftover                  what `holdfast leftovers` lists
  trash                     what `holdfast trash list` lists; always a note

What a node or pool would have to say that cannot be asked is "unknown", never missing. A volume that is
younger than five minutes is a "note": its PersistentVolume may be on its way. A node judges only what is on
it; the controller judges all nodes.

--adopt prints PersistentVolumes (JSON, for kubectl apply) for volumes without one, with the recorded claim and
reclaim policy Retain; what it leaves out, it names on standard error. --delete-list prints the ids of those
that are older than an hour; `holdfast delete-volumes` deletes the ones that you name.

Exit code: 0 no findings; 1 findings, or --adopt has left out a volume; 2 something is unknown, or the audit
could not be made.)";

constexpr char kDeleteFooter[] = R"(Examples:

  kubectl get pv -o json | kubectl holdfast delete-volumes --pvs=- default:n1:2f6c0d4e-...
  kubectl get pv -o json > pvs.json
  holdfast audit --delete-list pvs.json > ids    then read it, and take out what is to stay
  holdfast delete-volumes --pvs=pvs.json $(grep -v '^#' ids)

Deletes volumes without a PersistentVolume, each of which you name, for good. It makes the audit again first,
with the PersistentVolumes in the file of --pvs: if a volume has one, is younger than an hour or is not there,
nothing is deleted. A volume that is in use is not deleted either.)";

struct AuditFlags {
  std::string endpoint = Config().endpoint;
  std::string file;
  std::string output = "table";
  bool snapshots = false;
  bool adopt = false;
  bool delete_list = false;
  std::string storage_class;
  std::string access_mode = AdoptionChoices().access_mode;
  std::vector<std::string> claims;
  std::vector<std::string> ids;
};

// Everything that an audit is made of; `audit` points into `inventory`.
struct Made {
  KubernetesObjects objects;
  Inventory inventory;
  std::unique_ptr<CalledOwners> owners;
  absl::Time now;
  Audit audit;
};

absl::StatusOr<std::unique_ptr<Made>> Make(const AuditFlags& flags, const std::string& file) {
  auto made = std::make_unique<Made>();
  ASSIGN_OR_RETURN(made->objects, ReadKubernetesObjects(file));
  ASSIGN_OR_RETURN(const auto channel, Connect(flags.endpoint));
  ASSIGN_OR_RETURN(made->inventory, TakeInventory(channel));
  made->owners = std::make_unique<CalledOwners>(channel);
  made->now = absl::Now();
  made->audit = Compare(made->inventory, made->objects, flags.snapshots, made->now, *made->owners);
  return made;
}

int Unmade(const absl::Status& problem) { return ExitCode(problem) == 0 ? 0 : kExitIncomplete; }

int Incomplete(const Audit& audit) {
  return audit.Count(Verdict::kUnknown) > 0 ? kExitIncomplete : 0;
}

int PrintAdoption(const AuditFlags& flags, const Made& made) {
  AdoptionChoices choices{.storage_class = flags.storage_class, .access_mode = flags.access_mode};
  auto claims = ParseClaims(flags.claims);
  if (!claims.ok()) return Unmade(claims.status());
  choices.claims = *std::move(claims);
  const auto adoption = Adopt(made.audit, made.objects, choices, *made.owners);
  if (!adoption.ok()) return Unmade(adoption.status());
  std::cout << adoption->list << std::flush;
  for (const std::string& left_out : adoption->left_out) {
    std::cerr << Printable("holdfast: left out: " + left_out) << "\n";
  }
  std::cerr << AuditSummary(made.audit);
  if (const int code = Incomplete(made.audit); code != 0) return code;
  return adoption->left_out.empty() ? 0 : kExitFindings;
}

int RunAudit(const AuditFlags& flags) {
  const auto made = Make(flags, flags.file);
  if (!made.ok()) return Unmade(made.status());
  const Made& all = **made;
  if (flags.adopt) return PrintAdoption(flags, all);
  if (flags.delete_list) {
    std::cout << DeleteList(all.audit, all.now) << std::flush;
    std::cerr << AuditSummary(all.audit);
    return Incomplete(all.audit);
  }
  std::cout << (flags.output == "json" ? AuditJson(all.audit)
                                       : AuditText(all.audit, all.now, WantsColours()))
            << std::flush;
  return ExitCodeOf(all.audit);
}

// Goes on after one that cannot be deleted.
int RunDeletion(const AuditFlags& flags) {
  const auto made = Make(flags, flags.file);
  if (!made.ok()) return ExitCode(made.status());
  const Made& all = **made;
  const absl::Status allowed =
      CheckDeletion(all.audit, all.inventory, all.objects, flags.ids, all.now);
  if (!allowed.ok()) return ExitCode(Annotate(allowed, "nothing is deleted"));
  int code = 0;
  for (const std::string& id : flags.ids) {
    const absl::Status deleted = all.owners->DeleteVolume(id);
    if (deleted.ok()) {
      std::cout << "deleted " << id << std::endl;
    } else {
      code = ExitCode(Annotate(WithCode(deleted, absl::StatusCode::kInternal),
                               fmt::format("volume '{}' is not deleted", id)));
    }
  }
  return code;
}

void AddEndpoint(CLI::App& verb, AuditFlags& flags) {
  verb.add_option("--endpoint", flags.endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
}

}  // namespace

void AddAuditCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand(
      "audit", "Compare volumes with the PersistentVolumes that Kubernetes has");
  verb.footer(kAuditFooter);
  const auto flags = std::make_shared<AuditFlags>();
  verb.add_option("FILE", flags->file, "What `kubectl get pv -o json` printed; - is standard input")
      ->required();
  AddEndpoint(verb, *flags);
  verb.add_option("-o,--output", flags->output, "How to show it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  verb.add_flag("--snapshots", flags->snapshots,
                "Judge snapshots, although the list has no VolumeSnapshotContents");
  auto* const adopt =
      verb.add_flag("--adopt", flags->adopt, "Print PersistentVolumes for volumes without one");
  verb.add_option("--storage-class", flags->storage_class,
                  "Storage class of the printed PersistentVolumes, which must be their claims'")
      ->type_name("NAME")
      ->needs(adopt);
  verb.add_option("--access-mode", flags->access_mode, "Access mode of these")
      ->check(CLI::IsMember({"ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany"}))
      ->needs(adopt)
      ->capture_default_str();
  verb.add_option("--claim", flags->claims, "Claim of one of these, instead of the recorded one")
      ->type_name("VOLUME_ID=NAMESPACE/NAME")
      ->allow_extra_args(false)
      ->needs(adopt);
  verb.add_flag("--delete-list", flags->delete_list,
                "Print the ids of volumes without a PersistentVolume that are older than an hour")
      ->excludes(adopt);
  verb.callback([flags, &run] { run = [flags] { return RunAudit(*flags); }; });
}

void AddDeleteVolumesCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand(
      "delete-volumes", "Delete volumes that have no PersistentVolume, named one by one");
  verb.footer(kDeleteFooter);
  const auto flags = std::make_shared<AuditFlags>();
  verb.add_option("VOLUME_ID", flags->ids, "As `holdfast audit` shows it")->required();
  verb.add_option("--pvs", flags->file,
                  "What `kubectl get pv -o json` printed; - is standard input")
      ->type_name("FILE")
      ->required();
  AddEndpoint(verb, *flags);
  verb.callback([flags, &run] { run = [flags] { return RunDeletion(*flags); }; });
}

}  // namespace holdfast::cli
