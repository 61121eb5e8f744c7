#!/bin/sh
# Runs inside the guest after `init`: loads the modules, mounts the data disk on /data, runs the
# named phases of one scenario, reports the exit status in the marker line and powers off.
# The kernel command line carries: run_dir= (the host's directory of this run), disk_fs=,
# scenario=, phases=, token= (no other output can look like the marker).
set -u
read -r command_line </proc/cmdline
for word in $command_line; do
  case $word in
    run_dir=*) run_dir=${word#*=} ;;
    disk_fs=*) disk_fs=${word#*=} ;;
    token=*) token=${word#*=} ;;
    scenario=*) scenario=${word#*=} ;;
    phases=*) phases=${word#*=} ;;
  esac
done
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
stty -F /dev/ttyS1 raw -echo
exec </dev/null >/dev/ttyS1 2>&1

# A disk that holds nothing yet is formatted; afterwards only mounted. The options make the disk
# harsher than usual: nothing is committed by a timer, and a rename does not write out the data.
mount_data_disk() {
  case $disk_fs in
    ext4) options=noauto_da_alloc,commit=300 ;;
    btrfs) options=commit=300 ;;
    *) options=defaults ;;
  esac
  if ! blkid -p /dev/vda >/dev/null; then
    "mkfs.$disk_fs" -q /dev/vda || return 1
  fi
  mkdir -p /data && mount -t "$disk_fs" -o "$options" /dev/vda /data
}

run_phases() {
  ip link set lo up
  modprobe -a virtio_blk loop ext4 xfs btrfs || return 1
  mount_data_disk || return 1
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "${0%/*}/phases.py" "$scenario" "$phases" \
    "/run/host$run_dir" || return 1
  umount /data
}

run_phases
echo "EXIT $token $?"
sync
stty -F /dev/ttyS1 raw # waits until the line has left the port
echo o >/proc/sysrq-trigger
sleep 60
