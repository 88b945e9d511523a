import type { CompletedCommand, CompletionTable } from './completion-table.ts';

export function zshScript({ first, families, commands }: CompletionTable): string {
  const two = commands.filter(({ text }) => text.includes(' ')).map(({ text }) => quoted(text));
  return `#compdef geode
# Completion of geode for zsh: source <(geode completion zsh), or a file _geode in a folder of $fpath.
_geode() {
  local command=$words[2] chats=''
  local -a found options taking
  if (( CURRENT == 2 )); then
    found=(${first.map(described).join(' ')})
    _describe -t commands command found
    return
  fi
  if (( CURRENT > 3 )); then
    case "$words[2] $words[3]" in
      ${two.join(' | ')}) command="$words[2] $words[3]" ;;
    esac
  fi
  # Behind -- stand the words of another program.
  if (( \${words[(i)--]} < CURRENT )); then _files; return; fi
  if (( CURRENT == 3 )); then
    case "$command" in
${families.map((family) => `      ${quoted(family.first)}) found=(${family.second.map(described).join(' ')}) ;;`).join('\n')}
    esac
  fi
  case "$command" in
${commands.map(commandCase).join('\n')}
  esac
  if (( \${taking[(Ie)$words[CURRENT-1]]} )); then _files; return; fi
  if [[ $PREFIX == -* ]]; then
    _describe -o -t options option options
    return
  fi
  if [[ -n $chats ]]; then
    local -a names
    names=(\${(f)"$($words[1] completion names 2>/dev/null)"})
    (( $#names )) && compadd -- $names
  fi
  (( $#found )) && _describe -t commands command found
  [[ -n $chats ]] || (( $#found )) || _files
}
if [[ $funcstack[1] == _geode ]]; then _geode "$@"; else compdef _geode geode; fi
`;
}

function commandCase({ text, options, words, takesChat }: CompletedCommand): string {
  const taking = options.filter(({ takesValue }) => takesValue);
  const values = taking.flatMap((option) => [option.text, ...(option.short ? [`-${option.short}`] : [])]);
  return [
    `    ${quoted(text)})`,
    `      options=(${options.map(described).join(' ')})`,
    ...(values.length > 0 ? [`      taking=(${values.join(' ')})`] : []),
    ...(words.length > 0 ? [`      found+=(${words.map(quoted).join(' ')})`] : []),
    ...(takesChat ? ['      chats=1'] : []),
    '      ;;',
  ].join('\n');
}

function described({ text, meaning }: { readonly text: string; readonly meaning: string }): string {
  return quoted(`${text.replaceAll(':', '\\:')}:${meaning}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
