import { GeodeError } from '../../base/errors.ts';
import type { LanguageName } from '../../seams/run.ts';
import { go } from './go.ts';
import { javascript } from './javascript.ts';
import type { Language } from './language.ts';
import { python } from './python.ts';
import { rust } from './rust.ts';
import { shell } from './shell.ts';
import { typescript } from './typescript.ts';

export const languages: readonly Language[] = [python, javascript, typescript, shell, rust, go];

/** The one place where images are pinned; `runs.images` in the config overrides each. */
export const defaultImages: Readonly<Record<LanguageName, string>> = {
  python: 'python:3.12-slim',
  javascript: 'node:24-slim',
  typescript: 'node:24-slim',
  shell: 'alpine:3.22',
  rust: 'rust:1-slim',
  go: 'golang:1-alpine',
};

/** By name or alias, whatever the case. */
export function languageOf(name: string): Language {
  const wanted = name.toLowerCase();
  const found = languages.find((language) => language.name === wanted || language.aliases.includes(wanted));
  if (found !== undefined) return found;
  throw new GeodeError('invalid_input', `There is no language ${JSON.stringify(name)}.`, {
    hint: `Use one of ${languages.map((language) => language.name).join(', ')}.`,
  });
}

/** By the extension of a file; undefined when no language claims it. */
export function languageOfFile(path: string): Language | undefined {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return languages.find((language) => language.extensions.includes(extension));
}
