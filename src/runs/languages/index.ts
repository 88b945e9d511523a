import { languageNamed } from '../../seams/languages.ts';
import type { LanguageName } from '../../seams/run.ts';
import { go } from './go.ts';
import { javascript } from './javascript.ts';
import type { Language } from './language.ts';
import { python } from './python.ts';
import { rust } from './rust.ts';
import { shell } from './shell.ts';
import { typescript } from './typescript.ts';

/** The one place where images are pinned; `runs.images` in the config overrides each. */
export const defaultImages: Readonly<Record<LanguageName, string>> = {
  python: 'python:3.12-slim',
  javascript: 'node:24-slim',
  typescript: 'node:24-slim',
  shell: 'alpine:3.22',
  rust: 'rust:1-slim',
  go: 'golang:1-alpine',
};

const byName: Readonly<Record<LanguageName, Language>> = { python, javascript, typescript, shell, rust, go };
export const languages: readonly Language[] = Object.values(byName);

/** By name or alias, whatever the case. */
export function languageOf(word: string): Language {
  return byName[languageNamed(word)];
}
