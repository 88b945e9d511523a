import { languageWords } from '../../seams/languages.ts';
import { pythonPrestart } from '../prestart/interpreters.ts';
import type { Language } from './language.ts';

export const python: Language = {
  name: 'python',
  ...languageWords.python,
  // Unbuffered: what was printed before a kill has been printed.
  run: ({ source }) => ({ argv: ['python3', '-u', source], env: { PYTHONDONTWRITEBYTECODE: '1' } }),
  prestart: pythonPrestart,
};
