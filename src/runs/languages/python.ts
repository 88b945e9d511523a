import { languageWords } from '../../seams/languages.ts';
import { pythonPrestart } from '../prestart/interpreters.ts';
import type { Language } from './language.ts';

export const python: Language = {
  name: 'python',
  ...languageWords.python,
  // Unbuffered, so that printed output survives a kill.
  run: ({ source }) => ({ argv: ['python3', '-u', source], env: { PYTHONDONTWRITEBYTECODE: '1' } }),
  prestart: pythonPrestart,
};
