/**
 * How commands are checked before they run. Defence in depth: the sandbox is the boundary; this catches commands that
 * should not be tried.
 */
export interface ShellPolicy {
  /**
   * `standard` refuses commands that the rules match; `strict` also every program that is not listed; `permissive`
   * refuses nothing.
   */
  readonly mode: 'standard' | 'strict' | 'permissive';
  /** Programs that `strict` allows, by name. */
  readonly programs: readonly string[];
  /** The folder in which commands start. Default `/workspace`. */
  readonly workspace?: string;
  /** The home folder of the commands' user. Default `/root`. */
  readonly home?: string;
}

/** No network tools and no tools that raise privileges; shells only with a script written in the command. */
export const defaultStrictPrograms: readonly string[] = (
  'awk base64 basename bash cargo cat chmod cksum clear cmake cmp column comm cp csplit cut date df diff dirname du env expand ' +
  'expr file find fmt fold g++ gawk gcc git go gofmt grep egrep fgrep gunzip gzip head hostname id install jq join less ln ls make ' +
  'md5sum mkdir mktemp more mv nice nl node nohup npm npx od paste patch pip pip3 pnpm printenv ps pytest python python3 readlink ' +
  'realpath rg rm rmdir ruff rustc sed seq sh sha1sum sha256sum shuf sleep sort split stat stdbuf strings sum tac tail tar tee ' +
  'timeout touch tr tree truncate tsc tsort uname unexpand uniq unxz unzip uv vitest wc which whoami xargs xxd xz yarn yes zcat zip'
).split(' ');

export const defaultShellPolicy: ShellPolicy = { mode: 'standard', programs: defaultStrictPrograms };

/** One sentence for status screens: what the policy does. Warns clearly if it does nothing. */
export function describePolicy(policy: ShellPolicy): string {
  switch (policy.mode) {
    case 'standard':
      return 'standard: refuses commands that destroy the system, weaken its security or read keys';
    case 'strict':
      return `strict: allows only ${policy.programs.length} listed programs, and no dangerous use of them`;
    case 'permissive':
      return 'permissive: OFF, every command runs and only the sandbox protects';
  }
}
