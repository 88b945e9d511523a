import { describe, expect, it } from 'vitest';
import { judge } from '../../src/shell/policy.ts';

function passes(command: string): boolean {
  return judge(command).allowed;
}

describe('shells that read the same text differently', () => {
  it.each([
    ['((…)) is two subshells', '((rm -rf /))', '((i++))'],
    ['also nested', '((((rm -rf /))))', '((((i++))))'],
    ['[[ is a command', '[[ a > b || $(rm -rf /) ]]', '[[ a > b ]]'],
    ['&> ends a command', 'echo &>log rm -rf /', 'echo &>log rm'],
    ["$'…' is a dollar and a quote", "echo $'\\'; rm -rf / #'", "echo $'\\'; rm #'"],
    ['$[…] is text', 'echo $[ ; rm -rf / ; ]', 'echo $[1 + 2]'],
    ['an array index is no quote', 'x[ ; rm -rf / ; ]', 'x[1]=2'],
    ['lines join inside names', 'rm -rf /$\\\n{X}', 'rm -rf /tmp/$\\\n{X}'],
    ['lines join inside names', 'X=/; rm -rf $\\\nX', 'X=/tmp/x; rm -rf $\\\nX'],
    ['echo reads escapes', "echo 'ls\\nrm -rf /' | sh", "echo 'ls\\nls -la' | sh"],
    ['an alias works from the next line on', "alias x='rm -rf'\nx /", "alias x='ls'\nx /"],
    ['!( is a negated subshell', '!(rm -rf /)', '!(rm -rf x)'],
  ])('SH-2: %s', (_, hostile, harmless) => {
    expect(passes(hostile)).toBe(false);
    expect(passes(harmless)).toBe(true);
  });

  it('SH-2: bash alone is read as bash', () => {
    expect(passes(`bash -c '((rm -rf /))'`)).toBe(true);
    expect(passes(`sh -c '((rm -rf /))'`)).toBe(false);
  });
});

describe('what the parser lets pass without understanding it', () => {
  it.each([
    ['an unclosed parenthesis', 'foo('],
    ['a substitution cut at a slash', `echo \${x/$(rm -rf /)/b}`],
    ['an expansion in a broken bracket', 'w[ -n $(rm -rf /) ]]'],
    ['an expansion in a delimiter', 'cat <<E`x`\nE`x`'],
    ['a NUL byte', 'echo \0'],
  ])('SH-2: is refused: %s', (_, command) => {
    expect(judge(command)).toMatchObject({ allowed: false, rule: 'unparsable' });
  });
});

describe('what is known where a command runs', () => {
  it.each([
    ['a later assignment counts', 'D=/tmp/x; D=/; rm -rf $D', 'D=/; D=/tmp/x; rm -rf $D'],
    [
      'either branch counts',
      'if a; then D=/; else D=x; fi; rm -rf $D',
      'if a; then D=y; else D=x; fi; rm -rf $D',
    ],
    ['a subshell keeps its own', 'D=/; (D=x); rm -rf $D', 'D=x; (D=/); rm -rf $D'],
    ['the folder is followed', 'cd /usr; cd ..; rm -rf *', 'cd /usr; cd /tmp; rm -rf *'],
    ['the folder of && is followed', 'mkdir x && cd / && rm -rf *', 'cd / && ls; cd /tmp && rm -rf *'],
    [
      'a loop sees its second round',
      'D=x; while a; do rm -rf $D; D=/; done',
      'D=x; while a; do rm -rf $D; D=y; done',
    ],
    ['arguments reach functions', 'f() { rm -rf "$1"; }; f /', 'f() { rm -rf "$1"; }; f x'],
    ['arrays are arrays', `a=(rm -rf /); "\${a[@]}"`, `a=(rm -rf x); "\${a[@]}"`],
    ['output becomes words', 'rm -rf $(echo /)', 'rm -rf $(echo x)'],
    ['output becomes a script', 'echo rm -rf / | sh', 'echo rm -rf x | sh'],
    ['files keep what was written', 'echo rm -rf / > x; sh x', 'echo rm -rf y > x; sh x'],
    ['files keep it when moved', 'echo rm -rf / > x; mv x z; sh z', 'echo rm -rf y > x; mv x z; sh z'],
    ['IFS splits', 'IFS=,; x=rm,-rf,/; $x', 'x=rm,-rf,/; $x'],
    ['quoted globs are plain', 'rm -rf /*', 'rm -rf "./*"'],
    ['commands in slices are seen', `echo \${HOME:$(rm -rf /):1}`, `echo \${HOME:$(rm -rf x):1}`],
    ['commands in patterns are seen', `echo \${HOME%$(rm -rf /)}`, `echo \${HOME%$(rm -rf x)}`],
    ['commands in arithmetic are seen', 'echo $((1 + $(rm -rf /)))', 'echo $((1 + $(rm -rf x)))'],
  ])('SH-2: %s', (_, hostile, harmless) => {
    expect(passes(hostile)).toBe(false);
    expect(passes(harmless)).toBe(true);
  });
});

describe('variables with many values', () => {
  const many = Array.from({ length: 12 }, (_, index) => `[ $a ] && v${index}=1; [ $a ] && v${index}=2`).join(
    '; ',
  );
  const names = Array.from({ length: 12 }, (_, index) => `$v${index}`).join(' ');

  it('SH-2: each value is seen where there are too many combinations', () => {
    expect(judge(`${many}; D=x; [ $a ] && D=/; rm -rf ${names} $D`)).toMatchObject({ rule: 'destroy' });
    expect(passes(`${many}; D=x; [ $a ] && D=y; rm -rf ${names} $D`)).toBe(true);
  });

  it('SH-2: a program and its target are seen together', () => {
    const either = 'P=ls; [ $a ] && P=rm; D=x; [ $a ] && D=/';
    expect(judge(`${many}; ${either}; $P -rf $D ${names}`)).toMatchObject({ rule: 'destroy' });
  });

  it('SH-2: a target that may be anything is refused, a mere word is not', () => {
    const branches = Array.from({ length: 40 }, (_, index) => `${index}) D=x${index};;`).join(' ');
    expect(judge(`case $a in ${branches} esac; rm -rf $D`)).toMatchObject({ rule: 'too-complex' });
    expect(passes(`case $a in ${branches} esac; echo $D`)).toBe(true);
  });
});
