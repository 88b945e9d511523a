/**
 * One word after expansion, as a program would receive it.
 *
 * `text` is what the program sees when no file matches; `pattern` is the same with every character that
 * quoting protects escaped, so that the active `*`, `?` and `[` can be told from quoted ones. `dynamic`
 * tells that an expansion had a part in it.
 */
export interface Field {
  readonly text: string;
  readonly pattern: string;
  readonly dynamic: boolean;
}

export function quoted(text: string): Field {
  return { text, pattern: protect(text), dynamic: false };
}

/** A field of which only the pattern is known. */
export function asPattern(pattern: string): Field {
  return { text: unprotect(pattern), pattern, dynamic: false };
}

function protect(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

export function unprotect(pattern: string): string {
  return pattern.replace(/\\(.)/gs, '$1');
}

/** The field without its first characters: the value of `-ofile`, `of=file`, `@file`. */
export function dropStart(field: Field, characters: number): Field {
  let at = 0;
  for (let dropped = 0; dropped < characters && at < field.pattern.length; dropped++) {
    at += field.pattern[at] === '\\' ? 2 : 1;
  }
  return { text: field.text.slice(characters), pattern: field.pattern.slice(at), dynamic: field.dynamic };
}

/** The field with every occurrence of a placeholder (`{}`) replaced. */
export function fillIn(field: Field, placeholder: string, value: Field): Field {
  if (placeholder === '' || !field.text.includes(placeholder)) return field;
  return {
    text: field.text.replaceAll(placeholder, () => value.text),
    pattern: field.pattern.replaceAll(protect(placeholder), () => value.pattern),
    dynamic: field.dynamic || value.dynamic,
  };
}

/** Collects the fields that one word expands to. */
export class FieldBuilder {
  readonly #done: Field[] = [];
  #text = '';
  #pattern = '';
  #dynamic = false;
  #open = false;

  /** Text as the script spells it; `active` when its glob characters work. */
  add(text: string, active: boolean, dynamic = false): void {
    this.#text += text;
    this.#pattern += active ? text : protect(text);
    this.#dynamic ||= dynamic;
    this.#open = true;
  }

  /** The value of an unquoted expansion: split at the separators, its glob characters work. */
  addSplit(text: string, separators: string): void {
    let word = '';
    const flush = () => {
      if (word !== '') this.#addValue(word);
      word = '';
    };
    for (const character of text) {
      if (separators.includes(character)) {
        flush();
        this.breakField();
      } else {
        word += character;
      }
    }
    flush();
  }

  /** Ends the current field, if there is one. */
  breakField(): void {
    if (!this.#open) return;
    this.#done.push({ text: this.#text, pattern: this.#pattern, dynamic: this.#dynamic });
    this.#text = '';
    this.#pattern = '';
    this.#dynamic = false;
    this.#open = false;
  }

  get fields(): Field[] {
    this.breakField();
    return this.#done;
  }

  #addValue(word: string): void {
    this.#text += word;
    this.#pattern += word.replaceAll('\\', '\\\\');
    this.#dynamic = true;
    this.#open = true;
  }
}
