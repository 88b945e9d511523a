import { describe, expect, it } from 'vitest';
import { judge } from '../../src/shell/policy.ts';

function passes(command: string): boolean {
  return judge(command).allowed;
}

describe('parsed words of a command', () => {
  it.each([
    ['quotes do not hide them', `r'm' -r"f" "/"`, `r'm' -r"f" "/tmp/x"`],
    ['escapes do not hide them', 'r\\m -rf \\/', 'r\\m -rf x\\/y'],
    ['encoded quotes do not hide them', "$'\\x72m' -rf $'\\x2f'", "$'\\x72m' -rf $'x'"],
    ['the order of options does not matter', 'rm / --force -r', 'rm x --force -r'],
    ['braces are expanded', 'rm -rf /{etc,usr}', 'rm -rf ./{etc,usr}'],
    ['quoted globs are plain', 'rm -rf /*', 'rm -rf "./*"'],
    ['the home folder is known', 'rm -rf "$HOME"', 'rm -rf "$HOME/x/y"'],
    ['the default of a variable counts', `rm -rf \${X:-/}`, `rm -rf \${X:-build}`],
    ['a later folder counts', 'cd /usr; cd ..; rm -rf *', 'cd /usr; cd /tmp; rm -rf *'],
    ['the folder of && counts', 'mkdir x && cd / && rm -rf *', 'cd / && ls; cd /tmp && rm -rf *'],
    ['a subshell keeps its folder', '(cd /; rm -rf *)', '(cd /; ls); rm -rf *'],
  ])('SH-2: %s', (_, hostile, harmless) => {
    expect(passes(hostile)).toBe(false);
    expect(passes(harmless)).toBe(true);
  });
});

describe('commands inside commands', () => {
  it.each([
    ['a substitution', 'echo "$(rm -rf /)"', 'echo "$(rm -rf x)"'],
    ['backticks', 'echo `rm -rf /`', 'echo `rm -rf x`'],
    ['a slice', `echo \${HOME:$(rm -rf /):1}`, `echo \${HOME:$(rm -rf x):1}`],
    ['a pattern', `echo \${HOME%$(rm -rf /)}`, `echo \${HOME%$(rm -rf x)}`],
    ['arithmetic', 'echo $((1 + $(rm -rf /)))', 'echo $((1 + $(rm -rf x)))'],
    ['a test', '[[ -n $(rm -rf /) ]]', '[[ -n $(rm -rf x) ]]'],
    ['an assignment', 'X=$(rm -rf /)', 'X=$(rm -rf x)'],
    ['a here-document', 'cat <<E\n$(rm -rf /)\nE', "cat <<'E'\n$(rm -rf /)\nE"],
    ['a case', 'case x in y) rm -rf /;; esac', 'case x in y) rm -rf x;; esac'],
    ['the text that echo pipes into a shell', 'echo rm -rf / | sh', 'echo rm -rf x | sh'],
    ['the words that echo pipes into xargs', 'echo / | xargs rm -rf', 'echo x | xargs rm -rf'],
    ['find', 'find / -exec rm -rf {} +', 'find /tmp/x -exec rm -rf {} +'],
    ['bash -o', 'bash -euo pipefail -c "rm -rf /"', 'bash -euo pipefail -c "rm -rf x"'],
    ['sudo', 'sudo -u root env A=b nice -n 5 rm -rf /', 'sudo -u root env A=b nice -n 5 rm -rf x'],
    ['trap', "trap 'rm -rf /' EXIT", "trap 'rm -rf x' EXIT"],
  ])('SH-2: %s', (_, hostile, harmless) => {
    expect(passes(hostile)).toBe(false);
    expect(passes(harmless)).toBe(true);
  });

  it.each([
    ['an unclosed quote', 'echo "'],
    ['an unclosed substitution', 'echo $(rm'],
    ['a NUL byte', 'echo \0'],
  ])('SH-2: refuses %s', (_, command) => {
    expect(judge(command)).toMatchObject({ allowed: false, rule: 'unparsable' });
  });
});
