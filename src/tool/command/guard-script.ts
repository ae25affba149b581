// What the guard runs. It is a shell's, so that it takes next to no memory while it waits, for as long as the server lives.

/**
 * Reads lines: the process groups that run, or `over`, upon which nothing is left to do. When they stop without that word, the
 * server is dead, and what it ran is killed. `$1` ends the mark of each of its processes, `$2` is the name of their variable,
 * `$3` how the paths of the server's control groups begin, empty where there are none.
 */
export const guardScript = `
groups=
while read -r line; do
  [ "$line" = over ] && exit 0
  groups=" $line "
done

# Its processes: by their mark, control group, process group, session or parent. Those that have ended are none.
find_own() {
  own=' '
  for environ in $(grep -lzs "^$2=.*$1\\$" /proc/[0-9]*/environ); do
    pid=\${environ#/proc/}
    own="$own\${pid%/environ} "
  done
  [ -z "$3" ] || for members in "$3"*/cgroup.procs; do
    while read -r pid; do own="$own$pid "; done <"$members"
  done
  before=
  while [ "$before" != "$own" ]; do
    before=$own
    for path in /proc/[0-9]*/stat; do
      pid=\${path#/proc/}
      pid=\${pid%/stat}
      case $own in *" $pid "*) continue ;; esac
      read -r line <"$path" && is_own \${line##*) } && own="$own$pid "
    done
  done
}
# The state, the parent, the group and the session of a process.
is_own() {
  case $1 in Z | X) return 1 ;; esac
  case $own in *" $2 "*) return 0 ;; esac
  case $groups in *" $3 "* | *" $4 "*) return 0 ;; esac
  return 1
}

# What was being started in the server's last moment may take a while to show its mark: some rounds, whatever is found.
round=0
while [ $round -lt 200 ]; do
  round=$((round + 1))
  find_own "$1" "$2" "$3"
  for group in $groups; do kill -s KILL -- "-$group"; done
  # A group that is gone may be somebody else's later.
  groups=
  [ "$own" = ' ' ] || kill -s KILL $own
  [ "$own" = ' ' ] && [ $round -ge 5 ] && break
  sleep 0.05 || sleep 1
done
[ -z "$3" ] || rmdir "$3"*
`;
