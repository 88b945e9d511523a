import { languageWords } from '../../seams/languages.ts';
import { nodePrestart } from '../prestart/interpreters.ts';
import type { Language } from './language.ts';

/** By Node's own type stripping: types are dropped, not checked, and enums and namespaces are refused. */
export const typescript: Language = {
  name: 'typescript',
  ...languageWords.typescript,
  run: ({ source }) => ({ argv: ['node', source] }),
  prestart: nodePrestart,
};
