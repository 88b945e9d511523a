import type { CompletedCommand, CompletionTable } from './completion-table.ts';

export function bashScript({ first, families, commands }: CompletionTable): string {
  const two = commands.filter(({ text }) => text.includes(' ')).map(({ text }) => `'${text}'`);
  return `# Completion of geode for bash: source <(geode completion bash)
_geode() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local command=\${COMP_WORDS[1]-} words='' options='' values='' chats='' word
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${first.map(({ text }) => text).join(' ')} help --help --version' -- "$current"))
    return
  fi
  if ((COMP_CWORD > 2)); then
    case "$command \${COMP_WORDS[2]}" in
      ${two.join(' | ')}) command="$command \${COMP_WORDS[2]}" ;;
    esac
  fi
  # Behind -- stand the words of another program.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -- ]]; then compopt -o default 2>/dev/null; return; fi
  done
  if ((COMP_CWORD == 2)); then
    case "$command" in
${families.map((family) => `      '${family.first}') words='${family.second.map(({ text }) => text).join(' ')}' ;;`).join('\n')}
    esac
  fi
  case "$command" in
${commands.map(commandCase).join('\n')}
  esac
  case " $values " in
    *" $previous "*) compopt -o default 2>/dev/null; return ;;
  esac
  if [[ $current == -* ]]; then
    words=$options
  elif [[ -n $chats ]]; then
    words="$words $("\${COMP_WORDS[0]}" completion names 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  ((\${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
}
complete -F _geode geode
`;
}

function commandCase({ text, options, words, takesChat }: CompletedCommand): string {
  const taking = options.filter(({ takesValue }) => takesValue);
  const values = taking.flatMap((option) => [option.text, ...(option.short ? [`-${option.short}`] : [])]);
  return [
    `    '${text}')`,
    `      options='${options.map((option) => option.text).join(' ')}'`,
    ...(values.length > 0 ? [`      values='${values.join(' ')}'`] : []),
    ...(words.length > 0 ? [`      words="$words ${words.join(' ')}"`] : []),
    ...(takesChat ? ['      chats=1'] : []),
    '      ;;',
  ].join('\n');
}
