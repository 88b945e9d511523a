import { readFileSync } from 'node:fs';

export interface Entry {
  /** The heading that it stands under: for hostile commands the rule that must refuse it. */
  readonly section: string;
  readonly command: string;
}

/** Reads a corpus file: one entry a line, or several lines between `<<<<` and `>>>>`. */
export function readCorpus(name: 'hostile' | 'harmless' | 'left-to-the-sandbox'): Entry[] {
  const entries: Entry[] = [];
  let section = '';
  let block: string[] | undefined;
  for (const line of readFileSync(new URL(`corpus/${name}.txt`, import.meta.url), 'utf8').split('\n')) {
    if (line === '<<<<') {
      block = [];
    } else if (line === '>>>>') {
      entries.push({ section, command: (block ?? []).join('\n') });
      block = undefined;
    } else if (block !== undefined) {
      block.push(line);
    } else if (line.startsWith('## ')) {
      section = line.slice(3);
    } else if (line !== '' && !line.startsWith('# ')) {
      entries.push({ section, command: line });
    }
  }
  return entries;
}

/** As one word of a shell, whatever is in it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
