import type { CompletedCommand, CompletionTable } from './completion-table.ts';

export function fishScript({ first, families, commands }: CompletionTable): string {
  const two = commands.filter(({ text }) => text.includes(' ')).map(({ text }) => quoted(text));
  const lines = [
    ...first.map(({ text, meaning }) =>
      completes("'__geode_at'", `-a ${quoted(text)} -d ${quoted(meaning)}`),
    ),
    ...families.flatMap((family) =>
      family.second.map(({ text, meaning }) =>
        completes(`'__geode_at ${family.first}'`, `-a ${quoted(text)} -d ${quoted(meaning)}`),
      ),
    ),
    ...commands.flatMap(commandLines),
  ];
  return `# Completion of geode for fish: geode completion fish > ~/.config/fish/completions/geode.fish
# The command that is typed, in one word or two.
function __geode_command
    set -l typed (commandline -opc)
    set -l two ${two.join(' ')}
    if test (count $typed) -ge 3; and contains -- "$typed[2] $typed[3]" $two
        echo "$typed[2] $typed[3]"
    else if test (count $typed) -ge 2
        echo $typed[2]
    end
end
# Exactly these words are typed, and the next one begins.
function __geode_at
    set -l typed (commandline -opc)
    test "$typed[2..-1]" = "$argv"
end
function __geode_in
    set -l typed (__geode_command)
    test "$typed" = "$argv"
end
complete -c geode -e
complete -c geode -f
${lines.join('\n')}
`;
}

function commandLines({ text, options, words, takesChat }: CompletedCommand): readonly string[] {
  const condition = `'__geode_in ${text}'`;
  return [
    ...options.map(({ name, short, meaning, takesValue }) =>
      completes(
        condition,
        `-l ${name}${short === undefined ? '' : ` -s ${short}`}${takesValue ? ' -r -F' : ''} -d ${quoted(meaning)}`,
      ),
    ),
    ...words.map((word) => completes(condition, `-a ${quoted(word)}`)),
    ...(takesChat ? [completes(condition, "-a '(geode completion names 2>/dev/null)'")] : []),
  ];
}

function completes(condition: string, what: string): string {
  return `complete -c geode -n ${condition} ${what}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
