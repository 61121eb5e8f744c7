_holdfast() {
  local word=${COMP_WORDS[COMP_CWORD]} words=''
  if [[ $COMP_CWORD -eq 1 ]]; then
    words='serve volumes snapshots pools nodes leftovers trash top audit delete-volumes node doctor demo completion man'
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --output ]]; then
    words='table wide json'
  else
    case ${COMP_WORDS[1]} in
      serve) words='--help --role --endpoint --node-id --state-dir --driver-name --pool --lost-pool --attach --topology --max-volumes --copy-rate --trim-interval --kubelet-registration-dir --link-listen --link-controller --link-tls --link-token --link-token-keys --link-token-audience --link-token-subject --health-address --metrics-address --volume-metrics --events-api --log-level --config --accept-moved-pool' ;;
      volumes) words='--help --endpoint --output --watch --node --pool --namespace --abnormal' ;;
      snapshots) words='--help --endpoint --output --watch --node --pool --namespace' ;;
      pools) words='--help --endpoint --output --watch --node --pool --abnormal' ;;
      nodes) words='--help --endpoint --output --watch --node --abnormal' ;;
      leftovers) words='--help --endpoint --output --watch --node --pool' ;;
      trash) words='--help --endpoint --output --node --pool --namespace --storage-class --access-mode --claim' ;;
      top) words='--help --endpoint --output --once' ;;
      audit) words='--help --endpoint --output --snapshots --adopt --storage-class --access-mode --claim --delete-list' ;;
      delete-volumes) words='--help --pvs --endpoint' ;;
      node) words='--help --dry-run --pool --output --endpoint' ;;
      doctor) words='--help --endpoint --state-dir --pool --config --output' ;;
      demo) words='--help' ;;
      completion) words='bash --help' ;;
      man) words='--help' ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _holdfast holdfast
