import { languageWords } from '../../seams/languages.ts';
import { nodePrestart } from '../prestart/interpreters.ts';
import type { Language } from './language.ts';

/** Node's own type stripping: types are removed, not checked; enums and namespaces are refused. */
export const typescript: Language = {
  name: 'typescript',
  ...languageWords.typescript,
  run: ({ source }) => ({ argv: ['node', source] }),
  prestart: nodePrestart,
};
