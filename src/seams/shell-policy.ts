/** How commands are judged. Defence in depth: the sandbox is the boundary, this catches what should not be tried. */
export interface ShellPolicy {
  /** `standard` refuses what the rules know; `strict` also any program off the list; `permissive` nothing. */
  readonly mode: 'standard' | 'strict' | 'permissive';
  /** Programs that `strict` lets run, by name. */
  readonly programs: readonly string[];
  /** The folder that commands start in. Default `/workspace`. */
  readonly workspace?: string;
  /** The home folder of the user that commands run as. Default `/root`. */
  readonly home?: string;
}

/** No network tools, nothing that raises privileges; shells only with scripts that the command spells out. */
export const defaultStrictPrograms: readonly string[] = (
  'awk base64 basename bash cargo cat chmod cksum clear cmake cmp column comm cp csplit cut date df diff dirname du env expand ' +
  'expr file find fmt fold g++ gawk gcc git go gofmt grep egrep fgrep gunzip gzip head hostname id install jq join less ln ls make ' +
  'md5sum mkdir mktemp more mv nice nl node nohup npm npx od paste patch pip pip3 pnpm printenv ps pytest python python3 readlink ' +
  'realpath rg rm rmdir ruff rustc sed seq sh sha1sum sha256sum shuf sleep sort split stat stdbuf strings sum tac tail tar tee ' +
  'timeout touch tr tree truncate tsc tsort uname unexpand uniq unxz unzip uv vitest wc which whoami xargs xxd xz yarn yes zcat zip'
).split(' ');

export const defaultShellPolicy: ShellPolicy = { mode: 'standard', programs: defaultStrictPrograms };

/** One sentence for status: what the policy does, loud where it does nothing. */
export function describePolicy(policy: ShellPolicy): string {
  switch (policy.mode) {
    case 'standard':
      return 'standard: commands that destroy the system, open it up or read keys are refused';
    case 'strict':
      return `strict: only ${policy.programs.length} listed programs run, and none of them dangerously`;
    case 'permissive':
      return 'permissive: OFF, every command runs and only the sandbox protects';
  }
}
