import { languageWords } from '../../seams/languages.ts';
import type { Language } from './language.ts';

export const shell: Language = {
  name: 'shell',
  ...languageWords.shell,
  // A shell reads the carriage return of a Windows line as part of the last word.
  source: (code) => Buffer.from(Buffer.from(code).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  run: ({ source }) => ({ argv: ['/bin/sh', source] }),
};
