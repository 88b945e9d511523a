import { languageWords } from '../../seams/languages.ts';
import { nodePrestart } from '../prestart/interpreters.ts';
import type { Language } from './language.ts';

/** Node detects from the syntax whether a file is a module, so both `require` and `import` work. */
export const javascript: Language = {
  name: 'javascript',
  ...languageWords.javascript,
  run: ({ source }) => ({ argv: ['node', source] }),
  prestart: nodePrestart,
};
